"""Connections to the store: one for each thread, durable, with transactions that are whole or not at all."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError
from kingpost.fmu.service.errors import DiskFullError, says_full
from kingpost.fmu.service.schema import TABLES, VERSION

#: Seconds that a writer waits for another one.
PATIENCE = 60.0


class Connections:
    """The database of a project. An acknowledged change is on the disk: ``synchronous`` is FULL."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        with self.writing() as db:
            db.execute("CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            row = db.execute("SELECT value FROM facts WHERE name = 'schema'").fetchone()
            if row is not None and int(row["value"]) != VERSION:
                raise FileError(
                    f"'{path}' is a store of version {row['value']}, this Kingpost works with {VERSION}; choose another folder"
                )
            db.execute("INSERT OR IGNORE INTO facts VALUES('schema', ?)", (str(VERSION),))
        self.connection.executescript(TABLES)

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of this thread."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            try:
                found = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
                found.row_factory = sqlite3.Row
                found.execute("PRAGMA journal_mode = WAL")
                found.execute("PRAGMA synchronous = FULL")
            except sqlite3.DatabaseError as error:
                raise FileError(f"the store '{self.path}' cannot be opened: {error}") from None
            self._local.connection = found
            with self._guard:
                self._all.append(found)
        return found

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Change several things at once, or none of them."""
        db = self.connection
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException as error:
            if db.in_transaction:  # a disk that is full has ended it already
                db.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError) and says_full(str(error)):
                raise DiskFullError(
                    f"the disk of '{self.path.parent}' is full, so nothing can be noted; make room, and ask again"
                ) from None
            raise

    def rows(self, sql: str, values: Any = ()) -> list[sqlite3.Row]:
        return self.connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Any = ()) -> sqlite3.Row | None:
        found: sqlite3.Row | None = self.connection.execute(sql, values).fetchone()
        return found

    def close(self) -> None:
        with self._guard:
            for connection in self._all:
                connection.close()
            self._all.clear()
        self._local = threading.local()
