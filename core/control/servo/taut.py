"""Paths along which ropes stay taut: the shortest duration, or the nearest path of the same duration.

A rope of a closure has no slack: inverse dynamics finds the motion with a rope that pushes, and says where it does. Here the
path is changed until no tension is below a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.inverse import PreparedInverse
from kingpost.control.servo.marching import Compiled
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.record import TENSION
from kingpost.control.servo.solution import ServoSolution, observer, solution_channels
from kingpost.control.servo.start import ServoStart, consistent_start
from kingpost.control.servo.system import DirectInverse, Progress, SteppedInverse
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.changed import Bump, Slower, Sum
from kingpost.mechanism.tasks import ServoTask
from kingpost.simulation.problem import observed

#: What is changed: the duration, or the path itself.
Change: TypeAlias = Literal["duration", "path"]
#: A manoeuvre is not made longer than this.
SLOWEST = 32.0
#: To this part the duration is the shortest one.
PRECISION = 1e-3
#: Samples at which tensions are looked at.
SAMPLES = 240
#: Chebyshev polynomials in the correction of each measure, and rounds of the search for it.
SHAPES, ROUNDS = 6, 40
#: Corrections for slopes, the shortest part of a step of the search, and the part of a correction below which it is the last.
NEARBY, SHORTEST, SETTLED = 1e-5, 1e-3, 1e-3
#: What is left in the dual of a least distance where no point meets the inequalities: rounding.
INFEASIBLE = 1e-12
#: To this part of the largest tension the search meets the bound, and so often it is asked for more.
PRECISE, CORRECTIONS = 1e-6, 8


@dataclass(frozen=True)
class Taut:
    """A task along whose path no tension is below the bound, and what it took."""

    task: ServoTask
    bound: float
    change: Change
    #: Lowest tension by rope before and after, N.
    before: Mapping[str, float]
    after: Mapping[str, float]
    #: The duration over that of the task; the largest deviation from its path by measure.
    slower: float = 1.0
    deviation: Mapping[str, float] | None = None

    @property
    def sentence(self) -> str:
        """What was changed, in one sentence."""
        lowest = min(self.after, key=lambda rope: self.after[rope])
        least = f"the lowest tension is {self.after[lowest]:.6g} N ('{lowest}'), it was {min(self.before.values()):.6g} N"
        if self.change == "duration":
            return f"the manoeuvre takes {self.task.t_end - self.task.t_start:.6g} s, {self.slower:.4g} times as long; {least}"
        assert self.deviation is not None
        away = listed(f"{name} by up to {size:.3g}" for name, size in self.deviation.items())
        return f"the path is left in {away}; {least}"

    def record(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "change": self.change,
            "bound_N": self.bound,
            "lowest_before_N": dict(self.before),
            "lowest_after_N": dict(self.after),
            "slower": self.slower,
            "deviation": None if self.deviation is None else dict(self.deviation),
        }


def keep_taut(
    prepared: PreparedInverse, bound: float = 0.0, change: Change = "duration", progress: Progress = lambda fraction: None
) -> tuple[PreparedInverse, Taut]:
    """Return inverse dynamics along the nearest task whose ropes pull with at least ``bound`` (N), and what was changed.

    Raises
    ------
    MechanismError
        When the machine has no rope whose tension is known.
    SolverError
        When no such task is found; with the tension that is in the way, and where.

    """
    tensions = Tensions(prepared)
    task = prepared.problem.task
    before = tensions.lowest(task)
    if min(before.values()) >= bound:
        return prepared, Taut(task, bound, change, before, before)
    found = (_longer if change == "duration" else _nearest)(tensions, task, bound, progress)
    found = replace(found, before=before)
    return replace(prepared, problem=tensions.along(found.task), notes={"kept_taut": found.record()}), found


class Tensions:
    """The tensions of all ropes along a path, as a function of the task."""

    def __init__(self, prepared: PreparedInverse) -> None:
        self.prepared = prepared
        posed = observed(prepared.problem.posed)
        self.equations = posed.equations
        channels = solution_channels(prepared.problem, self.equations)
        self.columns = [i for i, channel in enumerate(channels) if channel.name.endswith(TENSION)]
        self.ropes = [channels[i].name.removesuffix(TENSION) for i in self.columns]
        self._compiled: Compiled | None = None
        if not self.ropes:
            raise MechanismError(
                f"'{posed.mechanism.name}' has no rope whose tension is known; ropes are closures of kind rope or sheave"
            )

    @cached_property
    def _observe(self) -> Kernel:
        problem = self.prepared.problem
        return Kernel([observer(problem, self.equations)], problem.posed.how.backend or "auto")

    @cached_property
    def _first_order(self) -> FirstOrder:
        return FirstOrder(self.prepared.problem)

    def along(self, task: ServoTask) -> ServoProblem:
        """Return the problem with another path for the same measures."""
        return self.prepared.problem.along(task)

    def __call__(self, task: ServoTask) -> tuple[FloatArray, FloatArray]:
        """Return times, and the tensions at them: times x ropes; where they are lowest, what they fall to in between."""
        times, values = self.sampled(task)
        return times, between_samples(values)

    def lowest(self, task: ServoTask) -> dict[str, float]:
        """Return the lowest tension of each rope, in the solution that a run gives and in what steps converge to.

        From solutions with the steps of a run and with half of them follows the error of both (Richardson). Methods without
        steps have none; of them, more samples are looked at.
        """
        _, coarse = self.sampled(task)
        _, fine = self.sampled(task, parts=2)
        looked_at = [coarse, fine]
        if isinstance(self.prepared.method, SteppedInverse):
            even = fine[::2]
            looked_at.append(even + (even - coarse) / (2**self.prepared.stepper.order - 1))
        least = np.min([between_samples(values).min(axis=0) for values in looked_at], axis=0)
        return dict(zip(self.ropes, least.tolist(), strict=True))

    def sampled(self, task: ServoTask, start: ServoStart | None = None, parts: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return times and tensions of a solution whose steps, or times between samples, are divided into some parts."""
        problem, method, stepper = self.along(task), self.prepared.method, self.prepared.stepper
        start = (
            self.start(task) if start is None else replace(start, problem=problem, first_order=start.first_order.along(problem))
        )
        if isinstance(method, DirectInverse):
            count = parts * SAMPLES
            found = method.solve(problem, start, np.linspace(task.t_start, task.t_end, count + 1), lambda part: None)
            solution = ServoSolution(*found)
        else:
            # A whole number of steps about as long as was asked for.
            count = parts * max(1, round((task.t_end - task.t_start) / stepper.options.step))
            times = np.linspace(task.t_start, task.t_end, count + 1)
            solution = self._steps(start).march(start, times, f"method '{method.name}'", {}, lambda part: None)
        signals = np.ascontiguousarray(problem.signals(solution.times, EXPRESSED).reshape(len(solution.times), -1))
        return solution.times, self._observe.sample(solution.times, solution.values, signals, problem.p)[:, self.columns]

    def start(self, task: ServoTask) -> ServoStart:
        """Return where a run begins."""
        method, index = self.prepared.method, self.prepared.report.index
        order = method.order if method.order is not None else None if index is None else index - 1
        return consistent_start(self.along(task), order, equations=self._first_order)

    def _steps(self, start: ServoStart) -> Compiled:
        """Return the compiled steps, the same for all paths."""
        if self._compiled is None:
            method = self.prepared.method
            assert isinstance(method, SteppedInverse)
            self._compiled = Compiled(method.reduce(start.problem, start.point), self.prepared.stepper)
        return self._compiled


