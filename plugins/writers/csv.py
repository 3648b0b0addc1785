"""Comma-separated text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kingpost.history import History
from kingpost.interfaces.writer import Writer


class CsvWriter(Writer):
    """Comma-separated text: a header line, first column time, numbers that read back exactly."""

    name = "csv"
    suffix = ".csv"

    def write(self, history: History, path: Path) -> None:
        header = ",".join(["time", *history.names])
        table = np.column_stack([history.time, history.values])
        np.savetxt(path, table, fmt="%.17g", delimiter=",", header=header, comments="", encoding="utf-8")
