"""Who is told what is done while a kernel is made, and how long it takes: a command line, for example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Doing:
    """What is being done, for how long (s), and how long the like of it took here, if that is known."""

    what: str
    seconds: float
    expected: float | None = None

    @property
    def words(self) -> str:
        """The same in words."""
        usual = "" if self.expected is None else f", usually {max(1.0, self.expected):.0f} s"
        return f"{self.what} ({self.seconds:.0f} s{usual})"


Listener: TypeAlias = Callable[[Doing], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told(listener: Listener) -> Iterator[None]:
    """Let ``listener`` know, for as long as the context lasts, several times a second of what is being done."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(what: str, seconds: float, expected: float | None = None) -> None:
    """Tell whoever listens what is being done."""
    listener = _listener.get()
    if listener is not None:
        listener(Doing(what, seconds, expected))


def listening() -> bool:
    """Say whether anybody listens."""
    return _listener.get() is not None
