"""Histories made by hand, with the channels that a run has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kingpost.base.channels import Channel
from kingpost.results.history import History

COMPONENTS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")


def load_history(time, loads: Mapping[str, np.ndarray], extra: Mapping[str, np.ndarray] | None = None, recorded: bool = True):
    """Return a history in which ``loads["slew.Mx"]`` and so on are given, and the other components of those joints are zero."""
    time = np.asarray(time, dtype=float)
    joints = list(dict.fromkeys(name.rpartition(".")[0] for name in loads))
    channels, columns = [Channel("slew.angle", "rad")], [np.zeros(len(time))]
    for joint in joints:
        for component in COMPONENTS:
            unit = "N.m" if component.startswith("M") else "N"
            channels.append(Channel(f"{joint}.{component}", unit, "child", "child", (0.0, 0.0, 0.0)))
            columns.append(np.asarray(loads.get(f"{joint}.{component}", np.zeros(len(time))), dtype=float))
    for name, values in (extra or {}).items():
        channels.append(Channel(name, "N.m" if name.endswith("moment") else "N"))
        columns.append(np.asarray(values, dtype=float))
    record = {joint: {"frame": "child", "side": "child", "at": [0, 0, 0], "parts": ["constraint"]} for joint in joints}
    provenance = {"loads": {"method": "recursive", "joints": record}} if recorded else {}
    return History(time, tuple(channels), np.column_stack(columns), provenance)


def cosine(periods: int, per_period: int = 40, frequency: float = 1.0):
    """Return times and a cosine of amplitude 1 that begins and ends at a peak and has all its peaks on samples."""
    i = np.arange(periods * per_period + 1)
    return i / (per_period * frequency), np.cos(2 * np.pi * i / per_period)
