"""Continuation: through easier problems to the same optimum, by hand and where a search fails."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import MechanismError, RunSettings, SolverOptions, optimise, prepare_optimisation
from kingpost.control.optimal.continuation import automatic, stages
from kingpost.modelfiles.opened import open_model

VM = RunSettings(backend="vm")
LIMIT = 2.5


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.fixture(scope="module")
def task(pendulum):
    return replace(pendulum.optimal_task("001"), bounds={"torque": (-LIMIT, LIMIT)}, intervals=12)


@pytest.fixture(scope="module")
def solved(pendulum, task, plugins):
    def solve(**choices):
        return optimise(pendulum.mechanism, task, how=VM, plugins=plugins, **choices)

    return solve


@pytest.fixture(scope="module")
def direct(solved):
    return solved()


@pytest.mark.parametrize(
    ("lists", "names"),
    [
        ({"intervals": [6]}, ["intervals = 6", ""]),
        ({"mass": [0.8, 0.9]}, ["mass = 0.8", "mass = 0.9", ""]),
        ({"horizon": [4.0, 3.0]}, ["horizon = 4", ""]),
        ({"bounds": [0.5]}, ["bounds = 1", "bounds = 0.5", ""]),
        ({"intervals": [8, 12], "mass": [0.9, 0.95, 1.0]}, ["intervals = 8, mass = 0.9", "intervals = 12, mass = 0.95", ""]),
    ],
)
def test_every_way_leads_to_the_same_optimum(solved, direct, lists, names):
    """The tolerance of the solver is 1e-9 of the cost; the task itself comes last, whether the list ends with it or not."""
    found = solved(continuation=lists)
    assert found.cost == pytest.approx(direct.cost, rel=1e-8)
    assert [attempt.stage for attempt in found.attempts] == names
    assert found.intervals == 12
    assert found.horizon == 3.0


def test_limits_are_tightened_from_what_they_cut_off(solved, direct):
    """Half of the excess of the motion without limits over them is let through in between."""
    found = solved(continuation={"bounds": [1.0, 0.5]})
    free, half, _ = found.attempts
    assert free.cost < half.cost < found.cost
    assert np.abs(found.inputs).max() <= LIMIT


def test_limits_of_loads_that_nothing_else_names_are_tightened_too(pendulum, task, plugins):
    loaded = replace(task, bounds={"norm(pivot.Fx, pivot.Fz)": (-np.inf, 20.0)})
    direct, through = (
        optimise(pendulum.mechanism, loaded, how=VM, plugins=plugins, continuation=lists) for lists in (None, {"bounds": [0.5]})
    )
    free, half, _ = through.attempts
    assert free.cost < half.cost < through.cost
    assert through.cost == pytest.approx(direct.cost, rel=1e-8)


def test_a_task_brings_its_continuation(pendulum, task, plugins, direct):
    own = replace(task, continuation={"intervals": (4.0, 6)})
    found = optimise(pendulum.mechanism, own, how=VM, plugins=plugins)
    assert [attempt.intervals for attempt in found.attempts] == [4, 6, 12]
    assert own.data()["continuation"] == {"intervals": [4.0, 6.0]}


def test_redundant_coordinates_are_lifted_after_the_continuation(pendulum, task, plugins):
    how = replace(VM, formulation="directors:planar=true", integrator="energy-momentum")
    unlimited = replace(task, bounds={})
    found = optimise(pendulum.mechanism, unlimited, how=how, plugins=plugins, continuation={"intervals": [6]})
    assert [(attempt.formulation, attempt.intervals) for attempt in found.attempts] == [
        ("kane", 6),
        ("kane", 12),
        ("directors", 12),
    ]


def test_continuations_are_tried_where_the_plain_search_fails(solved):
    """So few iterations that neither rest nor the line lead to an optimum, and looser limits do."""
    found = solved(intervals=20, options=SolverOptions(iterations=13))
    tried = [(attempt.start, attempt.stage, attempt.status) for attempt in found.attempts]
    assert tried[0] == ("constant", "", "iteration limit")
    assert any(stage for _, stage, _ in tried)
    assert tried[-1][1:] == ("", "optimal")
    assert found.cost == pytest.approx(6.9884656962, rel=1e-8)


def test_what_is_tried_by_itself(pendulum, task, plugins):
    prepared = prepare_optimisation(pendulum.mechanism, task, intervals=40, how=VM, plugins=plugins)
    assert automatic(prepared.problem, prepared.grid) == [
        {"intervals": (10.0, 20.0)},
        {"bounds": (1.0, 0.5, 0.2)},
        {"horizon": (pytest.approx(4.5), pytest.approx(3.6))},
    ]
    names = [stage.name for stage in stages(prepared.problem, prepared.grid, {"bounds": (0.2,)})]
    assert names == ["bounds = 1", "bounds = 0.2", ""]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"friction": [1.0]}, "continuation: 'mathematical-pendulum' has no parameter 'friction'.*intervals, the horizon"),
        ({"intervals": [2.5]}, r"continuation: intervals = .* must be whole and positive"),
        ({"intervals": []}, r"continuation: intervals = .* is no list of numbers"),
        ({"horizon": [-1.0]}, "continuation: horizon = .* must be positive"),
        ({"bounds": [2.0]}, "continuation: bounds = .* are parts of what limits cut off"),
    ],
)
def test_what_makes_no_sense_is_refused(solved, lists, message):
    with pytest.raises(MechanismError, match=message):
        solved(continuation=lists)


def test_what_is_found_is_not_continued_in(pendulum, task, plugins):
    free = replace(task, free={"mass": (0.5, 2.0)}, continuation={"mass": (1.0,)})
    with pytest.raises(MechanismError, match="the parameter 'mass' is found, so that no continuation"):
        prepare_optimisation(pendulum.mechanism, free, how=VM, plugins=plugins)
    free = replace(task, horizon=(2.0, 4.0), continuation={"horizon": (3.0,)})
    with pytest.raises(MechanismError, match="the horizon is free, so that no continuation"):
        prepare_optimisation(pendulum.mechanism, free, how=VM, plugins=plugins)
