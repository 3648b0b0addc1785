"""An executor: a process that takes jobs one after the other and runs each as a command line in a process of its own.

    python -m kingpost.fmu.service.executor DIR EPOCH OWNER SETTINGS

The server starts executors, and they end with it, however it ends. SIGTERM lets an executor give its job back and leave.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError
from kingpost.fmu.process.lifeline import end_with_starter
from kingpost.fmu.process.warden import tidy
from kingpost.fmu.service.errors import DiskFullError, says_full
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.kinds import KINDS
from kingpost.fmu.service.leases import Leases
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.starting import Place, command_of, fill_place, start
from kingpost.fmu.service.store import Job, Store
from kingpost.fmu.service.watching import ProgressReader, outcome

#: Seconds between looks at the queue, at the process of a job, and between heartbeats.
IDLE = 0.2
LOOK = 0.05
HEARTBEAT = 1.0
#: Seconds that a sandbox has to clear up.
CLEARING = 10.0
#: Free bytes below which a disk is full: not even a message fits on it.
NO_ROOM = 1_000_000
#: Bytes that a command may write into its log.
LONGEST_LOG = 64_000_000


class Executor:
    """Takes jobs until it is told to stop."""

    def __init__(self, folder: ProjectFolder, leases: Leases, settings: ServiceSettings) -> None:
        self.folder, self.leases, self.settings = folder, leases, settings
        self.stopping = False

    def stop(self, number: int, frame: Any) -> None:
        """Take no more jobs, and give back the one that runs."""
        self.stopping = True

    def run(self) -> None:
        while not self.stopping:
            job = self._next()
            if job is None:
                time.sleep(IDLE)
            else:
                self._carry_out(job)

    def _next(self) -> Job | None:
        """Take a job, if one waits and there is room on the disk for what will come of it."""
        try:
            if not self.leases.waiting():
                return None
            self.folder.check_room(self.settings.least_free)
            return self.leases.take()
        except DiskFullError:
            return None

    def _insist(self, write: Callable[[], bool]) -> bool:
        """Write into the store; where the disk is full, wait for room, for nobody else can say how a job ended."""
        while not self.stopping:
            try:
                return write()
            except DiskFullError:
                time.sleep(IDLE)
        return False

    def _carry_out(self, job: Job) -> None:
        place = Place(self.folder.attempt(job.id, job.attempts))
        try:
            place = fill_place(self.folder, job)
            words = command_of(job, place, self.settings)
            process = start(job, place, words, self.settings)
        except Exception as error:
            if not isinstance(error, (KingpostError, OSError)):
                traceback.print_exc()
            place.clear()
            said = f"the job could not be started: {error}"
            if not says_full(said) or not self._insist(lambda: self.leases.wait_for_room(job)):
                self._insist(lambda: self.leases.end(job, "failed", None, said))
            return
        try:
            if self._insist(lambda: self.leases.started(job, process.pid, ["kingpost", *words])):
                self._follow(job, place, process)
        finally:
            _kill(process)
            place.clear()

    def _follow(self, job: Job, place: Place, process: subprocess.Popen[bytes]) -> None:
        """Stay with a process until it ends, or until its job shall not go on."""
        progress, heard, asked, cancelled = ProgressReader(place.progress), time.monotonic(), 0.0, job.cancel
        while process.poll() is None:
            time.sleep(LOOK)
            now = time.monotonic()
            if now - heard >= HEARTBEAT / 2 and ((said := progress.last()) is not None or now - heard >= HEARTBEAT):
                heard = now
                with contextlib.suppress(DiskFullError):  # it goes on, and what it says next is noted
                    mine, cancelled = self.leases.renew(job, said)
                    if not mine:
                        return
                if _size(place.log) > LONGEST_LOG:
                    self._end(job, place, process, f"the command wrote more than {LONGEST_LOG / 1e6:.0f} MB of messages")
                    return
            if (cancelled or self.stopping) and not asked:
                asked = now
                _terminate(process)
            if asked and now - asked > self.settings.grace:
                _kill(process)
        if self.stopping and not cancelled and process.returncode != 0:
            with contextlib.suppress(DiskFullError):  # the next server takes it back
                self.leases.give_back(job)
            return
        if not asked and killed(process.returncode, self.settings) and self._insist(lambda: self.leases.try_again(job)):
            return
        self._end(job, place, process, None)

    def _end(self, job: Job, place: Place, process: subprocess.Popen[bytes], fault: str | None) -> None:
        _kill(process)  # with all that it left behind
        if job.spec["plan"]["foreign"]:
            for folder in (place.results, place.telling):
                leave_files_alone(folder)
        status = process.returncode
        with contextlib.suppress(DiskFullError):
            self.leases.renew(job)
        cancelled = self.leases.store.job(job.id).cancel
        state, error = outcome(job.kind, status, place) if fault is None else ("failed", fault)
        if state == "failed" and not cancelled and (says_full(error or "") or self._full()):
            place.clear()
            if self._insist(lambda: self.leases.wait_for_room(job)):
                return
        if cancelled and state != "done":
            state, error = "cancelled", error or "cancelled"
        if job.kind == "fmu-check" and place.record.is_file():
            with contextlib.suppress(OSError):
                shutil.copyfile(place.record, place.results / "check.json")
        if KINDS[job.kind].history and not place.has_history:
            place.keep_samples()
        place.clear()
        # Before the end is noted: nobody comes back to a job that has ended, if this one is killed in between.
        self._forget_earlier(job)
        self._insist(lambda: self.leases.end(job, state, status, error))

    def _full(self) -> bool:
        return shutil.disk_usage(self.folder.root).free < NO_ROOM

    def _forget_earlier(self, job: Job) -> None:
        for number in range(1, job.attempts):
            shutil.rmtree(self.folder.attempt(job.id, number), ignore_errors=True)


def leave_files_alone(folder: Path) -> None:
    """Remove links and the like from the results of somebody else's code, if its sandbox could not do so any more."""
    tidy(folder, {}, None if os.name != "posix" or os.getuid() else (0, os.getgid()))


def killed(status: int, settings: ServiceSettings) -> bool:
    """Say whether a process was killed by somebody else: an impatient hand, or a system that has no memory left."""
    # A limit of CPU time ends a process in the same way, and would do so again.
    return os.name == "posix" and status == -signal.SIGKILL and not settings.limits.cpu_seconds


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    if os.name == "posix":
        if process.poll() is None:
            # A sandbox ends at once, too, and clears up what is in it; others know no more of it than of being killed.
            process.send_signal(signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(CLEARING)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask the command, or the sandbox around it, to end and to keep what was computed."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        process.terminate()


def main() -> None:
    root, epoch, owner, settings = sys.argv[1:5]
    end_with_starter()
    folder = ProjectFolder(Path(root))
    store = Store(folder.database)
    executor = Executor(folder, Leases(store, int(epoch), owner), ServiceSettings.of(settings))
    signal.signal(signal.SIGTERM, executor.stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a keyboard; the server says what is to be done
    executor.run()


if __name__ == "__main__":
    main()
