"""Inputs that move inside of steps: exact for every method, whatever the output step; held ones stay what they were."""

import dataclasses
import math

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    History,
    Input,
    Joint,
    Mechanism,
    MechanismError,
    Moving,
    Parameter,
    SolverError,
    prepare,
    simulate,
    simulate_batch,
)
from kingpost.base.channels import Channel
from kingpost.mechanism.trajectories import Constant, RestToRest, Sampled, Sequence, ThreePhase
from kingpost.testing.problems import pushed_mass

STIFFNESS, MASS = 6.0, 1.5
FAST = {"backend": "vm"}


def pushed_spring(*more: ForceElement, **fields) -> Mechanism:
    """Return a mass on a spring, w = 2 rad/s, with a force as input."""
    return Mechanism(
        "pushed-spring",
        bodies=(Body("mass", mass=MASS),),
        joints=(Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0), start=0.1),),
        forces=(
            ForceElement("joint-spring", coordinate="rail.displacement", stiffness=STIFFNESS),
            ForceElement("joint-effort", coordinate="rail.displacement", effort="push"),
            *more,
        ),
        inputs=(Input("push", "N"),),
        **fields,
    )


def spring_solution(polynomials, times: np.ndarray, x: float = 0.1, v: float = 0.0) -> np.ndarray:
    """Return x(t) for m x'' + k x = polynomials, piece by piece: a polynomial that solves it, and a free oscillation."""
    w, found, begin = math.sqrt(STIFFNESS / MASS), np.empty(len(times)), 0.0
    edges = [b for b in polynomials.breaks.tolist() if b > 0.0] + [math.inf]
    for end in edges:
        piece = int(polynomials.pieces_at(begin))
        load = polynomials.around(np.array([piece]), np.array([begin]))[0]
        own = np.zeros(len(load) + 2)
        for n in range(len(load) - 1, -1, -1):
            own[n] = (load[n] - MASS * (n + 1) * (n + 2) * own[n + 2]) / STIFFNESS
        own = np.polynomial.Polynomial(own)
        a, b = x - own(0.0), (v - own.deriv()(0.0)) / w

        def at(s, own=own, a=a, b=b):
            return own(s) + a * np.cos(w * s) + b * np.sin(w * s)

        here = (times >= begin) & (times <= end)
        found[here] = at(times[here] - begin)
        if end < math.inf:
            s = end - begin
            x, v, begin = at(s), own.deriv()(s) - a * w * np.sin(w * s) + b * w * np.cos(w * s), end
    return found


SINE = Sampled(
    tuple(np.linspace(0.0, 2.0, 21).tolist()), tuple((3 * np.sin(np.pi * np.linspace(0.0, 2.0, 21))).tolist()), "cubic"
)
PATHS = {
    "rest-to-rest": RestToRest(0.0, 4.0, 0.1037, 1.613),
    "three-phase": ThreePhase(-1.0, 3.0, 0.2, 1.8, 0.3),
    "spline": SINE,
    "lines": dataclasses.replace(SINE, interpolation="linear"),
    "stairs": Sequence((0.0, 0.5, 0.9, 1.3), (1.0, -2.0, 3.0, 0.5), "hold"),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("output_step", [0.1, 0.5])
def test_rk4_keeps_order_four_whatever_the_output_step(path, output_step):
    """Kinks and jumps are at multiples of 0.1 s here, so that steps end there; all but rest-to-rest have them."""
    times, errors = np.arange(0.0, 2.0 + output_step / 2, output_step), []
    wanted = spring_solution(PATHS[path].polynomials(), times)
    for step in (0.05, 0.025):
        history = simulate(pushed_spring(), 2.0, inputs={"push": PATHS[path]}, step=step, output_step=output_step, **FAST)
        errors.append(np.abs(history["rail.displacement"] - wanted).max())
        np.testing.assert_allclose(history["push"], PATHS[path].polynomials().value(history.time), rtol=0, atol=1e-12)
    assert errors[0] < 1e-5
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.25)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("integrator", ["dop853", "radau", "lsoda", "bdf"])
def test_solvers_follow_inputs_to_their_tolerance(path, integrator, plugins):
    tight = f"{integrator}:rtol=1e-9,atol=1e-11"
    history = simulate(pushed_spring(), 2.0, inputs={"push": PATHS[path]}, integrator=tight, output_step=0.4, **FAST)
    wanted = spring_solution(PATHS[path].polynomials(), history.time)
    # Local errors of 1e-9 add up; multistep methods begin anew where a slope jumps, and see third derivatives jump.
    np.testing.assert_allclose(history["rail.displacement"], wanted, rtol=0, atol=3e-7 if integrator == "bdf" else 2e-8)


