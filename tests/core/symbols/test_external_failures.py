"""Forces written in plain Python that fail: whose fault it is, when, and what is kept."""

import casadi as ca
import numpy as np
import pytest

from kingpost import ForceElement, Interrupted, PluginError, SolverError, prepare
from kingpost.mechanism.trajectories import Sampled
from tests.core.symbols.python_forces import FORMULATIONS, INTEGRATORS, effort_of, run, swinging

FAULTS = {
    "an exception": (KeyError("nothing after half a second"), "KeyError: 'nothing after half a second'"),
    "too many values": ([1.0, 2.0], "PluginError: its Python function returned 2 values, expected 1"),
    "no values": ([], "PluginError: its Python function returned 0 values, expected 1"),
    "nothing at all": (None, "PluginError: its Python function returned nothing, expected 1 values"),
    "a text": ("strong", "ValueError: could not convert string to float"),
}


def wrong_after_half_a_second(fault):
    def effort(angle, t):
        if t[0] <= 0.505:
            return -angle
        if isinstance(fault, Exception):
            raise fault
        return fault

    return effort_of(effort, seen=("angle", "time"))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("integrator", [*INTEGRATORS, "bdf", "lsoda"])
def test_an_exception_in_python_ends_the_run_which_keeps_what_it_had(integrator, formulation, capfd):
    fault, message = FAULTS["an exception"]
    arguments = {"integrator": integrator, "formulation": formulation, "step": 0.01 if integrator == "rk4" else None}
    with pytest.raises(SolverError) as error:
        run(wrong_after_half_a_second(fault), ForceElement("own", name="half"), **arguments)
    assert str(error.value).startswith(f"force 'half' raised {message}")
    history = error.value.history
    assert history is not None
    assert history.provenance["outcome"] == "failed"
    # Solvers look ahead, here by less than 0.2 s.
    assert 0.3 < history.time[-1] < 0.505
    whole = run(effort_of(lambda angle: -angle), **arguments)
    assert history.values.tolist() == whole.values[: len(history)].tolist()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_result_that_is_no_force_is_laid_at_the_door_of_its_force(fault, formulation):
    given, message = FAULTS[fault]
    with pytest.raises(SolverError) as error:
        run(wrong_after_half_a_second(given), ForceElement("own", name="half"), formulation=formulation, step=0.01)
    assert str(error.value).startswith(f"force 'half' raised {message}")
    assert error.value.history is not None
    assert error.value.history.time[-1] == pytest.approx(0.5)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_result_that_is_not_a_number_stops_the_run_at_its_time(integrator, formulation):
    step = 0.01 if integrator == "rk4" else None
    with pytest.raises(SolverError) as error:
        run(wrong_after_half_a_second(np.nan), integrator=integrator, formulation=formulation, step=step)
    where = "the state after t = 0.5 s is not finite" if integrator == "rk4" else "could not go on at t = 0.505 s"
    assert where in str(error.value)
    history = error.value.history
    assert history is not None
    assert history.time[-1] == pytest.approx(0.5)
    assert np.isfinite(history.values).all()


def test_the_same_run_can_be_repeated_after_a_failure():
    broken = [True]

    def effort(angle, t):
        if broken[0] and t[0] > 0.505:
            raise RuntimeError("out of order")
        return -angle

    simulation = prepare(swinging(ForceElement("own")), 1.0, step=0.01, plugins=effort_of(effort, seen=("angle", "time")))
    for _ in range(2):
        with pytest.raises(SolverError, match="force 'own' raised RuntimeError: out of order"):
            simulation.run()
    broken[0] = False
    assert simulation.run().values.tolist() == run(effort_of(lambda angle: -angle), step=0.01).values.tolist()


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("function", "seen", "message"),
    [
        (
            Sampled((0, 1), (0, 1)).function(),
            (),
            "force 'own' calls a function without arguments; give it one, such as the time",
        ),
        (lambda: 1.0, (), "force 'own' calls a function without arguments; give it one, such as the time kinematics.t"),
        (
            ca.Function("pair", [x := ca.SX.sym("x")], [ca.vertcat(x, x)]),
            ("angle",),
            "force 'own' calls a function that gives 2 values, but asks for 1",
        ),
    ],
)
def test_a_call_that_cannot_work_is_refused_before_the_run(function, seen, message, formulation):
    with pytest.raises(PluginError) as error:
        run(effort_of(function, seen=seen), formulation=formulation)
    assert message in str(error.value)


@pytest.mark.parametrize("integrator", ["rk4", "dop853", "radau", "bdf"])
def test_a_function_that_fails_at_the_start_is_named(integrator):
    def fail(time):
        raise ValueError("no such table")

    with pytest.raises(SolverError, match="force 'own' raised ValueError: no such table"):
        run(effort_of(fail, seen=("time",)), integrator=integrator)


def test_an_interrupt_inside_a_function_interrupts_the_run():
    def wait(time):
        if time[0] > 0.05:
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(Interrupted) as interrupt:
        run(effort_of(wait, seen=("time",)))
    assert interrupt.value.history.time[-1] == pytest.approx(0.05, abs=0.011)
