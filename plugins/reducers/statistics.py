"""Extremes, mean and spread of channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.studies.reducer import Accumulator, StreamingReducer, chosen_channels, names_of, number_name
from kingpost.studies.streaming import Moments

#: What can be asked of a channel; the standard deviation is that about the mean of the run.
STATISTICS: dict[str, Callable[[Moments], FloatArray]] = {
    "max": lambda found: found.largest,
    "min": lambda found: found.smallest,
    "mean": lambda found: found.mean,
    "std": lambda found: found.deviation,
    "rms": lambda found: found.root_mean_square,
    "range": lambda found: found.largest - found.smallest,
    "absmax": lambda found: np.maximum(found.largest, -found.smallest),
    "last": lambda found: found.last,
}


@dataclass(frozen=True)
class StatisticsOptions:
    """Of what.

    Parameters
    ----------
    channels
        Channels, or joints for their six loads.
    of
        ``max``, ``min``, ``mean``, ``std``, ``rms``, ``range`` (max - min), ``absmax``, ``last``.

    """

    channels: tuple[str, ...]
    of: tuple[str, ...] = ("max", "min", "mean", "std")

    def __post_init__(self) -> None:
        for word in self.of:
            if word not in STATISTICS:
                raise MechanismError(
                    f"there is no statistic '{word}'{closest(word, STATISTICS)} There are: {listed(STATISTICS)}."
                )


class Statistics(StreamingReducer):
    """Largest, smallest, mean value and standard deviation of channels."""

    name = "statistics"
    Options = StatisticsOptions

    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        return chosen_channels(self.options.channels, names_of(available), f"reducer '{self.name}'")

    def begin(self, channels: Sequence[Channel]) -> Accumulator:
        return _NamedMoments(names_of(channels), self.options.of)


class _NamedMoments(Moments):
    """Some statistics of channels."""

    def __init__(self, names: Sequence[str], words: Sequence[str]) -> None:
        super().__init__(len(names))
        self.names, self.words = tuple(names), tuple(words)

    def found(self) -> Mapping[str, float]:
        columns = {word: STATISTICS[word](self).tolist() for word in self.words}
        return {number_name(name, word): columns[word][i] for i, name in enumerate(self.names) for word in self.words}
