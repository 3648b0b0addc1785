"""The option of binary formats to keep half the digits, in half the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.results.history import History
from kingpost.results.metadata import Outline


@dataclass(frozen=True)
class Precision:
    """Options of binary formats."""

    #: Round values (never the time) to 32 bits: about 7 digits instead of 16.
    float32: bool = False


def in_precision(history: History, options: Precision) -> tuple[History, Any]:
    """Return what is to be written, and the type of its values; the provenance says if they were rounded."""
    if not options.float32:
        return history, np.float64
    check_precision(history.time, history.values, history.names, options)
    with np.errstate(over="ignore", under="ignore"):
        values = history.values.astype(np.float32)
    provenance = {**history.provenance, "rounded": "float32"}
    return History(history.time, history.channels, values.astype(float), provenance, history.run_id), np.float32


def outline_in_precision(outline: Outline, options: Precision) -> Outline:
    """Return what is said of a history whose values are written in a precision."""
    return replace(outline, provenance={**outline.provenance, "rounded": "float32"}) if options.float32 else outline


def check_precision(times: FloatArray, values: FloatArray, names: Sequence[str], options: Precision) -> None:
    """Refuse values that the precision has no number for."""
    if not options.float32:
        return
    largest = float(np.finfo(np.float32).max)
    # Half a place above the largest one is where rounding leads beyond it.
    too_large = np.argwhere(np.isfinite(values) & (np.abs(values) >= largest * (1 + 2.0**-25)))
    if len(too_large):
        i, j = too_large[0]
        raise KingpostError(
            f"channel '{names[j]}' is {values[i, j]:.6g} at t = {times[i]:g} s, beyond the largest 32-bit number "
            f"({largest:.6g}); write it without float32"
        )
