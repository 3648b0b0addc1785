"""Plans of receding-horizon controllers against IPOPT, and what is refused before there is one."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.control.receding import RecedingHorizon, RecedingOptions, receding_horizon
from kingpost.control.receding.controller import receding
from kingpost.mechanism.optimal_tasks import CostPart, OptimalTask, Phase
from kingpost.registry.selection import select
from kingpost.simulation.settings import RunSettings
from tests.core.control.receding.machines import crane


@pytest.fixture(scope="module")
def made(plugins):
    """A controller of the crane with 15 intervals, and what it begins with."""
    machine, task = crane(plugins)
    controller = receding(machine, task, RecedingOptions(sample_time=0.2, step=0.05), plugins=plugins)
    return controller, *controller.beginning()


def test_iterated_it_is_the_optimum_of_ipopt(made):
    """One iteration a sample; without samples in between they lead to the optimum of the whole program."""
    controller, _, plan, theta = made
    rng = np.random.default_rng(1)
    inputs = plan.inputs + 0.01 * rng.standard_normal(plan.inputs.shape)
    states, s0 = plan.states + 0.01 * rng.standard_normal(plan.states.shape), plan.states[:, 0]
    costs = []
    for _ in range(25):
        found = [item.full() for item in controller.iteration.iteration(s0, states, inputs, theta)]
        assert found[4].item() == 1
        states, inputs = found[0], found[1]
        costs.append(found[2].item())
    assert costs[-1] == pytest.approx(plan.cost, rel=1e-9)
    np.testing.assert_allclose(inputs, plan.inputs, atol=1e-6)
    np.testing.assert_allclose(states, plan.states, atol=1e-6)
    # No iteration makes a plan worse, but for rounding.
    assert (np.diff(costs) <= 1e-12).all()


def test_the_target_is_held_by_the_weight_of_the_load(made):
    controller, held, _, _ = made
    np.testing.assert_allclose(held[:6], [5, 0, 1, 0, 0, 0], atol=1e-7)
    np.testing.assert_allclose(held[6:] * controller.horizon.sizes, [0.0, -100 * 9.81 * 0.1], atol=1e-5)


def test_a_sample_on_the_plan_gives_its_inputs(made, plugins):
    controller, _, plan, _ = made
    block = controller.block()
    memory = [state.start for state in block.memory]
    numbers = [parameter.default for parameter in block.parameters]
    _, outputs = block.step(0.0, memory, [signal.default for signal in block.inputs], numbers, 0.2)
    np.testing.assert_allclose(outputs.full().ravel()[:2], plan.inputs[:, 0] * controller.horizon.sizes, atol=1e-3)
    after, spare = block.fallback(0.0, memory, numbers, 0.2)
    # Without a measurement the plan is followed as it is, and one sample older.
    np.testing.assert_allclose(spare.full().ravel()[:2], plan.inputs[:, 0] * controller.horizon.sizes, atol=1e-9)
    assert spare.full().ravel()[5] == 1
    count = controller.horizon.nu
    np.testing.assert_allclose(after.full().ravel()[:count], plan.inputs[:, 1] * controller.horizon.sizes, atol=1e-9)


def test_rates_of_inputs_are_bounded(plugins):
    """Rates and costs of changes make the inputs before a part of the state."""
    machine, task = crane(plugins, rates={"trolley_force": (-800.0, 800.0)}, costs=(CostPart(), CostPart("effort-rate", 1e-2)))
    controller = receding(machine, task, RecedingOptions(sample_time=0.2, step=0.1), plugins=plugins)
    _, plan, theta = controller.beginning()
    assert controller.horizon.ns == 8
    sizes = controller.horizon.sizes
    forces = np.concatenate([[0.0], plan.inputs[0] * sizes[0]])
    assert np.abs(np.diff(forces)).max() <= 800 * 0.2 * (1 + 1e-7)
    found = controller.iteration.iteration(plan.states[:, 0], plan.states, plan.inputs, theta)
    np.testing.assert_allclose(found[1].full(), plan.inputs, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sample_time": 0.07}, "the horizon is 3 s, which is not a multiple of the sample time, 0.07 s"),
        ({"sample_time": 0.1, "step": 0.03}, "the sample time is 0.1 s, which is not a multiple of the step, 0.03 s"),
        ({"sample_time": 0.2, "horizon": 0.2}, "a horizon of 0.2 s is too short: with a sample time of 0.2 s it is 1 interval"),
        ({"sample_time": 0.2, "horizon": 0.4}, "a horizon of 0.4 s is too short: .* 6 values are prescribed at the end, and 2"),
        ({"sizes": {"travel": 1.0}}, "sizes: 'travel' is neither a target nor bounded; there are travel.displacement"),
    ],
)
def test_options_that_do_not_fit_the_task(options, words, plugins):
    machine, task = crane(plugins)
    with pytest.raises(KingpostError, match=words):
        receding(machine, task, RecedingOptions(**options), plugins=plugins)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sample_time": 0.0}, "sample_time = 0: it must be positive and finite"),
        ({"disturbance_gain": 1.5}, r"disturbance_gain = 1.5: it must be from 0 \(disturbances are not looked for\) to 1"),
        ({"arrival": float("nan")}, "arrival = nan s: it must be finite"),
        ({"iterations": 1}, "iterations = 1: give at least 5"),
        ({"sizes": {"x": -1.0}}, "sizes: 'x' has the size -1.0; it must be positive"),
    ],
)
def test_options_that_make_no_sense(options, words):
    with pytest.raises(KingpostError, match=words):
        RecedingOptions(**options)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"end": {}}, "names nothing at its end; a controller needs a target"),
        (
            {"end": {"travel.displacement": (1.0, 5.0)}},
            "'travel.displacement' may end from 1 to 5; a controller needs one value",
        ),
        ({"end": {"travel.displacement.rate": 2.0}}, "'travel.displacement.rate' ends at 2, and .* brings machines to rest"),
        ({"horizon": (1.0, 3.0)}, "its horizon is free, from 1 to 3 s, and a plan needs one; give the controller a 'horizon'"),
        ({"bounds": {"winch_torque": 5.0}}, "bounds of 'winch_torque' leave it no room: both are 5"),
        ({"rates": {"winch_torque": (1.0, 5.0)}}, "the rate of 'winch_torque' is bounded from 1 to 5, so that it can never"),
        ({"free": {"load_mass": (50.0, 150.0)}}, "load_mass is free; a controller finds inputs alone"),
        ({"costs": (CostPart(), CostPart("time"))}, "the cost 'time' asks for a free horizon"),
        ({"bounds": {"winch_torque": (10.0, -10.0)}}, "no number is both at least 10 and at most -10; exchange them"),
        (
            {"costs": (CostPart(), CostPart("fatigue", 1.0, {"stress": {"travel.Fz": 1.0}, "curve": "D-air"}))},
            "the cost 'fatigue' counts ranges over a whole motion, which no sample sees",
        ),
        ({"inputs": ()}, "names no input that is to be found"),
        ({"control": "linear"}, "its inputs are linear over an interval, and a controller holds them from sample to sample"),
        (
            {"phases": (Phase(1.0, end={"reel.length": 3.0}), Phase(2.0)), "horizon": None},
            r"has phases \(1, 2\), and a receding-horizon controller has one target",
        ),
    ],
)
def test_tasks_that_no_controller_can_do(changes, words, plugins):
    with pytest.raises(KingpostError, match=words):
        receding(*crane(plugins, **changes), RecedingOptions(sample_time=0.2), plugins=plugins)


def test_a_target_that_the_bounds_cannot_hold(plugins):
    machine, task = crane(plugins, bounds={"winch_torque": (-50.0, 0.0)})
    with pytest.raises(
        KingpostError, match="to hold the target takes 'winch_torque' = -98.1, outside of its bounds from -50 to 0"
    ):
        receding(machine, task, RecedingOptions(sample_time=0.2), plugins=plugins).beginning()


def test_a_target_that_is_no_rest(plugins):
    machine, task = crane(plugins, end={"swing.angle": 0.3, "travel.displacement": 5.0}, bounds={})
    with pytest.raises(KingpostError, match="the target is no state of rest that the inputs could hold"):
        receding(machine, task, RecedingOptions(sample_time=0.2), plugins=plugins).beginning()


def test_machines_that_no_controller_can_measure(plugins):
    model = select(plugins.models, "overhead-crane:form=dependent")
    options = RecedingOptions(sample_time=0.2)
    with pytest.raises(KingpostError, match="'overhead-crane' is tied by rope .* without closed loops"):
        receding(model.build(), model.optimal_tasks()["001"], options, plugins=plugins)
    machine, task = crane(plugins)
    with pytest.raises(KingpostError, match="integrator 'midpoint' is no explicit step from state to state; .* 'rk4'"):
        receding(machine, task, options, how=RunSettings(integrator="midpoint"), plugins=plugins)


def test_names_that_both_have_are_refused(plugins):
    from kingpost import Parameter

    machine, task = crane(plugins)
    machine = replace(machine, parameters=(*machine.parameters, Parameter("arrival", 1.0, "s")))
    with pytest.raises(KingpostError, match="'overhead-crane' has a parameter 'arrival', and so has the controller"):
        receding(machine, task, RecedingOptions(sample_time=0.2), plugins=plugins).parameters()


def test_the_law_by_name(plugins):
    assert RecedingHorizon.selected("receding-horizon:sample_time=0.1").options.sample_time == 0.1
    assert RecedingHorizon.selected(RecedingHorizon).options == RecedingOptions()
    machine, task = crane(plugins)
    with pytest.raises(
        KingpostError, match="feedback 'pd-output' keeps machines on the path of a servo task; .* 'receding-horizon'"
    ):
        receding_horizon(machine, task, "pd-output", plugins=plugins)
    assert isinstance(task, OptimalTask)
