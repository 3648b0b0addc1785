"""The executors of a server: started, watched, replaced when they die, and stopped."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from kingpost.fmu.process.lifeline import Lifeline
from kingpost.fmu.service.errors import DiskFullError
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.leases import expired, take_back
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.store import Store

#: Seconds between looks at the executors, and before one that died at once is replaced.
LOOK = 0.2
PAUSE = 1.0
#: Seconds between looks at leases.
LEASES = 5.0
#: Seconds that executors have beyond the grace of their jobs.
MARGIN = 10.0


@dataclass(frozen=True)
class Member:
    """An executor that runs."""

    owner: str
    process: subprocess.Popen[bytes]
    since: float


class Crew:
    """N executors. Jobs of one that died go back to the queue at once."""

    def __init__(self, folder: ProjectFolder, store: Store, settings: ServiceSettings) -> None:
        self.folder, self.store, self.settings = folder, store, settings
        self.epoch = 0
        self.replaced = 0
        self._members: list[Member] = []
        self._serial = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="crew", daemon=True)

    def start(self) -> list[int]:
        """Begin; return the jobs that an earlier server left running, which wait again."""
        self.epoch = self.store.next_epoch()
        left = take_back(self.store, everything=True)
        self._members = [self._hire() for _ in range(self.settings.workers)]
        self._thread.start()
        return left

    @property
    def alive(self) -> int:
        return sum(member.process.poll() is None for member in self._members)

    def processes(self) -> list[int]:
        return [member.process.pid for member in self._members]

    def stop(self) -> None:
        """Let executors give their jobs back and leave; end those that do not."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        for member in self._members:
            with contextlib.suppress(ProcessLookupError):
                member.process.terminate()
        limit = time.monotonic() + self.settings.grace + MARGIN
        for member in self._members:
            try:
                member.process.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()
            with contextlib.suppress(DiskFullError):  # the next server takes them back
                take_back(self.store, owner=member.owner)

    def _hire(self) -> Member:
        self._serial += 1
        owner = f"{self.epoch}.{self._serial}"
        lifeline = Lifeline()
        with (self.folder.logs / "executors.log").open("ab") as log:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "kingpost.fmu.service.executor"),
                    *(str(self.folder.root), str(self.epoch), owner, self.settings.text()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(lifeline),
                pass_fds=lifeline.inherited,
                start_new_session=True,
            )
        lifeline.tie(process)
        return Member(owner, process, time.monotonic())

    def _watch(self) -> None:
        looked, full = time.monotonic(), False
        while not self._stopping.wait(LOOK):
            try:
                for k, member in enumerate(self._members):
                    if member.process.poll() is not None:
                        take_back(self.store, owner=member.owner)
                        if time.monotonic() - member.since < PAUSE and self._stopping.wait(PAUSE):
                            return
                        self.replaced += 1
                        self._members[k] = self._hire()
                if time.monotonic() - looked > LEASES:
                    looked = time.monotonic()
                    self._look_at_leases(full)
                    full = False
            except DiskFullError:
                looked, full = time.monotonic(), True

    def _look_at_leases(self, was_full: bool) -> None:
        """Take back jobs whose leases have ended; if that was for want of room, all can renew them until the next look."""
        if expired(self.store):
            self.store.note("looked", str(time.time()))  # fails if the disk is full
            if not was_full:
                take_back(self.store)


def _environment(lifeline: Lifeline) -> dict[str, str]:
    import os

    return {**os.environ, **lifeline.environment, "PYTHONUNBUFFERED": "1"}
