"""Somebody who watches a run and keeps what is shown."""

import numpy as np


class KeepingWatch:
    """Keeps all samples; wants some at every ``often``-th look."""

    def __init__(self, often: int = 1) -> None:
        self.often, self.looks, self.begun = often, 0, 0

    def begin(self, channels):
        self.begun += 1
        self.channels, self.times, self.rows = tuple(channels), [], []

    def due(self):
        self.looks += 1
        return self.looks % self.often == 0

    def add(self, time, values):
        self.times.append(np.array(time))
        self.rows.append(np.array(values))

    @property
    def time(self):
        return np.concatenate(self.times)

    @property
    def values(self):
        return np.concatenate(self.rows)


class WatchedProgress:
    """A function that is told how far a run is, with a watch."""

    def __init__(self, often: int = 1) -> None:
        self.watch = KeepingWatch(often)
        self.fractions = []

    def __call__(self, fraction):
        self.fractions.append(fraction)
