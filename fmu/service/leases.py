"""How executors take jobs, keep them and end them: by leases, and with the number of the attempt as a fence.

An attempt ends a job only if it is the one that the store knows: whoever was given up, because nothing was heard of it, cannot
end anything any more, and neither can an executor of a server that is gone.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kingpost.fmu.service.store import Job, Store
from kingpost.fmu.service.watching import Said

#: Seconds after which an executor that is not heard of is given up.
LEASE = 30.0
#: A job whose executors are lost so often does not run again.
MOST_LOST = 20
#: Nor does one whose own process was killed by somebody else so often; more than once, it is the job that has no room.
MOST_KILLED = 3
#: Nor one that found the disk full so often, though there was room when it began: it needs more itself.
MOST_FULL = 3


class Leases:
    """The store as one executor sees it."""

    def __init__(self, store: Store, epoch: int, owner: str) -> None:
        self.store, self.epoch, self.owner = store, epoch, owner

    def take(self) -> Job | None:
        """Take the oldest job that waits, if there is one."""
        with self.store.db.writing() as db:
            if not self._current():
                return None
            row = self.store.db.row("SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1")
            if row is None:
                return None
            now = time.time()
            db.execute(
                "UPDATE jobs SET state = 'running', owner = ?, lease = ?, started = coalesce(started, ?), "
                "attempts = attempts + 1, progress = 0, time_left = NULL, process = NULL, process_mark = NULL WHERE id = ?",
                (self.owner, now + LEASE, now, row["id"]),
            )
            self.store.tell(db, row["id"], "state", {"state": "running"})
            return self.store.job(row["id"])

    def waiting(self) -> bool:
        """Say whether a job may wait; cheap, without a lock."""
        return self.store.db.row("SELECT 1 FROM jobs WHERE state = 'queued' LIMIT 1") is not None

    def started(self, job: Job, process: int, command: Sequence[str]) -> bool:
        """Note the process that works at a job; False if the job is not ours any more."""
        mark = process_mark(process)
        return self._change(job, "process = ?, process_mark = ?, command = ?", (process, mark, json.dumps(list(command))))

    def renew(self, job: Job, said: Said | None = None) -> tuple[bool, bool]:
        """Keep a job; return whether it still is ours, and whether it shall be cancelled."""
        with self.store.db.writing() as db:
            if not self._mine(job):
                return False, False
            db.execute("UPDATE jobs SET lease = ? WHERE id = ?", (time.time() + LEASE, job.id))
            if said is not None:
                if said.fraction is not None:
                    db.execute("UPDATE jobs SET progress = ?, time_left = ? WHERE id = ?", (said.fraction, said.left, job.id))
                self.store.tell(db, job.id, "progress", said.data())
            return True, self.store.job(job.id).cancel

    def end(self, job: Job, state: str, exit_status: int | None, error: str | None) -> bool:
        """End a job, once; False if it was not ours to end."""
        with self.store.db.writing() as db:
            if not self._mine(job):
                return False
            end_job(self.store, db, job.id, state, exit_status, error)
        return True

    def give_back(self, job: Job) -> bool:
        """Let somebody else run a job, from the beginning."""
        with self.store.db.writing() as db:
            if not self._mine(job):
                return False
            _requeue(self.store, db, self.store.job(job.id), lost=False)
        return True

    def try_again(self, job: Job) -> bool:
        """Let a job whose process was killed by somebody else run again; False if it was killed too often."""
        return self._once_more(job, "killed", MOST_KILLED)

    def wait_for_room(self, job: Job) -> bool:
        """Let a job that found the disk full run again when there is room; False if that happened too often."""
        return self._once_more(job, "disk-full", MOST_FULL)

    def _once_more(self, job: Job, why: str, most: int) -> bool:
        with self.store.db.writing() as db:
            if not self._mine(job):
                return False
            self.store.tell(db, job.id, why, {"attempt": job.attempts})
            if self.store.told(job.id, why) >= most:
                return False
            _requeue(self.store, db, self.store.job(job.id), lost=False)
        return True

    def _current(self) -> bool:
        return self.store.fact("epoch") == str(self.epoch)

    def _mine(self, job: Job) -> bool:
        row = self.store.db.row("SELECT state, owner, attempts FROM jobs WHERE id = ?", (job.id,))
        same = row is not None and (row["state"], row["owner"], row["attempts"]) == ("running", self.owner, job.attempts)
        return same and self._current()

    def _change(self, job: Job, what: str, values: Sequence[Any]) -> bool:
        with self.store.db.writing() as db:
            if not self._mine(job):
                return False
            db.execute(f"UPDATE jobs SET {what} WHERE id = ?", (*values, job.id))
        return True


def end_job(store: Store, db: sqlite3.Connection, job: int, state: str, exit_status: int | None, error: str | None) -> None:
    """Write the end of a job, within a transaction."""
    db.execute(
        "UPDATE jobs SET state = ?, ended = ?, exit_status = ?, error = ?, time_left = NULL, owner = NULL, lease = NULL, "
        "process = NULL, process_mark = NULL, progress = CASE ? WHEN 'done' THEN 1.0 ELSE progress END WHERE id = ?",
        (state, time.time(), exit_status, error, state, job),
    )
    store.tell(db, job, "state", {"state": state, "error": error})


def _requeue(store: Store, db: sqlite3.Connection, job: Job, *, lost: bool) -> None:
    if job.cancel:
        end_job(store, db, job.id, "cancelled", None, "cancelled while it ran")
        return
    if lost and job.lost + 1 >= MOST_LOST:
        end_job(store, db, job.id, "failed", None, f"its executors were lost {MOST_LOST} times; it is not tried again")
        return
    db.execute(
        "UPDATE jobs SET state = 'queued', owner = NULL, lease = NULL, lost = lost + ?, progress = 0, time_left = NULL, "
        "process = NULL, process_mark = NULL WHERE id = ?",
        (int(lost), job.id),
    )
    store.tell(db, job.id, "state", {"state": "queued"})


def expired(store: Store) -> bool:
    """Say whether a lease has ended; cheap, without a lock."""
    return store.db.row("SELECT 1 FROM jobs WHERE state = 'running' AND lease < ?", (time.time(),)) is not None


def take_back(store: Store, *, owner: str | None = None, everything: bool = False) -> list[int]:
    """Put jobs of lost executors back into the queue: of one, of all, or of those whose lease has ended; return which.

    What still works at them is ended first, so that nothing of a job runs twice at a time.
    """
    with store.db.writing() as db:
        where, values = "lease < ?", (time.time(),)
        if owner is not None:
            where, values = "owner = ?", (owner,)  # type: ignore[assignment]
        elif everything:
            where, values = "1 = ?", (1.0,)
        rows = db.execute(f"SELECT * FROM jobs WHERE state = 'running' AND {where}", values).fetchall()
        found = [Job.of(row) for row in rows]
        for job in found:
            end_process(job)
            _requeue(store, db, job, lost=True)
    return [job.id for job in found]


def end_process(job: Job) -> None:
    """End what works at a job, with all that it has started, if it still is the same process."""
    if job.process is not None and job.process_mark and process_mark(job.process) == job.process_mark and os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(job.process, signal.SIGKILL)


def process_mark(process: int) -> str:
    """Return what tells a process from a later one with the same number: when it was started; empty where nobody knows."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
