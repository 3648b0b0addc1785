"""When samples are due, and what is said of those that are bad; as in fmu/export/native/c/sampling.c."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kingpost.base.arrays import FloatArray
from kingpost.control.blocks.sampling import SAME_TIME
from kingpost.simulation.export_model import SampleRows


def sample_times(origin: float, begin: float, end: float, step: float) -> list[float]:
    """Return the sample times from ``begin`` on and before ``end``; times that differ by rounding are the same."""
    first, last = (math.ceil((t - origin) / step - SAME_TIME) for t in (begin, end))
    return [origin + k * step for k in range(first, last)]


def time_reached(origin: float, end: float, step: float) -> float:
    """Return ``end``, or the sample time that it is but for rounding."""
    nearest = origin + round((end - origin) / step) * step
    return nearest if abs(nearest - end) <= SAME_TIME * step else end


def verdict(rows: SampleRows, inputs: Sequence[str], u: FloatArray, before: FloatArray, after: FloatArray, t: float) -> str:
    """Return what is to be said of a sample, where that is not what was said of the one before it."""
    bad, now = before[rows.bad], after[rows.bad]
    if bad == 0 and after[rows.refused] > before[rows.refused]:
        k = next(i for i, value in enumerate(u) if not math.isfinite(value))
        return f"'{inputs[k]}' is {u[k]:g} at t = {t:.9g} s: the sample is refused, and {rows.otherwise}"
    if bad == 0 and now > 0:
        return f"the sample at t = {t:.9g} s has no finite result: {rows.otherwise}"
    if bad > 0 and now == 0:
        return f"the sample at t = {t:.9g} s is good again, after {bad:.0f} that were refused or failed"
    return ""
