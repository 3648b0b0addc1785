"""Programs of ours that run an FMU apart: how they are started and given a job, how they answer, and how they end.

A program is a module, ``python -m MODULE``. What it prints goes to a file, and what it answers through a pipe of its own, so
that nothing that an FMU prints is taken for an answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kingpost.fmu.process.lifeline import Lifeline

#: Lines of what a program printed that go with an error.
PRINTED = 5


def start_program(
    module: str, *words: str, environment: Mapping[str, str] | None = None, session: bool = True, **streams: Any
) -> subprocess.Popen[Any]:
    """Start a program; ``streams`` are those of :class:`subprocess.Popen`.

    With ``session``, an interrupt from the keyboard does not reach it: it is handled by whoever started it. The program is
    given a lifeline, by which it ends when this process does.
    """
    lifeline = Lifeline()
    try:
        process = subprocess.Popen(
            [sys.executable, *_run(module), *words],
            start_new_session=session,
            env={**os.environ, "PYTHONSAFEPATH": "1", **lifeline.environment, **(environment or {})},
            pass_fds=lifeline.inherited,
            **streams,
        )
    except BaseException:
        lifeline.cut()
        raise
    lifeline.tie(process)
    return process


def _run(module: str) -> list[str]:
    """Return words that make Python run a module, such that modules of the current folder do not stand in for others.

    PYTHONSAFEPATH says so from Python 3.11 on; before, the folder is taken off the path by hand, before anything is imported.
    """
    if sys.version_info >= (3, 11):
        return ["-m", module]
    start = f"import sys; del sys.path[0]; import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    return ["-c", start]


def hand_over(job: Mapping[str, Any], path: Path) -> None:
    """Write down what a program is to do."""
    path.write_text(json.dumps(job), encoding="utf-8")


def handed_over(path: Path) -> dict[str, Any]:
    """Return what this program is to do."""
    job: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return job


def last_printed(path: Path) -> list[str]:
    """Return the last lines that a program printed."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return text.strip().splitlines()[-PRINTED:]


def end_program(process: subprocess.Popen[Any], patience: float) -> int:
    """Return the code of a program that is about to end, and end it if it does not within ``patience`` s."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def own_input() -> int:
    """Return standard input, for requests alone."""
    return _binary(os.dup(0))


def own_output() -> int:
    """Return what was standard output, for answers alone; whatever prints from now on goes to standard error."""
    answers = _binary(os.dup(1))
    os.dup2(2, 1)
    return answers


def _binary(pipe: int) -> int:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(pipe, os.O_BINARY)
    return pipe


def leave(at_once: bool = True) -> NoReturn:
    """End this program; ``at_once`` without what an FMU has planned for the end of a process."""
    sys.stdout.flush()
    sys.stderr.flush()
    if at_once:
        os._exit(0)
    sys.exit()
