"""The process in which damaged inputs are read: what one of them does to it is seen from outside.

A request is a line of JSON, ``{"reader": NAME, "first": 0, "count": 100}``; so is the answer, the faults that were found.
Before an input is read its number is noted in a file, so that of a process that died its input is known.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

from kingpost.base.errors import KingpostError
from tests.fuzz.readers import READERS

#: What one input may take, s; the slowest of those that are read well takes a tenth of it on a busy machine.
SECONDS = 20
#: What all of them may take, beyond what the process has when it starts.
MEMORY = 4 << 30


class Hang(BaseException):
    """Not an Exception, so that no reader takes it for one of its library's."""


def main(folder: Path) -> None:
    """Answer requests until there are none."""
    os.chdir(folder)
    warnings.simplefilter("ignore")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGALRM, _hang)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
    # What readers print would be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_answer(folder, **request)), file=answers, flush=True)


def _answer(folder: Path, reader: str, first: int, count: int) -> list[dict[str, Any]]:
    faults = []
    chosen = READERS[reader]
    with (folder / "number").open("w") as note:
        for number in range(first, first + count):
            os.pwrite(note.fileno(), b"%12d" % number, 0)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                chosen.read(chosen.content(number), folder)
            except KingpostError as error:
                if error.exit_code == 1 or not str(error).strip():
                    faults.append({"number": number, "fault": f"{type(error).__name__} with status {error.exit_code}: {error}"})
            except Hang:
                faults.append({"number": number, "fault": f"no answer in {SECONDS} s\n{traceback.format_exc(limit=-6)}"})
            except BaseException:
                faults.append({"number": number, "fault": traceback.format_exc(limit=-6)})
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    return faults


def _hang(signum: int, frame: FrameType | None) -> None:
    raise Hang


if __name__ == "__main__":
    main(Path(sys.argv[1]))
