"""Weather windows: how often, how long and when limits are kept, and how long one waits for that.

A sample stands for the time until the next one. A *window* is an unbroken time in which all limits are kept. An operation of a
given length can begin at a sample if the window lasts long enough from there on. Where samples are missing nothing is known: a
window ends there, and so does whoever waits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, listed
from kingpost.studies.sea_series import SeaSeries

#: A step longer than this many median steps is a gap.
GAP = 1.5
#: A length that is so much above a number of steps is that number.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Share:
    """What a part of the record, such as all its Januaries, says. Shares are parts of the time in which something is known."""

    hours: float
    #: Within the limits at all.
    within: float
    #: In windows that are long enough.
    workable: float
    #: Times at which the operation can begin.
    startable: float
    #: Mean of the time until it can begin, h; None where nobody knows, since the record ends first.
    mean_wait: float | None
    #: Windows that are long enough and begin here.
    windows: int


@dataclass(frozen=True, eq=False)
class Persistence:
    """The windows of a record, and what they are worth to an operation of a given length."""

    limits: Mapping[str, float]
    #: The length of the operation, h, and that of a sample.
    length: float
    step: float
    #: All windows, with their beginnings from the first sample on and their lengths, h.
    window_start: FloatArray
    window_length: FloatArray
    total: Share
    #: By month, 1 to 12, where the times are dates.
    months: Mapping[int, Share]
    #: The time until the operation can begin that is not exceeded in half, and in nine of ten cases, and the longest, h.
    wait_quantiles: tuple[float, float, float] | None
    #: Part of the time after which the record, or a part of it between gaps, ends before the operation could begin.
    unknown_wait: float
    #: Time in which nothing is known, h, and the number of places.
    missing: float
    gaps: int

    @property
    def long_enough(self) -> FloatArray:
        """The lengths of the windows that are long enough, h."""
        return self.window_length[self.window_length >= self.length * (1.0 - ROUNDING)]


def weather_windows(series: SeaSeries, limits: Mapping[str, float], length: float) -> Persistence:
    """Return the windows of a record in which columns are at or below limits, for an operation of ``length`` hours."""
    if not limits:
        raise KingpostError("no limit was given; give one or more, such as a wave height of 1.5 m")
    for name, limit in limits.items():
        if not math.isfinite(limit):
            raise KingpostError(f"the limit of '{name}' is {limit}; give a finite number")
    if not 0.0 < length < math.inf:
        raise KingpostError(f"an operation of {length:g} h has no length; give a time above 0, such as 6 h")
    values = np.column_stack([series.column(name) for name in limits])
    known: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1), dtype=np.bool_)
    if not known.any():
        raise KingpostError(f"the record knows nothing: there is no sample with {listed(limits)}")
    step = float(np.median(np.diff(series.hours)))
    # More than there are samples are never in a window, however many.
    needed = max(math.ceil(min(length / step, len(values) + 1.0) * (1.0 - ROUNDING)), 1)
    good = np.asarray(known & (values <= np.array(list(limits.values()))).all(axis=1), dtype=np.bool_)
    found = _Samples(series.hours, known, good, step, needed)
    jumps = np.diff(series.hours)
    holes = jumps > GAP * step
    return Persistence(
        dict(limits),
        length,
        step,
        series.hours[found.begin],
        np.asarray(found.lengths * step, dtype=float),
        found.share(np.ones(len(good), dtype=np.bool_)),
        {} if series.months is None else {m: found.share(series.months == m) for m in np.unique(series.months).tolist()},
        found.quantiles(),
        float(np.isnan(found.wait[known]).mean()),
        float((jumps[holes] - step).sum() + step * (~known).sum()),
        int(holes.sum() + np.count_nonzero(known[:-1] & ~known[1:]) + (not known[0])),
    )


class _Samples:
    """What is true of every sample: whether it is in a long window, whether one can begin there, and how long one waits."""

    def __init__(self, hours: FloatArray, known: NDArray[np.bool_], good: NDArray[np.bool_], step: float, needed: int) -> None:
        self.known, self.good, self.step, self.needed = known, good, step, needed
        count = len(good)
        #: Whether a sample goes on where the one before it ended.
        joined = np.concatenate([[False], (np.diff(hours) <= GAP * step) & known[1:] & known[:-1]])
        begins = good & ~(joined & np.concatenate([[False], good[:-1]]))
        self.begin: NDArray[np.int64] = np.flatnonzero(begins)
        ends = good & ~np.concatenate([joined[1:] & good[1:], [False]])
        self.lengths: NDArray[np.int64] = np.flatnonzero(ends) - self.begin + 1
        self.workable, self.startable = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        for first, size in self._long():
            self.workable[first : first + size] = True
            self.startable[first : first + size - needed + 1] = True
        self.wait = self._waits(joined)

    def _long(self) -> Iterator[tuple[int, int]]:
        """Yield the first sample and the size of every window that is long enough."""
        for first, size in zip(self.begin.tolist(), self.lengths.tolist(), strict=True):
            if size >= self.needed:
                yield first, size

    def _waits(self, joined: NDArray[np.bool_]) -> FloatArray:
        """Return the time from each sample to the next at which the operation can begin, nan where that is not known."""
        wait = np.full(len(joined), np.nan)
        later = math.nan
        for i in range(len(joined) - 1, -1, -1):
            later = 0.0 if self.startable[i] else later + self.step
            wait[i] = later if self.known[i] else math.nan
            if not joined[i]:
                later = math.nan
        return wait

    def share(self, part: NDArray[np.bool_]) -> Share:
        """Return what some of the samples say together."""
        known = part & self.known
        count = int(known.sum())
        waits = self.wait[known & np.isfinite(self.wait)]
        beginning = part[self.begin] & (self.lengths >= self.needed)
        within, workable, startable = (
            float(mask[known].mean()) if count else 0.0 for mask in (self.good, self.workable, self.startable)
        )
        mean = float(waits.mean()) if waits.size else None
        return Share(count * self.step, within, workable, startable, mean, int(beginning.sum()))

    def quantiles(self) -> tuple[float, float, float] | None:
        """Return the median, the 90 % quantile and the largest of all waits that are known."""
        waits = self.wait[np.isfinite(self.wait)]
        if not waits.size:
            return None
        middle, most, longest = np.quantile(waits, [0.5, 0.9, 1.0])
        return float(middle), float(most), float(longest)


def persistence_record(found: Persistence) -> dict[str, Any]:
    """Return windows as plain data for JSON files."""

    def plain(share: Share) -> dict[str, Any]:
        return {
            "hours": share.hours,
            "within_limits": share.within,
            "workable": share.workable,
            "startable": share.startable,
            "mean_wait_h": share.mean_wait,
            "windows": share.windows,
        }

    quantiles = found.wait_quantiles
    enough = found.long_enough
    return {
        "limits": dict(found.limits),
        "length_h": found.length,
        "step_h": found.step,
        "total": plain(found.total),
        "months": {str(month): plain(share) for month, share in found.months.items()},
        "windows": {
            "count": len(found.window_length),
            "long_enough": len(enough),
            "mean_length_h": float(enough.mean()) if len(enough) else None,
            "longest_h": float(found.window_length.max(initial=0.0)),
        },
        "wait": {
            "median_h": None if quantiles is None else quantiles[0],
            "not_exceeded_in_90_percent_h": None if quantiles is None else quantiles[1],
            "longest_h": None if quantiles is None else quantiles[2],
            "unknown": found.unknown_wait,
        },
        "missing_h": found.missing,
        "gaps": found.gaps,
    }
