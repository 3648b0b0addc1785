"""What Newton's method did in the steps of a run: one of them repeated in Python, and said in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations
from kingpost.equations.newton import ACCEPTED, ROUND_OFF, SETTLED, SMALL_STEP, ImplicitStepMap, NewtonLoop, newton_of


@dataclass(frozen=True)
class NewtonRecord:
    """How the iteration of one step went."""

    #: Largest scaled residual before each iteration, and after the last.
    residuals: tuple[float, ...]
    #: Linear equations solved.
    iterations: int
    converged: bool
    #: What the row with the largest residual says.
    worst: str
    #: Begin and length of the step in s, and how often it had been halved.
    t: float
    h: float
    halvings: int = 0

    def explain(self) -> str:
        """Return the course of the iteration in one sentence."""
        shown = [f"{value:.1e}" for value in self.residuals]
        if len(shown) > 8:
            shown = [*shown[:4], "...", *shown[-3:]]
        times = "once" if self.halvings == 1 else f"{self.halvings} times"
        halved = f", nor when it was halved {times}, to {self.h:g} s from t = {self.t:.9g} s" if self.halvings else ""
        return (
            f"Newton's method did not solve the equations of the step in {len(self.residuals) - 1} iterations{halved} (largest "
            f"scaled residual {', '.join(shown)}); the worst is {self.worst}"
        )


def iterated(
    loop: NewtonLoop, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float, halvings: int = 0
) -> tuple[NewtonRecord, FloatArray]:
    """Return how the iteration goes that :class:`NewtonLoop` describes, and the state after the step."""
    problem, most = loop.problem, loop.iterations
    known: list[Any] = [t, x, u, p, h]
    guess, factors = problem.guess.call(known)
    y = np.asarray(guess).ravel()
    history: list[float] = []
    worst, solves, moved = 0, 0, np.inf
    for iteration in range(most + 1):
        matrix, left = (np.asarray(part.full()) for part in loop.matrix.call([y, *known, factors]))
        left = left.ravel()
        finite = np.isfinite(left).all()
        worst = int(np.abs(left).argmax() if finite else np.isfinite(left).argmin())
        history.append(float(np.abs(left).max()) if finite else float("nan"))
        if not finite or not np.isfinite(matrix).all():
            break
        try:
            change = np.linalg.solve(matrix, left)
        except np.linalg.LinAlgError:
            change = np.linalg.lstsq(matrix, left, rcond=None)[0]
        moved = float(np.abs(change).mean())
        if history[-1] <= ROUND_OFF or iteration == most:
            break
        y, solves = y - change, solves + 1
        if np.abs(change).max() <= SMALL_STEP:
            break
    converged = bool(np.isfinite(left).all() and (np.abs(left).mean() <= ACCEPTED or moved <= SETTLED))
    record = NewtonRecord(tuple(history), solves, converged, problem.rows[worst], t, h, halvings)
    return record, np.asarray(problem.following(y, *known, factors)).ravel()


def repeat_newton(
    integrator: ImplicitStepMap, equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float
) -> NewtonRecord:
    """Carry out the iteration of one step in Python, to see how it goes; of a step that is halved, that of its last part."""
    return repeat_step(integrator, equations, t, x, u, p, h)[-1]


def repeat_step(
    integrator: ImplicitStepMap, equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float
) -> list[NewtonRecord]:
    """Carry out one step in Python, halved where it must be, and return all iterations in their order."""
    newton = newton_of(integrator, equations)
    most: int = integrator.options.halvings
    records: list[NewtonRecord] = []

    def begin(t: float, x: FloatArray, h: float) -> FloatArray:
        return np.asarray(newton.restart(t, x, u, p, h)).ravel()

    def go(t: float, x: FloatArray, h: float, halvings: int) -> FloatArray | None:
        for loop in (newton, newton.otherwise):
            if loop is None:
                break
            record, following = iterated(loop, t, x, u, p, h, halvings)
            records.append(record)
            if record.converged:
                break
        if record.converged or halvings == most:
            return following if record.converged else None
        middle = go(t, begin(t, x, h / 2), h / 2, halvings + 1)
        end = None if middle is None else go(t + h / 2, middle, h / 2, halvings + 1)
        return None if end is None else begin(t + h, end, h)

    go(t, np.asarray(x, dtype=float), h, 0)
    return records


def solved_for(integrator: ImplicitStepMap, equations: Equations) -> str:
    """Return which equations a step is solved by, and how, in a few words."""
    newton = newton_of(integrator, equations)
    count = newton.problem.residual.numel_out(0)
    if newton.otherwise is None:
        how = "in a fixed order, or by sparse QR where that finds nothing" if newton.ordered else "by sparse QR"
        return f"{count} {newton.problem.unknowns}, {how}"
    how = "in a fixed order" if newton.ordered else "by sparse QR"
    return (
        f"{count} {newton.problem.unknowns}, {how}; steps that are not found so for "
        f"{newton.otherwise.problem.residual.numel_out(0)} unknowns of the method, by sparse QR"
    )


#: Steps that are repeated to see how many iterations they take.
REPEATED = 11


def iteration_statistics(
    integrator: ImplicitStepMap,
    equations: Equations,
    states: Callable[[int], tuple[float, FloatArray, FloatArray]],
    count: int,
    p: FloatArray,
    h: float,
) -> dict[str, float]:
    """Return mean and largest number of Newton iterations of at most 11 steps, spread evenly over ``count`` states.

    ``states(k)`` gives time, state [q; v] and inputs. A method that remembers something begins anew at each of them.
    """
    if equations.nv + equations.nz == 0 or count < 1:
        return {}
    restart = newton_of(integrator, equations).restart
    extra = np.zeros(integrator.memory(equations))
    found: list[int] = []
    for k in np.unique(np.linspace(0, count - 1, min(count, REPEATED)).astype(int)):
        t, x, u = states(int(k))
        x = np.asarray(restart(t, np.concatenate([x, extra]), u, p, h)).ravel()
        found.append(sum(record.iterations for record in repeat_step(integrator, equations, t, x, u, p, h)))
    return {"mean": round(float(np.mean(found)), 2), "largest": max(found), "steps_looked_at": len(found)}
