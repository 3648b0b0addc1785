"""What a summary of a long run needs, kept on its way: the samples at which something is largest, smallest, first or last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.results.history import History


class Condensed:
    """Whole samples, as few of them as have all extremes: memory does not grow with the length of a run.

    ``vectors`` are columns of channels whose size counts, too: moments and forces.
    """

    def __init__(self, channels: tuple[Channel, ...], vectors: Sequence[Sequence[int]] = ()) -> None:
        self._channels, self._vectors = channels, [list(columns) for columns in vectors]
        count = 2 * len(channels) + len(self._vectors)
        self._most = np.full(count, -np.inf)
        #: For each extreme, the time and the sample.
        self._rows: list[FloatArray | None] = [None] * count
        self._first: FloatArray | None = None
        self._last: FloatArray | None = None

    def look(self, times: FloatArray, values: FloatArray) -> None:
        """Look at the next samples."""
        if not len(times):
            return
        sizes = np.column_stack([values, -values, *(np.linalg.norm(values[:, columns], axis=1) for columns in self._vectors)])
        sizes = np.where(np.isnan(sizes), -np.inf, sizes)
        place = sizes.argmax(axis=0)
        most = sizes[place, np.arange(len(place))]
        samples: dict[int, FloatArray] = {}
        for i in np.flatnonzero(most > self._most).tolist():
            k = int(place[i])
            if k not in samples:
                samples[k] = np.concatenate([times[k : k + 1], values[k]])
            self._rows[i] = samples[k]
        self._most = np.maximum(self._most, most)
        if self._first is None:
            self._first = np.concatenate([times[:1], values[0]])
        self._last = np.concatenate([times[-1:], values[-1]])

    def history(self, provenance: Mapping[str, Any]) -> History:
        """Return these samples."""
        kept = {row[0]: row for row in (self._first, *self._rows, self._last) if row is not None}
        table = np.array([kept[time] for time in sorted(kept)]).reshape(-1, 1 + len(self._channels))
        return History(table[:, 0], self._channels, table[:, 1:], provenance)
