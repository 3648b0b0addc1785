"""Paths along which ropes stay taut: the shortest duration, or the nearest path of the same duration.

A rope of a closure has no slack: inverse dynamics finds the motion with a rope that pushes, and says where it does. Here the
path is changed until no tension is below a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.servo.inverse import PreparedInverse, march
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.record import TENSION
from kingpost.control.servo.solution import ServoSolution, observer, solution_channels
from kingpost.control.servo.start import consistent_start
from kingpost.control.servo.stepping import ServoStepper
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
    _, values = tensions(task)
    before = lowest_tensions(tensions.ropes, values)
    if min(before.values()) >= bound:
        return prepared, Taut(task, bound, change, before, before)
    found = (_longer if change == "duration" else _nearest)(tensions, task, bound, progress)
    _, values = tensions(found.task)
    found = replace(found, before=before, after=lowest_tensions(tensions.ropes, values))
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
        if not self.ropes:
            raise MechanismError(
                f"'{posed.mechanism.name}' has no rope whose tension is known; ropes are closures of kind rope or sheave"
            )

    @cached_property
    def _observe(self) -> Kernel:
        problem = self.prepared.problem
        return Kernel([observer(problem, self.equations)], problem.posed.how.backend or "auto")

    def along(self, task: ServoTask) -> ServoProblem:
        """Return the problem with another path for the same measures."""
        return replace(self.prepared.problem, task=task)

    def __call__(self, task: ServoTask) -> tuple[FloatArray, FloatArray]:
        """Return times, and the tensions at them: times x ropes; where they are lowest, what they fall to in between."""
        problem, method, stepper = self.along(task), self.prepared.method, self.prepared.stepper
        index = self.prepared.report.index
        start = consistent_start(problem, None if index is None else index - 1)
        if isinstance(method, DirectInverse):
            times, values = method.solve(problem, start, np.linspace(task.t_start, task.t_end, SAMPLES + 1), lambda part: None)
            solution = ServoSolution(times, values)
        else:
            assert isinstance(method, SteppedInverse)
            solution = _stepped(problem, method, stepper, start)
        signals = np.ascontiguousarray(problem.signals(solution.times, EXPRESSED).reshape(len(solution.times), -1))
        found = self._observe.sample(solution.times, solution.values, signals, problem.p)[:, self.columns]
        return solution.times, between_samples(found)


def between_samples(values: FloatArray) -> FloatArray:
    """Return samples, those that are lowest among their neighbours as low as the parabola through the three of them gets."""
    before, middle, after = values[:-2], values[1:-1], values[2:]
    bend = before - 2 * middle + after
    lowest = (middle <= before) & (middle <= after) & (bend > 0.0)
    found = np.array(values)
    found[1:-1] -= np.where(lowest, (after - before) ** 2 / (8 * np.where(lowest, bend, 1.0)), 0.0)
    return found


def _stepped(problem: ServoProblem, method: SteppedInverse, stepper: ServoStepper, start: Any) -> ServoSolution:
    """Return the solution of a method that steps, with a whole number of steps about as long as was asked for."""
    task = problem.task
    count = max(1, round((task.t_end - task.t_start) / stepper.options.step))
    times = np.linspace(task.t_start, task.t_end, count + 1)
    kept: list[ServoSolution] = []

    def keep(solution: ServoSolution, outcome: str) -> Any:
        kept.append(solution)

    march(problem, method, stepper, start, times, {}, lambda part: None, keep)
    return kept[-1]


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
    factor = np.ceil(factor * duration / step * (1 - 1e-9)) * step / duration
    return Taut(slowed(task, factor), bound, "duration", {}, {}, slower=factor)


def _corrected(task: ServoTask, coefficients: FloatArray, smoothness: int) -> ServoTask:
    path = {
        measure: Sum((trajectory, Bump(tuple(row.tolist()), task.t_start, task.t_end, smoothness)))
        for (measure, trajectory), row in zip(task.path.items(), coefficients, strict=True)
    }
    return replace(task, path=path)


def _nearest(tensions: Tensions, task: ServoTask, bound: float, progress: Progress) -> Taut:
    """Find the smallest correction of the path, in the mean square, with sequential quadratic programming."""
    from scipy.optimize import minimize

    smoothness = max(2, task.smoothness)
    shape = (len(task.path), SHAPES)
    times = np.linspace(task.t_start, task.t_end, 4 * SAMPLES + 1)
    bumps = [Bump(tuple(float(i == k) for i in range(k + 1)), task.t_start, task.t_end, smoothness) for k in range(SHAPES)]
    columns = np.array([bump.jets_at(times, 0)[:, 0] for bump in bumps]).T
    # In shapes that are perpendicular to each other, so that the size of a correction is the length of its coefficients.
    basis = np.linalg.inv(np.linalg.qr(columns / np.sqrt(len(times)))[1])
    # Tensions in the size of the largest, so that the search sees numbers of the size one.
    scale = float(np.abs(tensions(task)[1]).max())
    rounds = 0

    def path_of(c: FloatArray) -> ServoTask:
        return _corrected(task, c.reshape(shape) @ basis.T, smoothness)

    def margins(c: FloatArray) -> FloatArray:
        try:
            return np.asarray((tensions(path_of(c))[1].ravel() - bound) / scale)
        except SolverError:
            return np.full((SAMPLES + 1) * len(tensions.ropes), -1e3)

    def slopes(c: FloatArray) -> FloatArray:
        nonlocal rounds
        rounds += 1
        progress(min(1.0, rounds / ROUNDS))
        base, step = margins(c), 1e-5
        return np.array([(margins(c + step * direction) - base) / step for direction in np.eye(len(c))]).T

    constraint = {"type": "ineq", "fun": lambda c: margins(c) - 1e-6, "jac": slopes}
    size = float(np.prod(shape))
    begin = np.zeros(int(size))
    result = minimize(
        lambda c: float(c @ c), begin, jac=lambda c: 2 * c, constraints=constraint, method="SLSQP", options={"maxiter": ROUNDS}
    )
    if not (result.success and margins(result.x).min() >= -1e-6):
        raise SolverError(
            f"no path of the same duration was found near the one that was asked for along which all tensions are above "
            f"{bound:g} N ({result.message}); a longer duration may do"
        )
    taut = path_of(result.x)
    deviation = {
        measure: float(np.abs(taut.path[measure].jets_at(times, 0) - trajectory.jets_at(times, 0)).max())
        for measure, trajectory in task.path.items()
    }
    return Taut(taut, bound, "path", {}, {}, deviation=deviation)


def lowest_tensions(ropes: Sequence[str], values: FloatArray) -> dict[str, float]:
    """Return the lowest tension of each rope."""
    return dict(zip(ropes, values.min(axis=0).tolist(), strict=True))
