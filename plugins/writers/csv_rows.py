"""Rows of numbers as text, exact and the same whoever makes them: machine code where there are many, else Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.kernel.compiler import CompilerError, build_cached, built_elsewhere, find_compiler

#: Fewer numbers than this are faster in Python than a compiler is found.
WORTH_COMPILING = 200_000
#: Characters of the longest number, with its comma; and of a time, with its line break.
LONGEST_NUMBER, LONGEST_TIME = 25, 26
#: Rows that are put into text at once.
ROWS = 1000
#: Powers of ten by which numbers are multiplied until they have 17 digits, or digits until they are numbers.
POWERS = range(-342, 341)


def rows_at_once(channels: int) -> int:
    """Return how many rows are worth being put into text at once."""
    return max(1, 4 * WORTH_COMPILING // (1 + channels))


def rows_text(times: FloatArray, values: FloatArray) -> bytes:
    """Return a line for each sample: the time in the fewest digits that tell it, then values with 17, which are exact."""
    compiled = _compiled() if values.size >= WORTH_COMPILING else None
    return (compiled or rows_in_python)(times, values)


def rows_in_python(times: FloatArray, values: FloatArray) -> bytes:
    """Return the same by Python alone."""
    # 17 digits are faster than the fewest; the times, one column, are nicer to read short.
    row = "%r" + ",%.17g" * values.shape[1] + "\n"
    lines = []
    for first in range(0, len(times), ROWS):
        some = slice(first, first + ROWS)
        pairs = zip(times[some].tolist(), values[some].tolist(), strict=True)
        lines += [row % (time, *numbers) for time, numbers in pairs]
    return "".join(lines).encode()


@cache
def library() -> ctypes.CDLL | None:
    """Return the machine code, if it can be had."""
    source, compiler = source_text(), find_compiler()
    try:
        built = built_elsewhere(source) if compiler is None else build_cached(source, compiler)
        found = None if built is None else ctypes.CDLL(str(built.library))
    except (CompilerError, OSError):
        return None
    if found is not None:
        found.kp_csv_rows.restype = found.kp_csv_read.restype = ctypes.c_longlong
    return found


@cache
def _compiled() -> Callable[[FloatArray, FloatArray], bytes] | None:
    """Return the same as machine code, if it can be had."""
    found = library()
    if found is None:
        return None
    write = found.kp_csv_rows

    def rows(times: FloatArray, values: FloatArray) -> bytes:
        count, channels = values.shape
        room = min(count, ROWS) * (channels * LONGEST_NUMBER + LONGEST_TIME)
        out = ctypes.create_string_buffer(room)
        parts = []
        for first in range(0, count, ROWS):
            some = np.ascontiguousarray(values[first : first + ROWS])
            begins = "".join(f"{time!r}\n" for time in times[first : first + ROWS].tolist()).encode()
            length = write(
                begins, ctypes.c_void_p(some.ctypes.data), ctypes.c_longlong(len(some)), ctypes.c_longlong(channels), out
            )
            parts.append(ctypes.string_at(out, length))
        return b"".join(parts)

    return rows


def source_text() -> str:
    """Return the C source, with the powers of ten in their place."""
    entries = ",\n".join(f"{{{value >> 64:#x}ULL, {value % 2**64:#x}ULL, {shift}}}" for value, shift in map(_power, POWERS))
    table = (
        f"enum {{ KP_FIRST = {POWERS[0]}, KP_LAST = {POWERS[-1]} }};\nstatic const kp_power kp_powers[] = {{\n{entries}\n}};"
    )
    return files("kingpost.plugins.writers").joinpath("csv_text.c").read_text().replace("KP_POWERS", table, 1)


def _power(exponent: int) -> tuple[int, int]:
    """Return 10^exponent as a whole number of 128 bits, rounded down, and the power of two that it is to be multiplied by."""
    if exponent >= 0:
        number = 10**exponent
        shift = number.bit_length() - 128
        return (number >> shift if shift >= 0 else number << -shift), shift
    divisor = 10**-exponent
    shift = -(127 + divisor.bit_length())
    value = (1 << -shift) // divisor
    if value >> 128:
        value, shift = value >> 1, shift + 1
    return value, shift
