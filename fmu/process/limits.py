"""How long a call into an FMU may take, and waiting for an answer no longer than that."""

from __future__ import annotations

import math
import os
import select
import subprocess
import threading
from typing import Any

from kingpost.base.errors import MechanismError

#: Seconds that an FMU may take for one call if nobody says otherwise: more than most need to start, fetch a licence or solve a
#: hard step, and few enough that a run which hangs overnight does not.
CALL_LIMIT = 300.0


def checked_limit(value: float | None, name: str) -> float:
    """Return a limit of time in s as a number that can be compared with; 0 and None say that there is none."""
    if value is None or value == 0:
        return math.inf
    if not value > 0:
        raise MechanismError(f"{name} is {value} s; it must be positive, or 0 for no limit")
    return float(value)


class Answers:
    """What a program writes to its standard output, read with a limit of time."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        assert process.stdout is not None
        self._process, self._pipe = process, process.stdout.fileno()
        self._poll: Any = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(self._pipe, select.POLLIN)

    @property
    def can_wait(self) -> bool:
        """Whether :meth:`ready` works on this system."""
        return self._poll is not None

    def ready(self, limit: float) -> bool:
        """Wait for an answer, or the end of the program, for ``limit`` s; say whether it has come."""
        return bool(self._poll.poll(1000 * max(0.0, limit)))

    def read(self, size: int, limit: float) -> bytes:
        """Return at most ``size`` bytes as soon as there are any, and none if the program is gone.

        Raises
        ------
        TimeoutError
            If nothing came within ``limit`` s.

        """
        if limit == math.inf:
            return os.read(self._pipe, size)
        if self._poll is None:
            return self._read_or_kill(size, limit)
        if not self.ready(limit):
            raise TimeoutError
        return os.read(self._pipe, size)

    def _read_or_kill(self, size: int, limit: float) -> bytes:
        """Do so where nobody can wait for a pipe: only an end of the program ends the reading."""
        timer = threading.Timer(max(0.0, limit), self._process.kill)
        timer.start()
        try:
            content = os.read(self._pipe, size)
        finally:
            late = not timer.is_alive()
            timer.cancel()
        if late and not content:
            raise TimeoutError
        return content
