"""Resultants by direction: what a pin or a slew ring feels in each sector around its axis.

The in-plane components a and b are projected on directions, p(t) = a cos(theta) + b sin(theta), with their sign. The length
sqrt(a^2 + b^2) has no sign: a load that swings from one side to the other would seem to rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fatigue.counting import Cycles, count_cycles
from kingpost.fatigue.equivalent import REFERENCE_FREQUENCY, EquivalentRange, damage_equivalent_range
from kingpost.fatigue.hotspots import load_columns
from kingpost.fatigue.quality import check_finite, counted_window
from kingpost.fatigue.sn import SNCurve, miner_damage
from kingpost.mechanism.load_request import LoadRequest
from kingpost.results.history import History


@dataclass(frozen=True, eq=False)
class Sectors:
    """The projections of two load components on directions around a full circle.

    ``values[i, k]`` is the projection on ``angles[k]`` (rad, from the first component towards the second) at ``time[i]``.
    Opposite sectors have opposite histories, so equal ranges, and different largest values.
    """

    time: FloatArray
    angles: FloatArray
    values: FloatArray
    channels: tuple[str, str]
    unit: str
    #: Time left out at the start, s.
    skipped: float = 0.0

    @property
    def duration(self) -> float:
        """The time from the first sample to the last, in s."""
        return float(self.time[-1] - self.time[0])

    def cycles(self, threshold: float = 0.0) -> tuple[Cycles, ...]:
        """Count the cycles in each sector."""
        return tuple(count_cycles(column, threshold) for column in self.values.T)

    def equivalent_ranges(
        self, slope: float, f_ref: float = REFERENCE_FREQUENCY, threshold: float = 0.0
    ) -> tuple[EquivalentRange, ...]:
        """Return the damage-equivalent load range of each sector."""
        return tuple(damage_equivalent_range(item, slope, self.duration, f_ref) for item in self.cycles(threshold))

    def damage(self, curve: SNCurve, stress_per_load: float, threshold: float = 0.0) -> FloatArray:
        """Return Miner's damage in each sector, for a stress of ``stress_per_load`` Pa per N (or per N.m) of the projection."""
        return np.array([miner_damage(item, curve, abs(stress_per_load)) for item in self.cycles(threshold)])


def sector_resultants(
    history: History,
    channels: Sequence[str],
    count: int = 24,
    *,
    skip: float = 0.0,
    loads: Mapping[str, LoadRequest] | None = None,
) -> Sectors:
    """Project two load components on ``count`` directions, every 360 / ``count`` degrees.

    Parameters
    ----------
    history
        A history with joint loads.
    channels
        The two components, such as ``("slew.Fx", "slew.Fy")`` or ``("slew.Mx", "slew.My")``. The bending stress of a ring at
        the angle phi goes with Mx sin(phi) - My cos(phi), the projection of the moment on phi - 90 degrees.
    count
        Number of directions.
    skip
        Time in s to leave out at the start.
    loads
        By joint: axes, side and point of its load, where they are not to be those of the history.

    """
    if len(channels) != 2 or channels[0] == channels[1]:
        raise KingpostError(f"a resultant in a plane has two components; got {', '.join(channels) or 'none'}")
    units = [history.unit(name) for name in channels]
    if units[0] != units[1]:
        raise KingpostError(f"'{channels[0]}' is in {units[0]} and '{channels[1]}' in {units[1]}; they have no resultant")
    if count < 1:
        raise KingpostError(f"{count} sectors were asked for; ask for 1 or more, such as 24 (every 15 degrees)")
    window = counted_window(history.time, skip)
    time = history.time[window.rows]
    pair = load_columns(history, channels, loads)[window.rows]
    check_finite(time, channels, pair)
    angles = 2.0 * np.pi * np.arange(count) / count
    values = pair @ np.array([np.cos(angles), np.sin(angles)])
    return Sectors(time, angles, values, (channels[0], channels[1]), units[0], window.skipped)
