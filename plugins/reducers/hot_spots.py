"""Damage at hot spots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kingpost.base.channel_roles import RESIDUALS
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, MechanismError, closest, listed
from kingpost.base.load_frames import COMPONENTS
from kingpost.fatigue.assessment import YEAR, CountingOptions, assess_hot_spots, curve_of
from kingpost.fatigue.hotspots import HotSpot, read_hot_spots
from kingpost.fatigue.sn import CurveSet, curve_set
from kingpost.results.choosing import MOST_NAMED
from kingpost.results.history import History
from kingpost.studies.reducer import Reducer, names_of
from kingpost.studies.summary.damage import CYCLES, DAMAGE, LARGEST, spot_number

#: Channels by which loads in other axes are turned, and their accelerations are held against the motion.
POSE, MOTION = ".pose.", ".motion."


@dataclass(frozen=True)
class HotSpotsOptions:
    """Which hot spots.

    Parameters
    ----------
    file
        File with hot spots, as for ``kingpost fatigue``.
    curves
        File with S-N curves, beside those that are shipped; or S-N curves by name.
    accept
        Doubts that do not stop the count.
    spots
        The hot spots themselves, instead of a file.

    """

    file: str = ""
    curves: Any = ""
    accept: tuple[str, ...] = ()
    spots: Any = ()

    def __post_init__(self) -> None:
        if bool(self.file) == bool(self.spots):
            raise MechanismError("give a file with hot spots, or the hot spots themselves")


class HotSpots(Reducer):
    """Fatigue damage at hot spots: stresses from joint loads, counted and set against S-N curves."""

    name = "hot-spots"
    Options = HotSpotsOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        given = self.options
        self.spots: tuple[HotSpot, ...] = tuple(given.spots) or read_hot_spots(given.file)
        named = isinstance(given.curves, Mapping)
        self.curves: CurveSet = CurveSet(given.curves, {}) if named else curve_set(given.curves or None)
        self.counting = CountingOptions(accept=given.accept)
        for spot in self.spots:
            curve_of(spot, self.curves)

    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        known = names_of(available)
        needed: dict[str, None] = {}
        for spot in self.spots:
            for channel in spot.stress:
                joint, _, component = channel.rpartition(".")
                # A load is turned as a whole, and residuals are held against all of it.
                wanted = [f"{joint}.{name}" for name in COMPONENTS] if component in COMPONENTS else [channel]
                for name in wanted:
                    if name not in known:
                        raise KingpostError(
                            f"hot spot '{spot.name}': the run has no channel '{name}'{closest(name, known)} Channels: "
                            f"{listed(known, most=MOST_NAMED)}."
                        )
                needed.update(dict.fromkeys(wanted))
        turned = any(spot.loads for spot in self.spots)
        judged = "noise" not in self.counting.accept
        beside = [name for name in known if (POSE in name and (turned or judged)) or (MOTION in name and judged)]
        return tuple(dict.fromkeys([*needed, *(name for name in known if name in RESIDUALS), *beside]))

    def reduce(self, history: History) -> Mapping[str, float]:
        assessed = assess_hot_spots(history, self.spots, self.curves, self.counting)
        per_year = YEAR / assessed.window.duration
        numbers = {}
        for result in assessed.results:
            name = result.spot.name
            numbers[spot_number(name, DAMAGE)] = result.damage_per_year
            numbers[spot_number(name, LARGEST)] = result.signal.cycles.largest_range
            numbers[spot_number(name, CYCLES)] = result.signal.cycles.total * per_year
        return numbers
