"""Sea states over time from a CSV file: a hindcast, or the record of a buoy."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError, closest, listed
from kingpost.base.text_files import read_text

#: Hours in a unit that a column of times may have.
TIME_UNITS = {"s": 1 / 3600, "min": 1 / 60, "h": 1.0, "d": 24.0}
#: What stands where nothing was measured.
MISSING = ("", "nan", "na", "null", "none", "-", "-999", "9999", "-9999")
_HEADING = re.compile(r"^\s*(?P<name>[^\[(]*?)\s*(?:[\[(]\s*(?P<unit>[^\])]*)\s*[\])])?\s*$")


@dataclass(frozen=True, eq=False)
class SeaSeries:
    """Columns of numbers over time; nan where nothing is known.

    ``hours`` count from the first sample; ``months`` are 1 to 12, or none where times are numbers.
    """

    hours: FloatArray
    columns: Mapping[str, FloatArray]
    months: NDArray[np.int64] | None = None
    #: The first time, as the file has it.
    start: str = ""

    def column(self, name: str) -> FloatArray:
        """Return a column by its name, whatever its case."""
        found = [known for known in self.columns if known.lower() == name.lower()]
        if not found:
            raise FileError(
                f"there is no column '{name}'{closest(name, self.columns)} Columns: {listed(self.columns)}. Name it in the "
                "first line, e.g. 'time,Hs,Tp'"
            )
        return self.columns[found[0]]


def read_sea_series(path: str | Path) -> SeaSeries:
    """Return the columns of a CSV file whose first column is the time.

    Times are dates such as ``2023-01-31T06:00``, or numbers with their unit in the heading: ``time [h]``.
    """
    path = Path(path)
    reader = csv.reader(read_text(path, encoding="utf-8-sig").split("\n"), skipinitialspace=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FileError(f"{path}: line {reader.line_num} is not CSV: {error}") from None
    if len(rows) < 3:
        raise FileError(f"{path} holds {max(len(rows) - 1, 0)} sample(s) below its header line; at least 2 are needed")
    header, body = rows[0][1], rows[1:]
    names = [_parts(name)[0] for name in header[1:]]
    _check_header(path, header, names)
    for line, row in body:
        if len(row) != len(header):
            raise FileError(f"{path}: line {line} has {len(row)} entries, but the header names {len(header)} columns")
    hours, months = _times(path, header[0], [(line, row[0]) for line, row in body])
    with np.errstate(over="ignore", invalid="ignore"):
        hours = hours - hours[0]
        back = np.flatnonzero(~(np.diff(hours) > 0.0) | ~np.isfinite(hours[1:]))
    if back.size:
        line, row = body[int(back[0]) + 1]
        raise FileError(f"{path}: times must rise, and line {line} ({row[0]}) does not; sort the lines, drop repeated times")
    columns = {name: np.array([_number(path, line, name, row[i + 1]) for line, row in body]) for i, name in enumerate(names)}
    return SeaSeries(hours, columns, months, body[0][1][0])


def _check_header(path: Path, header: Sequence[str], names: Sequence[str]) -> None:
    if not names:
        raise FileError(f"{path}: line 1 must name a time column and at least one other, e.g. 'time,Hs,Tp'; got {header}")
    if _plain_number(header[0]) is not None:
        raise FileError(f"{path}: line 1 holds numbers; put a header above them, e.g. 'time [h],Hs,Tp'")
    twice = sorted({name for name in names if [other.lower() for other in names].count(name.lower()) > 1})
    if twice:
        raise FileError(f"{path}: line 1 names {listed(twice)} twice; names must differ")


def _parts(heading: str) -> tuple[str, str]:
    """Return name and unit of a heading such as ``Hs [m]``."""
    match = _HEADING.match(heading)
    return (match["name"], (match["unit"] or "").strip()) if match else (heading, "")


def _times(path: Path, heading: str, cells: Sequence[tuple[int, str]]) -> tuple[FloatArray, NDArray[np.int64] | None]:
    """Return times in hours, and months if they are dates."""
    unit = _parts(heading)[1]
    if _plain_number(cells[0][1]) is None:
        dates = [_date(path, line, cell) for line, cell in cells]
        seconds = np.array([date.timestamp() for date in dates])
        return seconds / 3600, np.array([date.month for date in dates])
    if unit not in TIME_UNITS:
        raise FileError(
            f"{path}: times are numbers, and the heading '{heading}' does not say of what; write their unit into it, one of "
            f"{listed(f'time [{name}]' for name in TIME_UNITS)}, or give dates such as 2023-01-31T06:00"
        )
    hours = [(line, _plain_number(cell)) for line, cell in cells]
    bad = next((line for line, hour in hours if hour is None), None)
    if bad is not None:
        raise FileError(f"{path}: line {bad} has no number for its time")
    return np.array([hour for _, hour in hours], dtype=float) * TIME_UNITS[unit], None


def _date(path: Path, line: int, cell: str) -> datetime:
    try:
        date = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", cell))
    except ValueError:
        raise FileError(f"{path}: line {line}: '{cell}' is no date; write it as 2023-01-31T06:00") from None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def _plain_number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _number(path: Path, line: int, name: str, cell: str) -> float:
    if cell.lower() in MISSING:
        return math.nan
    number = _plain_number(cell)
    if number is None:
        raise FileError(f"{path}: line {line}: '{cell}' is no number for '{name}'; leave the cell empty where nothing is known")
    return number
