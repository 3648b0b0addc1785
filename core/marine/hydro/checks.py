"""Checks of hydrodynamic data against what every hull obeys, with numbers.

Kramers and Kronig bind added mass to damping; Haskind binds damping to wave forces; long waves lift and carry a hull like the
water itself; and motions in a file must follow from its forces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.causality import LATE, added_mass_from_damping, begins_late
from kingpost.marine.hydro.cleaning import asymmetries, damping_at_the_end
from kingpost.marine.hydro.conventions import LONG, size_in_waves, waterplane_area
from kingpost.marine.hydro.data import MOTIONS, HydroData
from kingpost.marine.hydro.dispersion import group_speed, wave_number
from kingpost.marine.hydro.headings import MIRROR, SAME, WIDEST_GAP, full_turn, turned
from kingpost.marine.hydro.metacentre import metacentric_heights
from kingpost.marine.hydro.response import free_motions, known_motions
from kingpost.marine.hydro.scales import moving
from kingpost.marine.hydro.tables import water_motion

#: What is usual for data from panels; beyond it a check warns.
USUAL = {"causality": 0.05, "haskind": 0.05, "symmetry": 0.05, "cut-off": 0.05, "long waves": 0.05, "motions": 0.02}
#: Surge and sway, and roll and pitch, that differ by less than this are those of a body of revolution.
ROUND = 0.01
#: Shares of the largest below which a motion has no added mass or damping of its own.
NOTHING = 1e-6


@dataclass(frozen=True)
class Check:
    """A check: shares of the defect by motion or coupling (0.01 is one percent), and what they are shares of."""

    name: str
    what: str
    values: dict[str, float]
    #: Beyond this it is worth a word.
    usual: float

    @property
    def worst(self) -> float:
        """The largest of the defects."""
        return max(map(abs, self.values.values()), default=0.0)

    @property
    def well(self) -> bool:
        """Whether all are usual."""
        return self.worst <= self.usual


def check(data: HydroData) -> tuple[Check, ...]:
    """Return all checks that these data allow."""
    made = (causality(data), haskind(data), symmetry(data), cut(data), long_waves(data), motions(data))
    return tuple(each for each in made if each is not None)


def causality(data: HydroData) -> Check | None:
    """Return the Kramers-Kronig defect: how far A(w) is from what damping and its limit ask for, of the largest |A|."""
    if data.added_mass_inf is None or len(data.frequencies) < 3:
        return None
    sums = (np.swapaxes(each, 1, 2) + each for each in (data.added_mass, data.damping))
    added, damping = (each / 2 for each in sums)
    defect = np.abs(added - data.added_mass_inf - added_mass_from_damping(data.frequencies, damping)).max(axis=0)
    largest = np.abs(added).max(axis=0)
    early = begins_late(damping) <= LATE
    values = {MOTIONS[i]: float(defect[i, i] / largest[i, i]) for i in moving(added) if early[i]}
    if not values:
        return None
    return Check("causality", "Kramers-Kronig defect, of the largest added mass", values, USUAL["causality"])


def haskind(data: HydroData) -> Check | None:
    """Return how far damping is from what wave forces ask for, of the largest damping.

    B_ij = k / (8 pi rho g Cg) Int X_i X_j* dbeta over all headings. Of a body of revolution one heading is enough; of others,
    all of the turn is needed, and only frequencies at which the headings resolve the hull are compared.
    """
    if data.excitation is None:
        return None
    k = wave_number(data.frequencies, data.gravity, data.depth)
    factor = k / (8 * math.pi * data.water_density * data.gravity * group_speed(data.frequencies, data.gravity, data.depth))
    round_hull = is_round(data)
    found = _round_integral(data) if round_hull else _turn_integral(data)
    if found is None:
        return None
    integral, motions_known, resolved = found
    if not resolved.any():
        return None
    diagonal = np.diagonal(data.damping, axis1=1, axis2=2)
    largest = np.abs(diagonal).max(axis=0)
    defect = np.abs(factor[:, None] * integral - diagonal)[resolved].max(axis=0)
    values = {MOTIONS[i]: float(defect[i] / largest[i]) for i in motions_known if largest[i] > NOTHING * largest[:3].max()}
    how = (
        "body of revolution" if round_hull else f"up to {data.frequencies[resolved][-1]:.3g} rad/s, which the headings resolve"
    )
    return Check("haskind", f"damping against wave forces by Haskind ({how}), of the largest damping", values, USUAL["haskind"])


def symmetry(data: HydroData) -> Check | None:
    """Return how far couplings are from being symmetric, of the largest coupling; the worse of added mass and damping."""
    values: dict[str, float] = {}
    for matrices in (data.added_mass, data.damping):
        for (i, j), share in asymmetries(matrices).items():
            pair = f"{MOTIONS[i]}-{MOTIONS[j]}"
            values[pair] = max(share, values.get(pair, 0.0))
    return Check("symmetry", "difference of both sides, of the largest coupling", values, USUAL["symmetry"]) if values else None


def cut(data: HydroData) -> Check:
    """Return how much damping is left at the highest frequency, of the largest."""
    ends = damping_at_the_end(data)
    values = {MOTIONS[i]: float(ends[i]) for i in moving(data.damping)}
    return Check("cut-off", f"damping left at {data.frequencies[-1]:.3g} rad/s, of the largest", values, USUAL["cut-off"])


def long_waves(data: HydroData) -> Check | None:
    """Return how far heave force and motions in the longest waves are from what the water does."""
    if size_in_waves(data) > LONG or not len(data.headings):
        return None
    values: dict[str, float] = {}
    if data.excitation is not None and data.restoring is not None and waterplane_area(data):
        values["heave force"] = float(np.abs(data.excitation[0, :, 2]).mean() / data.restoring[2, 2] - 1)
    table = known_motions(data)
    if table is not None:
        values |= _against_water(data, table[0])
    if not values:
        return None
    what = f"from heave stiffness and from the water's own motion at {data.frequencies[0]:.3g} rad/s"
    # What is left of the size of the hull is no fault of the data.
    return Check("long waves", what, values, USUAL["long waves"] + size_in_waves(data))


def motions(data: HydroData) -> Check | None:
    """Return how far the motions of the file are from those that its own forces give, of the largest."""
    solved = free_motions(data)
    if data.motions is None or solved is None:
        return None
    largest = np.abs(data.motions).max(axis=(0, 1))
    defect = np.abs(solved - data.motions).max(axis=(0, 1))
    values = {MOTIONS[i]: float(defect[i] / largest[i]) for i in range(6) if largest[i] > NOTHING * largest.max()}
    return Check("motions", "motions in the file against the equations of motion, of the largest", values, USUAL["motions"])


def is_round(data: HydroData) -> bool:
    """Say whether the hull behaves like a body of revolution about the vertical through its point of reference."""
    A = np.abs(np.diagonal(data.added_mass, axis1=1, axis2=2)).max(axis=0)
    if A[5] > ROUND * max(A[3], A[4]) or np.hypot(*data.reference[:2]) > SAME:
        return False
    return bool(abs(A[0] - A[1]) <= ROUND * A[0] and abs(A[3] - A[4]) <= ROUND * max(A[3], A[4]))


def stability(data: HydroData) -> dict[str, float]:
    """Return the metacentric heights in m, if they are known."""
    heights = metacentric_heights(data)
    return {} if heights is None else {"GM roll": float(heights[0]), "GM pitch": float(heights[1])}


def _round_integral(data: HydroData) -> tuple[FloatArray, list[int], FloatArray] | None:
    """Return Int |X_i|^2 dbeta of a body of revolution (n, 6): |X|^2 turns as cos^2 but in heave, where it stays."""
    assert data.excitation is not None
    power = np.abs(data.excitation) ** 2
    heave = 2 * math.pi * power[:, :, 2].mean(axis=1)
    along = math.pi * (power[:, :, 0] + power[:, :, 1]).mean(axis=1)
    turning = math.pi * (power[:, :, 3] + power[:, :, 4]).mean(axis=1)
    still = np.zeros(len(heave))
    table = np.stack([along, along, heave, turning, turning, still], axis=-1)
    return table, [0, 1, 2, 3, 4], np.ones(len(heave), dtype=bool)


def _turn_integral(data: HydroData) -> tuple[FloatArray, list[int], FloatArray] | None:
    """Return Int |X_i|^2 dbeta over the turn by the trapezoidal rule (n, 6), and where that resolves the hull.

    The rule is exact for harmonics below the number of headings; the product of two forces on a hull of length L has them up to
    about k L, with a few more for the slope.
    """
    whole = full_turn(data)
    if whole.excitation is None or len(whole.headings) < 3:
        return None
    gaps = np.mod(np.diff(np.append(whole.headings, whole.headings[0])), 2 * math.pi)
    if gaps.max() > WIDEST_GAP + SAME or data.restoring is None:
        return None
    share = (gaps + np.roll(gaps, 1)) / 2
    integral: FloatArray = np.einsum("m,nmj->nj", share, np.abs(whole.excitation) ** 2)
    area = waterplane_area(data)
    if area is None:
        return None
    length = math.sqrt(12 * max(data.restoring[3, 3], data.restoring[4, 4], 0.0) / data.restoring[2, 2])
    k = wave_number(data.frequencies, data.gravity, data.depth)
    resolved = k * max(length, math.sqrt(area)) < 2 * math.pi / gaps.max() / 2 - 1
    return integral, list(range(6)), resolved


def _against_water(data: HydroData, row: FloatArray) -> dict[str, float]:
    """Return motions less the water's in the longest waves as shares of it, each for the heading that shows it best."""
    water = water_motion(data, np.full(len(data.headings), data.frequencies[0]), data.headings)
    found = {}
    for i in range(5):
        best = int(np.abs(water[:, i]).argmax())
        aligned = abs(abs(math.cos(turned(data.headings[best]))) - (1.0 if MIRROR[i] > 0 else 0.0)) < 0.1
        if np.abs(water[best, i]) > 0 and (aligned or i == 2):
            found[MOTIONS[i]] = float(np.abs(row[best, i]) / np.abs(water[best, i]) - 1)
    return found
