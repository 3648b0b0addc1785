"""Samples over time in CSV files."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.text_files import read_text


def read_samples(path: Path, column: str | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return times, the first column, and the values in one other column; the only one unless ``column`` names it."""
    reader = csv.reader(read_text(path, encoding="utf-8-sig").split("\n"), skipinitialspace=True)
    times: list[float] = []
    values: list[float] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        index = _column(path, header, column)
        for row in reader:
            if row in ([], [""]):
                continue
            if len(row) != len(header):
                raise FileError(
                    f"{path}: line {reader.line_num} has {len(row)} entries, but the header names {len(header)} columns"
                )
            time, value = (_number(path, reader.line_num, header[i], row[i]) for i in (0, index))
            if times and not time > times[-1]:
                raise FileError(
                    f"{path}: times must rise: line {reader.line_num} has {time} s after {times[-1]} s; "
                    "sort the lines and drop repeated times"
                )
            times.append(time)
            values.append(value)
    except csv.Error as error:
        raise FileError(f"{path}: line {reader.line_num} is not CSV: {error}") from None
    if len(times) < 2:
        raise FileError(f"{path} holds {len(times)} sample(s) below its header line; at least 2 are needed")
    return tuple(times), tuple(values)


def column_names(path: Path) -> list[str]:
    """Return the names in the first line of a file but for that of the times."""
    reader = csv.reader(read_text(path, encoding="utf-8-sig").split("\n", 1)[:1], skipinitialspace=True)
    return [name.strip() for name in next(reader, [])][1:]


def _column(path: Path, header: list[str], column: str | None) -> int:
    """Return which column of the file to take."""
    names = header[1:]
    if not names:
        raise FileError(f"{path}: line 1 must name a time column and at least one other, separated by commas; got {header}")
    if all(_is_number(name) for name in header):
        raise FileError(f"{path}: line 1 holds numbers; put a header above them, e.g. 'time,value'")
    if column is None:
        if len(names) > 1:
            raise FileError(
                f"{path} has {len(names)} columns beside '{header[0]}': {listed(names)}; say which 'column' to take"
            )
        return 1
    if column not in names:
        raise FileError(f"{path} has no column '{column}'{closest(column, names)} Columns: {listed(names)}.")
    if names.count(column) > 1:
        raise FileError(f"{path} has {names.count(column)} columns called '{column}'; give them different names")
    return 1 + names.index(column)


def _number(path: Path, line: int, name: str, text: str) -> float:
    if not _is_number(text):
        raise FileError(f"{path}: line {line} has '{text.strip()}' in column '{name}', which is not a number")
    number = float(text)
    if not math.isfinite(number):
        raise FileError(f"{path}: line {line} has {number} in column '{name}'; it must be finite")
    return number


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
