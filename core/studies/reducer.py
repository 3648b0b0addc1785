"""Reducer plugins: what is kept of a run of a study."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import COMPONENTS
from kingpost.registry.plugin import Plugin
from kingpost.results.choosing import MOST_NAMED
from kingpost.results.history import History


class Reducer(Plugin):
    """Base of reducer plugins: a history becomes a few numbers.

    A reducer says which channels it needs, so that a run keeps no others, and gives flat numbers by name. It sees the part of a
    run that counts: what a study leaves out at the start is cut off before. The same history gives the same numbers, whatever
    else is kept, on whichever machine.
    """

    kind = "reducer"

    @abstractmethod
    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        """Return the names of the channels that are needed, of those that a run has; refuse what it cannot do without."""

    @abstractmethod
    def reduce(self, history: History) -> Mapping[str, float]:
        """Return numbers by name: ``{"slew.Mx:max": 1.2e5}``. The history has the needed channels, and maybe others."""


class Accumulator(ABC):
    """What a streaming reducer has found so far of a run that comes in blocks of samples."""

    @abstractmethod
    def add(self, time: FloatArray, values: FloatArray) -> None:
        """Take the next samples: their times, and a column for each channel. The arrays are used again afterwards."""

    @abstractmethod
    def numbers(self) -> Mapping[str, float]:
        """Return numbers by name for what has been added so far. The sizes of the blocks make no difference to any bit."""


class StreamingReducer(Reducer):
    """Base of reducers that need not see a run as a whole: samples go by, and memory does not grow with their number."""

    @abstractmethod
    def begin(self, channels: Sequence[Channel]) -> Accumulator:
        """Return what takes the samples of a run; ``channels`` are those that were asked for, a column for each."""

    def reduce(self, history: History) -> Mapping[str, float]:
        """Return the numbers of a history, added at once."""
        names = tuple(self.channels(history.channels))
        found = self.begin([history.channel(name) for name in names])
        found.add(history.time, history.select(names))
        return found.numbers()


def number_name(subject: str, what: str) -> str:
    """Return the name of a number of a channel or hot spot.

    >>> number_name("slew.Mx", "max")
    'slew.Mx:max'
    """
    return f"{subject}:{what}"


def chosen_channels(wanted: Iterable[str], available: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the channels that some words mean: a channel by its name, or the six loads of a joint by the name of the joint."""
    known = set(available)
    found: dict[str, None] = {}
    for word in wanted:
        loads = [f"{word}.{component}" for component in COMPONENTS]
        if word in known:
            found[word] = None
        elif known.issuperset(loads):
            found.update(dict.fromkeys(loads))
        else:
            joints = {name.rpartition(".")[0] for name in available if name.endswith(f".{COMPONENTS[0]}")}
            raise KingpostError(
                f"{what}: the run has no channel '{word}', and no joint of this name with loads"
                f"{closest(word, [*available, *joints])} Channels: {listed(available, most=MOST_NAMED)}."
            )
    return tuple(found)


def names_of(channels: Iterable[Channel]) -> tuple[str, ...]:
    """Return the names of channels."""
    return tuple(channel.name for channel in channels)
