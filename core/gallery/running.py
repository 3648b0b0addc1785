"""Entries run one after the other: what each found, its pictures, its verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kingpost.base.errors import KingpostError
from kingpost.gallery.drawing import png
from kingpost.gallery.entry import (
    AGREES,
    DIFFERS,
    FAILED,
    INDEPENDENT,
    PARTLY,
    REPAIRED,
    Document,
    Entry,
    Row,
    Sheet,
)


@dataclass(frozen=True)
class Outcome:
    """An entry that was run."""

    document: Document
    entry: Entry
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    #: Pictures as PNG, by the names of their files.
    pictures: dict[str, bytes]
    #: CPU time in s, with that of compilers.
    seconds: float
    #: What stopped it, if something did.
    error: str = ""

    @property
    def verdict(self) -> str:
        """What is to be said of it."""
        if self.error:
            return FAILED
        if not self.rows or not all(row.good for row in self.rows):
            return DIFFERS
        if self.entry.short:
            return PARTLY
        if self.entry.misprints:
            return REPAIRED
        return AGREES if any(row.printed for row in self.rows) else INDEPENDENT

    @property
    def good(self) -> bool:
        """Whether everything agrees."""
        return self.verdict not in (DIFFERS, FAILED)

    @property
    def sentence(self) -> str:
        """The verdict, with how many numbers it rests on."""
        if self.error:
            return f"{FAILED}: {self.error}"
        printed = [row for row in self.rows if row.printed]
        other = [row for row in self.rows if not row.printed]
        parts = []
        if printed:
            parts.append(f"{sum(row.good for row in printed)} of {len(printed)} that survive in print")
        if other:
            parts.append(f"{sum(row.good for row in other)} of {len(other)} computed independently")
        text = f"{self.verdict}: {', '.join(parts) or 'nothing to compare with'}"
        wrong = [row.what for row in self.rows if not row.good]
        return f"{text}; not so: {'; '.join(wrong)}" if wrong else text

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without the pictures themselves."""
        return {
            "document": self.document.name,
            "shows": [self.document.item(number).title for number in self.entry.shows],
            "title": self.entry.title,
            "models": list(self.entry.models),
            "command": self.entry.command,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "misprints": [asdict(self.document.misprints[key]) for key in self.entry.misprints],
            "assumed": list(self.entry.assumed),
            "short": self.entry.short,
            "rows": [asdict(row) for row in self.rows],
            "notes": list(self.notes),
            "pictures": list(self.pictures),
            "cpu_seconds": round(self.seconds, 3),
        }


def _cpu_time() -> float:
    """Return the CPU time of this process and of the compilers that it ran, in s."""
    return sum(os.times()[:4])


def run_entry(document: Document, entry: Entry) -> Outcome:
    """Run an entry; what stops it becomes part of the outcome."""
    sheet, began, error = Sheet(), _cpu_time(), ""
    try:
        entry.make(sheet)
    except Exception as problem:  # whatever it is: the entries that are done, and those to come, are not to be lost by it
        error = f"{type(problem).__name__}: {problem}" if not isinstance(problem, KingpostError) else str(problem)
    names = [f"{document.name}-{entry.name}{'' if k == 0 else f'-{k + 1}'}.png" for k in range(len(sheet.pictures))]
    pictures = {name: png(picture) for name, picture in zip(names, sheet.pictures, strict=True)}
    seconds = _cpu_time() - began
    return Outcome(document, entry, tuple(sheet.rows), tuple(sheet.notes), pictures, seconds, error)


def run_entries(
    chosen: Sequence[tuple[Document, Entry]], done: Callable[[int, Outcome], None] | None = None
) -> tuple[list[Outcome], KeyboardInterrupt | None]:
    """Run entries; after each, ``done`` is told how many there are. An interrupt ends it, and what was made is returned."""
    outcomes: list[Outcome] = []
    try:
        for doc, entry in chosen:
            outcomes.append(run_entry(doc, entry))
            if done is not None:
                done(len(outcomes), outcomes[-1])
    except KeyboardInterrupt as interrupt:
        return outcomes, interrupt
    return outcomes, None
