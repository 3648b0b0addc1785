"""Histories of results, thinned for plots."""

from __future__ import annotations

import threading
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.channel_roles import roles_of
from kingpost.base.errors import closest
from kingpost.fmu.service.errors import ServiceError, not_found
from kingpost.results.history import History
from kingpost.results.read_write import RECORD, read_history

#: Histories that are kept, and the most bytes of them.
KEPT = 8
MOST_BYTES = 300e6
#: Bytes of a history that is shown: its numbers, and of other formats than npz its file.
LARGEST_HISTORY, LARGEST_TEXT = 2e9, 5e8
#: Channels in one answer.
MOST_CHANNELS = 200
#: Files of a history, the quickest to read first; of a run that was stopped, what it had computed.
FILES = tuple(
    f"{prefix}history.{suffix}"
    for prefix in ("", "interrupted-", "failed-")
    for suffix in ("npz", "parquet", "csv", "mat", "h5")
)


class _Kept:
    """The histories that were read last."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[Path, int, int], History] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, path: Path) -> History:
        stat = path.stat()
        key = (path, stat.st_mtime_ns, stat.st_size)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        history = read_history(path)
        with self._lock:
            self._found[key] = history
            while len(self._found) > 1 and (
                len(self._found) > KEPT or sum(each.values.nbytes for each in self._found.values()) > MOST_BYTES
            ):
                self._found.popitem(last=False)
        return history


_kept = _Kept()


def history_in(folder: Path) -> History:
    """Return the history in a folder of results; a refusal if there is none."""
    for name in FILES:
        if (folder / name).is_file() and not (folder / name).is_symlink():
            check_room_for(folder / name)
            return _kept.read(folder / name)
    if (folder / RECORD).is_file():
        return read_history(folder)
    raise not_found("there is no history")


def check_room_for(path: Path) -> None:
    """Refuse a history that would fill the memory of the server; code of somebody else may have written it."""
    size, most = path.stat().st_size, LARGEST_TEXT
    if path.suffix == ".npz":
        most = LARGEST_HISTORY
        try:
            with zipfile.ZipFile(path) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise ServiceError(f"'{path.name}' is damaged: {error}", code="history") from None
    if size > most:
        raise ServiceError(
            f"'{path.name}' has {size / 1e6:.0f} MB; histories up to {most / 1e6:.0f} MB are shown; fetch larger ones as files",
            code="history",
        )


def channels_of(history: History) -> list[dict[str, str]]:
    """Return the channels with their units and what they are."""
    known = roles_of(history.channels)
    return [{"name": channel.name, "unit": channel.unit, "role": known[channel.name]} for channel in history.channels]


def thinned(history: History, names: Sequence[str], start: float | None, end: float | None, points: int) -> dict[str, Any]:
    """Return the least and the largest value of each channel in about ``points`` stretches between two times."""
    if len(names) > MOST_CHANNELS:
        raise ServiceError(f"{len(names)} channels at once; ask for {MOST_CHANNELS} at most")
    for name in names:
        if name not in history:
            raise ServiceError(f"there is no channel '{name[:80]}'{closest(name, history.names)}", status=404, code="not-found")
    time = np.asarray(history.time)
    first = int(np.searchsorted(time, start, "left")) if start is not None else 0
    last = int(np.searchsorted(time, end, "right")) if end is not None else len(time)
    count = max(0, last - first)
    edges = first + (np.arange(min(points, count)) * count) // max(1, min(points, count))
    chosen: dict[str, Any] = {}
    for name in names:
        values = np.asarray(history[name][first:last])
        low, high = _extremes(values, edges - first)
        chosen[name] = {"unit": history.channel(name).unit, "min": _plain(low), "max": _plain(high)}
    return {"time": time[edges].tolist() if count else [], "channels": chosen, "samples": count}


def _extremes(values: Any, edges: Any) -> tuple[Any, Any]:
    if not len(edges):
        return values[:0], values[:0]
    with np.errstate(invalid="ignore"):
        return np.fmin.reduceat(values, edges), np.fmax.reduceat(values, edges)


def _plain(values: Any) -> list[float | None]:
    """Return numbers as JSON can have them: those that are not finite are null."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