def test_solvers_end_their_steps_at_jumps_and_kinks_and_nowhere_else():
    def stops(path, output_step=0.4):
        ready = prepare(pushed_spring(), 2.0, inputs={"push": path}, integrator="dop853", output_step=output_step, **FAST)
        return [segment.begin for segment in ready.rows.segments(ready.grid)]

    assert {0.0, 0.5, 0.9, 1.3} <= set(stops(PATHS["stairs"]))
    assert stops(PATHS["spline"]) == [0.0]
    assert stops(PATHS["rest-to-rest"]) == [0.0]
    np.testing.assert_allclose(stops(Sequence((0.0, 0.7, 1.1), (0.0, 1.0, 0.0), "linear")), [0.0, 0.7, 1.1])


@pytest.mark.parametrize(
    "integrator",
    [
        *(
            "rk4",
            "euler-symplectic",
            "backward-euler",
            "midpoint",
            "energy-momentum",
            "variational",
            "variational:rule=midpoint",
        ),
        *("generalized-alpha", "bdf2", "radau2", "lie-rk4", "lie-midpoint"),
    ],
)
def test_every_step_map_keeps_its_order(integrator, plugins):
    """With a force that lags behind the input, so that states follow it, too; against a solver with tight tolerances."""
    lag = ForceElement(
        "joint-actuator",
        name="lag",
        coordinate="rail.displacement",
        stiffness=0.0,
        damping=0.4,
        effort="push",
        time_constant=0.3,
    )
    machine, order = pushed_spring(lag), plugins.integrators.get(integrator.partition(":")[0]).order
    tight = simulate(machine, 2.0, inputs={"push": PATHS["spline"]}, integrator="dop853:rtol=1e-12", output_step=0.5, **FAST)
    names, errors = ("rail.displacement", "rail.displacement.rate", "lag.effort"), []
    steps = (0.05, 0.025) if order > 2 else (0.0125, 0.00625)
    for step in steps:
        history = simulate(machine, 2.0, inputs={"push": PATHS["spline"]}, integrator=integrator, step=step, output_step=0.5)
        errors.append(np.abs(history.select(names) - tight.select(names)).max(axis=0))
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), order, rtol=0, atol=0.35)


@pytest.mark.parametrize("integrator", ["rk4", "bdf2", "generalized-alpha", "energy-momentum", "dop853"])
def test_what_is_held_gives_the_same_bits_as_a_table_of_values(integrator):
    """A staircase that jumps at output times is a row for each of them, as it always was."""
    stairs = Sequence(tuple((0.1 * np.arange(11)).tolist()), tuple(np.sin(np.arange(11.0)).tolist()), "hold")
    how = {"integrator": integrator, "output_step": 0.1, **({} if integrator == "dop853" else {"step": 0.01})}
    by_path = simulate(pushed_spring(), 1.0, inputs={"push": stairs}, **how)
    by_table = simulate(pushed_spring(), 1.0, inputs={"push": np.sin(np.arange(11.0))}, **how)
    np.testing.assert_array_equal(by_path.values[:, : by_table.values.shape[1]], by_table.values)


def test_numbers_change_without_compiling_again_and_both_backends_agree():
    kernels, runs = [], []
    for end in (4.0, 7.0):
        path = dataclasses.replace(PATHS["rest-to-rest"], end=end)
        ready = prepare(pushed_spring(), 2.0, inputs={"push": path}, step=0.01)
        kernels.append(ready.kernel.key)
        runs.append(ready.run())
    assert kernels[0] == kernels[1]
    by_interpreter = simulate(pushed_spring(), 2.0, inputs={"push": path}, step=0.01, **FAST)
    np.testing.assert_allclose(runs[1].values, by_interpreter.values, rtol=0, atol=1e-13)


