"""What a result file says about itself: channels with units, frames, sides and reference points, and where they came from.

Every format carries the same JSON text, in a place that the format has for such things.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError
from kingpost.base.record_form import fault_of, fault_of_record
from kingpost.base.text_files import parse_json
from kingpost.results.choosing import matching
from kingpost.results.history import History

if TYPE_CHECKING:
    from kingpost.results.part import Part

FORMAT = "kingpost history"
#: Raised when a file of today could no longer be understood by yesterday's reader.
VERSION = 1
#: The form of the JSON text, beyond format and version.
DESCRIPTION = {
    "samples?": int,
    "channels": [{"name": str, "unit": str, "frame?": str, "side?": str, "at?": [float], "stored_as?": str}],
    "provenance?": {},
    "run_id?": str,
}
#: What the entry with the JSON text is called in formats whose entries have names.
ENTRY = "kingpost"


@dataclass(frozen=True)
class Outline:
    """What is known of a history without its numbers. ``samples`` is None as long as it grows."""

    channels: tuple[Channel, ...]
    provenance: Mapping[str, Any]
    run_id: str | None = None
    samples: int | None = None
    #: Start and step (s) of times that are evenly spaced.
    even: tuple[float, float] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the channels."""
        return tuple(channel.name for channel in self.channels)


@dataclass(frozen=True)
class Metadata:
    """The JSON text of a file, understood.

    ``stored_as`` holds the names that the channels have in the file, where a format cannot take every name. ``samples`` is None
    in the file of a run that did not come to its end.
    """

    samples: int | None
    channels: tuple[Channel, ...]
    stored_as: tuple[str, ...]
    provenance: Mapping[str, Any]
    #: The run that wrote the file; empty if it says nothing about it.
    run_id: str

    def history(self, time: Any, values: Any) -> History:
        """Return the history with these numbers; raise :class:`ValueError` if they are not what was announced."""
        times: FloatArray = np.asarray(time, dtype=float)
        columns: FloatArray = np.asarray(values, dtype=float)
        expected = (len(times) if self.samples is None else self.samples, len(self.channels))
        if times.shape != expected[:1] or columns.shape != expected:
            raise ValueError(
                f"{self.samples} samples of {len(self.channels)} channels are announced, but the file holds times of shape "
                f"{times.shape} and values of shape {columns.shape}"
            )
        return History(times, self.channels, columns, self.provenance, self.run_id)

    def columns(self, time: Any, columns: Sequence[Any]) -> History:
        """Return the history with one array for each channel."""
        for name, column in zip(self.stored_as, columns, strict=True):
            if np.shape(column) != (self.samples,):
                raise ValueError(f"'{name}' has the shape {np.shape(column)}, but {self.samples} samples are announced")
        return self.history(time, np.column_stack(columns) if columns else np.empty((len(time), 0)))

    def numbers(self, part: Part, times: FloatArray, values: FloatArray) -> History:
        """Return the history with a part of the samples; ``samples`` was compared with what the file holds."""
        rows = part.rows(times)
        return replace(self, samples=None).history(times[rows], values[rows])

    def part(self, names: Sequence[str] | None) -> tuple[list[str], Metadata]:
        """Return the names in the file of some channels, by patterns, and the metadata of a history of these alone."""
        chosen = None if names is None else set(matching([channel.name for channel in self.channels], names))
        kept = [i for i, channel in enumerate(self.channels) if chosen is None or channel.name in chosen]
        channels, stored_as = tuple(self.channels[i] for i in kept), tuple(self.stored_as[i] for i in kept)
        return list(stored_as), replace(self, channels=channels, stored_as=stored_as)


def outline_of(history: History) -> Outline:
    """Return what is known of a history without its numbers."""
    return Outline(history.channels, history.provenance, history.run_id, len(history))


