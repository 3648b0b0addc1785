"""NumPy's archive format."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kingpost.plugins.writers.precision import Precision, in_precision
from kingpost.results.history import History
from kingpost.results.metadata import ENTRY, from_text, to_text
from kingpost.results.writer import Writer


class NpzWriter(Writer):
    """NumPy archive: time, values, names, units, and everything else as JSON text."""

    name = "npz"
    suffix = ".npz"
    embeds = True
    Options = Precision

    def write(self, history: History, path: Path) -> None:
        history, dtype = in_precision(history, self.options)
        entries = {
            "time": history.time,
            "values": history.values.astype(dtype),
            "names": np.array(history.names, dtype=str),
            "units": np.array([channel.unit for channel in history.channels], dtype=str),
            ENTRY: np.array(to_text(history)),
        }
        with path.open("wb") as file:
            np.savez_compressed(file, **entries)  # type: ignore[arg-type]  # no entry is called allow_pickle

    def read(self, path: Path) -> History:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files") or ENTRY not in archive.files:
                raise ValueError(f"it has no entry '{ENTRY}'")
            return from_text(str(archive[ENTRY])).history(archive["time"], archive["values"])
