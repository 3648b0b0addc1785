"""Damage per year and lives, from the damage of runs and how they weigh: the sums of a table of states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fatigue.assessment import YEAR, life_years
from kingpost.fatigue.equivalent import EquivalentRange, combined_equivalent_range
from kingpost.fatigue.hotspots import HotSpot
from kingpost.studies.case_table import CELL, HEADING, CaseTable, Groups, Label
from kingpost.studies.reducer import number_name

DAMAGE, LARGEST, CYCLES = "damage_per_year", "largest_range", "cycles_per_year"


def spot_number(name: str, what: str) -> str:
    """Return the name of a number of a hot spot."""
    return number_name(f"hot spot {name}", what)


@dataclass(frozen=True, eq=False)
class Part:
    """A group of cases: what it adds to the damage per year, and the damage per year if nothing else ever happened."""

    labels: dict[str, Label]
    weight: float
    added: float
    alone: float


@dataclass(frozen=True, eq=False)
class SpotDamage:
    """The damage at a hot spot in a year as the cases weigh."""

    spot: HotSpot
    damage_per_year: float
    largest_range: float
    cycles_per_year: float
    #: Standard error of the damage per year that comes from seeds; NaN with one seed.
    error: float
    cells: tuple[Part, ...]
    headings: tuple[Part, ...]
    positions: tuple[Part, ...]

    @property
    def life_years(self) -> float:
        """Years until the damage, times the design fatigue factor, is 1; infinite without damage."""
        return life_years(self.damage_per_year, self.spot.dff)


@dataclass(frozen=True, eq=False)
class LoadSpectrum:
    """Damage-equivalent ranges of a channel over a year as the cases weigh."""

    channel: str
    equivalent_ranges: tuple[EquivalentRange, ...]


def find_damage(table: CaseTable, spots: Sequence[HotSpot]) -> tuple[SpotDamage, ...]:
    """Return the damage at hot spots, the largest first."""
    found = [_spot(table, spot) for spot in spots]
    return tuple(sorted(found, key=lambda item: -item.damage_per_year * item.spot.dff))


def _spot(table: CaseTable, spot: HotSpot) -> SpotDamage:
    weight, done = table.weights.of, table.done
    damage, largest, cycles = (table.numbers(spot_number(spot.name, what)) for what in (DAMAGE, LARGEST, CYCLES))
    added = np.where(done, weight * damage, 0.0)

    def parts(names: Sequence[str]) -> tuple[Part, ...]:
        return _parts(table.groups(names), weight, added)

    return SpotDamage(
        spot,
        # As kingpost.fatigue.states adds them.
        math.fsum(added[done].tolist()),
        float(largest[done].max(initial=0.0)),
        math.fsum((weight * cycles)[done].tolist()),
        seed_error(table, damage),
        parts(CELL) if table.has_cells else (),
        parts([HEADING]) if HEADING in table.labels else (),
        parts(table.positions) if table.positions else (),
    )


def _parts(groups: Groups, weight: FloatArray, added: FloatArray) -> tuple[Part, ...]:
    weights, sums = groups.sums(weight), groups.sums(added)
    return tuple(
        Part(groups.labelled(i), float(weights[i]), float(sums[i]), float(sums[i] / weights[i]) if weights[i] > 0 else math.nan)
        for i in range(len(groups))
    )


def seed_error(table: CaseTable, values: FloatArray) -> float:
    """Return the standard error of a weighted sum that comes from the scatter of seeds under the same conditions.

    With weights w_i in a condition and the variance s^2 of its n > 1 seeds, its sum has the variance s^2 sum w_i^2. NaN if
    some condition that counts has one seed only, for then nobody knows.
    """
    groups, done, weight = table.conditions, table.done, table.weights.of
    count = groups.sums(done.astype(float))
    total = groups.sums(weight)
    if ((count == 1) & (total > 0.0)).any():
        return math.nan
    some = count > 1
    mean = np.divide(groups.sums(np.where(done, values, 0.0)), count, out=np.zeros(len(count)), where=some)
    off = np.where(done, values - mean[groups.of], 0.0)
    variance = np.divide(groups.sums(off * off), count - 1, out=np.zeros(len(count)), where=some)
    return math.sqrt(float((variance * groups.sums(weight**2)).sum()))


def find_spectra(
    table: CaseTable, channels: Sequence[str], slopes: Sequence[float], f_ref: float, name: Callable[[str, float], str]
) -> tuple[LoadSpectrum, ...]:
    """Return damage-equivalent ranges over a year."""
    weight, done = table.weights.of, table.done
    weights = weight[done].tolist()
    if not weights:
        return ()
    found = []
    for channel in channels:
        ranges = []
        for slope in slopes:
            parts = [EquivalentRange(value, slope, f_ref) for value in table.numbers(name(channel, slope))[done].tolist()]
            ranges.append(combined_equivalent_range(parts, weights, YEAR, f_ref))
        found.append(LoadSpectrum(channel, tuple(ranges)))
    return tuple(found)
