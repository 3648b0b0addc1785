"""Comma-separated text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.results.history import History, given_away
from kingpost.results.metadata import FORMAT, Metadata, Outline, from_text, to_text
from kingpost.results.writer import Writer

if TYPE_CHECKING:
    from kingpost.results.growing import GrowingFile

#: Bytes of a file from which on machine code reads it sooner, although a compiler must be found.
WORTH_COMPILING = 2_000_000
# The names stand on one line, and '#' begins a comment for readers such as pandas.
_NOT_IN_A_NAME = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff#]")
NO_HEADER = "not written by Kingpost: units are not known and given as 1, time is taken as s"


class CsvWriter(Writer):
    """Comma-separated text: a '#' line of JSON with units and frames, column names, numbers that read back exactly."""

    name = "csv"
    suffix = ".csv"

    def write(self, history: History, path: Path) -> None:
        from kingpost.plugins.writers.csv_rows import rows_at_once, rows_text

        columns = [column_name(name) for name in history.names]
        with path.open("wb") as file:
            file.write(head(to_text(history, columns, provenance=False), columns))
            for first in range(0, len(history), rows := rows_at_once(len(columns))):
                file.write(rows_text(history.time[first : first + rows], history.values[first : first + rows]))

    def grow(self, path: Path, outline: Outline) -> GrowingFile:
        from kingpost.plugins.writers.growing_csv import GrowingCsv

        return GrowingCsv(path, outline)

    def read(self, path: Path) -> History:
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                return _read(file, path)
        except UnicodeDecodeError as error:
            raise ValueError(f"it is not UTF-8 text: {error}") from None


def head(text: str, columns: list[str]) -> bytes:
    """Return the lines above the numbers: ``text``, and the names of the columns."""
    names = io.StringIO()
    csv.writer(names, lineterminator="\n").writerow(["time", *columns])
    return f"# {text}\n{names.getvalue()}".encode()


def column_name(name: str) -> str:
    return _NOT_IN_A_NAME.sub("_", name)


def _read(file: IO[str], path: Path) -> History:
    line = file.readline()
    metadata = _metadata(line)
    lines_before = 1
    while line.startswith("#"):
        line = file.readline()
        lines_before += 1
    names = next(csv.reader([line]), [])
    if not names:
        raise ValueError("it has no line with the names of its columns")
    if metadata is not None:
        _check_names(names, metadata)
    else:
        _check_foreign(names)
    growing = metadata is not None and metadata.samples is None
    if path.stat().st_size >= WORTH_COMPILING:
        from kingpost.plugins.writers.csv_tables import quick_table

        table = quick_table(path, lines_before, len(names), cut_last=growing)
        if table is not None:
            return _history(path, names, metadata, table, ended=True)
    rows = _Rows(file)
    rows.only_ended = growing
    first = next(rows, "")
    try:
        # An empty file would be a warning, not an empty table.
        table = np.loadtxt(rows.again(first), delimiter=",", comments=None, ndmin=2) if first else np.empty((0, len(names)))
    except ValueError as error:
        raise ValueError(_fault(path, lines_before, names) or str(error)) from None
    if table.shape[1] != len(names):
        raise ValueError(_fault(path, lines_before, names))
    return _history(path, names, metadata, table, rows.ended)


def _history(path: Path, names: list[str], metadata: Metadata | None, table: FloatArray, ended: bool) -> History:
    """Return the history with the numbers in ``table``."""
    table = given_away(table)
    if metadata is None:
        provenance = {"source": {"file": path.name, "note": NO_HEADER}}
        return History(table[:, 0], tuple(Channel(name, "1") for name in names[1:]), table[:, 1:], provenance)
    if metadata.samples is not None and (len(table) != metadata.samples or not ended):
        raise ValueError(
            f"its first line announces {metadata.samples} samples, but it has {len(table)}"
            f"{'' if ended else ', the last one not whole'}; if rows were taken out on purpose, correct "
            f'"samples" in the first line'
        )
    return metadata.history(table[:, 0], table[:, 1:])


class _Rows:
    """The lines of a file, and whether the last one was ended."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.ended = True
        #: Whether a last line that was not ended is left out.
        self.only_ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._file)
        self.ended = line.endswith("\n")
        if self.only_ended and not self.ended:
            raise StopIteration
        return line

    def again(self, first: str) -> Iterator[str]:
        """Return all lines, with the first one that was looked at."""
        yield first
        yield from self


def _metadata(line: str) -> Metadata | None:
    """Return what the first line says, or None if it is not a line of ours."""
    try:
        record = json.loads(line.removeprefix("#")) if line.startswith("#") else None
    except ValueError:
        if FORMAT in line:
            raise ValueError("its first line, the description of the columns, is not whole") from None
        return None
    ours = isinstance(record, dict) and record.get("format") == FORMAT
    return from_text(line.removeprefix("#")) if ours else None


def _check_names(names: list[str], metadata: Metadata) -> None:
    wanted = ["time", *metadata.stored_as]
    if names == wanted:
        return
    if len(names) != len(wanted):
        raise ValueError(f"it has {len(names)} columns, but its first line describes {len(wanted)}{_REMEDY}")
    i = next(i for i, (name, other) in enumerate(zip(names, wanted, strict=True)) if name != other)
    raise ValueError(f"column {i + 1} is called '{names[i]}', but its first line describes '{wanted[i]}'{_REMEDY}")


_REMEDY = "; if this was changed on purpose, delete the first line, and with it units and frames"


def _check_foreign(names: list[str]) -> None:
    if not names[0].strip().lower().startswith("time"):
        raise ValueError(f"its first column is called '{names[0][:60]}'; it must hold the time, and be called time")
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise ValueError("its columns are not separated by commas")
    repeated = [name for name, times in Counter(names[1:]).items() if times > 1]
    if repeated:
        raise ValueError(f"it has several columns called '{min(repeated)}'")


def _fault(path: Path, lines_before: int, names: list[str]) -> str:
    """Return what is wrong with the first row that is not a row of numbers; slow, and used only once that is known."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        row = 0
        for number, line in enumerate(file, start=1):
            if number <= lines_before or not line.strip():
                continue
            row += 1
            where = f"row {row} (line {number})"
            cells = line.rstrip("\r\n").split(",")
            if len(cells) != len(names):
                return f"{where} has {len(cells)} columns, expected {len(names)}"
            for i, cell in enumerate(cells):
                try:
                    float(cell)
                except ValueError:
                    return f"{where}, column {i + 1} ('{names[i]}'): {cell!r} is not a number"
    return ""
