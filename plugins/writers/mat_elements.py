"""Variables in a MATLAB file of level 5: arrays of numbers, and texts.

SciPy's reader of this format trusts the lengths in a file, and a damaged one can take the process down. This one takes nothing
that it has not checked, and knows only the kinds of variables that a history is made of; others are passed over. The layout is
that of MathWorks' "MAT-File Format": a header of 128 bytes, then elements of a tag (type, length) and as many bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER = 128
MATRIX, COMPRESSED = 14, 15
INT8, INT32, UINT32 = 1, 5, 6
#: Types of elements that hold numbers.
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
#: Types of elements that hold text, and how.
TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
#: Classes of variables: text, then double, single and eight kinds of whole numbers.
TEXT_CLASS, NUMERIC_CLASSES = 4, range(6, 16)
COMPLEX = 0x0800


def read_variables(content: bytes) -> dict[str, Any]:
    """Return the numeric arrays, as vectors, and the texts in a file; raise :class:`ValueError` if it is damaged."""
    if content[:10] == b"MATLAB 7.3" or content[:4] == b"\x89HDF":
        raise ValueError("it is a MATLAB file of version 7.3, and level 5 is read; save it in MATLAB with '-v7'")
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None or len(content) < HEADER:
        raise ValueError("it does not begin as a MATLAB file of level 5 does")
    variables: dict[str, Any] = {}
    for kind, data in _Elements(memoryview(content)[HEADER:], order):
        if kind == COMPRESSED:
            (inner, matrix), *more = _Elements(memoryview(_unpacked(data, order)), order)
            if inner != MATRIX or more:
                raise ValueError(f"a packed element holds an element of type {inner}, expected {MATRIX}, a variable")
        elif kind == MATRIX:
            matrix = data
        else:
            raise ValueError(f"it has an element of type {kind} where a variable should be")
        variable = _variable(matrix, order)
        if variable is None:
            continue
        name, value = variable
        if name in variables:
            raise ValueError(f"it has two variables '{name}'")
        variables[name] = value
    return variables


def _unpacked(data: memoryview, order: str) -> bytes:
    """Return the content of a packed element, no more of it than it announces itself."""
    unpacking = zlib.decompressobj()
    try:
        tag = unpacking.decompress(data, 8)
        if len(tag) < 8:
            raise ValueError("a packed element is not whole")
        length = struct.unpack(f"{order}II", tag)[1]
        rest = unpacking.decompress(unpacking.unconsumed_tail, length + 1)
        if not unpacking.eof:  # the checksum is read with the end
            rest += unpacking.decompress(unpacking.unconsumed_tail, 1)
    except zlib.error as error:
        raise ValueError(f"a packed element is damaged: {error}") from None
    if len(rest) != length or not unpacking.eof or unpacking.unused_data:
        raise ValueError("a packed element is damaged: its length is not what it announces")
    return tag + rest


@dataclass(frozen=True)
class _Elements:
    """The elements in some bytes, one after the other: type and content."""

    content: memoryview
    order: str

    def __iter__(self) -> Iterator[tuple[int, memoryview]]:
        at, end = 0, len(self.content)
        while at < end:
            if end - at < 8:
                raise ValueError("its last element is not whole")
            kind, length = struct.unpack_from(f"{self.order}II", self.content, at)
            if kind >> 16:  # a short one: type and length in one half of the tag, content in the other
                kind, length, start, step = kind & 0xFFFF, kind >> 16, at + 4, 8
                if length > 4:
                    raise ValueError(f"a short element announces {length} bytes; it has room for 4")
            else:
                start = at + 8
                # Packed elements are not padded to whole words.
                step = 8 + (length if kind == COMPRESSED else -(-length // 8) * 8)
            if start + length > end:
                raise ValueError(f"an element announces {length} bytes, but {end - start} are left")
            yield kind, self.content[start : start + length]
            at += step


def _variable(matrix: memoryview, order: str) -> tuple[str, Any] | None:
    """Return a variable's name and its value, or None if it is of a kind that is not read here."""
    parts = iter(_Elements(matrix, order))

    def part(what: str, *kinds: int) -> tuple[int, memoryview]:
        kind, data = next(parts, (0, memoryview(b"")))
        if kind not in kinds:
            raise ValueError(f"the {what} of a variable is an element of type {kind}, expected {' or '.join(map(str, kinds))}")
        return kind, data

    flags = _numbers(UINT32, part("kind", UINT32)[1], order)
    if flags.size != 2:
        raise ValueError("the kind of a variable is not whole")
    if int(flags[0]) & 0xFF not in (TEXT_CLASS, *NUMERIC_CLASSES) or int(flags[0]) & COMPLEX:
        return None
    shape = _numbers(INT32, part("shape", INT32)[1], order)
    name = bytes(part("name", INT8)[1]).decode("latin-1")
    if shape.size < 2 or (shape < 0).any():
        raise ValueError(f"the shape of variable '{name}' is {shape.tolist()}")
    count = math.prod(shape.tolist())
    text = int(flags[0]) & 0xFF == TEXT_CLASS
    kind, data = part(f"content of '{name}'", *(TEXTS if text else NUMBERS))
    value = _text(kind, data, order) if text else _numbers(kind, data, order)
    if len(value) != count:
        raise ValueError(f"variable '{name}' announces {count} values, but it has {len(value)}")
    return name, value


def _numbers(kind: int, data: memoryview, order: str) -> Any:
    dtype = np.dtype(f"{order}{NUMBERS[kind]}")
    if len(data) % dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are no whole numbers of {dtype.itemsize} bytes")
    return np.frombuffer(data, dtype)


def _text(kind: int, data: memoryview, order: str) -> str:
    encoding = TEXTS[kind]
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if order == "<" else "-be"
    return bytes(data).decode(encoding)
