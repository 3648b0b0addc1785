"""The samples of a run, handed over while it goes on.

Runs tell a function how far they are. If that function has a ``watch``, they hand it their samples, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.results.turns import Turns


class SampleWatch(Protocol):
    """Takes the samples of a run as they come."""

    def begin(self, channels: Sequence[Channel]) -> None:
        """Hear of which channels samples will be; what was taken before belongs to a run that began anew."""

    def due(self) -> bool:
        """Say whether samples are wanted now; those that are not handed over wait for the next time."""

    def add(self, time: FloatArray, values: FloatArray) -> None:
        """Take the samples that follow, a row for each time; what is kept of the arrays is copied."""


def watch_of(progress: Callable[[float], None]) -> SampleWatch | None:
    """Return who wants samples, of a function that is told how far a run is."""
    watch: SampleWatch | None = getattr(progress, "watch", None)
    return watch


def unwatched(progress: Callable[[float], None]) -> Callable[[float], None]:
    """Return the same function for a run whose samples nobody is to see: one that only looks whether another is right."""

    def told(fraction: float) -> None:
        progress(fraction)

    return told


class Telling:
    """Hands samples to the watch of a function that is told how far a run is, if it has one and wants some."""

    def __init__(
        self, progress: Callable[[float], None], channels: Callable[[], Sequence[Channel]], known: Iterable[str] | None = None
    ) -> None:
        self._watch = watch_of(progress)
        #: The samples that were handed over.
        self.told = 0
        if self._watch is not None:
            made = channels()
            self._turns = Turns(made, known)
            self._watch.begin(made)

    def due(self, count: int, *, last: bool = False) -> bool:
        """Say whether samples shall be handed over now that there are ``count``: a few times a second, and the last ones."""
        return self._watch is not None and count > self.told and (last or self._watch.due())

    def tell(self, time: FloatArray, values: FloatArray) -> None:
        """Hand over the samples that follow on those that were told; roll and yaw go on through full turns as in a history."""
        if self._watch is not None:
            self.told += len(time)
            self._watch.add(time, self._turns.continued(values))
