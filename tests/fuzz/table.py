"""The table of everything that reads what others write, with small good inputs to damage.

A reader gets the content of a file and does with it what a verb would do before it runs anything. It may refuse it, with an
error of Kingpost's own; what it accepts must make sense.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.mutations import Form, damaged

SEEDS = Path(__file__).parent / "seeds"
#: Reads the content of a file in a folder; what lies there beside it, it puts there itself.
Read = Callable[[bytes, Path], None]
#: Makes damaged content.
Damage = Callable[[random.Random], bytes]


@dataclass(frozen=True)
class Reader:
    """A way in, the damage to what goes through it, and how many inputs it gets: often, and in the long run."""

    name: str
    suffix: str
    #: Content that is well.
    good: Callable[[], Sequence[bytes]]
    damage: Damage
    read: Read
    often: int
    long: int

    def content(self, number: int) -> bytes:
        """Return an input by its number, the same for ever."""
        return self.damage(random.Random(f"{self.name} {number}"))


READERS: dict[str, Reader] = {}


def seeds(*names: str) -> list[bytes]:
    """Return the content of some good files."""
    return [(SEEDS / name).read_bytes() for name in names]


def reader(
    suffix: str,
    good: Sequence[bytes] | Callable[[], Sequence[bytes]],
    often: int,
    long: int,
    *,
    form: Form = "text",
    damage: Damage | None = None,
) -> Callable[[Read], Read]:
    """Add a function as the reader of its name."""
    content = good if callable(good) else lambda: good

    def add(read: Read) -> Read:
        name = read.__name__.replace("_", "-")
        READERS[name] = Reader(name, suffix, content, damage or (lambda rng: damaged(rng, content(), form)), read, often, long)
        return read

    return add
