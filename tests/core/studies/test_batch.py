"""Many runs at once."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import KingpostError, MechanismError, Parameter, SolverError, prepare_batch, simulate, simulate_batch
from kingpost.testing.problems import oscillator, pushed_mass
from tests.core.simulation.test_small_angles import rolling_hull


@pytest.fixture
def crane(plugins):
    return plugins.models.get("vessel-crane")().build()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("backend", ["c", "vm"])
def test_every_scenario_is_what_a_single_run_gives(crane, plugins, threads, backend):
    scenarios = [{"m4": 20.0 + 5 * k, "hull.pitch": 0.001 * k, "slew_torque": 10.0 * k} for k in range(4)]
    options = {"output_step": 0.05, "backend": backend, "plugins": plugins}
    batch = simulate_batch(crane, 0.2, scenarios, threads=threads, **options)
    assert len(batch) == 4
    for k, scenario in enumerate(scenarios):
        single = simulate(crane, 0.2, settings=scenario, **options)
        assert np.array_equal(batch[k].values, single.values)
        assert np.array_equal(batch.channel("hull.pitch")[k], single["hull.pitch"])


@pytest.mark.parametrize("threads", [1, 2])
def test_several_runs_at_once_have_the_bits_of_single_runs(crane, plugins, threads):
    scenarios = [{"m4": 20.0 + 5 * k, "hull.pitch": 0.001 * k, "slew_torque": 10.0 * k} for k in range(11)]
    scenarios[3] = {"m1": 1e-3, "m2": 1e6, "luff.angle.rate": 1e200}  # stops in the first step
    options = {"output_step": 0.05, "loads": "all", "plugins": plugins}
    alone = prepare_batch(crane, 0.2, scenarios, side_by_side=False, **options)
    together = prepare_batch(crane, 0.2, scenarios, side_by_side=True, **options)
    assert (alone.lanes, alone.note) == (None, "one after the other")
    assert together.note == f"{together.lanes.count} at once"
    shares = []
    found = together.run(threads, shares.append)
    wanted = alone.run(threads)
    assert shares[-1] == 1.0
    assert found.failures == wanted.failures
    assert list(found.failures) == [3]
    assert np.array_equal(found.values, wanted.values, equal_nan=True)


def test_several_runs_at_once_are_compiled_where_that_is_worth_it(crane, plugins):
    few = prepare_batch(crane, 0.2, [{}, {"m4": 3.0}], plugins=plugins)
    assert few.note == "one after the other: 400 steps in all are too few to compile for"
    many = prepare_batch(crane, 500.0, [{}, {"m4": 3.0}], plugins=plugins)
    assert many.lanes is not None
    implicit = prepare_batch(crane, 500.0, [{}, {"m4": 3.0}], integrator="midpoint", plugins=plugins)
    assert implicit.note.startswith("one after the other: a step has a solver inside")
    with pytest.raises(SolverError, match="'vessel-crane' cannot be run several times at once: interpreter, as asked"):
        prepare_batch(crane, 0.2, [{}, {}], side_by_side=True, backend="vm", plugins=plugins)


def test_a_run_that_fails_does_not_take_the_others_along(plugins):
    double_pendulum = plugins.models.get("double-pendulum")().build()
    batch = simulate_batch(
        double_pendulum, 20.0, [{"gravity": 0.0}, {"gravity": 9.81}], step=0.5, output_step=0.5, plugins=plugins
    )
    assert list(batch.failures) == [1]
    assert np.isfinite(batch[0].values).all()
    assert np.isnan(batch.values[1, -1]).all()
    with pytest.raises(SolverError, match=r"scenario 1 \{'gravity': 9.81\} stopped at t = 1.5 s"):
        batch[1]


def test_wrong_scenarios_are_named(plugins):
    for scenarios, kind, message in [
        ([], KingpostError, "a batch needs at least one scenario"),
        ([{}, {"mas": 1.0}], MechanismError, "scenario 1: .* has nothing called 'mas'"),
        ([{}, {"push": float("nan")}], MechanismError, "scenario 1: 'push' was set to nan"),
    ]:
        with pytest.raises(kind, match=message):
            prepare_batch(pushed_mass(), 1.0, scenarios, plugins=plugins)
    with pytest.raises(SolverError, match="a batch needs a fixed-step integrator such as rk4; 'lsoda' is a solver"):
        prepare_batch(oscillator(), 1.0, [{}], integrator="lsoda", plugins=plugins)
    with pytest.raises(KingpostError, match="no channel 'rail.displacment'; did you mean"):
        simulate_batch(oscillator(), 1.0, [{}], plugins=plugins).channel("rail.displacment")


# --- closed loops


def four_bar(plugins, kind):
    """Return the four-bar with a pin of some kind, whose place beside the plane is a parameter."""
    machine = plugins.models.get("four-bar")().build()
    (pin,) = machine.closures
    offset = Parameter("offset", 0.0, "m")
    moved = replace(pin, kind=kind, position=(pin.position[0], offset, 0))
    return replace(machine, closures=(moved,), parameters=(*machine.parameters, offset))


@pytest.mark.parametrize("kind", ["point-on-line", "revolute"])
def test_scenarios_of_closed_loops_are_what_single_runs_give(plugins, kind):
    """With start values that the lengths do not fit, projection, and (by a revolute pin) redundant rows."""
    machine = four_bar(plugins, kind)
    scenarios = [{}, {"rocker_length": 2.505, "crank-pivot.angle.rate": 1.0}, {"coupler_mass": 9.0}]
    options = {"backend": "vm", "step": 0.01, "plugins": plugins}
    batch = simulate_batch(machine, 0.1, scenarios, **options)
    for k, scenario in enumerate(scenarios):
        assert np.array_equal(batch[k].values, simulate(machine, 0.1, settings=scenario, **options).values)
    assert np.ptp(batch.channel("rocker-pivot.angle")[:, 0]) > 1e-4  # the second one was closed


def test_every_scenario_starts_in_its_own_equilibrium(plugins):
    scenarios = [{"coupler_mass": 3.0}, {"coupler_mass": 30.0}]
    options = {"backend": "vm", "step": 0.01, "plugins": plugins, "start": "equilibrium"}
    batch = simulate_batch(four_bar(plugins, "point-on-line"), 0.1, scenarios, **options)
    angles = batch.channel("crank-pivot.angle")
    assert np.ptp(angles, axis=1).max() < 1e-12
    assert abs(angles[0, 0] - angles[1, 0]) > 0.01


def test_a_scenario_in_which_left_out_rows_contradict_the_others_is_named(plugins):
    """The rows of a revolute pin that hold the plane loop in its plane are left out: but 0.1 m beside it they are not met."""
    with pytest.raises(MechanismError, match="scenario 1: closure 'rocker-pin' cannot be closed .* by 0.1 after"):
        prepare_batch(four_bar(plugins, "revolute"), 0.1, [{}, {"offset": 0.1}], backend="vm", step=0.01, plugins=plugins)
    with pytest.raises(MechanismError, match="scenario 1: closure 'rocker-pin' cannot be closed"):
        prepare_batch(four_bar(plugins, "point-on-line"), 0.1, [{}, {"rocker_length": 9.0}], backend="vm", plugins=plugins)


def test_scenarios_in_which_a_hull_leaves_linear_theory_say_so(plugins):
    hull = rolling_hull(0.0)
    found = simulate_batch(hull, 0.5, [{"roll.angle": 0.1}, {"roll.angle": 0.5}], step=0.02, backend="vm", plugins=plugins)
    assert "outside_linear_theory" not in found[0].provenance
    assert found[1].provenance["outside_linear_theory"]["hull"]["largest_tilt_deg"] == pytest.approx(28.6, abs=0.1)
    assert "outside linear theory" in found[1].provenance["warnings"][0]
