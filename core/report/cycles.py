"""Rainflow cycles of a channel, and what a report says about them. The one place of this package that counts."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fatigue.counting import COUNTING_RULE, RESIDUE_RULE, Cycles, count_cycles
from kingpost.fatigue.equivalent import REFERENCE_FREQUENCY, damage_equivalent_range
from kingpost.fatigue.quality import counted_window
from kingpost.fatigue.spectra import range_exceedance, range_mean_matrix

#: Classes of range and of mean in the matrix of a page.
CLASSES = 30
#: Points of an exceedance curve.
CURVE = 120
#: Ranges below this part of a signal's size are no cycles: of a load at rest, in which classes would be narrower than numbers.
ROUNDING = 1e-13
MISSING = "Cycles were not counted: the package 'rainflow' is not installed. Run: pip install 'kingpost[fatigue]'"


def counting_rules(time: FloatArray, slopes: Sequence[float]) -> dict[str, Any]:
    """Return what must be said beside every number about cycles; ``note`` says why there can be none."""
    duration = float(time[-1] - time[0])
    rules: dict[str, Any] = {
        "rule": f"{COUNTING_RULE}, {RESIDUE_RULE}",
        "slopes": list(slopes),
        "reference_hz": REFERENCE_FREQUENCY,
        "n_eq": duration * REFERENCE_FREQUENCY,
        "channels": {},
    }
    if importlib.util.find_spec("rainflow") is None:
        return {**rules, "note": MISSING}
    try:
        counted_window(time)
    except KingpostError as error:
        return {**rules, "note": f"Cycles were not counted: {error}"}
    return rules


def describe_cycles(values: FloatArray, slopes: Sequence[float], duration: float) -> dict[str, Any] | None:
    """Return matrix, exceedance curve and equivalent loads of a signal; None if it has gaps, or turns by rounding at most."""
    if not np.isfinite(values).all():
        return None
    cycles = count_cycles(values)
    if cycles.largest_range <= ROUNDING * float(np.abs(values).max(initial=0.0)):
        return None
    return {
        "matrix": _matrix(cycles),
        "exceedance": _curve(cycles),
        "count": cycles.total,
        "del": [damage_equivalent_range(cycles, slope, duration).range for slope in slopes],
    }


def _matrix(cycles: Cycles) -> dict[str, Any]:
    """Return how many cycles lie in each class of range (from 0) and mean, as a list of the classes that hold any."""
    low, high, largest = float(cycles.mean.min()), float(cycles.mean.max()), cycles.largest_range
    if high - low < 1e-9 * max(largest, abs(high)):  # one mean alone: a picture needs classes of some width around it
        low, high = low - largest / 2, high + largest / 2
    matrix = range_mean_matrix(cycles, CLASSES, np.linspace(low, high, CLASSES + 1))
    cells = [[int(i), int(j), float(matrix.count[i, j])] for i, j in np.argwhere(matrix.count > 0)]
    return {"classes": CLASSES, "range": [0.0, largest], "mean": [low, high], "cells": cells}


def _curve(cycles: Cycles) -> list[list[float]]:
    """Return pairs (N, R): N cycles have a range of R or more. Long curves keep points evenly spread over log N."""
    curve = range_exceedance(cycles)
    number, size = curve.count, curve.range
    if len(number) > CURVE:
        wanted = np.geomspace(number[0], number[-1], CURVE)
        chosen = np.unique(np.clip(np.searchsorted(number, wanted), 0, len(number) - 1))
        number, size = number[chosen], size[chosen]
    return [[float(n), float(r)] for n, r in zip(number, size, strict=True)]
