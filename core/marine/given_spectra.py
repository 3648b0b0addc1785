"""Spectra that are given by numbers, and parts of others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.spectra import Spectrum, check_height


@dataclass(frozen=True)
class Tabulated(Spectrum):
    """A spectrum given by rising frequencies (rad/s) and densities (m^2 s/rad), straight between them and zero outside.

    ``height`` scales it to a significant wave height (m); without, it is as high as the table says.
    """

    name = "tabulated"
    frequencies: tuple[float, ...]
    densities: tuple[float, ...]
    height: float | None = None

    def __post_init__(self) -> None:
        w, S = np.array(self.frequencies, dtype=float), np.array(self.densities, dtype=float)
        if w.ndim != 1 or len(w) < 2 or w.shape != S.shape:
            raise MechanismError(
                f"{self.name}: {len(self.frequencies)} frequencies and {len(self.densities)} densities; give at least two "
                "frequencies, and a density for each"
            )
        if not (np.isfinite(w).all() and np.isfinite(S).all()):
            raise MechanismError(f"{self.name}: some frequency or density is not a finite number")
        bad = np.flatnonzero(np.diff(w) <= 0)
        if len(bad) or w[0] < 0:
            row = int(bad[0]) + 2 if len(bad) else 1
            raise MechanismError(f"{self.name}: frequencies must be positive and rise; row {row} has {w[row - 1]:g} rad/s")
        if S.min() < 0 or not S.max() > 0:
            row = int(S.argmin()) + 1
            raise MechanismError(f"{self.name}: densities must not be negative, nor all zero; row {row} has {S[row - 1]:g}")
        if self.height is not None:
            check_height(self.name, self.height)

    @property
    def hs(self) -> float:  # type: ignore[override]
        """The significant wave height in m."""
        if self.height is not None:
            return self.height
        return 4 * math.sqrt(self._integral(0.0, *self.reach, 1.0))

    @property
    def peaks(self) -> tuple[float, ...]:
        return (self.frequencies[int(np.argmax(self.densities))] or self.frequencies[1],)

    @property
    def tail(self) -> None:
        return None

    @property
    def reach(self) -> tuple[float, float]:
        return max(self.frequencies[0], 1e-6 * self.frequencies[-1]), self.frequencies[-1]

    @property
    def corners(self) -> tuple[float, ...]:
        return self.frequencies

    def shape(self, frequency: FloatArray) -> FloatArray:
        return np.interp(frequency, self.frequencies, self.densities, left=0.0, right=0.0)


@dataclass(frozen=True)
class Between(Spectrum):
    """A part of a spectrum between two frequencies (rad/s), as high as the whole."""

    name = "part of a spectrum"
    whole: Spectrum
    low: float
    high: float

    @property
    def hs(self) -> float:  # type: ignore[override]
        """The significant wave height in m."""
        return self.whole.hs

    @property
    def peaks(self) -> tuple[float, ...]:
        return self.whole.peaks

    @property
    def tail(self) -> float | None:
        return self.whole.tail if self.high == math.inf else None

    @property
    def reach(self) -> tuple[float, float]:
        low, high = self.whole.reach
        return max(low, self.low), min(high, self.high)

    @property
    def corners(self) -> tuple[float, ...]:
        return self.whole.corners

    def shape(self, frequency: FloatArray) -> FloatArray:
        return np.where((frequency >= self.low) & (frequency <= self.high), self.whole.shape(frequency), 0.0)
