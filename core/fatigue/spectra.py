"""Counted ranges gathered: histogram, exceedance curve, range-mean matrix and from-to (Markov) matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fatigue.counting import Cycles

#: Classes of a histogram or of each side of a matrix, if none are asked for.
CLASSES = 64


@dataclass(frozen=True, eq=False)
class RangeHistogram:
    """Number of cycles in classes of range; class i reaches from ``edges[i]`` to ``edges[i + 1]``."""

    edges: FloatArray
    count: FloatArray


@dataclass(frozen=True, eq=False)
class RangeExceedance:
    """Cumulative curve: ``count[i]`` cycles have a range of ``range[i]`` or more; the largest range comes first."""

    range: FloatArray
    count: FloatArray


@dataclass(frozen=True, eq=False)
class RangeMeanMatrix:
    """Number of cycles by range (rows) and mean (columns)."""

    range_edges: FloatArray
    mean_edges: FloatArray
    count: FloatArray


@dataclass(frozen=True, eq=False)
class FromToMatrix:
    """Markov matrix: number of cycles by the level they start from (rows) and the level they go to (columns)."""

    edges: FloatArray
    count: FloatArray


def range_histogram(cycles: Cycles, edges: int | ArrayLike = CLASSES) -> RangeHistogram:
    """Count the cycles in classes of range.

    Parameters
    ----------
    cycles
        The counted cycles.
    edges
        Number of equal classes from 0 to the largest range, or their edges. Edges must hold every range.

    """
    bounds = _edges(edges, 0.0, cycles.largest_range, cycles.range, "range")
    count, _ = np.histogram(cycles.range, bounds, weights=cycles.count)
    return RangeHistogram(bounds, count)


def range_exceedance(cycles: Cycles) -> RangeExceedance:
    """Return how many cycles reach each of the ranges that occur. No classes: nothing is rounded."""
    sizes, place = np.unique(cycles.range, return_inverse=True)
    count = np.bincount(place, weights=cycles.count, minlength=len(sizes))
    return RangeExceedance(sizes[::-1].copy(), np.cumsum(count[::-1]))


def range_mean_matrix(
    cycles: Cycles, range_edges: int | ArrayLike = CLASSES, mean_edges: int | ArrayLike = CLASSES
) -> RangeMeanMatrix:
    """Count the cycles in classes of range and of mean; see :func:`range_histogram` for the edges."""
    rows = _edges(range_edges, 0.0, cycles.largest_range, cycles.range, "range")
    low, high = (cycles.mean.min(), cycles.mean.max()) if len(cycles) else (0.0, 0.0)
    columns = _edges(mean_edges, float(low), float(high), cycles.mean, "mean")
    count, _, _ = np.histogram2d(cycles.range, cycles.mean, bins=(rows, columns), weights=cycles.count)
    return RangeMeanMatrix(rows, columns, count)


def from_to_matrix(cycles: Cycles, edges: int | ArrayLike = CLASSES) -> FromToMatrix:
    """Count the cycles by the classes of the levels at which they start and turn; see :func:`range_histogram` for the edges."""
    levels = np.concatenate([cycles.start_value, cycles.end_value])
    low, high = (levels.min(), levels.max()) if len(levels) else (0.0, 0.0)
    bounds = _edges(edges, float(low), float(high), levels, "level")
    count, _, _ = np.histogram2d(cycles.start_value, cycles.end_value, bins=(bounds, bounds), weights=cycles.count)
    return FromToMatrix(bounds, count)


def _edges(wanted: int | ArrayLike, low: float, high: float, values: FloatArray, what: str) -> FloatArray:
    if isinstance(wanted, int | np.integer):
        if wanted < 1:
            raise KingpostError(f"{wanted} classes of {what} were asked for; ask for 1 or more")
        return np.linspace(low, high if high > low else low + 1.0, int(wanted) + 1)
    edges = np.asarray(wanted, dtype=float)
    if edges.ndim != 1 or len(edges) < 2 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise KingpostError(f"the class edges of the {what} must be two or more finite numbers that grow; got {wanted!r}")
    outside = values[(values < edges[0]) | (values > edges[-1])]
    if outside.size:
        # numpy leaves them out without a word, and they are the cycles that count most.
        raise KingpostError(
            f"{outside.size} cycles have a {what} outside the classes from {edges[0]:g} to {edges[-1]:g}, for instance "
            f"{outside[np.argmax(np.abs(outside))]:g}; widen the classes"
        )
    return edges
