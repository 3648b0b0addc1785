"""What a running job tells: progress, the end of its log, and why it failed."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from kingpost.fmu.service.starting import Place

#: Characters of a message that are kept.
LONGEST = 4000
#: Characters of words on progress, of a name among its numbers, and how many of these there may be.
LONGEST_WORDS, LONGEST_WORD, MOST_NUMBERS = 200, 40, 20
#: Bytes at the end of a log in which the message is looked for.
TAIL = 64_000
#: Exit statuses that end a job well although they are not 0, by kind: a check with findings is a check.
GOOD = {"fmu-check": (0, 8)}
_MESSAGE = re.compile(r"^kingpost(?: [a-z-]+)?: (?!warning: |note: )(?:error: )?", re.MULTILINE)


@dataclass(frozen=True)
class Said:
    """What a command said of how far it is: the part that is done and the seconds left, as far as it knows, and words."""

    fraction: float | None = None
    left: float | None = None
    words: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, line: bytes) -> Said:
        """Return what a line says; raise if it is none of ours."""
        said = json.loads(line)
        fraction, left, numbers = said.get("fraction"), said.get("left_s"), said.get("numbers", {})
        if fraction is None and not said.get("words"):
            raise ValueError("it says nothing")
        given = [(str(name)[:LONGEST_WORD], value) for name, value in numbers.items() if value is not None]
        return cls(
            None if fraction is None else min(1.0, max(0.0, _finite(fraction))),
            None if left is None else _finite(left),
            str(said.get("words", ""))[:LONGEST_WORDS],
            {name: _finite(value) for name, value in given[:MOST_NUMBERS]},
        )

    def data(self) -> dict[str, Any]:
        """Return it as an event carries it."""
        told: dict[str, Any] = {"progress": self.fraction, "time_left_s": self.left}
        return {**told, **({"words": self.words} if self.words else {}), **({"numbers": self.numbers} if self.numbers else {})}


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return number


class ProgressReader:
    """Reads what a command appends to its file of progress."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self._rest = b""

    def last(self) -> Said | None:
        """Return what was last said since the last call; None if nothing new was."""
        try:
            with open_plain(self.path) as stream:
                stream.seek(self._read)
                new = stream.read(1_000_000)
        except OSError:
            return None
        self._read += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        found = None
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
                found = Said.of(line)
        return found


def open_plain(path: Path) -> BinaryIO:
    """Open a file that somebody else's code could have replaced by a link that leads elsewhere, or a pipe to wait at."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"'{path}' is no file")
    return os.fdopen(handle, "rb")


def outcome(kind: str, status: int, place: Place) -> tuple[str, str | None]:
    """Return the state that a process leaves its job in, and the message that a user would see on the command line."""
    if status in GOOD.get(kind, (0,)):
        return "done", None
    said = message_in(_tail(place.log))
    if status < 0:
        name = signal.Signals(-status).name if -status in signal.Signals._value2member_map_ else str(-status)
        why = ", by somebody or for want of memory" if name == "SIGKILL" else ""
        return "failed", f"the process was ended by {name}{why}{': ' + said if said else ''}"
    return "failed", said or f"the command ended with status {status} and no message"


def message_in(log: str) -> str:
    """Return the last message in a log: from its first line to the end."""
    starts = list(_MESSAGE.finditer(log))
    text = log[starts[-1].end() :] if starts else log
    return text.strip()[-LONGEST:]


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - TAIL))
            return stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
