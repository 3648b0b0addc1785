"""What a reader has to say of a structure without refusing it: once for everything of one kind."""

from __future__ import annotations

from collections.abc import Hashable


class Notes:
    """Sentences in the order in which they first came up."""

    def __init__(self) -> None:
        self._said: dict[Hashable, tuple[str, int]] = {}

    def say(self, kind: Hashable, text: str) -> None:
        """Keep a sentence; of several of one kind, the first and their number."""
        first, count = self._said.get(kind, (text, 0))
        self._said[kind] = first, count + 1

    def all(self) -> tuple[str, ...]:
        """Return the sentences."""
        return tuple(
            text if count == 1 else f"{text} (and {count - 1} more of this kind)" for text, count in self._said.values()
        )
