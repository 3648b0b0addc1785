"""The search for an optimum: from a start, in joint coordinates first, through easier problems where somebody says so."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.continuation import Excess, Stage, excess_of, problem_at, stages
from kingpost.control.optimal.counted import AGREE, COUNTS, Count, CountedProgram, CountedTerm, counts_of
from kingpost.control.optimal.optimum import Attempt, Optimum
from kingpost.control.optimal.phases import Piece, linked, phased_optimum
from kingpost.control.optimal.problem import DEFAULT_INTEGRATOR, OptimalProblem, seen_otherwise
from kingpost.control.optimal.ranks import check_end
from kingpost.control.optimal.solver import NlpSolver, SolverOptions
from kingpost.control.optimal.solving import FEASIBLE, Solution, Watch, solve
from kingpost.control.optimal.starts import PhasedPath, StartPath, guessed, lifted, path_from
from kingpost.control.optimal.transcribing import input_sizes, rule_of, transcribe
from kingpost.control.optimal.transcription import Grid, Transcription
from kingpost.registry.selection import select
from kingpost.results.history import History

DEFAULT_TRANSCRIPTION = "step"
#: The name of a guess, the motion of a solution, or a history of the machine: a servo solution, a run, an optimum.
Start: TypeAlias = str | StartPath | PhasedPath | History
#: A motion to begin with, one for each phase.
Paths: TypeAlias = tuple[StartPath, ...]
#: Settings of IPOPT for a start near an optimum: inputs stay near their bounds, instead of being pushed off them first.
NEAR = {"mu_init": 1e-4, "bound_push": 1e-4, "bound_frac": 1e-4}
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
    solver: NlpSolver | None = None
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
        if problem.equations.joint_coordinates or isinstance(start, StartPath | PhasedPath):
            return self._through(problem, self.transcription, way, self._paths(start, way[0].intervals, problem), patient)
        # Joint coordinates first: in redundant ones the search mostly fails from a guess (document 001, p. 80).
        first = _in_joints(problem)
        plain = select(problem.posed.plugins.of("optimal_control"), DEFAULT_TRANSCRIPTION)
        path = self._paths(start, way[0].intervals, first)
        easy = self._through(first, plain, way, path, patient)
        if easy is None or easy.solution.violation > FEASIBLE or easy.status in ENDED:
            return easy
        path = _called(_paths_of(easy), f"{path[0].name}, lifted from joint coordinates")
        return self._solved(problem, self.transcription, way[-1], path, near=easy.solution.optimal)

    def _paths(self, start: Start, intervals: int, problem: OptimalProblem) -> Paths:
        if isinstance(start, StartPath):
            return (start,)
        if isinstance(start, PhasedPath):
            return start.parts
        grids, found = self.grid.with_intervals(intervals).parts, []
        if isinstance(start, History):
            # Phases share the time of a history as the middles of their limits do.
            shares = np.array([part.task.horizon.low + part.task.horizon.high for part in problem.parts])
            edges = np.concatenate([[0.0], np.cumsum(shares) / shares.sum()])
            for part, grid, window in zip(problem.parts, grids, pairwise(edges.tolist()), strict=True):
                found.append(path_from(part, start, grid.intervals, window))
            return tuple(found)
        first = None
        for part, grid in zip(problem.parts, grids, strict=True):
            found.append(guessed(part, grid.intervals, start, first))
            first = found[-1].joints[-1]
        return tuple(found)

    def _through(
        self,
        problem: OptimalProblem,
        transcription: Transcription,
        way: tuple[Stage, ...],
        path: Paths,
        patient: bool,
    ) -> Optimum | None:
        """Return what is found at the end of a continuation; solutions of its stages that keep all constraints are starts."""
        excess: Excess | None = None
        name, ended = path[0].name, ""
        for stage in way[:-1]:
            here = problem_at(problem, stage, excess)
            found = self._solved(here, transcription, stage, _called(path, name))
            if stage.share == 1.0:
                excess = excess_of(found, problem)
            if found.solution.violation <= FEASIBLE:
                path = _paths_of(found)
            elif not patient and found.status not in ENDED:
                if stage is way[0]:
                    return None
                break
            if found.status in ENDED:
                # One iteration tells whether the motion of an easier problem does for the task, too.
                ended = found.status
                break
        found = self._solved(problem, transcription, way[-1], _called(path, name), ended)
        return replace(found, solution=replace(found.solution, status=ended)) if ended else found

    def _solved(
        self,
        problem: OptimalProblem,
        transcription: Transcription,
        stage: Stage,
        path: Paths,
        ended: str = "",
        near: bool = False,
    ) -> Optimum:
        grid = self.grid.with_intervals(stage.intervals)
        scale = sum(_cost_scale(part, input_sizes(part)) for part in problem.parts)
        pieces, begin = [], problem.posed.t_start
        for part, own, way in zip(problem.parts, grid.parts, path, strict=True):
            rule = rule_of(part, transcription, own)
            program = replace(transcribe(part, rule, own), cost_scale=scale)
            start = np.clip(lifted(part, rule, program.layout, way, begin), program.low, program.high)
            pieces.append(Piece(part, rule, program, start))
            begin += way.horizon
        first = pieces[0]
        whole: Any = linked(problem, pieces) if problem.phases else first.program
        if problem.equations.formulation not in {attempt.formulation for attempt in self.attempts}:
            note = check_end(problem, pieces, whole.joints if problem.phases else ())
            self.notes += [note] if note else []
        w = np.concatenate([piece.start for piece in pieces])
        options = self.options
        if options.time_limit is not None:
            options = replace(options, time_limit=max(0.0, options.time_limit - (time.perf_counter() - self.began)))
        if ended:
            options = replace(options, time_limit=0.0)
        begun = replace(options, ipopt={**NEAR, **options.ipopt}) if near else options
        solution = solve(whole, w, begun, self.watch, self.solver)
        self._noted(problem, stage, path[0].name, solution)
        if problem.phases:
            found = phased_optimum(problem, transcription, pieces, whole, solution)
        else:
            found = Optimum(problem, transcription, first.rule, whole, solution)
        if any(isinstance(term, CountedTerm) for _, term in problem.terms) and solution.violation <= FEASIBLE:
            return self._counted(found, stage, options)
        return found

    def _counted(self, found: Optimum, stage: Stage, options: SolverOptions) -> Optimum:
        """Return the optimum with the cost of counted ranges, which are counted again until they stay the same."""
        counts, program = counts_of(found), found.program
        told = held = 0.0
        for number in range(1, COUNTS + 1):
            if found.status in ENDED:
                break
            counted: Any = CountedProgram(program, tuple(part.program for part in found.parts), found.problem, counts)
            solution = solve(counted, counted.start(found.solution.w), options, self.watch, self.solver)
            size, rows = len(program.scales), len(program.row_low)
            plain = replace(
                solution,
                w=solution.w[:size],
                multipliers=solution.multipliers[:rows],
                limit_multipliers=solution.limit_multipliers[:size],
            )
            before, counts = counts, counts_of(found.solved(plain))
            told = sum(count.cost for count in counts)
            ends = solution.w[size:]
            held = sum(_reckoned(before, ends))
            found = found.solved(replace(plain, cost=solution.cost - held + told))
            self._noted(found.problem, replace(stage, name=f"ranges counted {number} times"), "count before", found.solution)
            if abs(told - held) <= AGREE * max(abs(found.cost), abs(told)):
                return found
        else:
            self.notes.append(
                f"ranges that were counted still change after {COUNTS} counts: the motion costs {told:.6g} by them, and "
                f"{held:.6g} was reckoned with those before"
            )
        return found

    def _noted(self, problem: OptimalProblem, stage: Stage, name: str, solution: Solution) -> None:
        self.attempts.append(
            Attempt(
                name,
                problem.equations.formulation,
                stage.intervals,
                solution.status,
                solution.cost,
                solution.violation,
                solution.iterations,
                round(solution.seconds, 6),
                stage.name,
                solution.course,
            )
        )


def _reckoned(counts: tuple[Count, ...], ends: FloatArray) -> Iterator[float]:
    """Return what ranges cost between ends that were found."""
    at = 0
    for count in counts:
        places = dict(zip(count.ends, ends[at : at + len(count.ends)], strict=True))
        at += len(count.ends)
        for item in count.ranges:
            part = max(places[item.upper, True] - places[item.lower, False], 0.0) / item.size
            yield count.weight * item.cost * part**item.power


def _in_joints(problem: OptimalProblem) -> OptimalProblem:
    """Return the problem in joint coordinates; it is posed once."""
    if "joints" not in problem.built:
        how = replace(problem.posed.how, formulation="kane", integrator=DEFAULT_INTEGRATOR)
        problem.built["joints"] = seen_otherwise(problem, how)
    found = problem.built["joints"]
    assert isinstance(found, OptimalProblem)
    return found


def _called(path: Paths, name: str) -> Paths:
    return tuple(replace(part, name=name) for part in path)


def _paths_of(found: Optimum) -> Paths:
    """Return the motion of a solution as starts of its phases."""
    return tuple(part.path for part in found.parts)


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
