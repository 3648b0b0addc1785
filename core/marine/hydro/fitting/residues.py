"""Residues of a memory with given poles: as near to the data as a passive memory with K(0) = 0 can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.marine.hydro.data import ComplexArray
from kingpost.marine.hydro.fitting.basis import partial_fractions, residues_of
from kingpost.marine.hydro.fitting.least_squares import ConstrainedLeastSquares
from kingpost.marine.hydro.fitting.passivity import Passivity
from kingpost.marine.hydro.response import along_axis

#: What Re K over its shape must be at least, in parts of the largest K of a motion, so that rounding and frequencies between
#: those of the grid leave it positive; and how near to that a solution must come.
MARGIN, ENOUGH = 2e-5, 0.25
ROUNDS = 60


@dataclass(frozen=True, eq=False)
class BlockRows:
    """A linear least-squares problem for a block: rows (k, entries, n) of changes of K_ij(i w), their targets (k).

    ``entries`` are those of the upper triangle; K is scaled so that the largest diagonal entries are 1.
    """

    entries: ComplexArray
    target: ComplexArray
    #: Which frequency every row belongs to (k).
    frequency: FloatArray


@dataclass(frozen=True, eq=False)
class FittedBlock:
    """Residues (n, m, m) and the correction of the added mass (m, m), both scaled, and how many rounds of cuts they took."""

    poles: ComplexArray
    residues: ComplexArray
    correction: FloatArray
    rounds: int


def passive_residues(
    poles: ComplexArray,
    rows: BlockRows,
    size: int,
    stiff: FloatArray | None,
    passive: bool = True,
) -> FittedBlock:
    """Return the best residues for a block of ``size`` motions.

    ``stiff`` are weights on the entries of the correction of the added mass, which would otherwise be free; without them there
    is no correction.
    """
    space = _Unknowns(poles, size, stiff is not None)
    A, b = space.equations(rows, stiff)
    problem = ConstrainedLeastSquares(A, b)
    x = problem.free()
    if not passive:
        return space.block(x, 0)
    condition = Passivity(poles, float(np.exp(np.mean(np.log(np.abs(poles))))))
    normals: list[FloatArray] = []
    for count in range(ROUNDS):
        broken, directions = condition.broken(space.coefficients(x), MARGIN * ENOUGH)
        if not len(broken):
            return space.block(x, count)
        normals += [space.normal(row, vector) for row, vector in zip(broken, directions, strict=True)]
        x = problem.within(np.array(normals), np.full(len(normals), MARGIN))
    raise SolverError(
        f"no passive residues for {len(poles)} poles in {ROUNDS} rounds: {len(normals)} conditions were not enough"
    )


class _Unknowns:
    """The unknowns of a block: for every entry, coefficients in a basis that vanishes at s = 0, then its correction."""

    def __init__(self, poles: ComplexArray, size: int, corrected: bool) -> None:
        self.poles, self.size, self.corrected = poles, size, corrected
        self.upper = np.triu_indices(size)
        # The rows of Vt behind the first are orthogonal to the condition K(0) = 0.
        self.free = np.linalg.svd(partial_fractions(poles, np.zeros(1, complex)).real)[2][1:].T
        self.each = self.free.shape[1]
        self.count = len(self.upper[0])

    def equations(self, rows: BlockRows, stiff: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        s = along_axis(rows.frequency)
        basis = partial_fractions(self.poles, s) @ self.free
        parts = [rows.entries[:, e, None] * basis for e in range(self.count)]
        if stiff is not None:
            parts.append(rows.entries * s[:, None])
        whole = np.hstack(parts)
        A, b = np.vstack([whole.real, whole.imag]), np.concatenate([rows.target.real, rows.target.imag])
        if stiff is None:
            return A, b
        held = np.hstack([np.zeros((self.count, self.count * self.each)), np.diag(stiff)])
        return np.vstack([A, held]), np.concatenate([b, np.zeros(self.count)])

    def coefficients(self, x: FloatArray) -> FloatArray:
        """Return the coefficients in the plain basis (order, m, m)."""
        own = self.free @ x[: self.count * self.each].reshape(self.count, self.each).T
        return self._symmetric(own)

    def normal(self, row: FloatArray, vector: FloatArray) -> FloatArray:
        """Return the row of v' (Re K) v for a row of passivity."""
        double = np.where(self.upper[0] == self.upper[1], 1.0, 2.0) * vector[self.upper[0]] * vector[self.upper[1]]
        own = np.outer(double, row @ self.free).ravel()
        return np.concatenate([own, np.zeros(self.count if self.corrected else 0)])

    def block(self, x: FloatArray, rounds: int) -> FittedBlock:
        correction = x[self.count * self.each :] if self.corrected else np.zeros(self.count)
        whole = self._symmetric(correction[None])[0]
        return FittedBlock(self.poles, residues_of(self.poles, self.coefficients(x)), whole, rounds)

    def _symmetric(self, entries: FloatArray) -> FloatArray:
        whole = np.zeros((len(entries), self.size, self.size))
        whole[:, self.upper[0], self.upper[1]] = entries
        whole[:, self.upper[1], self.upper[0]] = entries
        return whole