def between_samples(values: FloatArray) -> FloatArray:
    """Return samples, those that are lowest among their neighbours as low as the parabola through the three of them gets."""
    before, middle, after = values[:-2], values[1:-1], values[2:]
    bend = before - 2 * middle + after
    lowest = (middle <= before) & (middle <= after) & (bend > 0.0)
    found = np.array(values)
    found[1:-1] -= np.where(lowest, (after - before) ** 2 / (8 * np.where(lowest, bend, 1.0)), 0.0)
    return found


def slowed(task: ServoTask, factor: float) -> ServoTask:
    """Return a task whose whole manoeuvre takes ``factor`` times as long."""
    path = {measure: Slower(trajectory, factor, task.t_start) for measure, trajectory in task.path.items()}
    return replace(task, path=path, t_end=task.t_start + factor * (task.t_end - task.t_start))


def _longer(tensions: Tensions, task: ServoTask, bound: float, progress: Progress) -> Taut:
    """Find the shortest duration by halving, after the first one that is long enough."""

    def lowest(factor: float) -> float:
        return float(tensions(slowed(task, factor))[1].min())

    short, factor = 1.0, 1.25
    while (least := lowest(factor)) < bound:
        short = factor
        if factor >= SLOWEST:
            times, values = tensions(slowed(task, factor))
            i, rope = np.unravel_index(int(values.argmin()), values.shape)
            raise SolverError(
                f"even {factor:g} times slower, the tension of '{tensions.ropes[rope]}' is {least:.6g} N at t = {times[i]:.4g} "
                f"s, below {bound:g} N: it is not the motion that leaves the rope slack, but where the load is led"
            )
        factor *= 1.5
        progress(0.3 * min(1.0, factor / SLOWEST))
    while factor - short > PRECISION * factor:
        middle = (factor + short) / 2
        short, factor = (short, middle) if lowest(middle) >= bound else (middle, factor)
        progress(0.3 + 0.7 * (1 - min(1.0, (factor - short) / factor)))
    # Samples are taken after whole steps.
    duration, step = task.t_end - task.t_start, tensions.prepared.stepper.options.step
    steps = int(np.ceil(factor * duration / step * (1 - 1e-9)))
    # Halving believes the solution of a run; what steps leave out may ask for a few more of them.
    while min((after := tensions.lowest(slowed(task, steps * step / duration))).values()) < bound:
        steps += 1
    factor = steps * step / duration
    return Taut(slowed(task, factor), bound, "duration", {}, after, slower=factor)


