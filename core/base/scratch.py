"""Folders for a while: gone when they are no longer needed, and at the latest when the next one is asked for.

A process that is killed cannot tidy up. Each folder therefore holds a file that its owner keeps locked, and a lock that
nobody holds any more says that the owner is gone, whoever has its process number by now.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
import weakref
from pathlib import Path
from types import TracebackType

from kingpost.base.interrupts import uninterrupted

PREFIX = "kingpost-"
LOCK = ".owner"
#: Seconds after which a lock that nobody holds was not just about to be taken.
YOUNG = 10.0
#: Places that were tidied up by this process.
_tidied: set[str] = set()


class Scratch:
    """A new folder among the temporary files, for ``purpose``; use it in a ``with`` statement, or close it.

    The first one in a process also removes those of processes that were killed.
    """

    def __init__(self, purpose: str) -> None:
        place = tempfile.gettempdir()
        if place not in _tidied:
            _tidied.add(place)
            remove_orphans(Path(place))
        with uninterrupted():
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-"))
            lock = _take(self.path / LOCK, os.O_CREAT)
            # Also where an interrupt comes before anybody could close it.
            self._closed = weakref.finalize(self, _remove, self.path, lock, os.getpid())
            self._closed.atexit = False

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder."""
        with uninterrupted():
            self._closed()


def _remove(path: Path, lock: int | None, owner: int) -> None:
    """Remove a folder and let its lock go, if this is the process that made it and not a fork of it."""
    if os.getpid() != owner:
        return
    if lock is not None and sys.platform == "win32":
        os.close(lock)  # an open file cannot be removed there
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None and sys.platform != "win32":
        os.close(lock)


def remove_orphans(place: Path) -> None:
    """Remove folders in ``place`` that belong to this user and whose owner is gone."""
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{PREFIX}*/{LOCK}"):
            with contextlib.suppress(OSError):
                _remove_orphan(folder.parent)


def _remove_orphan(folder: Path) -> None:
    found = folder.lstat()
    own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if not stat.S_ISDIR(found.st_mode) or not own or time.time() - (folder / LOCK).stat().st_mtime < YOUNG:
        return
    lock = _take(folder / LOCK)
    if lock is not None:
        if sys.platform == "win32":
            os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)
        if sys.platform != "win32":
            os.close(lock)


def _take(path: Path, flags: int = 0) -> int | None:
    """Return a lock on a file that lasts as long as this process, or None if it cannot be had."""
    file = os.open(path, os.O_RDWR | flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file
