"""Terms of the cost, against the same sums over a solution in NumPy; and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import MechanismError, PluginError, RunSettings, optimise
from kingpost.mechanism.optimal_tasks import CostPart
from kingpost.modelfiles.opened import open_model

VM = RunSettings(backend="vm")


@pytest.fixture(scope="module")
def solved(plugins):
    pendulum = open_model("mathematical-pendulum", plugins)

    def solve(*costs, **changes):
        task = replace(pendulum.optimal_task("001"), costs=costs, intervals=12, **changes)
        return optimise(pendulum.mechanism, task, how=VM, plugins=plugins)

    return solve


def middles(found):
    return (found.states[1:] + found.states[:-1]) / 2


def effort(found):
    return found.h / 2 * (found.inputs**2).sum()


def test_effort_rate(solved):
    found = solved(CostPart("effort-rate"))
    assert found.cost == pytest.approx((np.diff(found.inputs[:, 0]) ** 2).sum() / (2 * found.h), rel=1e-9)


def test_work(solved):
    """The size of the power, but for what is rounded off: at most 1 W in 3 s."""
    found = solved(CostPart("work"), CostPart("effort"))
    work = found.h * np.abs(found.inputs[:, 0] * middles(found)[:, 1]).sum()
    assert 0.0 <= work + effort(found) - found.cost <= 3.0
    finer = solved(CostPart("work", 1.0, {"power": 1.0}), CostPart("effort"))
    work = finer.h * np.abs(finer.inputs[:, 0] * middles(finer)[:, 1]).sum()
    assert finer.cost == pytest.approx(work + effort(finer), abs=3e-3)


def test_swing(solved):
    found = solved(CostPart("effort"), CostPart("swing", 4.0, {"channels": ["pivot.angle"]}))
    assert found.cost == pytest.approx(effort(found) + 2 * found.h * (middles(found)[:, 0] ** 2).sum(), rel=1e-9)


def test_tracking(solved):
    found = solved(CostPart("effort", 0.1), CostPart("tracking", 5.0, {"path": {"pivot.angle": "pi/2 * t/3"}}))
    desired = np.pi / 2 * (found.times[1:] + found.times[:-1]) / 2 / 3
    away = middles(found)[:, 0] - desired
    assert found.cost == pytest.approx(0.1 * effort(found) + 2.5 * found.h * (away**2).sum(), rel=1e-9)


def test_load(solved):
    plain = solved(CostPart("effort"))
    options = {"channels": ["pivot.Fz"], "scale": 10.0, "power": 4}
    found = solved(CostPart("effort"), CostPart("load", 100.0, options))
    observer = found.problem.observer(("pivot.Fz",))
    x = middles(found)
    seen = [float(observer(t, state, u, found.p)) for t, state, u in zip(found.times, x, found.inputs, strict=False)]
    assert found.cost == pytest.approx(effort(found) + 100 * found.h * ((np.array(seen) / 10) ** 4).sum(), rel=1e-8)
    assert effort(found) > plain.cost


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        (CostPart("time"), MechanismError, "the horizon is prescribed, so that the time cannot become less"),
        (CostPart("work", 1.0, {"power": 0.0}), PluginError, "power = 0.0 W must be positive"),
        (CostPart("swing", 1.0, {"channels": []}), PluginError, "channels: name at least one"),
        (CostPart("tracking", 1.0, {"path": {}}), PluginError, "path: give a trajectory"),
        (CostPart("load", 1.0, {"channels": ["pivot.Fz"], "power": 3}), PluginError, "power = 3: give an even number"),
        (CostPart("load", 1.0, {"channels": ["pivot.Fz"], "scale": 0.0}), PluginError, "scale = 0.0 must be positive"),
        (CostPart("load", 1.0, {"channels": []}), PluginError, "name at least one joint load"),
        (CostPart("effrt"), PluginError, "effrt.*effort"),
    ],
)
def test_what_makes_no_sense_is_refused(solved, part, error, message):
    with pytest.raises(error, match=message):
        solved(part)
