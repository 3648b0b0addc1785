"""Optimal control from a machine and a task to an optimum: starts, joint coordinates first, and then what was asked for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from kingpost.base.errors import MechanismError, listed
from kingpost.control.optimal.checks import check_end, check_intervals, failure
from kingpost.control.optimal.optimum import Attempt, Optimum
from kingpost.control.optimal.problem import DEFAULT_INTEGRATOR, OptimalProblem, pose_optimal, seen_otherwise
from kingpost.control.optimal.solving import FEASIBLE, SolverOptions, Watch, solve
from kingpost.control.optimal.starts import StartPath, guessed, lifted, path_from
from kingpost.control.optimal.transcribing import input_sizes, transcribe
from kingpost.control.optimal.transcription import Grid, Transcription
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.simulation.settings import RunSettings

DEFAULT_TRANSCRIPTION = "step"
#: The name of a guess, the motion of a solution, or a history of the machine: a servo solution, a run, an optimum.
Start: TypeAlias = str | StartPath | History
#: Starts that are tried one after the other where nobody says and the task's own fails.
FALLBACKS = ("line", "constant", "random:1", "random:2")


@dataclass(frozen=True, eq=False)
class PreparedOptimisation:
    """Optimal control that is ready to go: everything derived, chosen and checked."""

    problem: OptimalProblem
    transcription: Transcription
    grid: Grid
    options: SolverOptions
    #: The starts that are tried; of several the best optimum counts. Without any, the task's own, and others if it fails.
    starts: tuple[Start, ...] = ()

    def run(self, watch: Watch = lambda step: None) -> Optimum:
        """Carry it out; see :func:`optimise`."""
        began = time.perf_counter()
        task = self.problem.task
        attempts: list[Attempt] = []
        several = bool(self.starts)
        starts = self.starts or (task.guess, *(name for name in FALLBACKS if name != task.guess))
        best: Optimum | None = None
        for start in starts:
            try:
                found = self._from(start, watch, attempts, began)
            except KeyboardInterrupt:
                if best is None or best.solution.violation > FEASIBLE:
                    raise
                # What earlier starts gave is kept.
                best = replace(best, solution=replace(best.solution, status="interrupted"))
                break
            if best is None or _better(found, best):
                best = found
            ended = found.status in ("interrupted", "time limit")
            if ended or (not several and found.solution.optimal):
                break
        assert best is not None
        best = replace(best, attempts=tuple(attempts))
        if best.solution.violation > FEASIBLE:
            if best.status == "interrupted":
                raise KeyboardInterrupt(str(failure(best)))
            raise failure(best)
        if best.solution.optimal:
            best = self.transcription.finished(self.problem, self.grid, best)
        return best

    def _from(self, start: Start, watch: Watch, attempts: list[Attempt], began: float) -> Optimum:
        problem = self.problem
        path = self._path(start)
        if not problem.equations.joint_coordinates and not isinstance(start, StartPath):
            # Joint coordinates first: in redundant ones the search mostly fails from a guess (document 001, p. 80).
            first = seen_otherwise(problem, _in_joints(problem))
            easy = self._solved(first, _plain(first), path, watch, attempts, began)
            if easy.solution.violation > FEASIBLE or easy.status in ("interrupted", "time limit"):
                return easy
            path = replace(easy.path, name=f"{path.name}, lifted from joint coordinates")
        return self._solved(problem, self.transcription, path, watch, attempts, began)

    def _path(self, start: Start) -> StartPath:
        if isinstance(start, StartPath):
            return start
        if isinstance(start, History):
            return path_from(self.problem, start, self.grid.intervals)
        return guessed(self.problem, self.grid.intervals, start)

    def _solved(
        self,
        problem: OptimalProblem,
        transcription: Transcription,
        path: StartPath,
        watch: Watch,
        attempts: list[Attempt],
        began: float,
    ) -> Optimum:
        rule = transcription.rule(problem, self.grid)
        program = transcribe(problem, rule, self.grid)
        sizes = input_sizes(problem)
        program = replace(program, cost_scale=_cost_scale(problem, sizes))
        w = np.clip(lifted(problem, rule, program.layout, path), program.low, program.high)
        if problem.equations.formulation not in {attempt.formulation for attempt in attempts}:
            check_end(problem, program, w)
        options = self.options
        if options.time_limit is not None:
            options = replace(options, time_limit=max(0.0, options.time_limit - (time.perf_counter() - began)))
        solution = solve(program, w, options, watch)
        attempts.append(
            Attempt(
                path.name,
                problem.equations.formulation,
                self.grid.intervals,
                solution.status,
                solution.cost,
                solution.violation,
                solution.iterations,
                round(solution.seconds, 6),
                solution.course,
            )
        )
        return Optimum(problem, transcription, rule, program, solution)


def _plain(problem: OptimalProblem) -> Transcription:
    return select(problem.posed.plugins.of("optimal_control"), DEFAULT_TRANSCRIPTION)


def _in_joints(problem: OptimalProblem) -> RunSettings:
    how = problem.posed.how
    return replace(how, formulation="kane", integrator=DEFAULT_INTEGRATOR)


def _cost_scale(problem: OptimalProblem, sizes: np.ndarray) -> float:
    """Return about how large the cost is: that of the sizes of the inputs all the time, or the horizon."""
    terms = {term.name for _, term in problem.terms}
    horizon = problem.task.horizon.high
    if terms <= {"time"}:
        return float(horizon)
    weight = next((weight for weight, term in problem.terms if term.name == "effort"), 0.0)
    scale = weight * horizon * float(np.sum(sizes**2)) / 2
    return scale if scale > 0 else 1.0


def _better(found: Optimum, best: Optimum) -> bool:
    def rank(item: Optimum) -> tuple[bool, bool, float]:
        feasible = item.solution.violation <= FEASIBLE
        return not feasible, not item.solution.optimal, item.cost if feasible else item.solution.violation

    return rank(found) < rank(best)


def prepare_optimisation(
    mechanism: Mechanism,
    task: OptimalTask,
    *,
    transcription: Selection[Transcription] | None = None,
    intervals: int | None = None,
    horizon: float | None = None,
    starts: Sequence[Start] | int | None = None,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    options: SolverOptions | None = None,
    plugins: PluginSet | None = None,
) -> PreparedOptimisation:
    """Derive and check everything that optimal control needs; the arguments are those of :func:`optimise`."""
    plugins = plugins or PluginSet()
    if horizon is not None:
        task = task.lasting(horizon)
    grid = Grid(task.intervals if intervals is None else intervals)
    if grid.intervals < 1:
        raise MechanismError(f"{grid.intervals} intervals: at least one is needed")
    registry = plugins.of("optimal_control")
    way = select(registry, DEFAULT_TRANSCRIPTION if transcription is None else transcription)
    problem = pose_optimal(mechanism, task, how, values=settings, plugins=plugins)
    refusal = way.refusal(problem)
    if refusal:
        raise MechanismError(f"{refusal}. Transcriptions: {listed(cls.name for cls, _ in registry.entries())}")
    check_intervals(problem, grid)
    return PreparedOptimisation(problem, way, grid, options or SolverOptions(), _starts(task, starts))


def _starts(task: OptimalTask, given: Sequence[Start] | int | None) -> tuple[Start, ...]:
    if given is None:
        return ()
    if isinstance(given, int):
        if given < 1:
            raise MechanismError(f"{given} starts: at least one is needed")
        names = dict.fromkeys((task.guess, "line", "constant", *(f"random:{i}" for i in range(1, given + 1))))
        return tuple(names)[:given]
    known = ("constant", "line")
    for name in given:
        if isinstance(name, str) and name not in known and not name.startswith("random"):
            raise MechanismError(f"there is no start '{name}'; take one of {listed(known)}, or random:1, random:2, ...")
    return tuple(given)


def optimise(
    mechanism: Mechanism,
    task: OptimalTask,
    *,
    transcription: Selection[Transcription] | None = None,
    intervals: int | None = None,
    horizon: float | None = None,
    starts: Sequence[Start] | int | None = None,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    options: SolverOptions | None = None,
    plugins: PluginSet | None = None,
    watch: Watch = lambda step: None,
) -> Optimum:
    """Find the inputs that bring a machine to the end of a task within its bounds at the least cost.

    Parameters
    ----------
    mechanism, task
        The machine and what it is to do.
    transcription
        How the motion in an interval enters the program, e.g. ``"step"`` (the default) or ``"collocation:degree=3"``.
    intervals, horizon
        In place of what the task says.
    starts
        From which motions the search begins: names of guesses, motions, histories of the machine, or how many; the best optimum
        counts, and all are listed in ``attempts``. By default the task's own guess, and others only if the search from it
        fails.
    settings
        Parameters, inputs that stay what they are, and start values by name; before those of the task.
    how
        Formulation, integrator, joint loads and backend, as for :func:`kingpost.simulate`; by default ``kane`` with
        ``midpoint``. Other coordinates are solved in joint coordinates first, and lifted.
    options
        Tolerance, iterations, time limit.
    plugins
        The plugins to choose from; by default all built-in and installed ones.
    watch
        Called after every iteration with its number, cost and violation.

    Raises
    ------
    MechanismError
        When the task cannot work, before anything is solved.
    SolverError
        When no motion was found that keeps all constraints; the message says which one is worst, and when.
    KeyboardInterrupt
        When the search is interrupted before any motion keeps all constraints. Later, the best motion is returned.

    """
    prepared = prepare_optimisation(
        mechanism,
        task,
        transcription=transcription,
        intervals=intervals,
        horizon=horizon,
        starts=starts,
        settings=settings,
        how=how,
        options=options,
        plugins=plugins,
    )
    return prepared.run(watch)
