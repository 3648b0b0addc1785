"""What a live session drives: a machine, or a coupled system. It goes on by frames, and back to states that it gave away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError
from kingpost.fmu.live.controls import Controls
from kingpost.results.history import History

#: A frame is about so long in s: fifty of them make a second.
FRAME = 0.02
#: A session may go on for so long in s, if nobody says.
HORIZON = 4 * 3600.0


class LiveStoppedError(KingpostError):
    """The machine or system cannot go on from where it is; the message is that of a run that stops there."""


class Subject(ABC):
    """A machine or a coupled system that is under way."""

    name: str
    #: The start of the session, where it is now, and how far it can go at most (s).
    t_start: float
    t: float
    t_end: float
    #: The length of a frame in s, or about that where a master chooses the steps.
    frame: float
    channels: tuple[Channel, ...]
    controls: Controls
    #: All channels as they are now.
    row: FloatArray
    #: Why it cannot go back to an earlier state; empty if it can.
    obstacle: str = ""
    #: Sentences for the user.
    notes: tuple[str, ...] = ()

    @abstractmethod
    def advance(self) -> None:
        """Go on by a frame, or raise :class:`LiveStoppedError`; then it is not said where it is, but it can go back."""

    @abstractmethod
    def change(self, values: Mapping[str, float]) -> None:
        """Change controls; what is refused leaves everything as it was."""

    @abstractmethod
    def save(self) -> Any:
        """Return the present state."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go back to a state."""

    @abstractmethod
    def forget(self, state: Any) -> None:
        """Say that a state is needed no more."""

    @property
    @abstractmethod
    def most_states(self) -> int:
        """How many states may be kept at once, so that memory stays bounded."""

    @abstractmethod
    def history(self, times: Sequence[float], rows: Sequence[FloatArray], outcome: str, seconds: float) -> History:
        """Return samples as a history with everything that is known about them, and the numbers of the start."""

    def present(self) -> History:
        """Return how it is now, with the numbers that hold now: what a picture of it is drawn from."""
        return self.history([self.t], [self.row], "live", 0.0)

    @abstractmethod
    def close(self) -> list[str]:
        """End it; return what is said against that."""
