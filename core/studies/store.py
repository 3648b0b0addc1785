"""Where a study keeps its cases and what came of them: one SQLite file that survives whatever ends the process.

Outcomes are keyed by the content of their case. A case that is planned again, by the same study or by one that was changed
elsewhere, is not run again; one whose numbers would differ has another key.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from kingpost.base.errors import FileError, KingpostError, closest
from kingpost.studies.case import Case, Outcome

STORE = "study.sqlite"
VERSION = 2
#: Cases are written in lots of this many.
LOT = 5000
DONE, FAILED, OPEN = "done", "failed", "open"
#: The state of a case in which a floating body left the small angles of linear theory.
OUTSIDE = "outside linear theory"
TABLES = """
create table if not exists facts(name text primary key, value text not null);
create table if not exists cases(
    place integer primary key, key text not null, settings text not null, sea text not null, labels text not null,
    weight real not null);
create index if not exists cases_by_key on cases(key);
create table if not exists layouts(id integer primary key, names text not null unique);
create table if not exists outcomes(
    key text primary key, layout integer, numbers blob, error text not null, cpu_s real not null, ended real not null,
    outside text not null);
"""


#: What reading makes Python raise where the texts or numbers in a file are not those that were written.
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, struct.error)


@dataclass(frozen=True)
class Counts:
    """How many cases there are, and what came of them; ``stored`` outcomes are not all of planned cases."""

    planned: int
    done: int
    failed: int
    outside: int
    stored: int

    @property
    def run(self) -> int:
        """The cases that have an outcome."""
        return self.done + self.failed + self.outside

    @property
    def open(self) -> int:
        """The cases that have not been run."""
        return self.planned - self.run


@dataclass(frozen=True)
class StoredCase:
    """A planned case with what came of it, if it was run."""

    place: int
    case: Case
    outcome: Outcome | None

    @property
    def state(self) -> str:
        """``done``, ``failed``, ``outside linear theory`` or ``open``."""
        if self.outcome is None:
            return OPEN
        if self.outcome.error:
            return FAILED
        return OUTSIDE if self.outcome.outside else DONE


class Store:
    """The cases and outcomes of a study in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / STORE
        with self._using(DAMAGE):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=30.0)
            self._db.execute("pragma journal_mode=wal")
            # A crash of the program loses nothing; of the machine, at worst what was written last.
            self._db.execute("pragma synchronous=normal")
            self._db.executescript(TABLES)
            self._check_version()
        self._layouts: dict[str, int] = {}

    @staticmethod
    def exists(folder: str | Path) -> bool:
        """Say whether a folder has a store."""
        return (Path(folder) / STORE).is_file()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _using(self, damage: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Say in a sentence what SQLite has against it, such as a full disk; of what is read, also what is ``damage``."""
        refused: tuple[type[Exception], ...] = (OSError, sqlite3.Error, *damage)
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a fault of ours
        except refused as error:
            raise FileError(f"'{self.path}' cannot be used as the store of a study: {error}") from None

    def _check_version(self) -> None:
        version = self.fact("version")
        if version is None:
            self.note("version", VERSION)
        elif version != VERSION:
            raise FileError(
                f"'{self.path}' was written by another version of kingpost (store {version}, here {VERSION}); choose another "
                "folder"
            )

    def note(self, name: str, value: Any) -> None:
        """Keep a fact about the study."""
        text = json.dumps(value)
        with self._using():
            self._db.execute("insert or replace into facts values (?, ?)", (name, text))

    def fact(self, name: str) -> Any:
        """Return a fact that was noted, or None."""
        with self._using(DAMAGE):
            row = self._db.execute("select value from facts where name = ?", (name,)).fetchone()
            return None if row is None else json.loads(row[0])

    def plan(self, cases: Iterable[Case]) -> int:
        """Put cases in the place of those that were planned; outcomes stay. All or none of them; return how many."""
        with self._using():
            self._db.execute("begin immediate")
            try:
                self._db.execute("delete from cases")
                cursor = self._db.executemany("insert into cases values (?, ?, ?, ?, ?, ?)", _rows(cases))
                self._db.execute("commit")
                return cursor.rowcount
            except BaseException:
                if self._db.in_transaction:  # SQLite ends some by itself
                    self._db.execute("rollback")
                raise

    def add(self, outcome: Outcome) -> None:
        """Keep what came of a case."""
        names = json.dumps(list(outcome.numbers))
        numbers = struct.pack(f"<{len(outcome.numbers)}d", *outcome.numbers.values())
        with self._using():
            self._db.execute(
                "insert or replace into outcomes values (?, ?, ?, ?, ?, ?, ?)",
                (outcome.key, self._layout(names), numbers, outcome.error, outcome.cpu_s, time.time(), outcome.outside),
            )

    def _layout(self, names: str) -> int:
        if names not in self._layouts:
            self._db.execute("insert or ignore into layouts(names) values (?)", (names,))
            row = self._db.execute("select id from layouts where names = ?", (names,)).fetchone()
            self._layouts[names] = int(row[0])
        return self._layouts[names]

    def forget_failures(self) -> int:
        """Let failed cases be run again; return how many."""
        with self._using():
            return self._db.execute("delete from outcomes where error <> ''").rowcount

    def counts(self) -> Counts:
        """Return how many cases there are, and what came of them."""
        with self._using(DAMAGE), closing(self._db.cursor()) as cursor:
            planned = cursor.execute("select count(*) from cases").fetchone()[0]
            done, failed, outside = cursor.execute(
                "select coalesce(sum(error = '' and outside = ''), 0), coalesce(sum(error <> ''), 0), "
                "coalesce(sum(error = '' and outside <> ''), 0) from cases join outcomes using (key)"
            ).fetchone()
            stored = cursor.execute("select count(*) from outcomes").fetchone()[0]
        return Counts(planned, done, failed, outside, stored)

    def open_cases(self) -> Iterator[Case]:
        """Yield the cases that have not been run, each content once, as they are now, in the order of the plan."""
        last = -1
        seen: set[str] = set()
        # Whoever runs cases may take them from a thread of its own.
        with self._using(DAMAGE), closing(sqlite3.connect(self.path, timeout=30.0, check_same_thread=False)) as reading:
            while True:
                rows = reading.execute(
                    "select place, key, settings, sea, labels, weight from cases where place > ? and key not in "
                    "(select key from outcomes) order by place limit ?",
                    (last, LOT),
                ).fetchall()
                if not rows:
                    return
                last = rows[-1][0]
                for row in rows:
                    if row[1] not in seen:
                        seen.add(row[1])
                        yield _case(row[1:])

    def stored(self, where: str = "", values: tuple[Any, ...] = ()) -> Iterator[StoredCase]:
        """Yield the planned cases with what came of them, in the order of the plan."""
        query = (
            "select place, c.key, settings, sea, labels, weight, layout, numbers, error, cpu_s, outside from cases c left join "
            f"outcomes o on c.key = o.key {where} order by place"
        )
        with self._using(DAMAGE), closing(self._db.cursor()) as cursor:
            layouts = {row[0]: tuple(json.loads(row[1])) for row in self._db.execute("select id, names from layouts")}
            for row in cursor.execute(query, values):
                outcome = None
                if row[8] is not None:
                    outcome = Outcome(row[1], _numbers(layouts[row[6]], row[7]), *row[8:11])
                yield StoredCase(row[0], _case(row[1:6]), outcome)

    def outcome(self, key: str) -> Outcome | None:
        """Return what came of a case, planned or not."""
        query = "select names, numbers, error, cpu_s, outside from outcomes left join layouts on layout = id where key = ?"
        with self._using(DAMAGE):
            row = self._db.execute(query, (key,)).fetchone()
            return None if row is None else Outcome(key, _numbers(tuple(json.loads(row[0])), row[1]), *row[2:])

    def find(self, key: str) -> StoredCase:
        """Return the planned case whose key begins like this; refuse a beginning that none or several have."""
        if not key or not all(letter in "0123456789abcdef" for letter in key.lower()):
            raise KingpostError(f"'{key}' is no key of a case; keys are made of 0-9 and a-f, as the results list them")
        found = {entry.case.key: entry for entry in self.stored("where c.key like ?", (f"{key.lower()}%",))}
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise KingpostError(f"{len(found)} cases have keys that begin with '{key}'; give more of it")
        keys = [row[0][: len(key)] for row in self._db.execute("select key from cases limit 10000")]
        raise KingpostError(f"there is no case with a key that begins with '{key}'{closest(key, keys)}")


def _rows(cases: Iterable[Case]) -> Iterator[tuple[Any, ...]]:
    for place, case in enumerate(cases):
        yield place, case.key, _json(case.settings), case.sea, _json(case.labels), case.weight


def _json(table: Mapping[str, Any]) -> str:
    return json.dumps(dict(table)) if table else "{}"


def _case(row: tuple[Any, ...]) -> Case:
    key, settings, sea, labels, weight = row
    tables = (json.loads(settings), json.loads(labels))
    if not all(isinstance(table, dict) for table in tables) or not isinstance(sea, str):
        raise ValueError(f"what it says of case {key} is no case")
    return Case(key, tables[0], sea, tables[1], weight)


def _numbers(names: tuple[str, ...], packed: bytes) -> dict[str, float]:
    return dict(zip(names, struct.unpack(f"<{len(names)}d", packed), strict=True))
