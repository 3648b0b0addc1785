"""What a memory is fitted to: K(i w) = B + i w (A - A_inf) of the data, and which motions belong together in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.hydro.causality import added_mass_inf as estimated_limit
from kingpost.marine.hydro.data import ComplexArray, HydroData
from kingpost.marine.hydro.response import radiation_transfer

#: A coupling of two motions is none if it is nowhere larger than this part of the geometric mean of both.
COUPLED = 2e-3
#: A motion radiates nothing if its memory is below this part of the largest one among shifts, or among turns.
RADIATES = 1e-5
#: Frequencies that a fit needs at least.
FEWEST = 8


@dataclass(frozen=True, eq=False)
class FitTarget:
    """Frequencies (n), symmetric K (n, 6, 6), the added mass A_inf (6, 6) it holds for, the size of K in every motion (6)."""

    frequencies: FloatArray
    K: ComplexArray
    added_mass_inf: FloatArray
    size: FloatArray

    @property
    def scale(self) -> FloatArray:
        """Return geometric means of the sizes of two motions (6, 6); 1 where a motion radiates nothing."""
        root = np.sqrt(np.where(self.size > 0, self.size, 1.0))
        return np.outer(root, root)

    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Return groups of motions that are coupled with each other, without those that radiate nothing."""
        largest = np.abs(self.K).max(axis=0) / self.scale
        left, found = [i for i in range(6) if self.size[i] > 0], []
        while left:
            group = {left[0]}
            while True:
                more = {j for i in group for j in left if largest[i, j] > COUPLED} - group
                if not more:
                    break
                group |= more
            found.append(tuple(sorted(group)))
            left = [i for i in left if i not in group]
        return tuple(found)


def fit_target(data: HydroData) -> FitTarget:
    """Return the memory that hydrodynamic data have; a limit of the added mass that they lack is estimated from the damping."""
    if len(data.frequencies) < FEWEST:
        raise MechanismError(
            f"hydrodynamic data '{data.name}' have {len(data.frequencies)} frequencies; a radiation memory needs at least "
            f"{FEWEST}, from long waves up to where the damping has nearly vanished"
        )
    A_inf = estimated_limit(data)[0] if data.added_mass_inf is None else data.added_mass_inf
    A_inf = (A_inf + A_inf.T) / 2
    R = radiation_transfer(data)
    K = (R + R.transpose(0, 2, 1)) / 2 - 1j * data.frequencies[:, None, None] * A_inf
    _refuse_negative(data)
    size = np.abs(np.diagonal(K, axis1=1, axis2=2)).max(axis=0)
    for half in (slice(0, 3), slice(3, 6)):
        size[half] = np.where(size[half] > RADIATES * size[half].max(), size[half], 0.0)
    return FitTarget(data.frequencies, K, A_inf, size)


#: A negative damping beyond this part of the largest one is no rounding of a panel method.
NEGATIVE = 0.02


def _refuse_negative(data: HydroData) -> None:
    B = (data.damping + data.damping.transpose(0, 2, 1)) / 2
    size = np.sqrt(np.maximum(np.abs(np.diagonal(B, axis1=1, axis2=2)).max(axis=0), 1e-300))
    lowest = np.linalg.eigvalsh(B / np.outer(size, size))[:, 0]
    k = int(lowest.argmin())
    if lowest[k] < -NEGATIVE:
        raise MechanismError(
            f"hydrodynamic data '{data.name}': the damping has a negative eigenvalue at {data.frequencies[k]:.4g} rad/s, "
            f"{lowest[k]:.3g} of the largest damping: waves would drive the hull. Cleaning the data takes that off "
            "(kingpost hydro, kingpost.marine.hydro.cleaning); better, compute that frequency again with a lid, or leave it out"
        )
