"""The program in which a job runs: the ``kingpost`` command line, held to limits, and tied to the executor that started it.

    python -m kingpost.fmu.service.job_process FOLDER VERB ...

The command runs in ``FOLDER``. What is uploaded lies there, so nothing is ever imported from it.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import threading
from pathlib import Path

from kingpost.fmu.process.lifeline import ABANDONED, end_by_signal, is_cut, own_lifeline

#: Names the limits: bytes of memory, seconds of CPU, bytes of a file and how much nicer than the server, 0 for none.
LIMITS = "KINGPOST_JOB_LIMITS"


def main() -> None:
    """Run the command line that the program was started with."""
    lifeline = own_lifeline()
    end_by_signal()
    if lifeline is not None:
        if is_cut(lifeline):
            os._exit(ABANDONED)
        threading.Thread(target=_end_with, args=(lifeline,), name="lifeline", daemon=True).start()
    _limit(os.environ.pop(LIMITS, ""))
    folder, words = sys.argv[1], sys.argv[2:]
    sys.path[:] = [entry for entry in sys.path if entry not in ("", str(Path.cwd()))]
    os.chdir(folder)
    sys.argv = ["kingpost", *words]
    runpy.run_module("kingpost", run_name="__main__", alter_sys=True)


def _end_with(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(ABANDONED)


def _limit(text: str) -> None:
    words = [int(float(word)) for word in text.split()]
    if len(words) != 4 or os.name != "posix":
        return
    import resource

    memory, seconds, size, nice = words
    for kind, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, size)):
        if value > 0:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (value, value))
    with contextlib.suppress(OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(nice)
        # A job leads a session of its own, and Linux may give every session the same share, however nice its processes are.
        if nice > 0 and os.getsid(0) == os.getpid():
            Path("/proc/self/autogroup").write_text(str(nice), encoding="ascii")


if __name__ == "__main__":
    main()
