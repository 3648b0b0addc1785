"""The samples of a run, in memory that grows: rows come one by one, or many at once from machine code."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray

#: Numbers in the memory of the first samples.
MOST_NUMBERS = 2**16


class Samples:
    """Times, and a row of numbers for each."""

    def __init__(self, columns: int) -> None:
        first = max(1, min(64, MOST_NUMBERS // max(1, columns)))
        self._times, self._rows = np.empty(first), np.empty((first, columns))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def times(self) -> FloatArray:
        """The times so far, which change no more."""
        return self._times[: self._count]

    @property
    def rows(self) -> FloatArray:
        """The rows so far, which change no more."""
        return self._rows[: self._count]

    def add(self, t: float, row: FloatArray) -> None:
        """Keep one sample."""
        times, rows = self.room(1)
        times[0], rows[0] = t, row
        self.filled(1)

    def room(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Return memory for so many times and rows that follow."""
        if self._count + count > len(self._times):
            longer = max(2 * len(self._times), self._count + count)
            for name in ("_times", "_rows"):
                old = getattr(self, name)
                new = np.empty((longer, *old.shape[1:]))
                new[: self._count] = old[: self._count]
                setattr(self, name, new)
        free = slice(self._count, self._count + count)
        return self._times[free], self._rows[free]

    def filled(self, count: int) -> None:
        """Hear that so many samples are in the memory that follows."""
        self._count += count