def _corrected(task: ServoTask, coefficients: FloatArray, smoothness: int) -> ServoTask:
    path = {
        measure: Sum((trajectory, Bump(tuple(row.tolist()), task.t_start, task.t_end, smoothness)))
        for (measure, trajectory), row in zip(task.path.items(), coefficients, strict=True)
    }
    return replace(task, path=path)


def _nearest(tensions: Tensions, task: ServoTask, bound: float, progress: Progress) -> Taut:
    """Find the smallest correction of the path, in the mean square, with sequential quadratic programming.

    The search believes the solution of a run. Where the bound does not hold in what its steps converge to, too, by so much the
    search is asked for more.
    """
    search = _Search(tensions, task, progress)
    found, asked = np.zeros(search.size), bound
    for _ in range(CORRECTIONS):
        found = search(found, asked)
        after = tensions.lowest(search.path_of(found))
        short = bound - min(after.values())
        if short <= 0.0:
            break
        asked += short + PRECISE * search.scale
    else:
        raise SolverError(
            f"the lowest tension stays {short:.3g} N below {bound:g} N by the error of the steps of "
            f"{tensions.prepared.stepper.options.step:g} s, whatever is asked for; take shorter ones"
        )
    taut = search.path_of(found)
    deviation = {
        measure: float(np.abs(taut.path[measure].jets_at(search.times, 0) - trajectory.jets_at(search.times, 0)).max())
        for measure, trajectory in task.path.items()
    }
    return Taut(taut, bound, "path", {}, after, deviation=deviation)


