"""Is this the convention it is said to be? What every hull does in long waves tells.

With exp(+i w t), phases that lead, and headings towards which waves go: the water lifts the hull, so the heave force is in
phase with the crest; and it carries it along, with an acceleration that leads the crest by a quarter of a period.
"""

from __future__ import annotations

import math

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError
from kingpost.marine.hydro.data import ComplexArray, HydroData
from kingpost.marine.hydro.dispersion import wave_number

#: A wave is long if wave number times size of the hull is below this.
LONG = 0.5
#: Headings of which the part along x or y is smaller say nothing of it.
ALONG = 0.3
#: How far phases may be from those of the longest waves, rad.
SLACK = math.radians(50.0)
#: Shares of the largest number below which there is nothing but rounding.
NOTHING = 1e-9


def check_convention(data: HydroData) -> str | None:
    """Raise :class:`FileError` if long waves show another phase or heading; return a note if that could not be checked."""
    if data.excitation is None or not len(data.headings):
        return None
    if not long_waves(data):
        return (
            f"phases could not be checked: the lowest frequency, {data.frequencies[0]:.3g} rad/s, has no long waves "
            f"({size_in_waves(data):.2g} of the length of one; at most {LONG:g})"
        )
    fault = phase_fault(data)
    if fault:
        raise FileError(f"'{data.source or data.name}': {fault}")
    return None


def long_waves(data: HydroData) -> bool:
    """Say whether the lowest frequency has waves that are long for the hull."""
    return size_in_waves(data) <= LONG


def size_in_waves(data: HydroData) -> float:
    """Return wave number times size of hull at the lowest frequency; the size is from waterplane, volume, and place."""
    size = math.sqrt(area) if (area := waterplane_area(data)) else 10.0
    size = max(size, data.volume ** (1 / 3)) if data.volume else size
    place = float(np.hypot(*data.reference[:2]))
    return float(wave_number(data.frequencies[0], data.gravity, data.depth)) * (size + place)


def waterplane_area(data: HydroData) -> float | None:
    """Return the area in m^2 from the hydrostatic stiffness in heave."""
    if data.restoring is None or data.restoring[2, 2] <= 0:
        return None
    return float(data.restoring[2, 2]) / (data.water_density * data.gravity)


def phase_fault(data: HydroData) -> str | None:
    """Return what is wrong with the phase of wave forces in the longest waves, or None."""
    if data.excitation is None or not long_waves(data):
        return None
    row = data.excitation[0]
    heave = row[:, 2]
    if np.abs(heave).max(initial=0.0) <= NOTHING * np.abs(data.excitation).max(initial=0.0):
        return None
    phase = float(np.angle(heave.sum()))
    where = f"at {data.frequencies[0]:.4g} rad/s"
    if abs(phase) > SLACK:
        return (
            f"the heave force {where} has the phase {math.degrees(phase):.0f} deg to the crest, where every floating hull has "
            "nearly 0: its sign or the point where phases begin is another"
        )
    along = _along(row, data.headings)
    if along is None or abs(along - math.pi / 2) <= SLACK:
        return None
    if abs(along + math.pi / 2) <= SLACK:
        backward = float(heave.sum().imag) > 0
        why = (
            "headings are where waves come from, not where they go to"
            if backward
            else "its time factor is exp(-i w t), the conjugate of what was said"
        )
        return f"the force along the wave {where} lags the crest by {-math.degrees(along):.0f} deg, where it leads by 90: {why}"
    return f"the force along the wave {where} has the phase {math.degrees(along):.0f} deg to the crest, where every hull has 90"


def _along(row: ComplexArray, headings: FloatArray) -> float | None:
    """Return the phase of the forces along the wave, in surge and sway together."""
    total = 0.0 + 0.0j
    for component, part in ((0, np.cos(headings)), (1, np.sin(headings))):
        chosen = np.abs(part) > ALONG
        total += complex((row[chosen, component] * np.sign(part[chosen])).sum())
    return float(np.angle(total)) if abs(total) > NOTHING * np.abs(row).max() else None
