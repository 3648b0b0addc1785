"""Tables of numbers in text, read by machine code where they are long."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.plugins.writers.csv_rows import library

#: Bytes that are read at once.
BLOCK = 2**23


def quick_table(path: Path, lines_before: int, columns: int, *, cut_last: bool = False) -> FloatArray | None:
    """Return the numbers below some lines; None if there is no machine code, or anything but whole rows of numbers.

    ``cut_last``: a last row without its end is left out.
    """
    tables = []
    for table in quick_blocks(path, lines_before, columns, range(columns), cut_last=cut_last):
        if table is None:
            return None
        tables.append(table)
    return stacked(tables, columns)


def quick_blocks(
    path: Path, lines_before: int, columns: int, wanted: Sequence[int], *, cut_last: bool = False
) -> Iterator[FloatArray | None]:
    """Give some columns of the rows below some lines, some rows at a time; None, and no more, where rows are not such."""
    machine = library()
    if machine is None:
        yield None
        return
    mask = bytes(j in set(wanted) for j in range(columns))
    with path.open("rb") as file:
        for _ in range(lines_before):
            file.readline()
        begun = b""
        while block := file.read(BLOCK):
            whole, ended, rest = block.rpartition(b"\n")
            if not ended:
                begun += rest
                continue
            text, begun = begun + whole + ended, rest
            table = np.empty((text.count(b"\n"), len(wanted)))
            arguments = ctypes.c_longlong(len(text)), ctypes.c_longlong(columns), mask, ctypes.c_void_p(table.ctypes.data)
            if machine.kp_csv_read(text, *arguments) != len(table):
                yield None
                return
            yield table
    if begun and not cut_last:
        yield None


def stacked(tables: list[FloatArray], columns: int) -> FloatArray:
    """Return tables one below the other; each is given up once it was copied, so that no two copies of all are kept."""
    result = np.empty((sum(map(len, tables)), columns))
    first = 0
    tables.reverse()
    while tables:
        table = tables.pop()
        result[first : first + len(table)] = table
        first += len(table)
    return result
