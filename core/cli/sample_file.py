"""The samples of a run while it goes on, thinned, for programs that started a command.

They are appended to the file that ``KINGPOST_SAMPLES`` names: a line of JSON that names the channels, and then rows of float64
in the order of this machine: the time at which a stretch begins, and of each channel its least and its largest value there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channel_roles import Role, roles_of
from kingpost.base.channels import Channel
from kingpost.cli.progress_file import SAMPLES

#: Seconds between two looks of somebody who watches.
PAUSE = 0.5
#: The most channels, and the most bytes of a file, unless a run has ``2**DOUBLINGS`` times as many samples as rows at first.
MOST_CHANNELS = 250
MOST_BYTES = 32_000_000
DOUBLINGS = 16
#: The most samples that are written as they are; a curve of more has at least half as many points.
MOST_ROWS = 1000
#: What is left out first where there are too many channels.
UNIMPORTANT: tuple[Role, ...] = (
    *("repeats", "memory", "residuals", "gravity", "body motions", "orientations", "positions", "parts", "others"),
)


class SampleFile:
    """The first samples as they are; each time that a run has become twice as long, stretches that are twice as long.

    So each doubling costs half of ``MOST_ROWS`` more rows, and the last stretch is as fine as a plot of all that there is needs
    it. A file that cannot be written costs the command nothing but this.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last = float("-inf")
        self._columns: list[int] = []
        self._broken = True

    @classmethod
    def wanted(cls) -> SampleFile | None:
        """Return the file that somebody wants, if anybody does."""
        name = os.environ.get(SAMPLES)
        return cls(Path(name)) if name else None

    def begin(self, channels: Sequence[Channel]) -> None:
        self._columns = important(channels, MOST_CHANNELS)
        count = len(self._columns)
        self._rows = min(MOST_ROWS, MOST_BYTES // ((1 + DOUBLINGS // 2) * 8 * (1 + 2 * count)))
        #: The samples of a stretch, the stretches of this length so far, and the samples of the one that is open.
        self._width, self._written, self._filled = 1, 0, 0
        self._open = np.empty(1 + 2 * count)
        head = json.dumps({"channels": [asdict(channels[column]) for column in self._columns]})
        self._broken = False
        self._write(head.encode("ascii") + b"\n", os.O_TRUNC)

    def due(self) -> bool:
        return not self._broken and time.monotonic() - self._last >= PAUSE

    def add(self, time_: FloatArray, values: FloatArray) -> None:
        self._last = time.monotonic()
        if self._broken or not self._columns:
            return
        values = values[:, self._columns]
        done = [*self._stretches(np.asarray(time_), values)]
        if done:
            self._write(b"".join(done))

    def _stretches(self, times: FloatArray, values: FloatArray) -> list[bytes]:
        """Return the rows that new samples make full."""
        full, begin, row = [], 0, self._open
        while begin < len(times):
            piece = values[begin : begin + self._width - self._filled]
            low, high = np.fmin.reduce(piece), np.fmax.reduce(piece)
            if not self._filled:
                row[0], row[1::2], row[2::2] = times[begin], low, high
            else:
                np.fmin(row[1::2], low, out=row[1::2])
                np.fmax(row[2::2], high, out=row[2::2])
            begin += len(piece)
            self._filled += len(piece)
            if self._filled == self._width:
                full.append(row.tobytes())
                self._filled, self._written = 0, self._written + 1
                if self._written == self._rows:
                    self._width, self._written = 2 * self._width, self._rows // 2
        return full

    def _write(self, data: bytes, how: int = os.O_APPEND) -> None:
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | how, 0o644)
            try:
                # Half a row would shift all that follow.
                self._broken = os.write(handle, data) != len(data)
            finally:
                os.close(handle)
        except OSError:
            self._broken = True


def important(channels: Sequence[Channel], most: int) -> list[int]:
    """Return the columns of so many channels in their order, without those that people rarely look at if there are more."""
    roles = roles_of(channels)
    ranks = {role: len(UNIMPORTANT) - rank for rank, role in enumerate(UNIMPORTANT)}
    order = sorted(range(len(channels)), key=lambda column: (ranks.get(roles[channels[column].name], 0), column))
    return sorted(order[:most])
