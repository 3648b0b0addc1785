"""One number for a spectrum of ranges: damage-equivalent range (DEL) and the history parameter of EN 13001."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.errors import KingpostError
from kingpost.fatigue.counting import Cycles

#: Inverse slopes for which damage-equivalent ranges are given, if none are asked for.
SLOPES = (3.0, 4.0, 5.0)
#: Reference frequency in Hz of damage-equivalent ranges.
REFERENCE_FREQUENCY = 1.0
#: Inverse slopes lie between these by far: welded steel has 3 to 5, composites 10 to 30.
SMALLEST_SLOPE, LARGEST_SLOPE = 0.1, 1000.0
#: Reference number of cycles of EN 13001.
EN13001_REFERENCE_CYCLES = 2e6


@dataclass(frozen=True)
class EquivalentRange:
    """A damage-equivalent range, and what it refers to."""

    range: float
    slope: float
    #: N_eq = T f_ref: so many cycles of this range do as much damage, on an S-N curve of this one slope, as the signal.
    equivalent_cycles: float


def damage_equivalent_range(
    cycles: Cycles, slope: float, duration: float, f_ref: float = REFERENCE_FREQUENCY
) -> EquivalentRange:
    """Return the damage-equivalent range DEL = (sum n_i R_i^m / N_eq)^(1/m) with N_eq = T f_ref.

    Parameters
    ----------
    cycles
        The counted cycles of the signal.
    slope
        m, the inverse slope of the S-N curve.
    duration
        T, the length of the counted signal in s.
    f_ref
        Reference frequency in Hz.

    """
    check_slopes([slope])
    n_eq = _equivalent_cycles(duration, f_ref)
    largest = cycles.largest_range
    if largest == 0.0:
        return EquivalentRange(0.0, slope, n_eq)
    # Scaled by the largest range, so that no power over- or underflows.
    total = float(np.sum(cycles.count * (cycles.range / largest) ** slope))
    try:
        equivalent = largest * (total / n_eq) ** (1.0 / slope)
    except OverflowError:
        equivalent = math.inf
    if not math.isfinite(equivalent):
        raise KingpostError(
            f"the damage-equivalent range of {total:g} cycles up to {largest:g} over N_eq = {n_eq:g} with m = {slope:g} is too "
            "large for a number; check the loads and the reference frequency"
        )
    return EquivalentRange(equivalent, slope, n_eq)


def combined_equivalent_range(
    parts: Sequence[EquivalentRange], weights: Sequence[float], duration: float, f_ref: float = REFERENCE_FREQUENCY
) -> EquivalentRange:
    """Return the damage-equivalent range of a time that consists of ``parts`` in the given ``weights``.

    Each part has N_eq = T f_ref of its own, so its DEL^m is its damage per reference cycle, and DEL^m = sum w_i DEL_i^m.
    Weights that add up to less than 1 leave time in which there is no load.
    """
    slope = parts[0].slope
    n_eq = _equivalent_cycles(duration, f_ref)
    largest = max(part.range for part in parts)
    if largest == 0.0:
        return EquivalentRange(0.0, slope, n_eq)
    total = math.fsum(weight * (part.range / largest) ** slope for part, weight in zip(parts, weights, strict=True))
    return EquivalentRange(largest * total ** (1.0 / slope), slope, n_eq)


@dataclass(frozen=True)
class HistoryParameter:
    """The stress history of EN 13001: s_m = k_m nu, with nu = N / 2e6 and k_m = sum (dS_i / dS_max)^m n_i / N."""

    slope: float
    #: k_m, 1 for cycles of one range.
    spectrum_factor: float
    #: nu
    relative_cycles: float
    #: N
    cycles: float
    #: dS_max, in the unit of the signal.
    largest_range: float

    @property
    def s_m(self) -> float:
        """The stress history parameter s_m."""
        return self.spectrum_factor * self.relative_cycles


def history_parameter(cycles: Cycles, slope: float, repetitions: float = 1.0) -> HistoryParameter:
    """Return the parameters of EN 13001 for ``repetitions`` of the counted signal, such as those in a design life."""
    check_slopes([slope])
    if not 0.0 < repetitions < math.inf:
        raise KingpostError(f"repetitions = {repetitions} of a signal make no history; give a number above 0")
    number, largest = cycles.total, cycles.largest_range
    if number == 0.0 or largest == 0.0:
        return HistoryParameter(slope, 0.0, 0.0, 0.0, 0.0)
    factor = float(np.sum(cycles.count * (cycles.range / largest) ** slope)) / number
    total = number * repetitions
    return HistoryParameter(slope, factor, total / EN13001_REFERENCE_CYCLES, total, largest)


def check_slopes(slopes: Sequence[float]) -> None:
    """Refuse inverse slopes that no S-N curve has."""
    for slope in slopes:
        if not SMALLEST_SLOPE <= slope <= LARGEST_SLOPE:
            raise KingpostError(
                f"the inverse slope m = {slope} is not between {SMALLEST_SLOPE:g} and {LARGEST_SLOPE:g}; welded steel has 3 to "
                "5, composites about 10"
            )


def _equivalent_cycles(duration: float, f_ref: float) -> float:
    for what, number, unit in (("duration", duration, "s"), ("reference frequency", f_ref, "Hz")):
        if not 0.0 < number < math.inf:
            raise KingpostError(
                f"the {what} is {number:g} {unit}, so N_eq = T f_ref is not a number of cycles; give a {what} above 0"
            )
    return duration * f_ref
