"""NumPy's archive format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kingpost.history import History
from kingpost.interfaces.writer import Writer


class NpzWriter(Writer):
    """NumPy archive: time, values, names, units, and the provenance as JSON text."""

    name = "npz"
    suffix = ".npz"

    def write(self, history: History, path: Path) -> None:
        with path.open("wb") as file:
            np.savez_compressed(
                file,
                time=history.time,
                values=history.values,
                names=np.array(history.names),
                units=np.array([channel.unit for channel in history.channels]),
                provenance=np.array(json.dumps(dict(history.provenance))),
            )
