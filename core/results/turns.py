"""Angles of free joints through full turns.

A rotation tells roll and yaw within half a turn. Coordinates that are angles go on through full turns in every formulation,
and so do these in a history: from sample to sample each goes the shorter way. Its samples must be less than half a turn apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channel_roles import FREE_MOTION
from kingpost.base.channels import Channel

#: The motions that a rotation tells within half a turn.
TURNING = ("roll", "yaw")
TURN = 2 * np.pi


def turning_names(known: Iterable[str]) -> frozenset[str]:
    """Return which of all names that a machine shows are roll or yaw of a free joint: beside them stand the other five."""
    names = set(known)
    owners = (name.removesuffix(".surge") for name in names if name.endswith(".surge"))
    return frozenset(
        f"{owner}.{turn}" for owner in owners if names.issuperset(f"{owner}.{word}" for word in FREE_MOTION) for turn in TURNING
    )


class Turns:
    """Roll and yaw of free joints continued through full turns, some samples after others, to the same bits as all at once.

    ``known`` are the names of all that the machine shows, where ``channels`` are only some of it.
    """

    def __init__(self, channels: Sequence[Channel], known: Iterable[str] | None = None) -> None:
        turning = turning_names((channel.name for channel in channels) if known is None else known)
        self._columns = [i for i, channel in enumerate(channels) if channel.name in turning and channel.unit == "rad"]
        #: The last angle of each, as it was told, and the whole turns that it stands apart from what was said of it.
        self._last = np.full(len(self._columns), np.nan)
        self._turns = np.zeros(len(self._columns))

    def continued(self, values: FloatArray, *, in_place: bool = False) -> FloatArray:
        """Return the next samples, a row for each time, or change these; those that are not finite stay as they are."""
        result = values
        for i, column in enumerate(self._columns):
            here = np.isfinite(values[:, column])
            angles = values[here, column]
            if not len(angles):
                continue
            before = angles[0] if np.isnan(self._last[i]) else self._last[i]
            turns = self._turns[i] - np.cumsum(np.round(np.diff(angles, prepend=before) / TURN))
            self._last[i], self._turns[i] = angles[-1], turns[-1]
            if turns.any():
                result = values.copy() if result is values and not in_place else result
                result[here, column] = angles + TURN * turns
        return result


def with_turns(
    channels: Sequence[Channel], values: FloatArray, known: Iterable[str] | None = None, *, in_place: bool = False
) -> FloatArray:
    """Return samples, a row for each time, whose roll and yaw of free joints go on through full turns; see :class:`Turns`."""
    return Turns(channels, known).continued(values, in_place=in_place)
