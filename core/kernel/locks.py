"""A lock between processes that ends with its holder, however that ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

#: Seconds between two looks at a lock that somebody else holds.
LOOK = 0.05


@contextlib.contextmanager
def locked(
    path: Path,
    limit: float,
    settled: Callable[[], bool] = lambda: False,
    waiting: Callable[[float], object] = lambda seconds: None,
) -> Iterator[float]:
    """Hold the lock ``path`` and give the seconds that were waited for it; ``waiting`` is told of them meanwhile.

    The lock is of the open file, which the system closes when its process ends, by a signal or not: what a process that was
    killed leaves is a file that nobody holds. A wait ends early when ``settled``, and after ``limit`` s in any case, without
    the lock; where files cannot be locked there is no wait at all.
    """
    started = time.perf_counter()
    handle = None
    try:
        while (handle := _taken(path)) is None and not settled() and time.perf_counter() - started < limit:
            waiting(time.perf_counter() - started)
            time.sleep(LOOK)
        yield time.perf_counter() - started
    finally:
        if handle is not None and handle >= 0:
            # Removed while it is still held, so that whoever gets it after us finds that the name is another file's.
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(handle)


def _taken(path: Path) -> int | None:
    """Return the open file of a lock that is ours now, None if somebody else holds it, -1 where there are no locks."""
    try:
        import fcntl
    except ImportError:  # on Windows, where no compiler is used
        return -1
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:
        return -1
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == path.stat().st_ino:
            return handle
    except BlockingIOError:
        pass
    except FileNotFoundError:
        pass  # its holder has removed it since we opened it
    except OSError:  # a file system without locks
        os.close(handle)
        return -1
    os.close(handle)
    return None
