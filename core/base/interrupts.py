"""Short work that must not be torn by an interrupt: a folder that is made and not yet known, or half removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Signals whose handlers may raise whatever is under way.
RAISING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def uninterrupted(once: bool = False) -> Iterator[None]:
    """Let interrupts wait until the end of the context; the first one is then handled as it would have been.

    With ``once`` only the first waits, for work that may hang: the next are handled as they come. Handlers run in the main
    thread only, so others have nothing to wait for.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def note(number: int, frame: FrameType | None) -> None:
        if once and came:
            handlers[number](number, frame)
        came.append((number, frame))

    try:
        for number in RAISING:
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            number, frame = came[0]
            handlers[number](number, frame)
