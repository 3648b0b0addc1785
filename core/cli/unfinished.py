"""A word on histories of runs that did not come to their end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kingpost.results.history import History

#: What a run that was stopped from outside says of itself.
UNFINISHED = "unfinished"


def note_unfinished(history: History, path: Path) -> None:
    """Say on standard error that a run ended before its time, if it did, and how far it came."""
    if history.provenance.get("outcome") != UNFINISHED or not len(history):
        return
    end = (history.provenance.get("time") or {}).get("end_s")
    of = f" of {end:g} s" if isinstance(end, float) else ""
    print(
        f"kingpost: note: '{path}' is of a run that did not come to its end; it has samples up to t = {history.time[-1]:g} s"
        f"{of}",
        file=sys.stderr,
    )
