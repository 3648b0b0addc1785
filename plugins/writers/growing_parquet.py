"""A Parquet file that grows.

A Parquet file ends with a footer that says where its row groups are, so that one without its end cannot be read. Here a row
group is made as a small file in memory, and its bytes go to the end of the large one; what its footer says of it goes, with
places moved by the length of what is before, into a second file beside it (``.groups``), entry by entry. When all are there, or
when somebody wants to read what there is, the footer is made from these entries. So every number is packed once and written
once.

Field numbers are those of parquet.thrift: FileMetaData (2 schema, 3 num_rows, 4 row_groups), RowGroup (1 columns, 3 num_rows,
5 file_offset), ColumnChunk (2 file_offset, 3 meta_data, 4 offset_index_offset, 6 column_index_offset), ColumnMetaData
(9 data_page_offset, 10 index_page_offset, 11 dictionary_page_offset, 14 bloom_filter_offset).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.arrays import FloatArray
from kingpost.plugins.writers import thrift
from kingpost.results.growing import GrowingFile
from kingpost.results.metadata import Outline

MAGIC = b"PAR1"
#: Before each entry beside the file: where the file ends with it, its samples, and its length.
ENTRY_HEAD = struct.Struct("<QQI")
ROWS, GROUPS = 3, 4

#: Returns a Parquet file, as bytes, with the samples given; with None, one without samples but with a final description.
Packed = Callable[[Outline, "tuple[FloatArray, FloatArray] | None"], bytes]


class GrowingParquet(GrowingFile):
    """A Parquet file that grows; ``packed`` makes whole small ones."""

    def __init__(self, path: Path, outline: Outline, packed: Packed) -> None:
        self._outline, self._packed, self._path = outline, packed, path
        self._file, self._groups = path.open("xb"), groups_of(path).open("xb")
        self._file.write(MAGIC)
        self._file.flush()
        # So that what there is can be read by whoever finds it.
        self._add(b"", 0, body_and_footer(packed(outline, None))[1])

    def append(self, times: FloatArray, values: FloatArray) -> None:
        body, footer = body_and_footer(self._packed(self._outline, (times, values)))
        moved = _moved_group(footer, self._file.tell() - len(MAGIC))
        self._file.write(body)
        self._file.flush()
        self._add(b"", len(times), moved)

    def _add(self, before: bytes, rows: int, entry: bytes) -> None:
        self._groups.write(before + ENTRY_HEAD.pack(self._file.tell(), rows, len(entry)) + entry)
        self._groups.flush()

    def finish(self, outline: Outline) -> None:
        self._groups.close()
        found = Groups.read(self._path)
        self._file.write(found.footer(body_and_footer(self._packed(outline, None))[1]))
        self._file.close()
        groups_of(self._path).unlink()

    def close(self) -> None:
        self._file.close()
        self._groups.close()


def groups_of(path: Path) -> Path:
    """Return the file beside a Parquet file that is not whole yet."""
    return path.with_name(f"{path.name}.groups")


def body_and_footer(file: bytes) -> tuple[bytes, bytes]:
    """Return the row groups in a small Parquet file, and its footer without length and end."""
    length = int.from_bytes(file[-8:-4], "little")
    return file[len(MAGIC) : -8 - length], file[-8 - length : -8]


def _moved_group(footer: bytes, by: int) -> bytes:
    """Return the only row group of a footer with all places in it moved."""
    (group,) = thrift.read(footer)[GROUPS][1][1]
    _move(group, by, 5)
    for column in group[1][1][1]:
        _move(column, by, 4, 6)
        # Of old, and 0 where it is no longer used.
        if column.get(2, (0, 0))[1]:
            _move(column, by, 2)
        _move(column[3][1], by, 9, 10, 11, 14)
    return thrift.written(group)


def _move(record: thrift.Record, by: int, *fields: int) -> None:
    for field in fields:
        if field in record:
            kind, place = record[field]
            record[field] = kind, place + by


@dataclass(frozen=True)
class Groups:
    """What is known of the row groups of a Parquet file that is not whole yet."""

    #: The footer of the same file without samples.
    empty: bytes
    entries: list[bytes]
    rows: int
    #: Where the last whole row group ends.
    end: int

    @staticmethod
    def read(path: Path) -> Groups:
        """Return those of a file; an entry that is not whole, or whose group is not, is left out."""
        data, size = groups_of(path).read_bytes(), path.stat().st_size
        entries, rows, end, at = [], 0, 0, 0
        while at + ENTRY_HEAD.size <= len(data):
            place, count, length = ENTRY_HEAD.unpack_from(data, at)
            at += ENTRY_HEAD.size + length
            if at > len(data) or place > size:
                break
            entries.append(data[at - length : at])
            rows, end = rows + count, place
        if not entries:
            raise ValueError("it was begun, and nothing was written")
        return Groups(entries[0], entries[1:], rows, end)

    def footer(self, empty: bytes | None = None) -> bytes:
        """Return what makes the file whole; ``empty`` is the footer of a file without samples, as it is to be."""
        record = thrift.read(self.empty if empty is None else empty)
        record[ROWS] = thrift.LONG, self.rows
        # The list is put together as bytes: all entries as records would take much memory.
        record[GROUPS] = thrift.LIST, (thrift.STRUCT, [])
        before = thrift.written({key: value for key, value in record.items() if key < GROUPS})[:-1]
        after = thrift.written({key - GROUPS: value for key, value in record.items() if key > GROUPS})
        groups = bytes([1 << 4 | thrift.LIST]) + thrift.list_head(thrift.STRUCT, len(self.entries)) + b"".join(self.entries)
        footer = before + groups + after
        return footer + len(footer).to_bytes(4, "little") + MAGIC


class Completed(io.RawIOBase):
    """A Parquet file that is not whole, with the footer that it lacks, for reading."""

    def __init__(self, path: Path) -> None:
        found = Groups.read(path)
        self._file = path.open("rb")
        self._end, self._tail, self._at = found.end, found.footer(), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = 0) -> int:
        self._at = place + (0, self._at, self._end + len(self._tail))[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        end = self._end + len(self._tail) if count < 0 else min(self._at + count, self._end + len(self._tail))
        data = b""
        if self._at < self._end:
            self._file.seek(self._at)
            data = self._file.read(min(end, self._end) - self._at)
        if end > self._end:
            data += self._tail[max(0, self._at - self._end) : end - self._end]
        self._at += len(data)
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


def opened(path: Path) -> Any:
    """Return what a reader of Parquet files is to be given: the path, or the file made whole."""
    return Completed(path) if groups_of(path).is_file() else path
