"""Records in Thrift's compact protocol, as far as the end of a Parquet file is one: read, changed in places, written back.

The layout is that of the Thrift project's "Thrift Compact protocol encoding". What a field means is no matter here; a record is
a table of values by the number of the field, with the type of each.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

#: Type and value of fields by number; a list is (type, values).
Record: TypeAlias = dict[int, tuple[int, Any]]


def read(data: bytes) -> Record:
    """Return the record that some bytes begin with; raise :class:`ValueError` if there is none."""
    try:
        return _Reader(data).value(STRUCT)
    except (IndexError, struct.error):
        raise ValueError("a record ends before it is whole") from None


def written(record: Record) -> bytes:
    """Return a record as bytes."""
    out = bytearray()
    _write(out, STRUCT, record)
    return bytes(out)


@dataclass
class _Reader:
    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def whole(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def taken(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise IndexError
        self.at += count
        return found

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):  # in a list
            return self.byte()
        if kind == BYTE:
            return self.byte()
        if kind in (SHORT, INT, LONG):
            return self.whole()
        if kind == DOUBLE:
            return struct.unpack("<d", self.taken(8))[0]
        if kind == BINARY:
            return self.taken(self.varint())
        if kind in (LIST, SET):
            head = self.byte()
            count, inner = head >> 4, head & 15
            return inner, [self.value(inner) for _ in range(self.varint() if count == 15 else count)]
        if kind == STRUCT:
            return self.record()
        raise ValueError(f"a record has a field of type {kind}, which no Parquet file has at its end")

    def record(self) -> Record:
        fields: Record = {}
        number = 0
        while head := self.byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self.whole()
            fields[number] = kind, None if kind in (TRUE, FALSE) else self.value(kind)
        return fields


def _varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _whole(out: bytearray, value: int) -> None:
    _varint(out, 2 * value if value >= 0 else -2 * value - 1)


def _write(out: bytearray, kind: int, value: Any) -> None:
    if kind in (TRUE, FALSE, BYTE):
        out.append(value)
    elif kind in (SHORT, INT, LONG):
        _whole(out, value)
    elif kind == DOUBLE:
        out += struct.pack("<d", value)
    elif kind == BINARY:
        _varint(out, len(value))
        out += value
    elif kind in (LIST, SET):
        inner, values = value
        out += list_head(inner, len(values))
        for item in values:
            _write(out, inner, item)
    else:
        _write_record(out, value)


def _write_record(out: bytearray, record: Record) -> None:
    last = 0
    for number, (kind, value) in sorted(record.items()):
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _whole(out, number)
        if kind not in (TRUE, FALSE):
            _write(out, kind, value)
        last = number
    out.append(0)


def list_head(kind: int, count: int) -> bytes:
    """Return what stands before the entries of a list."""
    out = bytearray([min(count, 15) << 4 | kind])
    if count >= 15:
        _varint(out, count)
    return bytes(out)