def test_rows_are_as_long_as_breaks_allow():
    """Where breaks are denser than samples, rows become shorter: one piece each, instead of many in a row."""
    times = np.linspace(0.0, 1.0, 201)
    dense = Sampled(tuple(times.tolist()), tuple(np.sin(times).tolist()), "cubic")
    ready = prepare(pushed_spring(), 1.0, inputs={"push": dense}, step=0.001, output_step=0.05, **FAST)
    assert (ready.rows.per_sample, ready.rows.layout.forms["push"].pieces) == (10, 1)
    loose = dataclasses.replace(dense, times=tuple((times + 0.0003).tolist()))
    ready = prepare(pushed_spring(), 1.0, inputs={"push": loose}, step=0.001, output_step=0.05, **FAST)
    assert (ready.rows.per_sample, ready.rows.layout.forms["push"].pieces) == (10, 2)
    assert ready.rows.values.shape == (201, 1 + 1 + 3 + 5)


def test_two_inputs_with_breaks_of_their_own():
    machine = dataclasses.replace(
        pushed_spring(ForceElement("joint-effort", name="pull", coordinate="rail.displacement", effort="-pull")),
        inputs=(Input("push", "N"), Input("pull", "N")),
    )
    both = simulate(
        machine, 2.0, inputs={"push": PATHS["rest-to-rest"], "pull": PATHS["stairs"]}, step=0.01, output_step=0.5, **FAST
    )
    one, other, none = (
        spring_solution(path.polynomials(), both.time) for path in (PATHS["rest-to-rest"], PATHS["stairs"], Constant(0.0))
    )
    np.testing.assert_allclose(both["rail.displacement"], one - other + none, rtol=0, atol=1e-8)


def test_formulas_of_parameters_and_of_the_time(plugins):
    """F = a sin(w t) far from resonance, in closed form; a path whose end is a parameter is that path."""
    machine = pushed_spring(parameters=(Parameter("a", 2.0, "N"), Parameter("w", 3.0, "rad/s")))
    for integrator, how in (("rk4", {"step": 0.01}), ("dop853", {})):
        history = simulate(
            machine, 2.0, inputs={"push": Constant("a * sin(w * t)")}, integrator=integrator, output_step=0.5, **how, **FAST
        )
        t, gain = history.time, 2.0 / (STIFFNESS - MASS * 9.0)
        wanted = 0.1 * np.cos(2 * t) + gain * (np.sin(3 * t) - 1.5 * np.sin(2 * t))
        np.testing.assert_allclose(history["rail.displacement"], wanted, rtol=0, atol=1e-7 if how else 1e-9)
        np.testing.assert_allclose(history["push"], 2.0 * np.sin(3 * t), rtol=0, atol=1e-14)
    named = simulate(machine, 1.0, inputs={"push": RestToRest(0.0, "2 * a", 0.0, 1.0)}, settings={"a": 5.0}, **FAST)
    plain = simulate(machine, 1.0, inputs={"push": RestToRest(0.0, 10.0, 0.0, 1.0)}, **FAST)
    np.testing.assert_array_equal(named.values, plain.values)
    with pytest.raises(MechanismError, match=r"input 'push': its constant trajectory uses 'b', which is no parameter"):
        simulate(machine, 1.0, inputs={"push": Constant("2 * b")}, **FAST)


def test_a_set_point_that_is_an_input_has_the_rate_of_the_input():
    """Before, nobody knew how fast an input changes; of one that moves the actuator does: a ramp is followed without lag."""
    drive = ForceElement("joint-actuator", coordinate="rail.displacement", stiffness=900.0, damping=60.0, target="aim")
    machine = Mechanism(
        "follower",
        bodies=(Body("mass", mass=1.0),),
        joints=(Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0), start_rate=0.5),),
        forces=(drive,),
        inputs=(Input("aim", "m"),),
    )
    ramp = Sequence((0.0, 2.0), (0.0, 1.0), "linear")
    history = simulate(machine, 1.5, inputs={"aim": ramp}, output_step=0.5, **FAST)
    np.testing.assert_allclose(history["rail.displacement"], 0.5 * history.time, rtol=0, atol=1e-12)


