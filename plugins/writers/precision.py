"""The option of binary formats to keep half the digits, in half the space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.errors import KingpostError
from kingpost.results.history import History


@dataclass(frozen=True)
class Precision:
    """Options of binary formats."""

    #: Round values (never the time) to 32 bits: about 7 digits instead of 16.
    float32: bool = False


def in_precision(history: History, options: Precision) -> tuple[History, Any]:
    """Return what is to be written, and the type of its values; the provenance says if they were rounded."""
    if not options.float32:
        return history, np.float64
    with np.errstate(over="ignore", under="ignore"):
        values = history.values.astype(np.float32)
    too_large = np.argwhere(np.isinf(values) & np.isfinite(history.values))
    if len(too_large):
        i, j = too_large[0]
        raise KingpostError(
            f"channel '{history.names[j]}' is {history.values[i, j]:.6g} at t = {history.time[i]:g} s, beyond the largest "
            f"32-bit number ({np.finfo(np.float32).max:.6g}); write it without float32"
        )
    provenance = {**history.provenance, "rounded": "float32"}
    return History(history.time, history.channels, values.astype(float), provenance, history.run_id), np.float32
