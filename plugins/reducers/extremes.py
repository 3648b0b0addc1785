"""The largest and smallest values of channels, when they occur, and those of parts of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, MechanismError
from kingpost.results.history import History
from kingpost.studies.reducer import Reducer, chosen_channels, names_of, number_name


@dataclass(frozen=True)
class ExtremesOptions:
    """Of what.

    Parameters
    ----------
    channels
        Channels, or joints for their six loads.
    blocks
        Parts of equal length that a run is cut into, each with extremes of its own.

    """

    channels: tuple[str, ...]
    blocks: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.blocks <= 10_000:
            raise MechanismError(f"blocks = {self.blocks}: give a number from 1 to 10000")


class Extremes(Reducer):
    """Largest and smallest values with their times, up-crossings of the mean, and extremes of blocks of a run."""

    name = "extremes"
    Options = ExtremesOptions

    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        return chosen_channels(self.options.channels, names_of(available), f"reducer '{self.name}'")

    def reduce(self, history: History) -> Mapping[str, float]:
        blocks = self.options.blocks
        if len(history) < blocks:
            raise KingpostError(f"a run of {len(history)} samples has no {blocks} blocks; ask for fewer, or simulate longer")
        numbers: dict[str, float] = {}
        for channel in self.channels(history.channels):
            values = history[channel]
            above = values > values.mean()
            numbers |= {
                number_name(channel, "max"): float(values.max()),
                number_name(channel, "min"): float(values.min()),
                number_name(channel, "tmax"): float(history.time[values.argmax()]),
                number_name(channel, "tmin"): float(history.time[values.argmin()]),
                number_name(channel, "upcrossings"): float(np.count_nonzero(above[1:] & ~above[:-1])),
            }
            if blocks > 1:
                for i, part in enumerate(np.array_split(values, blocks)):
                    numbers[number_name(channel, f"max {i + 1}")] = float(part.max())
                    numbers[number_name(channel, f"min {i + 1}")] = float(part.min())
        return numbers