def to_text(history: History | Outline, stored_as: Sequence[str] | None = None, *, provenance: bool = True) -> str:
    """Return the JSON text (one line, ASCII) for a file with ``history``, or for one that grows."""
    samples = history.samples if isinstance(history, Outline) else len(history)
    record: dict[str, Any] = {"format": FORMAT, "version": VERSION, "samples": samples, "time": {"unit": "s"}}
    if history.run_id:
        record["run_id"] = history.run_id
    names = history.names if stored_as is None else stored_as
    record["channels"] = [_entry(channel, name) for channel, name in zip(history.channels, names, strict=True)]
    if provenance:
        record["provenance"] = dict(history.provenance)
    return plain_json(record, "this history")


def from_text(text: str) -> Metadata:
    """Return what :func:`to_text` wrote; raise :class:`ValueError` for anything else."""
    record = parse_json(text, finite=True)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"its description does not begin with the format '{FORMAT}'")
    if record.get("version") != VERSION:
        raise ValueError(
            f"it has version {record.get('version')!r} of the format, and this Kingpost reads version {VERSION}; use the "
            "Kingpost that wrote it, or a newer one"
        )
    if "samples" not in record:
        raise ValueError("its description is not as it should be: it lacks 'samples'")
    fault = fault_of(record, DESCRIPTION) or fault_of_record(record.get("provenance") or {})
    if fault:
        raise ValueError(f"its description is not as it should be: {fault}")
    entries = record["channels"]
    channels = tuple(
        Channel(
            entry["name"],
            entry["unit"],
            entry.get("frame") or "",
            entry.get("side") or "",
            tuple(map(float, entry.get("at") or ())),
        )
        for entry in entries
    )
    stored_as = tuple(entry.get("stored_as") or entry["name"] for entry in entries)
    return Metadata(record.get("samples"), channels, stored_as, record.get("provenance") or {}, record.get("run_id") or "")


def plain_json(data: Mapping[str, Any], what: str, indent: int | None = None) -> str:
    """Return ``data`` as JSON text, or refuse what JSON has no word for."""
    try:
        return json.dumps(dict(data), allow_nan=False, indent=indent)
    except (TypeError, ValueError) as error:
        raise KingpostError(
            f"{what} cannot be written: its provenance and its channels' 'at' must be plain JSON data (texts, finite numbers, "
            f"true, false, None, lists, dictionaries): {error}"
        ) from None


def unique_names(
    names: Iterable[str], clean: Callable[[str], str], taken: Iterable[str], limit: int | None = None
) -> list[str]:
    """Return ``clean(name)`` for every name, shortened to ``limit`` characters, with a number behind those that are taken."""
    used = set(taken)
    numbered = _Numbered(used, limit)
    result = []
    for name in names:
        wanted = clean(name)
        candidate = wanted[:limit]
        if candidate in used:
            candidate = numbered.free(wanted)
        used.add(candidate)
        result.append(candidate)
    return result


class _Numbered:
    """Free names with numbers behind them. No number is tried twice, so that many alike cost no more each than few."""

    def __init__(self, used: set[str], limit: int | None) -> None:
        self._used = used
        self._limit = limit
        self._next: dict[tuple[str, int], int] = {}

    def free(self, wanted: str) -> str:
        """Return ``wanted_2`` or, if that is taken, the same with the next higher number that is free."""
        for digits in count(1):
            stem = wanted if self._limit is None else wanted[: self._limit - 1 - digits]
            first, end = max(2, 10 ** (digits - 1)), 10**digits
            for number in range(self._next.get((stem, digits), first), end):
                candidate = f"{stem}_{number}"
                self._next[stem, digits] = number + 1
                if candidate not in self._used:
                    return candidate
        raise AssertionError("unreachable")


def _entry(channel: Channel, stored_as: str) -> dict[str, Any]:
    """Return a channel without what it leaves open."""
    entry: dict[str, Any] = {"name": channel.name, "unit": channel.unit}
    for key in ("frame", "side"):
        if getattr(channel, key):
            entry[key] = getattr(channel, key)
    if channel.at:
        entry["at"] = list(channel.at)
    if stored_as != channel.name:
        entry["stored_as"] = stored_as
    return entry
