"""What ties a program that runs an FMU to the process that started it: when that is gone, however it ended, so is the program.

The starting process keeps one end of a pipe, which the system closes with it; a thread of the program waits for that at the
other end, also while the FMU is inside a call that never returns. Linux can end the program itself as well, which helps where
an FMU does not let other threads run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from typing import Any

#: Names the program's end of the pipe, or where pipes are not inherited the starting process.
VARIABLE = "KINGPOST_LIFELINE"
#: Set where the thread that starts a program is sure to last as long as its process: Linux looks at the thread.
LASTING = "main"
PR_SET_PDEATHSIG = 1
#: How a program ends that nobody waits for.
ABANDONED = 70


class Lifeline:
    """The end of the process that starts a program; first made, then handed over, then tied to what was started."""

    def __init__(self) -> None:
        self._far: int | None = None
        who = str(os.getpid())
        if os.name == "posix":
            self._far, self._near = os.pipe()
            who = str(self._far)
        lasting = LASTING if threading.current_thread() is threading.main_thread() else "other"
        #: What the program must be started with.
        self.environment = {VARIABLE: f"{who} {lasting}"}
        self.inherited = () if self._far is None else (self._far,)

    def tie(self, process: subprocess.Popen[Any]) -> None:
        """Hold on for as long as ``process`` is known to anybody here."""
        if self._far is not None:
            os.close(self._far)
            weakref.finalize(process, os.close, self._near)

    def cut(self) -> None:
        """Give up: nothing was started."""
        if self._far is not None:
            os.close(self._far)
            os.close(self._near)


def end_with_starter() -> None:
    """See to it that this program ends with the process that started it, and not before.

    Where a whole group of processes is told to end, the program waits until its starter has kept what was computed.
    """
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _wait_for_the_starter)
    who, lasting = _told()
    if who is None:
        return
    if sys.platform == "linux" and lasting:
        end_by_signal()
    if os.name == "posix" and is_cut(who):
        os._exit(ABANDONED)
    threading.Thread(target=_watch, args=(who,), name="lifeline", daemon=True).start()


def own_lifeline() -> int | None:
    """Return this program's end of the pipe, for programs that look at it themselves (:func:`is_cut`)."""
    who, _ = _told()
    return who if os.name == "posix" else None


def is_cut(lifeline: int) -> bool:
    """Say whether the starter of this program is gone."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    return bool(poll.poll(0))


def end_by_signal() -> None:
    """On Linux, let the system end this process with the thread that started it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _told() -> tuple[int | None, bool]:
    """Return what the starter said, once: what this program starts itself is not tied to anybody by it."""
    words = os.environ.pop(VARIABLE, "").split()
    if not words:
        return None, False
    if os.name == "posix":
        os.set_inheritable(int(words[0]), False)
    return int(words[0]), words[1:] == [LASTING]


def _watch(who: int) -> None:
    if sys.platform == "win32":
        import _winapi

        with contextlib.suppress(OSError):  # it is gone already
            _winapi.WaitForSingleObject(_winapi.OpenProcess(_winapi.SYNCHRONIZE, False, who), _winapi.INFINITE)
    else:
        os.read(who, 1)
    os._exit(ABANDONED)


def _wait_for_the_starter(number: int, frame: Any) -> None:
    """Do nothing; ignoring the signal altogether would be handed on to whatever an FMU starts."""
