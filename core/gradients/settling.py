"""The time after which a signal stays near a value, and how it depends on the samples."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError

#: A later peak that stays within the band by less than this part of its width is about to leave it.
CLOSE = 1e-3


def settling_time(
    what: str, time: FloatArray, values: FloatArray, near: float, within: float
) -> tuple[float, FloatArray, list[str]]:
    """Return the last time at which a signal comes within some distance of a value, its slopes, and warnings.

    Between samples the signal is a straight line. So the time t of the last crossing, between samples a and b at times s and
    s + h, is s + h (a - edge) / (a - b), with derivatives -h (b - edge) / (a - b)^2 and h (a - edge) / (a - b)^2 with respect
    to them.
    """
    away = np.abs(values - near)
    outside = np.flatnonzero(away > within)
    weights = np.zeros(len(values))
    if not len(outside):
        return float(time[0]), weights, [f"'{what}': it is never outside, so that it has settled from the start"]
    k = int(outside[-1])
    if k == len(values) - 1:
        raise KingpostError(
            f"'{what}': at the end, {time[-1]:g} s, it is {away[-1]:.4g} away from {near:g}, so that it has not settled; "
            "take a longer run, or a wider band"
        )
    a, b = float(values[k]), float(values[k + 1])
    edge = near + within if a > near else near - within
    h = float(time[k + 1] - time[k])
    weights[k] = -h * (b - edge) / (a - b) ** 2
    weights[k + 1] = h * (a - edge) / (a - b) ** 2
    warnings = []
    later = away[k + 1 :]
    peak = int(np.argmax(later[1:-1])) + 1 if len(later) > 2 else 0
    if peak and later[peak] >= later[peak - 1] and within - later[peak] <= CLOSE * within:
        warnings.append(
            f"'{what}': it nearly leaves again at {time[k + 1 + peak]:g} s; the gradient is that of the crossing at "
            f"{time[k]:g} s, and the time jumps where the later one takes its place"
        )
    return float(time[k]) + h * (a - edge) / (a - b), weights, warnings
