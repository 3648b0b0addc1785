"""Fatigue damage as a number with a gradient: through the ranges that were counted, each the difference of two samples.

With the counted pairs held, damage depends on the samples at their ends alone. That is exact wherever the pairs stay the same
nearby, which is almost everywhere; where two ranges that decide about a pair are nearly equal, a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.fatigue.assessment import CountingOptions, curve_of, doubts_about
from kingpost.fatigue.counting import Cycles, count_cycles, turning_points
from kingpost.fatigue.equivalent import damage_equivalent_range
from kingpost.fatigue.hotspots import HotSpot, read_hot_spots
from kingpost.fatigue.quality import counted_window, sampling, sampling_warning
from kingpost.fatigue.sn import CurveSet, SNCurve, curve_set, megapascals, miner_damage
from kingpost.gradients.readings import Functional, Reading, Record
from kingpost.mechanism.load_request import LoadRequest
from kingpost.results.history import History

#: Two ranges that decide about a pair are nearly equal if they differ by less than this part of the larger one.
NEARLY = 1e-4
#: Decisions about ranges that do less than this part of the damage do not matter.
MATTERS = 1e-3
#: A range within this part of a knee or cut-off of a curve is at it.
AT_KNEE = 1e-6


@dataclass(frozen=True)
class Damage(Functional):
    """Miner's sum of a run at a hot spot, as :func:`kingpost.fatigue.assess_hot_spots` gives it."""

    spot: HotSpot
    curve: SNCurve
    options: CountingOptions

    @property
    def channels(self) -> Iterator[str]:
        yield from self.spot.stress

    @property
    def requests(self) -> Iterator[LoadRequest]:
        yield from self.spot.loads.values()

    def check(self, time: FloatArray) -> None:
        counted_window(time, self.options.skip)

    def doubts(self, history: History) -> list[str]:
        """Return what an assessment of fatigue would doubt: loads that are not unique or do not balance, and coarse samples."""
        found = doubts_about(history, self.options, set(self.spot.stress))
        rows = counted_window(history.time, self.options.skip).rows
        parts = [weight * history[name][rows] for name, weight in self.spot.stress.items()]
        scale = max(float(np.abs(part).max()) for part in parts)
        judged = sampling(history.time[rows], np.asarray(sum(parts)), scale)
        coarse = None if judged is None else sampling_warning({self.spot.name: judged}, self.curve.m1)
        return [f"'damage {self.spot.name}': {text}" for text in [*found, *([] if coarse is None else [coarse])]]

    def read(self, record: Record) -> Reading:
        rows = counted_window(record.time, self.options.skip).rows
        stress = sum(weight * record.columns[name] for name, weight in self.spot.stress.items())
        values = self.spot.scf * np.asarray(stress)[rows]
        threshold = self.options.threshold or self.options.relative_threshold * float(np.ptp(values))
        cycles = count_cycles(values, threshold)
        factor = self.curve.thickness_factor(self.spot.thickness)
        each = cycles.count / self.curve.cycles_to_failure(factor * cycles.range)
        # Damage grows with the power m of a range.
        powers = _exponents(self.curve, factor * cycles.range) * each
        by_range = np.divide(powers, cycles.range, out=np.zeros(len(cycles)), where=cycles.range > 0)
        weights = np.zeros(len(record.time))
        weights[rows] = sample_slopes(cycles, by_range)
        slopes = {name: self.spot.scf * weight * weights for name, weight in self.spot.stress.items()}
        what, time = f"damage {self.spot.name}", record.time[rows]
        warnings = [*pair_warnings(what, time, values, cycles, each), *self._knee_warnings(what, factor * cycles.range)]
        return Reading(miner_damage(cycles, self.curve, factor), slopes, warnings=warnings)

    def _knee_warnings(self, what: str, ranges: FloatArray) -> Iterator[str]:
        size = megapascals(ranges)
        for name, place in (("knee", self.curve.knee_range_MPa), ("cut-off", self.curve.cut_off_range_MPa)):
            within = AT_KNEE if name == "knee" else NEARLY
            near = 0 if place is None else int((np.abs(size - place) <= within * place).sum())
            if near:
                yield (
                    f"'{what}': {near} of the ranges are at the {name} of S-N curve '{self.curve.name}' "
                    f"({place:.6g} MPa), where the gradient changes at once"
                )


def _exponents(curve: SNCurve, ranges: FloatArray) -> FloatArray:
    """Return the inverse slope of a curve at each range."""
    exponents = np.full(len(ranges), curve.m1)
    if curve.m2 is not None and curve.N_knee is not None:
        exponents[curve.cycles_to_failure(ranges) > curve.N_knee] = curve.m2
    return exponents


