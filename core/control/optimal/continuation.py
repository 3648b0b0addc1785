"""Continuation: problems that are easier, and lead to a difficult one, each solution the start of the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem, pose_optimal
from kingpost.control.optimal.transcription import Grid
from kingpost.mechanism.optimal_parts import BOUNDS, HORIZON, INTERVALS, Limits, channels_of
from kingpost.mechanism.optimal_tasks import OptimalTask

#: Fewer intervals than this are not made fewer by themselves.
COARSEST = 6
#: Parts of the number of intervals, of the excess over limits, and multiples of the horizon, that are tried where a search
#: fails and nobody says what else to do.
COARSER, LOOSER, LONGER = (0.25, 0.5), (1.0, 0.5, 0.2), (1.5, 1.2)

#: How far each phase of a motion goes beyond its limits, below and above, by table and name.
Excess = tuple[Mapping[tuple[str, str], tuple[float, float]], ...]


@dataclass(frozen=True)
class Stage:
    """One of the problems that lead to another: what is different in it."""

    intervals: int
    horizon: float | None = None
    #: The part of what limits cut off that is let through.
    share: float = 0.0
    values: Mapping[str, float] = field(default_factory=dict)
    #: What it says about itself; empty for the problem itself.
    name: str = ""


def stages(problem: OptimalProblem, grid: Grid, lists: Mapping[str, tuple[float, ...]]) -> tuple[Stage, ...]:
    """Return the problems that lists of values lead through, the problem itself at the end."""
    task = problem.task
    own: dict[str, float] = {INTERVALS: grid.intervals, HORIZON: task.horizon.low, BOUNDS: 0.0}
    parameters = [parameter.name for parameter in problem.posed.mechanism.parameters]
    own |= dict(zip(parameters, problem.p.tolist(), strict=True))
    if HORIZON in lists and not task.horizon.prescribed:
        raise MechanismError(
            f"{task.title}: the horizon is free, so that no continuation can go through values of it", path=("continuation",)
        )
    whole = {name: values if values[-1] == own[name] else (*values, own[name]) for name, values in lists.items()}
    if BOUNDS in whole and whole[BOUNDS][0] != 1.0:
        # What limits cut off is known from the motion without them.
        whole[BOUNDS] = (1.0, *whole[BOUNDS])
    count = max((len(values) for values in whole.values()), default=1)
    found = []
    for i in range(count):
        here = {name: values[min(i, len(values) - 1)] for name, values in whole.items()}
        given = {name: value for name, value in here.items() if name in parameters}
        words = ", ".join(f"{name} = {value:g}" for name, value in here.items()) if i < count - 1 else ""
        found.append(
            Stage(
                intervals=int(here.get(INTERVALS, grid.intervals)),
                horizon=here.get(HORIZON),
                share=here.get(BOUNDS, 0.0),
                values=given,
                name=words,
            )
        )
    return tuple(found)


def problem_at(problem: OptimalProblem, stage: Stage, excess: Excess | None) -> OptimalProblem:
    """Return the problem of a stage; ``excess`` is how far the motion without limits goes beyond them."""
    if not stage.name:
        return problem
    if stage.values:
        posed = problem.posed
        problem = pose_optimal(
            posed.mechanism, problem.task, posed.how, values={**posed.given, **stage.values}, plugins=posed.plugins
        )
    if stage.horizon is not None:
        problem = _with_task(problem, problem.task.stretched(stage.horizon))
    if stage.share:
        beyond = excess or ({},) * len(problem.parts)
        parts = [
            replace(part, task=_loosened(part.task, stage.share, own)) for part, own in zip(problem.parts, beyond, strict=True)
        ]
        problem = replace(problem, phases=tuple(parts)) if problem.phases else parts[0]
    return problem


def _with_task(problem: OptimalProblem, task: OptimalTask) -> OptimalProblem:
    """Return a problem with another horizon: phases take as long, and begin, as its phases say."""
    parts = zip(problem.phases, task.phase_tasks(), strict=True)
    phases = [replace(part, task=own, posed=replace(part.posed, t_start=own.t_start)) for part, own in parts]
    return replace(problem, task=task, phases=tuple(phases))


def _loosened(task: OptimalTask, share: float, excess: Mapping[tuple[str, str], tuple[float, float]]) -> OptimalTask:
    """Return a task with limits that let through a part of what they cut off; without limits where that is everything."""
    if share == 1.0:
        return replace(task, bounds={}, rates={})

    def moved(key: str, name: str, limits: Limits) -> Limits:
        below, above = excess.get((key, name), (0.0, 0.0))
        return Limits(limits.low - share * below, limits.high + share * above)

    bounds = {name: moved("bounds", name, limits) for name, limits in task.bounds.items()}
    return replace(task, bounds=bounds, rates={name: moved("rates", name, limits) for name, limits in task.rates.items()})


def excess_of(optimum: Optimum, problem: OptimalProblem) -> Excess:
    """Return how far a motion goes beyond the limits of a problem, phase by phase."""
    return tuple(_excess(own, part.task) for own, part in zip(optimum.parts, problem.parts, strict=True))


def _excess(optimum: Optimum, task: OptimalTask) -> dict[tuple[str, str], tuple[float, float]]:
    found = {}
    for name, limits in task.bounds.items():
        found["bounds", name] = _beyond(_course(optimum, name), limits)
    for name, limits in task.rates.items():
        found["rates", name] = _beyond(np.diff(_course(optimum, name)) / optimum.h, limits)
    return found


def _course(optimum: Optimum, name: str) -> FloatArray:
    problem = optimum.problem
    if name in problem.task.inputs:
        return np.asarray(optimum.inputs[:, problem.task.inputs.index(name)])
    names = channels_of(name)
    observer = problem.observer(names)
    rows = zip(optimum.times, optimum.states, optimum.input_rows, strict=True)
    seen = np.array([np.asarray(observer(t, x, u, optimum.p)).ravel() for t, x, u in rows])
    return seen[:, 0] if names == (name,) else np.linalg.norm(seen, axis=1)


def _beyond(values: FloatArray, limits: Limits) -> tuple[float, float]:
    return max(0.0, float(limits.low - values.min(initial=np.inf))), max(0.0, float(values.max(initial=-np.inf) - limits.high))


def automatic(problem: OptimalProblem, grid: Grid) -> list[dict[str, tuple[float, ...]]]:
    """Return the continuations that are tried by themselves: coarser grids, looser limits, a longer horizon."""
    task = problem.task
    found: list[dict[str, Any]] = []
    coarser = [round(part * grid.intervals) for part in COARSER]
    if coarser[0] >= COARSEST:
        found.append({INTERVALS: tuple(float(count) for count in coarser)})
    if any(part.task.bounds or part.task.rates for part in problem.parts):
        found.append({BOUNDS: LOOSER})
    if task.horizon.prescribed:
        found.append({HORIZON: tuple(times * task.horizon.low for times in LONGER)})
    return found
