"""The store of a project: jobs, files and events. It is the truth; servers and executors may die at any moment."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kingpost.fmu.service.connection import Connections
from kingpost.fmu.service.errors import ServiceError, not_found

STATES = ("queued", "running", "done", "failed", "cancelled")
#: States that a job does not leave.
ENDED = ("done", "failed", "cancelled")
#: The largest number that SQLite keeps.
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Job:
    """A row of the table of jobs."""

    id: int
    kind: str
    name: str
    state: str
    spec: Mapping[str, Any]
    created: float
    started: float | None
    ended: float | None
    progress: float
    time_left: float | None
    attempts: int
    lost: int
    cancel: bool
    process: int | None
    process_mark: str | None
    exit_status: int | None
    error: str | None
    command: tuple[str, ...]

    @classmethod
    def of(cls, row: sqlite3.Row) -> Job:
        data = {field.name: row[field.name] for field in fields(cls)}
        data |= {"spec": json.loads(row["spec"]), "command": tuple(json.loads(row["command"] or "[]"))}
        return cls(**{**data, "cancel": bool(row["cancel"])})


@dataclass(frozen=True)
class Blob:
    """An uploaded file."""

    hash: str
    name: str
    bytes: int
    kind: str
    summary: Mapping[str, Any]
    created: float

    @classmethod
    def of(cls, row: sqlite3.Row) -> Blob:
        data = {field.name: row[field.name] for field in fields(cls)}
        return cls(**{**data, "summary": json.loads(row["summary"])})


@dataclass(frozen=True)
class Event:
    """Something that happened to a job."""

    id: int
    job: int
    at: float
    what: str
    data: Mapping[str, Any]


class Store:
    """Everything that is asked of the database by the server; executors add :mod:`kingpost.fmu.service.leases`."""

    def __init__(self, path: Path) -> None:
        self.db = Connections(path)

    def close(self) -> None:
        self.db.close()

    def fact(self, name: str) -> str | None:
        row = self.db.row("SELECT value FROM facts WHERE name = ?", (name,))
        return None if row is None else row["value"]

    def note(self, name: str, value: str) -> None:
        with self.db.writing() as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES(?, ?)", (name, value))

    def next_epoch(self) -> int:
        """Begin a new time, in which executors of an earlier server can neither take nor end jobs."""
        with self.db.writing() as db:
            epoch = int(self.fact("epoch") or 0) + 1
            db.execute("INSERT OR REPLACE INTO facts VALUES('epoch', ?)", (str(epoch),))
        return epoch

    def add(self, kind: str, name: str, spec: Mapping[str, Any], key: str | None = None) -> tuple[int, bool]:
        """Add a job; return its number and whether it is new. When this returns, the job is on the disk.

        Whoever repeats a request with the same key gets the job of the first one; another request with it is refused.
        """
        text = json.dumps(spec, sort_keys=True, allow_nan=False)
        digest = hashlib.sha256(json.dumps([kind, name, text]).encode()).hexdigest()
        with self.db.writing() as db:
            if key is not None:
                row = self.db.row("SELECT id, digest FROM jobs WHERE idempotency = ?", (key,))
                if row is not None and row["digest"] != digest:
                    raise ServiceError(
                        f"this Idempotency-Key was used for job {row['id']}, which was asked for otherwise; take another key",
                        status=409,
                        code="key-used",
                    )
                if row is not None:
                    return int(row["id"]), False
            done = db.execute(
                "INSERT INTO jobs(kind, name, state, spec, idempotency, digest, created) VALUES(?, ?, 'queued', ?, ?, ?, ?)",
                (kind, name, text, key, digest, time.time()),
            )
            job = int(done.lastrowid or 0)
            self.tell(db, job, "state", {"state": "queued"})
        return job, True

    def job(self, job: int) -> Job:
        row = self.db.row("SELECT * FROM jobs WHERE id = ?", (job,))
        if row is None:
            raise not_found(f"there is no job {job}")
        return Job.of(row)

    def jobs(self, *, state: str | None = None, kind: str | None = None, before: int = LARGEST, limit: int = 50) -> list[Job]:
        """Return jobs, the newest first."""
        chosen = [("state", state), ("kind", kind)]
        where = "".join(f" AND {name} = ?" for name, value in chosen if value is not None)
        values = [value for _, value in chosen if value is not None]
        rows = self.db.rows(f"SELECT * FROM jobs WHERE id < ?{where} ORDER BY id DESC LIMIT ?", (before, *values, limit))
        return [Job.of(row) for row in rows]

    def counts(self) -> dict[str, int]:
        """Return how many jobs there are of each state."""
        found = self.db.rows("SELECT state, sum(number) AS number FROM counts GROUP BY state")
        return {**dict.fromkeys(STATES, 0), **{row["state"]: int(row["number"]) for row in found}}

    def counts_by_kind(self) -> list[tuple[str, str, int]]:
        return [(row["state"], row["kind"], row["number"]) for row in self.db.rows("SELECT * FROM counts")]

    def cancel(self, job: int) -> str:
        """Cancel a job, at once if nobody works at it; return its state."""
        with self.db.writing() as db:
            state = self.job(job).state
            if state == "queued":
                state = "cancelled"
                db.execute(
                    "UPDATE jobs SET state = ?, cancel = 1, ended = ?, error = ? WHERE id = ?",
                    (state, time.time(), "cancelled before it ran", job),
                )
                self.tell(db, job, "state", {"state": state})
            elif state == "running":
                db.execute("UPDATE jobs SET cancel = 1 WHERE id = ?", (job,))
        return state

    def delete(self, job: int) -> None:
        """Forget a job that has ended."""
        with self.db.writing() as db:
            if self.job(job).state not in ENDED:
                raise ServiceError(f"job {job} has not ended; cancel it first", status=409, code="not-ended")
            db.execute("DELETE FROM jobs WHERE id = ?", (job,))
            db.execute("DELETE FROM events WHERE job = ?", (job,))
            self.tell(db, job, "state", {"state": "deleted"})

    def tell(self, db: sqlite3.Connection, job: int, what: str, data: Mapping[str, Any]) -> None:
        """Add an event, within a transaction; of progress only the last one is kept."""
        if what == "progress" or data.get("state") in ENDED:
            db.execute("DELETE FROM events WHERE job = ? AND what = 'progress'", (job,))
        db.execute("INSERT INTO events(job, at, what, data) VALUES(?, ?, ?, ?)", (job, time.time(), what, json.dumps(data)))

    def events(self, after: int, job: int | None = None, limit: int = 500) -> list[Event]:
        """Return what has happened since an event, to one job or to all."""
        if job is None:
            rows = self.db.rows("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
        else:
            rows = self.db.rows("SELECT * FROM events WHERE job = ? AND id > ? ORDER BY id LIMIT ?", (job, after, limit))
        return [Event(row["id"], row["job"], row["at"], row["what"], json.loads(row["data"])) for row in rows]

    def last_progress(self, job: int) -> Mapping[str, Any]:
        """Return what a running job said last of how far it is."""
        row = self.db.row("SELECT data FROM events WHERE job = ? AND what = 'progress' ORDER BY id DESC LIMIT 1", (job,))
        return {} if row is None else dict(json.loads(row["data"]))

    def told(self, job: int, what: str) -> int:
        """Return how often something has happened to a job."""
        row = self.db.row("SELECT count(*) AS number FROM events WHERE job = ? AND what = ?", (job, what))
        return int(row["number"]) if row is not None else 0

    def last_event(self) -> int:
        row = self.db.row("SELECT max(id) AS id FROM events")
        return int(row["id"] or 0) if row is not None else 0

    def add_blob(self, blob: Blob) -> None:
        with self.db.writing() as db:
            db.execute(
                "INSERT INTO blobs VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(hash) DO UPDATE SET name = excluded.name, "
                "created = excluded.created",
                (blob.hash, blob.name, blob.bytes, blob.kind, json.dumps(blob.summary), blob.created),
            )

    def blob(self, digest: str) -> Blob:
        row = self.db.row("SELECT * FROM blobs WHERE hash = ?", (digest,))
        if row is None:
            raise not_found(f"there is no file '{digest[:80]}'; POST it to files first")
        return Blob.of(row)

    def blob_named(self, name: str) -> Blob | None:
        """Return the newest file of a name."""
        row = self.db.row("SELECT * FROM blobs WHERE name = ? ORDER BY created DESC LIMIT 1", (name,))
        return None if row is None else Blob.of(row)

    def blobs(self, limit: int = 1000) -> list[Blob]:
        return [Blob.of(row) for row in self.db.rows("SELECT * FROM blobs ORDER BY created DESC LIMIT ?", (limit,))]
