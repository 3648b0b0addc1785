"""Solutions at and near times at which the equations of a servo problem lose rank.

Where a determinant passes through zero, as that of a massless pulley whose guide rope goes slack, the solution is smooth, but
the equations at that time alone do not tell it: s(t) x(t) = f(t) with s = 0 says nothing about x. Their derivatives do, s' x =
f', as de l'Hopital's rule has it. So derivatives are added; what the highest coefficients of the series then are is told badly
or not at all, and it does not matter. How many derivatives, and how many singular values, is decided by two numbers: what
rounding does to the unknowns that are wanted, and the part that they have in what is not told. The larger of both bounds the
error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.prolonged import Prolonged
from kingpost.control.servo.start import ServoStart
from kingpost.mechanism.trajectories import HIGHEST_ORDER

#: Newton steps.
MOST_STEPS = 25
#: Relative errors above which a solution is not one.
WRONG = 1e-3
#: Errors that differ by less are alike.
ALIKE = 10.0
#: Scaled residuals that are rounding.
ROUNDING = 1e-12
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Truncated:
    """A scaled Jacobian, its decomposition, and the number of singular values with which the error is smallest."""

    left: FloatArray
    values: FloatArray
    right: FloatArray
    rank: int
    #: The bound of the error of what is wanted, in the sizes of the unknowns.
    error: float

    @classmethod
    def of(cls, J: FloatArray, wanted: FloatArray, x: FloatArray) -> Truncated:
        """Decompose the matrix at a point x, of which some entries are wanted."""
        U, values, V = np.linalg.svd(J)
        parts = V[:, wanted] ** 2
        # What is wanted has these parts in the directions that are left out, which may be wrong by as much as they are.
        sizes = (1.0 + np.abs(V @ x))[:, None] ** 2
        untold = np.sqrt(np.vstack([np.cumsum((parts * sizes)[::-1], axis=0)[::-1], np.zeros(parts.shape[1])]).max(axis=1))
        with np.errstate(divide="ignore", over="ignore"):
            grown = np.sqrt(np.cumsum(parts[: len(values)] / values[:, None] ** 2, axis=0).max(axis=1, initial=0.0))
        errors = np.maximum(untold[: len(values) + 1], EPS * np.concatenate([[0.0], grown]))
        # The fewest singular values that do: what is not wanted wanders less.
        rank = _first_good(errors)
        return cls(U, values, V, rank, float(errors[rank]))

    def told(self, right_side: FloatArray) -> float:
        """Return the largest part of a right side that the equations tell something about."""
        return float(np.abs(self.left[:, : self.rank].T @ right_side).max(initial=0.0))

    def step(self, right_side: FloatArray) -> FloatArray:
        """Return the shortest step that meets the equations as far as they tell anything."""
        k = self.rank
        return np.asarray(self.right[:k].T @ ((self.left[:, :k].T @ right_side) / self.values[:k]))


def _first_good(errors: FloatArray) -> int:
    """Return the first of some errors that is about as small as the smallest."""
    errors = np.nan_to_num(errors, nan=np.inf)
    return int(np.flatnonzero(errors <= max(ALIKE * errors.min(), EPS))[0])


def no_values(problem: ServoProblem, t: float) -> SolverError:
    """Return the error that there is nothing to solve at a time."""
    return SolverError(f"the equations of '{problem.equations.mechanism.name}' have no finite values at t = {t:.9g} s")


class FurtherDerivatives:
    """The equations of a servo problem with as many derivatives as determine it usually, and with further ones."""

    def __init__(self, start: ServoStart) -> None:
        self.start = start
        orders = range(start.order, max(start.order, HIGHEST_ORDER) + 1)
        self.systems = [_System(Prolonged(start.first_order, order, start.tau), start.weights) for order in orders]

    def solve(self, t: float, guess: FloatArray, enough: float = WRONG) -> FloatArray:
        """Return the series of all unknowns at a time at which the usual derivatives do not determine them, or hardly.

        ``enough`` is the relative error that may be left.

        Raises
        ------
        SolverError
            When no number of derivatives that paths have does: with the time, and the error that is left.

        """
        begun = [system.at(t, system.packed(guess)) for system in self.systems]
        first = _first_good(np.array([found.error for _, found in begun]))
        system, (right_side, found) = self.systems[first], begun[first]
        values = system.packed(guess)
        told = found.told(right_side)
        for _ in range(MOST_STEPS):
            trial = values + system.scale * found.step(right_side)
            after, further = system.at(t, trial)
            left = further.told(after)
            if told <= ROUNDING and not left < told / 2:
                # Rounding is all that is left.
                break
            values, right_side, found, told = trial, after, further, left
        if not (found.error <= enough and told <= enough):
            raise SolverError(
                f"the path does not determine the motion of '{self.start.problem.equations.mechanism.name}' at t = {t:.9g} s: "
                f"the equations lose rank there, and with up to {self.systems[-1].array.k} derivatives of the path what they "
                f"tell is known to {found.error:.1e} of its size (scaled residual {told:.1e}). Begin later, or take a path "
                "that keeps away from this place; an index analysis says where ranks are lost"
            )
        return system.array.unpack(values)[:, :, 0]


class _System:
    """The equations with a number of derivatives."""

    def __init__(self, array: Prolonged, weights: FloatArray) -> None:
        self.array = array
        self.scale = weights[array.columns[:, 1]]
        self.wanted = np.concatenate([array.states, array.results])

    def packed(self, series: FloatArray) -> FloatArray:
        """Return the coefficients that count of a series that may be shorter or longer."""
        sized = np.zeros((self.array.size, self.array.k + 1, 1))
        count = min(series.shape[1], self.array.k + 1)
        sized[:, :count, 0] = series[:, :count]
        return self.array.pack(sized)

    def at(self, t: float, values: FloatArray) -> tuple[FloatArray, Truncated]:
        """Return the right side of Newton's step, and the decomposed matrix, with rows of the size one."""
        times = np.array([t])
        x, signals = self.array.unpack(values), self.array.signals(times)
        r = self.array.residual(times, x, signals)[0]
        J = self.array.jacobian(times, x, signals)[0] * self.scale
        if not (np.isfinite(J).all() and np.isfinite(r).all()):
            raise no_values(self.array.system.problem, t)
        size = np.abs(J).max(axis=1)
        size[size == 0.0] = 1.0
        return -r / size, Truncated.of(J / size[:, None], self.wanted, (values / self.scale).ravel())
