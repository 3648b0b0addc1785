"""Bounds that bite: when they do, for how long, and what they cost."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import RunSettings, optimise
from kingpost.control.optimal.biting import _stretches
from kingpost.mechanism.optimal_tasks import Limits
from kingpost.modelfiles.opened import open_model

VM = RunSettings(backend="vm")


@pytest.fixture(scope="module")
def swung(plugins):
    opened = open_model("mathematical-pendulum", plugins)

    def solve(**changes):
        task = replace(opened.optimal_task("001"), **changes)
        return optimise(opened.mechanism, task, how=VM, plugins=plugins)

    return solve


def test_spans_that_follow_each_other_are_one_stretch():
    assert _stretches([(0, 1), (1, 2), (4, 5)], 0) == [(0, 2), (4, 5)]
    assert _stretches([(1, 1), (2, 2), (4, 4)], 1) == [(1, 2), (4, 4)]


@pytest.mark.parametrize(
    ("what", "name", "limit"),
    [
        ("an input", "torque", 2.65),
        ("a state", "pivot.angle.rate", 2.8),
        ("a joint load, which jumps with the torque", "pivot.Fz", 2.8),
        ("the length of a vector", "norm(pivot.Fx, pivot.Fz)", 20.0),
        ("an input that is linear within intervals", "linear torque", 2.6),
        ("the rate of an input", "torque.rate", 7.0),
        ("a parameter", "mass", 0.5),
        ("the horizon", "horizon", 3.0),
    ],
)
def test_a_multiplier_is_what_the_cost_falls_by_with_a_wider_bound(swung, what, name, limit):
    """Central differences of the optimal cost: their error is of the order of d^2 (1e-6) and of 1e-9 / d by the solver."""

    def solve(shift):
        wide = limit + shift
        if name == "torque.rate":
            return swung(rates={"torque": (-wide, wide)})
        if name == "mass":
            return swung(free={"mass": (limit - shift, 3.0)})
        if name == "linear torque":
            return swung(bounds={"torque": (-wide, wide)}, control="linear")
        if name.startswith("norm"):
            return swung(bounds={name: (-np.inf, wide)})
        if name == "horizon":
            return swung(horizon=Limits(2.8, wide))
        return swung(bounds={name: (-wide, wide)})

    d = 1e-3 * limit
    found = solve(0.0)
    biting = [item for item in found.active if item["name"] == name.removeprefix("linear ")]
    assert biting, what
    fallen = (solve(-d).cost - solve(d).cost) / (2 * d)
    assert fallen > 0
    assert sum(item["multiplier"] for item in biting) == pytest.approx(fallen, rel=1e-4)
    for item in biting:
        lengths = [stretch["until_s"] - stretch["from_s"] for stretch in item["stretches"]]
        assert item["duration_s"] == pytest.approx(sum(lengths))
        assert item["from_s"] == item["stretches"][0]["from_s"]
        assert item["until_s"] == item["stretches"][-1]["until_s"]


def test_stretches_are_where_the_input_is_at_its_limit(swung):
    found = swung(bounds={"torque": (-2.65, 2.65)})
    for item in found.active:
        at = np.isclose(found.inputs[:, 0], item["value"], atol=1e-5)
        assert item["duration_s"] == pytest.approx(at.sum() * found.h)
        middles = found.times[:-1] + found.h / 2
        inside = np.zeros(len(middles), dtype=bool)
        for stretch in item["stretches"]:
            inside |= (middles > stretch["from_s"]) & (middles < stretch["until_s"])
        assert (inside == at).all()
