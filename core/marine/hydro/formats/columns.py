"""Tables of numbers in text: one row a line, blanks or tabs between them, one line of words above them or none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError
from kingpost.base.text_files import read_text

#: More lines than this are not a table of a hull.
MOST_LINES = 2_000_000
_FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[-+]?\d)")
#: Digits in which WAMIT and others print a period or a heading, less one.
DIGITS = 6


def read_columns(path: Path, widths: tuple[int, ...]) -> FloatArray:
    """Return the rows of a table; each must have one of these numbers of columns, and shorter ones are filled with NaN."""
    lines = read_text(path, encoding="latin-1").splitlines()
    if len(lines) > MOST_LINES:
        raise FileError(f"'{path}' has {len(lines)} lines; that is no table of a hull")
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        row = numbers_in(line)
        if row is None and not rows:
            if number > 1 and line.strip():
                raise FileError(f"'{path}': line {number} is not a row of numbers: {line.strip()[:60]!r}")
            continue
        if row is None or (row and len(row) not in widths):
            many = " or ".join(map(str, widths))
            raise FileError(f"'{path}': line {number} is not a row of {many} numbers: {line.strip()[:60]!r}")
        if row:
            rows.append(row)
    if not rows:
        raise FileError(f"'{path}' holds no rows of {' or '.join(map(str, widths))} numbers")
    table = np.full((len(rows), max(widths)), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def numbers_in(line: str) -> list[float] | None:
    """Return the numbers in a line, also in Fortran's form 1.0D+03; None if there is something else in it."""
    try:
        return [float(word) for word in _FORTRAN.sub("e", line).split()]
    except ValueError:
        return None


def distinct(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different values in a column, rounded so that they are recognised in another file, and as they are."""
    found, first = np.unique(rounded(values), return_index=True)
    return found, values[first]


def rounded(values: FloatArray) -> FloatArray:
    """Return numbers with the digits by which they are recognised in another file."""
    size = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values)))))
    return np.round(values * size) / size


def whole_numbers(path: Path, values: FloatArray, what: str, least: int = 1, most: int = 600) -> FloatArray:
    """Return a column as whole numbers, or say what is in it."""
    bad = ~np.isfinite(values) | (values != np.round(values)) | (values < least) | (values > most)
    if bad.any():
        raise FileError(f"'{path}': {what} must be whole numbers from {least} to {most}; there is {values[bad][0]:g}")
    return values.astype(int)
