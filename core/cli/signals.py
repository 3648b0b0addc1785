"""Signals that ask the command line to end: what was computed is kept, as after an interrupt from the keyboard."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

#: SIGTERM comes from batch systems, containers and ``timeout``, SIGHUP from a terminal that is closed.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
#: Some senders signal a process and then its group; the second signal within so many s asks for nothing new.
TWICE = 1.0


class Asked:
    """Whether, and by which signal, this process was asked to end."""

    def __init__(self) -> None:
        self.signal = signal.SIGINT
        self._when = float("-inf")

    @property
    def status(self) -> int:
        """The exit status by which shells and batch systems know the signal."""
        return 128 + self.signal

    @property
    def words(self) -> str:
        """The signal, if it was not the keyboard's."""
        return "" if self.signal == signal.SIGINT else f" (by {self.signal.name})"

    def take(self, number: int, frame: FrameType | None) -> None:
        """Interrupt whatever is under way."""
        now = time.monotonic()
        if now - self._when < TWICE:
            return
        self._when, self.signal = now, signal.Signals(number)
        raise KeyboardInterrupt


@contextlib.contextmanager
def asked_to_end() -> Iterator[Asked]:
    """Turn signals that would end this process at once into interrupts, for as long as the context lasts.

    A signal that is ignored, as SIGHUP under ``nohup``, or handled by somebody else, stays as it is.
    """
    asked = Asked()
    taken = []
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, asked.take)
                taken.append(number)
    try:
        yield asked
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def while_doing(what: str) -> Iterator[None]:
    """Let an interrupt that does not say so tell what it interrupted."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if str(interrupt):
            raise
        raise KeyboardInterrupt(f"interrupted while {what}") from None
