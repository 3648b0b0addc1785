"""Many runs at once."""

import numpy as np
import pytest

from kingpost import KingpostError, MechanismError, SolverError, prepare_batch, simulate, simulate_batch
from kingpost.testing.problems import oscillator, pushed_mass


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
