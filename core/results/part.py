"""A part of a history: some channels, some time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.results.choosing import matching, window
from kingpost.results.history import History


@dataclass(frozen=True)
class Part:
    """Which channels of a history are wanted, by names with ``*`` for any text (None: all), and from when to when (s)."""

    channels: tuple[str, ...] | None = None
    start: float | None = None
    end: float | None = None

    @property
    def whole(self) -> bool:
        """Whether it is all of it."""
        return self == Part()

    def rows(self, time: FloatArray) -> slice:
        """Return which samples it has; refuse a stretch of time without any."""
        inside = np.flatnonzero(window(time, self.start, self.end))
        return slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)

    def reaches(self, first: float, last: float) -> bool:
        """Say whether any time between two lies in it."""
        return (self.end is None or first <= self.end) and (self.start is None or last >= self.start)

    def of(self, history: History) -> History:
        """Return this part of a history."""
        if self.whole:
            return history
        names = history.names if self.channels is None else matching(history.names, self.channels)
        rows = self.rows(history.time)
        channels = tuple(history.channel(name) for name in names)
        return History(history.time[rows], channels, history.select(names)[rows], history.provenance, history.run_id)
