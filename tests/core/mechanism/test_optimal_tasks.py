"""Optimal tasks: limits, costs, and what is refused before a machine is there."""

from dataclasses import replace
from math import inf

import pytest

from kingpost import MechanismError, OptimalTask
from kingpost.mechanism.optimal_tasks import CostPart, Limits, check_optimal_task
from kingpost.modelfiles.opened import open_model

TASK = OptimalTask(("torque",), 3.0, end={"pivot.angle": 1.0})


def test_a_number_is_prescribed_and_two_are_limits():
    task = replace(TASK, bounds={"torque": (-2, 3)}, horizon=[1.0, 2.0])
    assert task.end["pivot.angle"] == Limits(1.0, 1.0)
    assert task.end["pivot.angle"].prescribed
    assert task.bounds["torque"] == Limits(-2.0, 3.0)
    assert task.bounds["torque"].size == 3.0
    assert Limits(-inf, 4.0).size == 4.0
    assert not task.horizon.prescribed
    assert task.lasting(2.5).horizon == Limits(2.5, 2.5)


def test_a_task_as_plain_data():
    task = replace(TASK, bounds={"torque": (-inf, 3)}, costs=({"term": "swing", "weight": 2.0, "channels": ["pivot.angle"]},))
    data = task.data()
    assert data["bounds"] == {"torque": [None, 3.0]}
    assert data["costs"] == [{"term": "swing", "weight": 2.0, "channels": ["pivot.angle"]}]
    assert data["horizon_s"] == 3.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": ()}, "names no input"),
        ({"inputs": ("torque", "torque")}, "names the input torque twice"),
        ({"costs": ()}, "has no cost"),
        ({"intervals": 0}, "intervals = 0; at least one"),
        ({"horizon": 0.0}, "horizon from 0 to 0 s; it must be positive and finite"),
        ({"horizon": (1.0, inf)}, "horizon from 1 to inf s; it must be positive and finite"),
        ({"horizon": (2.0, 1.0)}, "no number is both at least 2 and at most 1"),
        ({"bounds": {"torque": (1.0, 2.0, 3.0)}}, "bounds of 'torque': give a number, or a lower and an upper limit"),
        ({"bounds": {"torque": ("a", 2.0)}}, "'a' is not a number"),
        ({"end": {"pivot.angle": inf}}, "inf is no value that can be reached"),
        ({"bounds": {"pivot.angle": (2.0, 3.0)}}, "'pivot.angle' must end within 1, and its bounds on the way are 2 to 3"),
        ({"free": {"mass": (1.0, inf)}}, "the free parameter 'mass' needs a lower and a larger upper limit"),
        ({"settings": {"mass": inf}}, "settings: mass = inf is not a finite number"),
        ({"costs": (CostPart.from_data("effort"), 3)}, "costs: expected the name of a cost term or a table, got 3"),
        ({"costs": ({"term": "effort", "weight": -1.0},)}, "the weight of cost 'effort' is -1.0"),
        ({"guess": "spiral"}, "guess: expected one of"),
        ({"bounds": 3}, "bounds must be a table, got 3"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(MechanismError, match=message):
        replace(TASK, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": ("tork",)}, "has no input 'tork'.*torque"),
        ({"rates": {"tork": (-1, 1)}}, "has no input 'tork'"),
        ({"free": {"weight": (1, 2)}}, "has no parameter 'weight'.*Parameters: mass, length, gravity"),
        ({"settings": {"weight": 1.0}}, "settings: .*'weight'"),
    ],
)
def test_names_that_a_machine_does_not_have(changes, message, plugins):
    with pytest.raises(MechanismError, match=message):
        check_optimal_task(replace(TASK, **changes), open_model("mathematical-pendulum", plugins).mechanism)


def test_the_rate_of_an_input_that_is_not_found(plugins):
    crane = open_model("overhead-crane", plugins).mechanism
    task = OptimalTask(("trolley_force",), 3.0, rates={"winch_torque": (-1.0, 1.0)})
    with pytest.raises(MechanismError, match="the rate of 'winch_torque' is limited, which is not among the inputs"):
        check_optimal_task(task, crane)
