"""Rainflow cycles of a channel, and what a report says about them. The one place of this package that counts."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from kingpost.equations import FloatArray

#: Classes of range and of mean in the matrix of a page.
CLASSES = 30
#: Points of an exceedance curve.
CURVE = 120
MISSING = "Cycles were not counted: the package 'rainflow' is not installed. Run: pip install 'kingpost[fatigue]'"


def can_count() -> bool:
    """Say whether cycles can be counted in this installation."""
    return importlib.util.find_spec("rainflow") is not None


def count_cycles(values: FloatArray) -> FloatArray:
    """Return the cycles of a signal by ASTM E1049, section 5.4.4, as rows of range, mean and count.

    The residue counts as half cycles.
    """
    import rainflow  # an extra

    cycles = [(size, mean, count) for size, mean, count, _, _ in rainflow.extract_cycles(turning_points(values))]
    table = np.array(cycles, dtype=float).reshape(-1, 3)
    return table[table[:, 0] > 0]


def turning_points(values: FloatArray) -> FloatArray:
    """Return the ends of a signal and every value at which it turns: all that counting looks at."""
    steps = np.diff(values)
    moved = np.flatnonzero(steps) + 1
    if len(moved) == 0:
        return values[:1]
    kept = values[np.concatenate([[0], moved])]
    rising = np.diff(kept) > 0
    return kept[np.concatenate([[True], rising[1:] != rising[:-1], [True]])]


def equivalent_load(cycles: FloatArray, slope: float, cycles_eq: float) -> float:
    """Return the damage-equivalent load range, DEL = (sum n_i R_i^m / N_eq)^(1/m)."""
    if len(cycles) == 0:
        return 0.0
    largest = cycles[:, 0].max()  # divided out: the fifth power of a large moment need not be a float
    total = np.sum(cycles[:, 2] * (cycles[:, 0] / largest) ** slope)
    return float(largest * (total / cycles_eq) ** (1.0 / slope))


def range_mean_matrix(cycles: FloatArray, classes: int = CLASSES) -> dict[str, Any]:
    """Return how many cycles lie in each class of range (from 0) and mean, as a list of the classes that hold any."""
    largest = float(cycles[:, 0].max())
    low, high = float(cycles[:, 1].min()), float(cycles[:, 1].max())
    if high - low < 1e-9 * max(largest, abs(high)):  # one mean alone: a class needs some width
        low, high = low - largest / 2, high + largest / 2
    edges = [np.linspace(0.0, largest, classes + 1), np.linspace(low, high, classes + 1)]
    counts, _, _ = np.histogram2d(cycles[:, 0], cycles[:, 1], bins=edges, weights=cycles[:, 2])
    cells = [[int(i), int(j), float(counts[i, j])] for i, j in np.argwhere(counts > 0)]
    return {"classes": classes, "range": [0.0, largest], "mean": [low, high], "cells": cells}


def exceedance(cycles: FloatArray, points: int = CURVE) -> list[list[float]]:
    """Return pairs (N, R): N cycles have a range of R or more. Long curves keep points evenly spread over log N."""
    order = np.argsort(-cycles[:, 0], kind="stable")
    ranges, total = cycles[order, 0], np.cumsum(cycles[order, 2])
    last = np.append(ranges[1:] != ranges[:-1], True)  # of equal ranges the last carries the full count
    ranges, total = ranges[last], total[last]
    if len(total) > points:
        wanted = np.geomspace(total[0], total[-1], points)
        chosen = np.unique(np.clip(np.searchsorted(total, wanted), 0, len(total) - 1))
        ranges, total = ranges[chosen], total[chosen]
    return [[float(n), float(size)] for n, size in zip(total, ranges, strict=True)]


def describe_cycles(values: FloatArray, slopes: Sequence[float], cycles_eq: float) -> dict[str, Any] | None:
    """Return matrix, exceedance curve and equivalent loads of a signal; None if it never turns or has gaps."""
    if not np.isfinite(values).all():
        return None
    cycles = count_cycles(values)
    if len(cycles) == 0:
        return None
    return {
        "matrix": range_mean_matrix(cycles),
        "exceedance": exceedance(cycles),
        "count": float(cycles[:, 2].sum()),
        "del": [equivalent_load(cycles, slope, cycles_eq) for slope in slopes],
    }