def test_a_history_drives_the_run_that_follows_as_its_own_inputs_did(plugins, tmp_path):
    machine = pushed_spring()
    first = simulate(machine, 2.0, inputs={"push": PATHS["rest-to-rest"]}, step=0.005, output_step=0.01, **FAST)
    assert first.unit("push") == "N"
    again = simulate(machine, 2.0, inputs=first, step=0.005, output_step=0.05, **FAST)
    lines = simulate(machine, 2.0, inputs=Moving(first, "linear"), step=0.005, output_step=0.05, **FAST)
    mine = first["rail.displacement"][::5]
    # Splines are good to the fourth, lines to the second power of the distance of samples.
    np.testing.assert_allclose(again["rail.displacement"], mine, rtol=0, atol=3e-8)
    assert 1e-7 < np.abs(lines["rail.displacement"] - mine).max() < 2e-4
    by_name = simulate(machine, 2.0, inputs={"push": first}, step=0.005, output_step=0.05, **FAST)
    np.testing.assert_array_equal(by_name.values, again.values)
    assert again.provenance["inputs"]["push"]["moves"] == {
        "history": "", "column": "push", "interpolation": "cubic", "samples": 201
    }  # fmt: skip


def test_channels_are_brought_to_the_unit_of_the_input():
    times = np.linspace(0.0, 1.0, 11)
    kilo = History(times, (Channel("push", "kN"), Channel("way", "m")), np.column_stack([times / 1000, times]))
    history = simulate(pushed_mass(), 1.0, inputs={"push": kilo}, **FAST)
    np.testing.assert_allclose(history["push"], history.time, rtol=0, atol=1e-14)
    with pytest.raises(MechanismError, match="input 'push': channel 'way' is in m, which cannot become N"):
        simulate(pushed_mass(), 1.0, inputs={"push": Moving(kilo, column="way")}, **FAST)
    with pytest.raises(MechanismError, match="the history has no channel that is called like an input of 'pushed-mass': push"):
        simulate(pushed_mass(), 1.0, inputs=History(times, (Channel("pull", "N"),), times[:, None]), **FAST)


def test_a_function_or_table_can_move_through_its_samples():
    wave = simulate(pushed_spring(), 2.0, inputs={"push": Moving(lambda t: 3 * np.sin(np.pi * t))}, output_step=0.1, **FAST)
    spline = simulate(pushed_spring(), 2.0, inputs={"push": SINE}, output_step=0.1, **FAST)
    np.testing.assert_allclose(wave["rail.displacement"], spline["rail.displacement"], rtol=0, atol=1e-12)


def test_files_tables_and_run_folders(tmp_path, plugins):
    from kingpost import write_run

    times = np.linspace(0.0, 1.0, 11)
    table = tmp_path / "measured.csv"
    table.write_text("time,push,other\n" + "".join(f"{t!r},{2 * t!r},{-t!r}\n" for t in times.tolist()))
    history = simulate(pushed_mass(), 1.0, inputs=table, **FAST)
    np.testing.assert_allclose(history["push"], 2 * history.time, rtol=0, atol=1e-14)
    assert history.provenance["inputs"]["push"]["moves"]["interpolation"] == "linear"
    other = simulate(pushed_mass(), 1.0, inputs={"push": {"file": str(table), "column": "other"}}, **FAST)
    np.testing.assert_allclose(other["push"], -other.time, rtol=0, atol=1e-14)
    write_run(history, tmp_path / "run")
    back = simulate(pushed_mass(), 1.0, inputs=str(tmp_path / "run"), **FAST)
    np.testing.assert_allclose(back["rail.displacement"], history["rail.displacement"], rtol=0, atol=1e-12)
    table.write_text("time,pusch\n0,1\n1,2\n")
    with pytest.raises(MechanismError, match="has no channel that is called like an input"):
        simulate(pushed_mass(), 1.0, inputs=table, **FAST)