def sample_slopes(cycles: Cycles, by_range: FloatArray) -> FloatArray:
    """Return the derivatives with respect to the samples of a number, given those with respect to the counted ranges."""
    signs = np.sign(cycles.start_value - cycles.end_value) * by_range
    weights = np.zeros(cycles.samples)
    np.add.at(weights, cycles.start, signs)
    np.add.at(weights, cycles.end, -signs)
    return weights


def equivalent_range(what: str, time: FloatArray, values: FloatArray, slope: float) -> tuple[float, FloatArray, list[str]]:
    """Return the damage-equivalent range of a signal at 1 Hz, its derivatives with respect to samples, and warnings."""
    cycles = count_cycles(values)
    found = damage_equivalent_range(cycles, slope, float(time[-1] - time[0]))
    if found.range == 0.0:
        return 0.0, np.zeros(len(values)), []
    # DEL^m = sum n R^m / N_eq, so that dDEL = sum n (R / DEL)^(m - 1) dR / N_eq.
    part = cycles.range / found.range
    by_range = cycles.count * part ** (slope - 1.0) / found.equivalent_cycles
    return found.range, sample_slopes(cycles, by_range), pair_warnings(what, time, values, cycles, cycles.count * part**slope)


def pair_warnings(what: str, time: FloatArray, values: FloatArray, cycles: Cycles, each: FloatArray) -> list[str]:
    """Return a warning where pairs that matter are about to change."""
    if cycles.threshold or not len(cycles) or not each.sum() > 0.0:
        return []
    least = float(cycles.range[each > MATTERS * each.sum()].min(initial=np.inf))
    found = narrowest_decision(values, least)
    if found is None or found[0] > NEARLY:
        return []
    margin, early, late = found
    return [
        f"'{what}': the ranges that end at {time[early]:g} s and {time[late]:g} s, which decide how samples are paired, differ "
        f"by {margin:.1g} of their size; the gradient is that of the pairs that were counted, and another one beyond that"
    ]


def narrowest_decision(values: FloatArray, least: float) -> tuple[float, int, int] | None:
    """Return by how little a pair was counted, or not, as a part of the larger range, and where the two ranges end.

    This goes through the reversals by the rule of ASTM E1049-85, section 5.4.4, in which the range X of the latest two is
    compared with the range Y before it. Decisions between ranges that are both below ``least`` do not count.
    """
    best: tuple[float, int, int] | None = None
    stack: list[int] = []
    for point in turning_points(values).tolist():
        stack.append(point)
        while len(stack) >= 3:
            X, Y = abs(values[stack[-1]] - values[stack[-2]]), abs(values[stack[-2]] - values[stack[-3]])
            larger = max(X, Y)
            if larger >= least and (best is None or abs(X - Y) < best[0] * larger):
                best = (float(abs(X - Y) / larger), stack[-2], stack[-1])
            if X < Y:
                break
            if len(stack) == 3:
                stack.pop(0)
            else:
                del stack[-3:-1]
    return best


@dataclass(frozen=True)
class DamageWords:
    """What the word ``damage`` means: hot spots by name, S-N curves, and how to count."""

    spots: Mapping[str, HotSpot] = field(default_factory=dict)
    curves: CurveSet | None = None
    options: CountingOptions = field(default_factory=CountingOptions)

    @staticmethod
    def read(
        spots: Sequence[HotSpot] | str | Path, curves: CurveSet | str | Path | None, options: CountingOptions | None
    ) -> DamageWords:
        """Return what hot spots, or a file with some, and curves, or a file with some, say."""
        listed_spots = read_hot_spots(spots) if isinstance(spots, str | Path) else tuple(spots)
        known = curves if isinstance(curves, CurveSet) else curve_set(curves) if listed_spots or curves is not None else None
        return DamageWords({spot.name: spot for spot in listed_spots}, known, options or CountingOptions())

    @property
    def words(self) -> Mapping[str, Callable[[str], Functional]]:
        """What makes functionals of names, by the word before them."""
        return {"damage": partial(DamageWords.damage, self)}

    def damage(self, name: str) -> Damage:
        """Return the damage at a hot spot."""
        if not self.spots:
            raise KingpostError(
                f"'damage {name}': no hot spots are given; give a file of them (docs/fatigue.md), or ask for a "
                "damage-equivalent range of a channel, e.g. 'equivalent slew.My slope 4'"
            )
        if name not in self.spots:
            raise KingpostError(f"there is no hot spot '{name}'{closest(name, self.spots)} Hot spots: {listed(self.spots)}.")
        spot = self.spots[name]
        if spot.mean_stress != "none":
            raise KingpostError(
                f"'damage {name}': its mean-stress correction ({spot.mean_stress}) has no derivative here; leave mean_stress "
                "out of the hot spot"
            )
        return Damage(spot, curve_of(spot, self.curves or curve_set()), self.options)
