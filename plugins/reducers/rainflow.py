"""Ranges counted in classes that are the same for all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table
from kingpost.base.numbers import finite, shown
from kingpost.studies.reducer import Accumulator, StreamingReducer, chosen_channels, names_of, number_name
from kingpost.studies.streaming import RangeClasses

#: What comes after the last class.
BEYOND = "beyond"


@dataclass(frozen=True)
class RainflowOptions:
    """Of what.

    Parameters
    ----------
    largest
        For each channel, or joint for its six loads, where the last class ends.
    classes
        How many classes of equal width there are from 0 on.

    """

    largest: Table
    classes: int = 32

    def __post_init__(self) -> None:
        if not 1 <= self.classes <= 1000:
            raise MechanismError(f"classes = {self.classes}: give a number from 1 to 1000")
        if not self.largest:
            raise MechanismError("'largest' names no channel")
        for name, value in self.largest.items():
            number = finite(value)
            if number is None or number <= 0.0:
                raise MechanismError(f"largest range of '{name}' = {shown(value)} is not a number above 0")


class Rainflow(StreamingReducer):
    """Histogram of ranges by rainflow counting, in classes that all runs share."""

    name = "rainflow"
    Options = RainflowOptions

    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        return tuple(self._largest(names_of(available)))

    def begin(self, channels: Sequence[Channel]) -> Accumulator:
        largest = self._largest(names_of(channels))
        return _NamedClasses({name: largest[name] for name in names_of(channels)}, self.options.classes)

    def _largest(self, available: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for word, largest in self.options.largest.items():
            chosen = chosen_channels([word], available, f"reducer '{self.name}'")
            found.update(dict.fromkeys(chosen, float(largest)))
        return found


class _NamedClasses(RangeClasses):
    """Cycles in classes of channels."""

    def __init__(self, largest: Mapping[str, float], classes: int) -> None:
        super().__init__([np.linspace(0.0, end, classes + 1) for end in largest.values()])
        self.names, self.classes = tuple(largest), classes

    def found(self) -> Mapping[str, float]:
        return {
            class_name(name, i if i < self.classes else None): number
            for name, counted in zip(self.names, self.counted, strict=True)
            for i, number in enumerate(counted.tolist())
        }


def class_name(channel: str, i: int | None) -> str:
    """Return the name of the number of cycles in class ``i``, or beyond the last one."""
    return number_name(channel, f"cycles {BEYOND if i is None else i}")
