"""What an FMU says through its logger."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: How FMI counts how a call went.
STATUSES = ("ok", "warning", "discard", "error", "fatal", "pending")
#: Messages that are kept; a chatty FMU must not fill the memory.
KEPT = 200


def status_name(status: int) -> str:
    """Return the word for a status of FMI."""
    return STATUSES[status] if 0 <= status < len(STATUSES) else f"unknown status {status}"


@dataclass(frozen=True)
class Message:
    """One message of an FMU."""

    status: str
    category: str
    text: str

    def __str__(self) -> str:
        return f"[{self.status}] {' '.join(self.text.split())}"


class Log:
    """Takes the messages of FMU instances; the last ones are kept, all are handed on to ``sink``."""

    def __init__(self, sink: Callable[[Message], None] | None = None) -> None:
        self.messages: deque[Message] = deque(maxlen=KEPT)
        self.count = 0
        #: Messages that were not valid UTF-8, or no text at all.
        self.damaged = 0
        self._sink = sink

    def take(self, status: int, category: Any, text: Any) -> None:
        """Take a message as it comes out of C."""
        known = (category or b"").decode("utf-8", errors="replace")
        message = Message(status_name(status), known, self._decoded(text).rstrip())
        self.count += 1
        self.messages.append(message)
        if self._sink is not None:
            self._sink(message)

    def last(self, count: int = 5) -> list[str]:
        """Return the last messages, as lines."""
        return [str(message) for message in list(self.messages)[-count:]]

    def _decoded(self, text: Any) -> str:
        if text is None:
            self.damaged += 1
            return ""
        try:
            return str(text.decode("utf-8"))
        except UnicodeDecodeError:
            self.damaged += 1
            return str(text.decode("utf-8", errors="replace"))