class _Search:
    """The search for the smallest correction along which no tension at a sample of a run is below a bound.

    Sequential quadratic programming: where tensions were linear in the correction, the smallest one would be a least distance
    with inequalities. Samples themselves are smooth in it; how low tensions get between them is not.
    """

    def __init__(self, tensions: Tensions, task: ServoTask, progress: Progress) -> None:
        self.tensions, self.task, self.progress = tensions, task, progress
        self.smoothness = max(2, task.smoothness)
        self.shape = (len(task.path), SHAPES)
        self.size = len(task.path) * SHAPES
        self.times = times = np.linspace(task.t_start, task.t_end, 4 * SAMPLES + 1)
        units = (tuple(float(i == k) for i in range(k + 1)) for k in range(SHAPES))
        bumps = [Bump(unit, task.t_start, task.t_end, self.smoothness) for unit in units]
        columns = np.array([bump.jets_at(times, 0)[:, 0] for bump in bumps]).T
        # In shapes that are perpendicular to each other, so that the size of a correction is the length of its coefficients.
        self.basis = np.linalg.inv(np.linalg.qr(columns / np.sqrt(len(times)))[1])
        # Corrections begin so smoothly that the start stays what it is, but for what only the first steps feel.
        self.start = tensions.start(task)
        values = tensions.sampled(task, self.start)[1]
        # Tensions in the size of the largest, so that the search sees numbers of the size one.
        self.scale, self.count = float(np.abs(values).max()), values.size

    def path_of(self, c: FloatArray) -> ServoTask:
        """Return the task with a correction."""
        return _corrected(self.task, c.reshape(self.shape) @ self.basis.T, self.smoothness)

    def scaled(self, c: FloatArray) -> FloatArray:
        """Return all tensions in the size of the largest; far below zero where there is no solution."""
        try:
            return np.asarray(self.tensions.sampled(self.path_of(c), self.start)[1].ravel() / self.scale)
        except SolverError:
            return np.full(self.count, -1e3)

    def __call__(self, begin: FloatArray, bound: float) -> FloatArray:
        """Return the coefficients of the correction; ``begin`` is where the search begins."""
        level = bound / self.scale
        c, values = begin, self.scaled(begin)
        for done in range(ROUNDS):
            self.progress(done / ROUNDS)
            slopes = np.array([(self.scaled(c + NEARBY * unit) - values) / NEARBY for unit in np.eye(self.size)]).T
            wanted = least_distance(slopes, level - values + slopes @ c)
            if wanted is None:
                break
            step, pressure = wanted[0] - c, 2 * wanted[1].sum()

            def merit(c: FloatArray, values: FloatArray, pressure: float = pressure) -> float:
                return float(c @ c / 2 + pressure * max(0.0, level - values.min()))

            factor, now = 1.0, merit(c, values)
            while merit(c + factor * step, after := self.scaled(c + factor * step)) > now + PRECISE**2 and factor > SHORTEST:
                factor /= 2
            c, values = c + factor * step, after
            if factor * np.linalg.norm(step) <= SETTLED * np.linalg.norm(c) and values.min() >= level - PRECISE:
                return c
        raise SolverError(
            f"no path of the same duration was found near the one that was asked for along which all tensions are above "
            f"{bound:g} N: after {done + 1} rounds of the search the lowest is {values.min() * self.scale:.6g} N; a longer "
            "duration may do"
        )


def least_distance(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the shortest x with A x >= b, and its multipliers mu, x = A' mu; None where there is no such x.

    Lawson and Hanson, Solving Least Squares Problems, chapter 23: by least squares with unknowns that are not negative.
    """
    from scipy.optimize import nnls

    n = A.shape[1]
    right = np.zeros(n + 1)
    right[n] = 1.0
    u, left = nnls(np.vstack([A.T, b]), right)
    if left <= INFEASIBLE:
        return None
    mu = u / (1.0 - b @ u)
    return A.T @ mu, mu
