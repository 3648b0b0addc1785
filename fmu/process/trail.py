"""What a process was doing, in a file that outlives it."""

from __future__ import annotations

import os
import struct
from pathlib import Path

#: Bytes for the call that is under way; how far a run has come follows.
LENGTH = 240


class Trail:
    """Writes down every call before it is made; an object to be called."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._opened()

    def __call__(self, call: str) -> None:
        """Write down what is under way."""
        self._write(0, call.encode("utf-8", errors="replace")[:LENGTH].ljust(LENGTH))

    def reach(self, time: float) -> None:
        """Write down how far a run has come."""
        self._write(LENGTH, struct.pack("<d", time))

    def _opened(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))

    def _write(self, place: int, content: bytes) -> None:
        try:
            os.lseek(self._file, place, os.SEEK_SET)
        except OSError:  # an FMU may close what it has not opened
            self._file = self._opened()
            os.lseek(self._file, place, os.SEEK_SET)
        os.write(self._file, content)


def raw_trail(path: Path) -> bytes:
    """Return a trail as it is in its file; it changes with every other call."""
    return path.read_bytes() if path.is_file() else b""


def read_trail(path: Path) -> tuple[str, float | None]:
    """Return what was under way, and how far the run had come."""
    content = raw_trail(path)
    number = content[LENGTH : LENGTH + 8]
    reached = struct.unpack("<d", number)[0] if len(number) == 8 else None
    return content[:LENGTH].decode("utf-8", errors="replace").strip("\0 ") or "starting", reached
