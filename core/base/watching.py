"""Samples of a run while it goes on, for whoever watches it.

Runs tell a function how far they are. If that function has a ``watch``, they hand it their samples, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel


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
