"""The search for an optimum: from a start, in joint coordinates first, through easier problems where somebody says so."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from kingpost.control.optimal.checks import check_end
from kingpost.control.optimal.continuation import Excess, Stage, excess_of, problem_at, stages
from kingpost.control.optimal.optimum import Attempt, Optimum
from kingpost.control.optimal.problem import DEFAULT_INTEGRATOR, OptimalProblem, seen_otherwise
from kingpost.control.optimal.solving import FEASIBLE, SolverOptions, Watch, solve
from kingpost.control.optimal.starts import StartPath, guessed, lifted, path_from
from kingpost.control.optimal.transcribing import input_sizes, transcribe
from kingpost.control.optimal.transcription import Grid, Transcription
from kingpost.registry.selection import select
from kingpost.results.history import History

DEFAULT_TRANSCRIPTION = "step"
#: The name of a guess, the motion of a solution, or a history of the machine: a servo solution, a run, an optimum.
Start: TypeAlias = str | StartPath | History
#: Ends of a search after which no other is begun.
ENDED = ("interrupted", "time limit")


@dataclass(eq=False)
class Search:
    """A search that is going on: what was tried, and since when."""

    problem: OptimalProblem
    transcription: Transcription
    grid: Grid
    options: SolverOptions
    watch: Watch
    attempts: list[Attempt] = field(default_factory=list)
    #: What is to be told about the problem.
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def tried(self, start: Start, lists: Mapping[str, tuple[float, ...]], patient: bool = True) -> Optimum | None:
        """Return what is found from a start through the values of a continuation.

        Without patience a continuation ends at the first of its problems that has no solution; None where that is its first.
        """
        problem = self.problem
        way = stages(problem, self.grid, lists)
        path = self._path(start, way[0].intervals)
        if problem.equations.joint_coordinates or isinstance(start, StartPath):
            return self._through(problem, self.transcription, way, path, patient)
        # Joint coordinates first: in redundant ones the search mostly fails from a guess (document 001, p. 80).
        first = seen_otherwise(problem, replace(problem.posed.how, formulation="kane", integrator=DEFAULT_INTEGRATOR))
        plain = select(problem.posed.plugins.of("optimal_control"), DEFAULT_TRANSCRIPTION)
        easy = self._through(first, plain, way, path, patient)
        if easy is None or easy.solution.violation > FEASIBLE or easy.status in ENDED:
            return easy
        path = replace(easy.path, name=f"{path.name}, lifted from joint coordinates")
        return self._solved(problem, self.transcription, way[-1], path)

    def _path(self, start: Start, intervals: int) -> StartPath:
        if isinstance(start, StartPath):
            return start
        if isinstance(start, History):
            return path_from(self.problem, start, intervals)
        return guessed(self.problem, intervals, start)

    def _through(
        self,
        problem: OptimalProblem,
        transcription: Transcription,
        way: tuple[Stage, ...],
        path: StartPath,
        patient: bool,
    ) -> Optimum | None:
        """Return what is found at the end of a continuation; solutions of its stages that keep all constraints are starts."""
        excess: Excess | None = None
        name, ended = path.name, ""
        for stage in way[:-1]:
            here = problem_at(problem, stage, excess)
            found = self._solved(here, transcription, stage, replace(path, name=name))
            if stage.share == 1.0:
                excess = excess_of(found, problem.task)
            if found.solution.violation <= FEASIBLE:
                path = found.path
            elif not patient and found.status not in ENDED:
                if stage is way[0]:
                    return None
                break
            if found.status in ENDED:
                # One iteration tells whether the motion of an easier problem does for the task, too.
                ended = found.status
                break
        found = self._solved(problem, transcription, way[-1], replace(path, name=name), ended)
        return replace(found, solution=replace(found.solution, status=ended)) if ended else found

    def _solved(
        self, problem: OptimalProblem, transcription: Transcription, stage: Stage, path: StartPath, ended: str = ""
    ) -> Optimum:
        grid = replace(self.grid, intervals=stage.intervals)
        rule = transcription.rule(problem, grid)
        program = transcribe(problem, rule, grid)
        program = replace(program, cost_scale=_cost_scale(problem, input_sizes(problem)))
        w = np.clip(lifted(problem, rule, program.layout, path), program.low, program.high)
        if problem.equations.formulation not in {attempt.formulation for attempt in self.attempts}:
            note = check_end(problem, program, w)
            self.notes += [note] if note else []
        options = self.options
        if options.time_limit is not None:
            options = replace(options, time_limit=max(0.0, options.time_limit - (time.perf_counter() - self.began)))
        if ended:
            options = replace(options, time_limit=0.0)
        solution = solve(program, w, options, self.watch)
        self.attempts.append(
            Attempt(
                path.name,
                problem.equations.formulation,
                stage.intervals,
                solution.status,
                solution.cost,
                solution.violation,
                solution.iterations,
                round(solution.seconds, 6),
                stage.name,
            )
        )
        return Optimum(problem, transcription, rule, program, solution)


def _cost_scale(problem: OptimalProblem, sizes: np.ndarray) -> float:
    """Return about how large the cost is: that of the sizes of the inputs all the time, or the horizon."""
    terms = {term.name for _, term in problem.terms}
    horizon = problem.task.horizon.high
    if terms <= {"time"}:
        return float(horizon)
    weight = next((weight for weight, term in problem.terms if term.name == "effort"), 0.0)
    scale = weight * horizon * float(np.sum(sizes**2)) / 2
    return scale if scale > 0 else 1.0


def better(found: Optimum, best: Optimum) -> bool:
    """Say whether a motion is better than another: keeps all constraints, is an optimum, costs less."""

    def rank(item: Optimum) -> tuple[bool, bool, float]:
        feasible = item.solution.violation <= FEASIBLE
        return not feasible, not item.solution.optimal, item.cost if feasible else item.solution.violation

    return rank(found) < rank(best)
