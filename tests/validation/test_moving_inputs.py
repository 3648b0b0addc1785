"""Rotary crane under smooth torques: what held inputs cost, and what inputs that move give, in every method and formulation."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, History, Input, Joint, Mechanism, open_model, simulate
from kingpost.mechanism.trajectories import RestToRest, Sampled, Sequence, ThreePhase

CRANE = open_model("rotary-crane").mechanism
LOAD = ("load.x", "load.y", "load.z")
TORQUES = {
    "slew_torque": RestToRest(0.0, 300.0, 0.1003, 0.9),
    "trolley_force": ThreePhase(0.0, 40.0, 0.05, 0.95, 0.2),
    "winch_torque": Sequence((0.0, 0.4, 1.0), (-9.81, -11.0, -9.0)),
}


@pytest.fixture(scope="module")
def reference() -> History:
    return simulate(CRANE, 1.0, inputs=TORQUES, integrator="dop853:rtol=1e-12,atol=1e-13", output_step=0.01)


def distance(one: History, other: History) -> float:
    return float(np.linalg.norm(one.select(LOAD) - other.select(LOAD), axis=1).max())


def test_millimetres_become_rounding(reference):
    """Held over 10 ms the load is 2 mm beside its way; moving, below 1e-9 m, at the same output step and 1 ms of rk4."""
    functions = {name: lambda t, path=path: float(path.value(t)) for name, path in TORQUES.items()}
    held = simulate(CRANE, 1.0, inputs=functions, step=1e-3, output_step=0.01)
    moving = simulate(CRANE, 1.0, inputs=TORQUES, step=1e-3, output_step=0.01)
    assert 2e-3 < distance(held, reference) < 3e-3
    assert distance(moving, reference) < 1e-11
    # The old way to it: inputs held over a tenth of a step of ours, of which the error is still a hundred times less only.
    often = simulate(CRANE, 1.0, inputs=functions, step=1e-4, output_step=1e-4)
    assert 1e-5 < distance(History(moving.time, often.channels, often.values[::100]), moving) < 3e-5


@pytest.mark.parametrize("formulation", ["kane", "recursive", pytest.param("directors", marks=pytest.mark.slow)])
def test_results_come_back_as_inputs(reference, formulation):
    """The inputs in a history of 2 ms, as splines, give the motion again, also by another formulation."""
    first = simulate(CRANE, 1.0, inputs=TORQUES, step=1e-3, output_step=2e-3)
    again = simulate(CRANE, 1.0, inputs=first, formulation=formulation, integrator="dop853:rtol=1e-11", output_step=0.01)
    assert distance(again, reference) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("integrator", "formulation", "order"),
    [
        ("rk4", "kane", 4),
        ("rk4", "directors", 4),
        ("radau2", "kane", 3),
        ("backward-euler", "directors", 1),
        ("euler-symplectic", "kane", 1),
        ("midpoint", "kane", 2),
        ("energy-momentum", "kane", 2),
        ("energy-momentum", "directors", 2),
        ("energy-momentum", "nullspace", 2),
        ("variational", "directors", 2),
        ("generalized-alpha", "kane", 2),
        ("generalized-alpha", "directors", 2),
        ("bdf2", "kane", 2),
        ("bdf2", "nullspace", 2),
        ("lie-rk4", "kane", 4),
        ("lie-midpoint", "kane", 2),
    ],
)
def test_orders_on_a_machine_with_a_closure(reference, integrator, formulation, order):
    """Rows of 0.1 s, ten and more steps long, with breaks inside: each method keeps its order."""
    errors = []
    for step in (0.01, 0.005):
        history = simulate(
            CRANE, 1.0, inputs=TORQUES, integrator=integrator, formulation=formulation, step=step, output_step=0.1
        )
        here = History(history.time, reference.channels, reference.values[::10])
        errors.append(distance(history, here))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("integrator", "formulation"),
    [("quaternion-energy-momentum", "quaternions"), ("energy-momentum", "kane"), ("lie-midpoint", "kane")],
)
def test_orders_of_a_body_that_tumbles(integrator, formulation):
    """A free body under a moment and a force that move, in unit quaternions."""
    thrust = ForceElement("body-wrench", body="hull", moment=("turn", 0.5, 0.0), force=(0.0, "turn", 1.0))
    body = Mechanism(
        "tumbling",
        bodies=(Body("hull", mass=2.0, inertia=(0.3, 0.5, 0.7)),),
        joints=(Joint("free", "free", "world", "hull"),),
        forces=(thrust,),
        inputs=(Input("turn", "N.m"),),
    )
    inputs = {"turn": RestToRest(-1.0, 1.0, 0.1003, 0.9)}
    wanted = simulate(body, 1.0, inputs=inputs, integrator="dop853:rtol=1e-12", output_step=0.25, loads="none")
    poses, errors = wanted.names[:7], []
    for step in (0.0125, 0.00625):
        found = simulate(body, 1.0, inputs=inputs, integrator=integrator, formulation=formulation, step=step, output_step=0.25)
        errors.append(np.abs(found.select(poses) - wanted.select(poses)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_long_tables_cost_no_more_than_short_ones():
    """A step takes as long with 20 000 samples as with 100: rows are handed over by address."""

    def seconds(count: int) -> float:
        times = np.linspace(0.0, 1.0, count)
        path = Sampled(tuple(times.tolist()), tuple(np.sin(times).tolist()), "cubic")
        simulate(CRANE, 1.0, inputs={"slew_torque": path}, step=1e-5, output_step=1e-3)
        history = simulate(CRANE, 1.0, inputs={"slew_torque": path}, step=1e-5, output_step=1e-3)
        return float(history.provenance["wall_time_s"])

    assert seconds(20_001) < 2 * seconds(101) + 0.2
