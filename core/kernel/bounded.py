"""Programs that are given a limit of time, and ended with whatever they have started."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: What a compiler is given, in s, and so many more for each MB of source: some ten times what it takes on a slow machine.
LEAST, PER_MEGABYTE = 120.0, 300.0
#: Seconds between two words on how long a program has run.
LOOK = 0.2


def compilation_limit(source_bytes: int) -> float:
    """Return how long a compiler may take for a source of some length, in s."""
    return LEAST + PER_MEGABYTE * source_bytes / 1e6


def run_bounded(
    command: Sequence[str],
    limit: float,
    folder: Path | None = None,
    started: Callable[[subprocess.Popen[Any]], Any] = lambda process: None,
    going_on: Callable[[float], Any] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program in ``folder`` and return what it said; ``started`` is told of its process.

    ``going_on`` is told now and then for how many seconds it has run.

    Raises
    ------
    TimeoutError
        If it did not end within ``limit`` s; it was ended then.

    """
    process = subprocess.Popen(
        command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,  # a compiler starts others, which are to be ended with it
    )  # fmt: skip
    started(process)
    try:
        out, err = _answers(process, limit, going_on)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{shlex.join(command)} did not end within {limit:.0f} s and was stopped") from None
    finally:
        kill_group(process)
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def _answers(process: subprocess.Popen[Any], limit: float, going_on: Callable[[float], Any] | None) -> tuple[str, str]:
    """Return what a program says until it ends; raise :class:`subprocess.TimeoutExpired` after ``limit`` s."""
    if going_on is None:
        return process.communicate(timeout=limit)
    begin = time.monotonic()
    while True:
        going_on(time.monotonic() - begin)
        try:
            return process.communicate(timeout=min(LOOK, limit))
        except subprocess.TimeoutExpired:
            if time.monotonic() - begin >= limit:
                raise


def kill_group(process: subprocess.Popen[Any]) -> None:
    """End a program that is still running, and those that it has started."""
    if process.returncode is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
