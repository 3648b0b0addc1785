"""The samples of a run, handed over while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.watching import watch_of
from kingpost.results.turns import Turns


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
