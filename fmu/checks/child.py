"""Where checks run: ``python -m kingpost.fmu.checks.child``.

A nursery: it loads Python's part once, then gives every stage of every check a process of its own, so that whatever an FMU does
there ends with that process. One line of JSON comes in for each stage, one goes out when its process has ended.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from kingpost.fmu.checks.check import Verdict, finding, not_applicable
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Manners
from kingpost.fmu.checks.heap import watching
from kingpost.fmu.file.opened import Fmu, open_fmu
from kingpost.fmu.instance.instance import FmiError, FmuEndedError
from kingpost.fmu.process.lifeline import end_by_signal, end_with_starter, is_cut, own_lifeline
from kingpost.fmu.process.program import hand_over, handed_over, leave, own_output, start_program
from kingpost.fmu.running.experiment import Experiment

#: What the trail says when a check is over.
LEAVING = "leaving the process"
#: Time between two looks at a process, in s: short for short checks.
LOOKS = (0.001, 0.02)
ONCE = "--once"
#: The process of the check that is under way.
_current: list[int] = []
#: The nursery's end of the pipe by which it notices that whoever started it is gone.
_lifeline: list[int] = []


def main() -> None:
    """Serve requests from standard input until it ends."""
    if sys.argv[1:2] == [ONCE]:
        end_with_starter()
        perform(handed_over(Path(sys.argv[2])))
    # No thread watches here: a process that has threads must not be forked.
    lifeline = own_lifeline()
    _lifeline[:] = [] if lifeline is None else [lifeline]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from the keyboard is for the other end, which then says stop
    signal.signal(signal.SIGTERM, _stop)
    answers = os.fdopen(own_output(), "w", encoding="utf-8")
    for line in sys.stdin:
        request = json.loads(line)
        if hasattr(os, "fork") and not request["poisoned"] and not request["watched"]:
            _opened(request["fmu"], request["interface"])  # read once, not in every process
            answer = _forked(request)
        else:
            answer = _spawned(request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def perform(request: dict[str, Any]) -> NoReturn:
    """Run one stage of a check in this process, leave its verdict in a file, and end."""
    verdict_file = Path(request["verdict"])

    kept: list[Verdict] = []

    def keep(verdict: Verdict, final: bool = False) -> None:
        kept[:] = [verdict]
        beside = verdict_file.with_suffix(".part")
        beside.write_text(json.dumps({**asdict(verdict), "final": final}), encoding="utf-8")
        beside.replace(verdict_file)

    sys.path += [entry for entry in request["sys_path"] if entry not in sys.path]
    subject = FmuUnderTest(
        _opened(request["fmu"], request["interface"]),
        Path(request["folder"]),
        Path(request["scratch"]),
        Experiment(*request["times"]),
        request["instances"],
        request["limit"],
        Manners(**request["manners"]),
        keep,
        Path(request["trail"]),
    )
    keep(_verdict(request["function"], subject, kept), final=True)
    subject.note(LEAVING)
    leave(at_once=not request["leaves_normally"])


def _verdict(function: str, subject: FmuUnderTest, kept: list[Verdict]) -> Verdict:
    module, _, name = function.partition(":")
    try:
        stage = getattr(importlib.import_module(module), name)
        return stage(subject)
    except FmuEndedError as error:
        return not_applicable(f"it cannot be said: {error}")
    except FmiError as error:
        return finding(str(error), *(before.summary for before in kept), *subject.log.last())
    except BaseException as error:
        lines = tuple(traceback.format_exc().splitlines())
        return Verdict("fault", f"the check failed itself: {type(error).__name__}: {error}", lines)


@functools.lru_cache(maxsize=4)
def _opened(path: str, interface: Any) -> Fmu:
    return open_fmu(path, interface)


def _forked(request: dict[str, Any]) -> dict[str, Any]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # no process must be left that nobody knows
    nursery = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.setsid()  # so that whatever it starts can be ended with it
        end_by_signal()
        if os.getppid() != nursery:
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        nothing = os.open(os.devnull, os.O_RDONLY)
        printed = os.open(request["printed"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for old, new in ((nothing, 0), (printed, 1), (printed, 2)):
            os.dup2(old, new)
        perform(request)
    _current.append(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    status = _wait(pid, request["limit"])
    _current.clear()
    return {"timed_out": status is None, "code": 0 if status is None else os.waitstatus_to_exitcode(status)}


def _stop(number: int = 0, frame: Any = None) -> NoReturn:
    """End, and take the process of the check that is under way along."""
    for pid in _current:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    os._exit(0)


def _wait(pid: int, limit: float) -> int | None:
    """Return the status of a process once it has ended, or None if it had to be ended."""
    for _ in _looks(limit):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
    _end(pid)
    return None


def _looks(limit: float) -> Iterator[None]:
    """Yield for as long as ``limit`` s, with pauses; end everything if nobody waits for an answer any more."""
    deadline, pause = time.monotonic() + limit, LOOKS[0]
    while time.monotonic() < deadline:
        yield
        if _lifeline and is_cut(_lifeline[0]):
            _stop()
        time.sleep(pause)
        pause = min(1.2 * pause, LOOKS[1])


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _spawned(request: dict[str, Any]) -> dict[str, Any]:
    """Run a stage in a new interpreter, where processes cannot be forked or memory is to be handled differently."""
    file = Path(request["verdict"]).with_suffix(".request")
    hand_over(request, file)
    with Path(request["printed"]).open("ab") as printed:
        process = start_program(
            "kingpost.fmu.checks.child",
            ONCE,
            str(file),
            environment={
                **({"PYTHONMALLOC": "pymalloc_debug"} if request["poisoned"] else {}),
                **(watching() if request["watched"] else {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
        )
        _current.append(process.pid)
        try:
            for _ in _looks(request["limit"]):
                if process.poll() is not None:
                    return {"timed_out": False, "code": process.returncode}
            return {"timed_out": True, "code": 0}
        finally:
            process.kill()
            process.wait()
            _current.clear()


if __name__ == "__main__":
    main()
