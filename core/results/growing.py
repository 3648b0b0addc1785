"""A run whose files grow while it goes on: what ends it early leaves all that was written, in files that say so.

The files grow in a folder of their own, ``unfinished-...``, which looks like that of a run: whoever wants to can read it at any
time. When the run has ended, its files are exchanged for those of an earlier run at one point, as those of any run are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError
from kingpost.base.files import json_file
from kingpost.base.interrupts import uninterrupted
from kingpost.base.transactions import begin_growing, commit_grown, nobody_works_in
from kingpost.results.metadata import Outline, plain_json
from kingpost.results.read_write import RECORD
from kingpost.results.writer import Writer

#: What the folder of a run that goes on is called, before its id.
UNFINISHED = "unfinished-"
#: The outcome of such a run.
OUTCOME = "unfinished"
#: Numbers that are kept before they are written: 16 MB.
KEPT = 2**21
#: And the longest time (s) that they are kept.
LONGEST = 10.0


class GrowingFile(ABC):
    """A file that grows. After each :meth:`append` a reader finds all that was given, whatever ends the process."""

    @abstractmethod
    def append(self, times: FloatArray, values: FloatArray) -> None:
        """Add samples, a row for each time."""

    @abstractmethod
    def finish(self, outline: Outline) -> None:
        """Make the file whole: ``outline`` says how many samples it has, and has the last word on where they came from."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file as it is."""


class GrowingRun:
    """The files of a run that goes on.

    Parameters
    ----------
    folder
        Where the files go when it has ended.
    writers
        Their formats, all of which must be able to grow.
    outline
        Channels, and the record as far as it is known.

    """

    def __init__(self, folder: Path, writers: Sequence[Writer], outline: Outline) -> None:
        self.folder = folder
        self._run_id = hashlib.sha256(os.urandom(32)).hexdigest()[:32]
        self._outline = replace(outline, run_id=self._run_id, samples=None)
        self._names = [f"history{writer.suffix}" for writer in writers]
        rows = max(1, KEPT // (1 + len(outline.channels)))
        self._times, self._values = np.empty(rows), np.empty((rows, len(outline.channels)))
        self._filled, self._written, self._since = 0, 0, time.monotonic()
        self._files: list[GrowingFile] = []
        plain_json(outline.provenance, "this run")
        self._lock: int | None = None
        try:
            #: Where the files are meanwhile.
            self.place, self._lock = begin_growing(folder, f"{UNFINISHED}{self._run_id[:8]}")
            self._write_record(self._outline.provenance, "")
            for writer, name in zip(writers, self._names, strict=True):
                self._files.append(writer.grow(self.place / name, self._outline))
        except OSError as error:
            self.close()
            raise FileError(f"no results can be written in '{folder}': {error}") from None

    @property
    def samples(self) -> int:
        """The samples that were given."""
        return self._written + self._filled

    def add(self, times: FloatArray, values: FloatArray) -> None:
        """Add samples; they are on their way to the files at once if there are many of them, or some time later."""
        first = 0
        while first < len(times):
            count = min(len(times) - first, len(self._times) - self._filled)
            there = slice(self._filled, self._filled + count)
            self._times[there] = times[first : first + count]
            self._values[there] = values[first : first + count]
            self._filled += count
            first += count
            if self._filled == len(self._times) or time.monotonic() - self._since > LONGEST:
                self.write()

    def write(self) -> None:
        """Write what was kept; an interrupt waits for it."""
        count, self._since = self._filled, time.monotonic()
        if not count:
            return
        try:
            with uninterrupted():
                self._filled = 0
                for file in self._files:
                    file.append(self._times[:count], self._values[:count])
                self._written += count
        except OSError as error:
            raise FileError(f"'{self.place}' cannot be written: {error}; {self.left()}") from None

    def finish(self, provenance: Mapping[str, Any], prefix: str = "") -> list[Path]:
        """Make the files whole, and exchange those of an earlier run for them; return them."""
        plain_json(provenance, "this run")
        self.write()
        outline = replace(self._outline, provenance=provenance, samples=self._written)
        try:
            with uninterrupted():
                while self._files:
                    self._files[0].finish(outline)
                    self._files.pop(0)
                self._write_record(provenance, prefix)
                for name in self._names if prefix else ():
                    (self.place / name).rename(self.place / f"{prefix}{name}")
                if prefix:
                    (self.place / RECORD).unlink()
                commit_grown(self.place, self.folder)
        except OSError as error:
            raise FileError(f"'{self.place}' cannot be completed: {error}; {self.left()}") from None
        self.close()
        return [self.folder / f"{prefix}{name}" for name in (*self._names, RECORD)]

    def close(self) -> None:
        """Let go of the files as they are."""
        for file in self._files:
            with contextlib.suppress(Exception):  # what is in them is the last thing that could be done
                file.close()
        self._files = []
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def left(self) -> str:
        """Return a part of a sentence on what there is."""
        return f"the {self._written} samples that were written are in '{self.place}'"

    def _write_record(self, provenance: Mapping[str, Any], prefix: str) -> None:
        files = [f"{prefix}{name}" for name in self._names]
        hidden = self.place / f".{prefix}{RECORD}"
        json_file({**provenance, "run_id": self._run_id, "files": files})(hidden)
        hidden.replace(self.place / f"{prefix}{RECORD}")


def left_over(folder: Path) -> list[Path]:
    """Return the folders in ``folder`` of runs that were ended before they could finish."""
    try:
        places = sorted(folder.glob(f"{UNFINISHED}*"))
    except OSError:
        return []
    return [place for place in places if place.is_dir() and (place / RECORD).is_file() and nobody_works_in(place)]