def test_what_samples_do_not_cover_and_jumps_inside_steps_are_told():
    short = Sampled((0.2, 0.5), (1.0, 2.0))
    history = simulate(pushed_mass(), 1.0, inputs={"push": short}, **FAST)
    (note,) = history.provenance["warnings"]
    assert "input 'push' has samples from 0.2 s to 0.5 s, and the run goes from 0 s to 1 s" in note
    assert "the first before and the last after" in note
    assert history.provenance["diverges"] is False
    jump = Sequence((0.0, 0.1234567), (0.0, 1.0), "hold")
    history = simulate(pushed_mass(), 1.0, inputs={"push": jump}, step=0.001, **FAST)
    assert "input 'push' jumps at t = 0.1234567 s, inside a step of 0.001 s" in history.provenance["warnings"][0]
    assert not simulate(pushed_mass(), 1.0, inputs={"push": jump}, integrator="dop853", **FAST).provenance["warnings"]


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_the_work_of_an_input_that_moves(integrator):
    """Energy and work agree to the fourth power of the distance of samples; also where the input is in a potential."""
    soft = pushed_spring(ForceElement("joint-spring", name="bias", coordinate="rail.displacement", stiffness=2.0, rest="push"))
    errors = []
    for output_step in (0.05, 0.025):
        how = {} if integrator == "dop853" else {"step": 0.0025}
        history = simulate(
            soft,
            2.0,
            inputs={"push": PATHS["rest-to-rest"]},
            integrator=integrator,
            output_step=output_step,
            monitors=True,
            **how,
        )
        errors.append(np.abs(history["energy.error"]).max())
    assert errors[0] < 2e-4
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)


def test_halving_steps_and_the_check_of_the_step_see_the_same_input():
    path = {"push": PATHS["rest-to-rest"]}
    checked = simulate(pushed_spring(), 2.0, inputs=path, step=0.01, loads="all", check_step=0.01)
    assert checked.provenance["step_check"]["changed"] == {}
    assert checked.provenance["step_check"]["largest_change"]["part"] < 1e-6
    halved = simulate(
        pushed_spring(), 2.0, inputs=path, integrator="midpoint:iterations=1,halvings=3", step=0.01, output_step=0.5
    )
    wanted = spring_solution(PATHS["rest-to-rest"].polynomials(), halved.time)
    np.testing.assert_allclose(halved["rail.displacement"], wanted, rtol=0, atol=2e-4)


def test_a_batch_takes_paths_with_the_numbers_of_each_scenario():
    machine = pushed_spring(parameters=(Parameter("a", 2.0, "N"), Parameter("begin", 0.1, "s")))
    path = {"push": RestToRest(0.0, "a", "begin", 1.5)}
    scenarios = [{"a": 1.0}, {"a": 3.0, "begin": 0.2037}, {"begin": 0.5}]
    batch = simulate_batch(machine, 2.0, scenarios, inputs=path, step=0.01, output_step=0.1)
    for k, scenario in enumerate(scenarios):
        single = simulate(machine, 2.0, inputs=path, settings=scenario, step=0.01, output_step=0.1)
        np.testing.assert_allclose(batch[k]["rail.displacement"], single["rail.displacement"], rtol=0, atol=1e-13)
    with pytest.raises(SolverError, match="a batch needs a fixed-step integrator"):
        simulate_batch(machine, 2.0, scenarios, inputs=path, integrator="dop853")


def test_inputs_that_cannot_be_are_refused_by_name():
    for bad, words in (
        (Moving(np.zeros(3)), "input 'push': it has 3 values, but the run has 101 output times"),
        ({"kind": "rest-to-rst"}, "input 'push': there is no trajectory of kind 'rest-to-rst'; did you mean"),
        ({"column": "a"}, "input 'push': the trajectory lacks 'kind'"),
        (RestToRest(0.0, 1.0, "begin", 1.0), "input 'push': its rest-to-rest trajectory uses 'begin'"),
        (History(np.zeros(2), (Channel("push", "N"),), np.zeros((2, 1))), "input 'push': times must rise"),
        (History(np.arange(2.0), (Channel("push", "N"),), np.full((2, 1), np.nan)), "channel 'push' is nan at t = 0 s"),
    ):
        with pytest.raises(MechanismError) as error:
            simulate(pushed_mass(), 1.0, inputs={"push": bad}, **FAST)
        assert words in str(error.value)
    with pytest.raises(MechanismError, match="interpolation 'quadratic' is not one of hold, linear, cubic"):
        Moving("file.csv", "quadratic")
