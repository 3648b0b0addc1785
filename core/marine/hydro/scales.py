"""What is large among the six motions, so that newtons and newton metres can be compared, and rounding be told from numbers."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray

#: Diagonals below this share of those with the same unit are rounding: the hull does not act in this motion.
STILL = 1e-6


def largest(matrices: FloatArray) -> FloatArray:
    """Return the largest size of each of the six diagonals over all frequencies."""
    return np.abs(np.diagonal(matrices.reshape(-1, 6, 6), axis1=1, axis2=2)).max(axis=0)


def moving(matrices: FloatArray) -> list[int]:
    """Return the motions that have numbers of their own: a body of revolution has none in yaw, but for rounding."""
    sizes = largest(matrices)
    return np.flatnonzero(sizes > STILL * _like(sizes)).tolist()


def scales(matrices: FloatArray) -> FloatArray:
    """Return the largest diagonals (6); of motions that have no numbers of their own, those of their like."""
    sizes = largest(matrices)
    like = _like(sizes)
    chosen = np.where(sizes > STILL * like, sizes, like)
    return np.where(chosen > 0, chosen, 1.0)


def _like(sizes: FloatArray) -> FloatArray:
    """Return the largest of the three with the same unit, for each of the six."""
    return np.repeat([sizes[:3].max(), sizes[3:].max()], 3)
