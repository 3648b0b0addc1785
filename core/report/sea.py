"""The sea of a run, for the animation: its waves, from the record of the sea or from what a wave force shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.marine.wave_tables import wave_number

#: More waves than this are not drawn: the page would hold, and add up, too many numbers.
MOST_WAVES = 2000
KEYS = ("amplitude", "frequency", "phase", "direction")
ASSUMED = (
    "At the origin it stands as high as in the run; the force does not say where its waves go to, so here they go along x."
)


def describe_sea(provenance: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the waves that the page draws, or None: a cos(w t + e - kx x - ky y), with the ramp at the start of the run.

    ``provenance["sea"]`` has amplitudes (m), frequencies (rad/s), phases (rad) and directions (rad, where waves go to),
    ``ramp`` (s) and ``depth`` (m; none for deep water). Without it, the geometry may have the waves of a force. A record that
    does not have the form of one, in a file from somewhere, says nothing.
    """
    try:
        if (provenance.get("sea") or {}).get("amplitude"):
            return _sea(provenance["sea"])
        waves = (provenance.get("geometry") or {}).get("waves")
        return _sea(waves[0]) | {"note": ASSUMED} if waves else None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, MechanismError):
        return None


def _sea(record: Mapping[str, Any]) -> dict[str, Any]:
    a, w, e, direction = (np.array(record[key], dtype=float) for key in KEYS)
    every = np.stack([a, w, e, direction])
    ramp, depth = float(record.get("ramp") or 0.0), record.get("depth")
    if every.ndim != 2 or not 0 < every.shape[1] <= MOST_WAVES or not np.isfinite(every).all() or not (w > 0).all():
        raise ValueError("no waves")
    if not 0.0 <= ramp < math.inf:
        raise ValueError("no ramp")
    k = wave_number(w, math.inf if depth is None else float(depth))
    columns = {"amplitude": a, "frequency": w, "phase": e, "kx": k * np.cos(direction), "ky": k * np.sin(direction)}
    return {
        **{name: [float(f"{x:.9g}") for x in column] for name, column in columns.items()},
        "ramp": ramp,
        "height": 4.0 * math.sqrt(float((a**2).sum()) / 2.0),
    }
