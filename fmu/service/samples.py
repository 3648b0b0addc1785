"""The samples that a running job tells, as they are shown until there is a history."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.fmu.service.histories import Shown
from kingpost.fmu.service.watching import open_plain

#: Bytes that are read of a file, and of its first line: code of somebody else may have written it.
MOST_BYTES = 64_000_000
LONGEST_HEAD = 1_000_000


def samples_in(path: Path) -> Shown | None:
    """Return what a job has told of its samples so far; None if it has not begun to, or cannot be understood."""
    try:
        with open_plain(path) as stream:
            head = stream.readline(LONGEST_HEAD)
            channels = tuple(Channel(str(entry["name"]), str(entry["unit"])) for entry in json.loads(head)["channels"])
            width = 8 * (1 + 2 * len(channels))
            room = min(os.fstat(stream.fileno()).st_size, MOST_BYTES) - len(head)
            data = stream.read(room - room % width) if room > 0 else b""
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    # A file that is begun anew meanwhile may give less.
    rows: FloatArray = np.frombuffer(data[: len(data) - len(data) % width], dtype=np.float64).reshape(-1, 1 + 2 * len(channels))
    if len({channel.name for channel in channels}) < len(channels):
        return None
    columns = {channel.name: (rows[:, 1 + 2 * i], rows[:, 2 + 2 * i]) for i, channel in enumerate(channels)}
    return Shown(rows[:, 0], channels, columns.__getitem__, complete=False)
