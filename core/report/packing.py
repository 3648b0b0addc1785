"""Long columns of numbers made small: extremes of buckets, 16-bit steps between a lowest and a highest value, base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray

#: Steps between the lowest and the highest value; one more code stands for "not a number".
CODE_STEPS = 65534
GAP = -32768


class Buckets:
    """How a time base of many samples becomes one of at most ``points``: two per bucket, the extremes in it.

    A history that is short enough stays as it is (``size`` 1).
    """

    def __init__(self, time: FloatArray, points: int) -> None:
        self.samples = len(time)
        self.size = 1 if self.samples <= points else -(-self.samples // max(points // 2, 1))
        if self.size == 1:
            self.time = np.array(time)
            return
        first = np.arange(0, self.samples, self.size)
        last = np.minimum(first + self.size, self.samples) - 1
        begin, length = time[first], time[last] - time[first]
        self.time = np.column_stack([begin + 0.25 * length, begin + 0.75 * length]).ravel()

    def reduce(self, values: FloatArray) -> FloatArray:
        """Return the least and the greatest of each bucket, in the order in which they occur."""
        if self.size == 1:
            return values
        count = len(self.time) // 2
        padded = np.full(count * self.size, np.nan)
        padded[: self.samples] = values
        rows = padded.reshape(count, self.size)
        known = np.isfinite(rows)
        least = np.where(known, rows, np.inf).argmin(axis=1)
        greatest = np.where(known, rows, -np.inf).argmax(axis=1)
        chosen = np.sort(np.column_stack([least, greatest]), axis=1)
        return np.take_along_axis(rows, chosen, axis=1).ravel()


def packed(values: FloatArray) -> dict[str, Any]:
    """Return a column as its lowest and highest value and base64 text of 16-bit integers between them.

    A column that never changes is only counted.
    """
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    span = high - low
    if span == 0.0 and known.all():
        return {"low": low, "high": high, "count": len(values)}
    codes = np.full(len(values), GAP)
    share = (values[known] - low) / span if span > 0 else np.zeros(known.sum())
    codes[known] = np.rint(share * CODE_STEPS).astype(int) - CODE_STEPS // 2
    return {"low": low, "high": high, "codes": base64.b64encode(codes.astype("<i2").tobytes()).decode("ascii")}


def unpacked(column: Mapping[str, Any]) -> FloatArray:
    """Return the numbers of a packed column, as the page sees them: within half a step of what went in."""
    if "codes" not in column:
        return np.full(column["count"], float(column["low"]))
    codes = np.frombuffer(base64.b64decode(column["codes"]), dtype="<i2").astype(float)
    values = column["low"] + (codes + CODE_STEPS // 2) / CODE_STEPS * (column["high"] - column["low"])
    values[codes == GAP] = np.nan
    return values


def packed_time(time: FloatArray) -> dict[str, Any]:
    """Return times as start, step and count where they are even, else as base64 text of 64-bit floats."""
    if is_even(time):
        return {"start": float(time[0]), "step": float((time[-1] - time[0]) / max(len(time) - 1, 1)), "count": len(time)}
    return {"floats": base64.b64encode(time.astype("<f8").tobytes()).decode("ascii")}


def is_even(time: FloatArray) -> bool:
    """Say whether times are evenly spaced: none is off its place by more than a thousandth of the step."""
    if len(time) < 2 or not time[-1] > time[0]:
        return False
    step = (time[-1] - time[0]) / (len(time) - 1)
    return bool(np.abs(time - time[0] - step * np.arange(len(time))).max() <= 1e-3 * step)
