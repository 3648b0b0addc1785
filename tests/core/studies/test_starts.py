"""The starts of many runs: looked at together or one by one, they are the same."""

import numpy as np
import pytest

from kingpost import MechanismError, SolverError, prepare, prepare_batch
from kingpost.equations.equations import Equations
from kingpost.simulation.problem import declared_start
from kingpost.studies.starts import common_starts, tabulated


def crane(plugins):
    return plugins.models.get("vessel-crane")().build()


def common(mechanism, scenarios, plugins, **options):
    """Return what is found for all scenarios together, and a run of the first."""
    run = prepare(mechanism, 1.0, settings=scenarios[0], plugins=plugins, backend="vm", **options)
    table = tabulated(mechanism, scenarios, list(declared_start(run.problem.assembly)))
    return *common_starts(run, table), table, run


def test_scenarios_that_pass_together_are_those_that_pass_alone_with_the_same_bits(plugins):
    rng = np.random.default_rng(3)
    names = ("m1", "m2", "m4", "hull.pitch", "slew.angle", "luff.angle.rate", "slew_torque")
    scenarios = [{name: float(rng.uniform(0.1, 0.9)) for name in names if rng.uniform() < 0.7} for _ in range(20)]
    x, good, table, run = common(crane(plugins), scenarios, plugins)
    assert good.all()
    for k, scenario in enumerate(scenarios):
        alone = run.at(scenario)
        assert np.array_equal(x[k], alone.x0)
        assert np.array_equal(table.parameters[k], alone.p)
        assert np.array_equal(table.inputs[k], alone.rows.values[0])


@pytest.mark.parametrize(
    ("scenario", "kind", "message"),
    [
        ({"m4": -1.0}, MechanismError, "scenario 2: parameter 'm4' is -1 kg, outside its range"),
        ({"m5": 1.0}, MechanismError, "scenario 2: 'vessel-crane' has nothing called 'm5'"),
        ({"hull.pitch": float("nan")}, MechanismError, "scenario 2: 'hull.pitch' was set to nan"),
        ({"slew_torque": float("inf")}, MechanismError, "scenario 2: 'slew_torque' was set to inf"),
        ({"m4": "3"}, MechanismError, "scenario 2: 'm4' was set to '3', which is not a number"),
        ({"hull.pitch": float(np.pi / 2)}, SolverError, "scenario 2: joint 'hull' .* is about to lock"),
    ],
)
def test_what_does_not_pass_is_refused_with_its_number_and_the_words_of_a_single_run(plugins, scenario, kind, message):
    with pytest.raises(kind, match=message):
        prepare_batch(crane(plugins), 1.0, [{}, {"m4": 3.0}, scenario, {}], backend="vm", plugins=plugins)


def test_unusual_numbers_are_looked_at_on_their_own_and_taken(plugins):
    scenarios = [{}, {"m4": 30}, {"m4": np.float64(31.0)}, {"m4": 32.0}]
    assert common(crane(plugins), scenarios, plugins)[1].tolist() == [True, False, False, True]
    batch = prepare_batch(crane(plugins), 1.0, scenarios, backend="vm", plugins=plugins)
    column = [parameter.name for parameter in batch.simulation.mechanism.parameters].index("m4")
    assert batch.p[1:, column].tolist() == [30.0, 31.0, 32.0]


@pytest.mark.parametrize(
    ("model", "varied"),
    [("four-bar", {"gravity": 9.0}), ("double-pendulum", {"length1": 0.4}), ("heavy-top", {"gravity": 9.0})],
)
def test_machines_whose_starts_need_more_are_left_to_that(plugins, model, varied):
    # A loop to be closed; joints that stand elsewhere; a quaternion to be normalised.
    mechanism = plugins.models.get(model)().build()
    assert not common(mechanism, [{}, varied], plugins)[1].any()
    batch = prepare_batch(mechanism, 1.0, [{}, varied], backend="vm", plugins=plugins)
    assert np.array_equal(batch.x0[1], batch.simulation.at(varied).x0)


def test_an_inertia_no_body_has_and_a_mass_matrix_without_mass_do_not_pass(plugins, monkeypatch):
    machine = crane(plugins)
    singular = Equations.masses_at

    def masses(self, x, p):
        found = singular(self, x, p)
        found[1, 2] = found[1, 1]
        found[1, :, 2] = found[1, :, 1]  # two speeds move the same
        found[2, 0, 0] = 0.0
        return found

    monkeypatch.setattr(Equations, "masses_at", masses)
    assert common(machine, [{}, {"m4": 3.0}, {"m4": 4.0}, {}], plugins)[1].tolist() == [True, False, False, True]
