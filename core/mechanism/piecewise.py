"""Polynomials in time, one after the other, as numbers: what every trajectory is once its formulas have values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Piece i + 1 begins at ``breaks[i]``; piece i is the sum of ``coefficients[i, n] (t - origins[i])^n``."""

    breaks: FloatArray
    origins: FloatArray
    coefficients: FloatArray

    def __post_init__(self) -> None:
        if not (np.diff(self.breaks) > 0).all():
            raise MechanismError("pieces of a polynomial must follow each other in time")
        if not all(np.isfinite(item).all() for item in (self.breaks, self.origins, self.coefficients)):
            raise MechanismError("a coefficient of a polynomial is not finite")

    @property
    def degree(self) -> int:
        """The highest power that any piece has."""
        used = np.flatnonzero(np.any(self.coefficients != 0.0, axis=0))
        return int(used[-1]) if used.size else 0

    def pieces_at(self, times: Any) -> Any:
        """Return which pieces hold at ``times``; at a break, the later one."""
        return np.searchsorted(self.breaks, times, side="right")

    def around(self, pieces: Any, times: FloatArray) -> FloatArray:
        """Return pieces as polynomials in the time since ``times``, a row of coefficients for each, by rising powers."""
        rows = self.coefficients[pieces]
        shift = times - self.origins[pieces]
        last = rows.shape[1] - 1
        # Horner's scheme again and again: each round leaves one coefficient of the Taylor series.
        for done in range(last):
            for power in range(last - 1, done - 1, -1):
                rows[:, power] += shift * rows[:, power + 1]
        return rows

    def value(self, times: FloatArray, order: int = 0) -> FloatArray:
        """Return the derivative of this order at ``times``."""
        series = self.around(self.pieces_at(times), times)
        return math.factorial(order) * series[:, order] if order < series.shape[1] else np.zeros(len(times))

    def size(self, order: int) -> float:
        """Return the largest sum of absolute terms of a derivative inside of any piece: its rounding is a part of that."""
        if not self.breaks.size:
            return 0.0
        ends = np.concatenate([self.breaks[:1], self.breaks, self.breaks[-1:]])
        reach = np.maximum(np.abs(ends[:-1] - self.origins), np.abs(ends[1:] - self.origins))
        powers = np.arange(order, self.coefficients.shape[1])
        factors = np.array([math.perm(power, order) for power in powers], dtype=float)
        terms = np.abs(self.coefficients[:, order:]) * factors * reach[:, None] ** (powers - order)
        return float(terms.sum(axis=1).max())

    def jumps(self, order: int) -> FloatArray:
        """Return by how much the derivative of this order changes at every break."""
        if order >= self.coefficients.shape[1]:
            return np.zeros(len(self.breaks))
        before, after = (
            self.around(np.arange(len(self.breaks)) + later, self.breaks)[:, order] * math.factorial(order) for later in (0, 1)
        )
        return after - before


def through(times: FloatArray, values: FloatArray, interpolation: str, corners: Sequence[float] = ()) -> Polynomials:
    """Return straight lines, or a cubic spline (not-a-knot), through samples; constant before the first and after the last.

    A spline begins anew at ``corners``, where the slope of what was sampled jumps: through them, it would swing around it.
    """
    if interpolation == "hold":
        inside = values[:-1, None]
    elif interpolation == "linear":
        inside = np.column_stack([values[:-1], np.diff(values) / np.diff(times)])
    elif interpolation == "cubic":
        from scipy.interpolate import CubicSpline  # slow to import, and seldom needed

        edges = _spline_edges(times, corners)
        inside = np.vstack([CubicSpline(times[a : b + 1], values[a : b + 1]).c[::-1].T for a, b in itertools.pairwise(edges)])
    else:
        raise MechanismError(f"interpolation '{interpolation}' is not one of hold, linear, cubic", path=("interpolation",))
    ends = np.zeros((2, inside.shape[1]))
    ends[:, 0] = values[0], values[-1]
    return Polynomials(times, np.concatenate([times[:1], times]), np.ascontiguousarray(np.vstack([ends[:1], inside, ends[1:]])))


def _spline_edges(times: FloatArray, corners: Sequence[float]) -> list[int]:
    """Return the samples at which splines begin and end: both ends, and corners that are samples, with three between them."""
    last = len(times) - 1
    edges = [0]
    for corner in sorted(corners):
        i = int(np.argmin(np.abs(times - corner)))
        on_sample = abs(times[i] - corner) <= 1e-9 * max(1.0, abs(corner))
        if on_sample and i - edges[-1] >= 3 and last - i >= 3:
            edges.append(i)
    return [*edges, last]
