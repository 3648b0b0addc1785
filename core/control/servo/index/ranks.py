"""Ranks by the gap between singular values, never by a threshold.

A matrix is scaled first, rows and columns, so that no choice of units makes a singular value small. Then its singular values
stand in two groups, those that are something and those that are rounding; the rank is where the ratio of neighbours is widest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray

#: Times that rows and columns are scaled in turn; each halves the logarithm of what is left to do.
SWEEPS = 20
#: Where the widest gap is narrower than this, nothing is decided.
CLEAR = 1e3


@dataclass(frozen=True)
class Gap:
    """A rank, and the two neighbouring singular values between which it was found; ``below`` is at least rounding."""

    rank: int
    size: int
    above: float
    below: float

    @property
    def width(self) -> float:
        """How many times larger the last value that counts is than the first that does not."""
        return self.above / self.below

    @property
    def clear(self) -> bool:
        return self.width >= CLEAR

    @property
    def nullity(self) -> int:
        """The dimension of the null space."""
        return self.size - self.rank


def equilibrated(J: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a matrix with rows and columns scaled so that the largest entry of each is about one, and both scales."""
    rows, columns = np.ones(J.shape[0]), np.ones(J.shape[1])
    size = np.abs(J)
    for _ in range(SWEEPS):
        now = size * rows[:, None] * columns
        rows /= np.sqrt(_nonzero(now.max(axis=1, initial=0.0)))
        columns /= np.sqrt(_nonzero(now.max(axis=0, initial=0.0)))
    return J * rows[:, None] * columns, rows, columns


def _nonzero(values: FloatArray) -> FloatArray:
    return np.where(values == 0.0, 1.0, values)


def widest_gap(values: FloatArray, size: int, top: float | None = None) -> Gap:
    """Return the rank of a matrix of ``size`` columns with these singular values, which fall.

    ``top`` is the size that something would have, for matrices that may vanish altogether; without it, that is the largest
    singular value, and only a matrix of zeros has rank 0.
    """
    largest = float(values[0]) if top is None and len(values) else float(top or 0.0)
    if largest == 0.0:
        return Gap(0, size, 1.0, float(np.finfo(float).eps))
    floor = largest * float(np.finfo(float).eps)
    ladder = np.maximum(np.concatenate([values, [0.0]]), floor)
    if top is not None:
        ladder = np.concatenate([[largest], ladder])
    steps = ladder[:-1] / ladder[1:]
    at = int(np.argmax(steps))
    rank = at + 1 if top is None else at
    return Gap(rank, size, float(ladder[at]), float(ladder[at + 1]))


def singular_values(J: FloatArray) -> FloatArray:
    """Return the singular values of a matrix, falling; none if it has no entries."""
    return np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64) if J.size else np.zeros(0)


def rank_of(J: FloatArray) -> Gap:
    """Return the rank of a matrix that was scaled before; one without columns or rows has none."""
    if not J.size:
        return Gap(0, J.shape[1], 1.0, float(np.finfo(float).eps))
    return widest_gap(singular_values(J), J.shape[1])


def null_space(J: FloatArray, rank: int) -> FloatArray:
    """Return an orthonormal basis of the null space of a matrix of this rank, in columns."""
    if not J.shape[0]:
        return np.eye(J.shape[1])
    return np.asarray(np.linalg.svd(J)[2][rank:].T)
