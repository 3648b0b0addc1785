"""A CSV file that grows."""

from __future__ import annotations

import json
from pathlib import Path

from kingpost.base.arrays import FloatArray
from kingpost.plugins.writers.csv import column_name, head
from kingpost.plugins.writers.csv_rows import rows_at_once, rows_text
from kingpost.results.growing import GrowingFile
from kingpost.results.metadata import Outline, to_text

#: Characters that the number of samples has in the first line of a file that grows.
ROOM_FOR_COUNT = 16


class GrowingCsv(GrowingFile):
    """A CSV file that grows: the number of samples, in its first line, has room to be written when it is known."""

    def __init__(self, path: Path, outline: Outline) -> None:
        self._columns = [column_name(name) for name in outline.names]
        self._file = path.open("xb")
        self._file.write(self._first_lines(outline))
        self._file.flush()

    def _first_lines(self, outline: Outline) -> bytes:
        text = to_text(outline, self._columns, provenance=False)
        count = json.dumps(outline.samples)
        return head(text.replace(f'"samples": {count}', f'"samples": {count:<{ROOM_FOR_COUNT}}', 1), self._columns)

    def append(self, times: FloatArray, values: FloatArray) -> None:
        for first in range(0, len(times), rows := rows_at_once(len(self._columns))):
            self._file.write(rows_text(times[first : first + rows], values[first : first + rows]))
        self._file.flush()

    def finish(self, outline: Outline) -> None:
        self._file.seek(0)
        self._file.write(self._first_lines(outline))
        self._file.close()

    def close(self) -> None:
        self._file.close()
