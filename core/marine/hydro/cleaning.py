"""Data made fit for equations of motion: symmetric, with damping that takes energy, with both limits; each change reported."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import listed
from kingpost.marine.hydro.causality import LATE, added_mass_inf, added_mass_zero, begins_late
from kingpost.marine.hydro.data import MOTIONS, HydroData
from kingpost.marine.hydro.scales import moving, scales

#: Couplings below this share of their diagonals are rounding, and their asymmetry says nothing.
NOTHING = 1e-2
#: Defects of symmetry below this share of the coupling are not worth a word.
WORTH = 1e-3
#: Damping at the highest frequency above this share of its largest value cuts the table short.
CUT = 0.05
#: Negative damping below this share of the largest is rounding, and mended without a word.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Change:
    """Something that was done to the data, or should be known of them, with its number."""

    what: str
    sentence: str
    #: The largest number that tells how much: shares as such, not in percent.
    size: float
    #: Whether numbers of the data were changed by it.
    changed: bool = True


@dataclass(frozen=True, eq=False)
class Cleaned:
    """Clean data, and what was done to them."""

    data: HydroData
    changes: tuple[Change, ...]


def clean(data: HydroData) -> Cleaned:
    """Return data that are symmetric, have no negative damping and both limits of the added mass, with a report."""
    changes: list[Change] = []
    for name in ("added_mass", "damping", "added_mass_inf", "added_mass_zero", "inertia"):
        data = _symmetric(data, name, changes)
    data = _without_negative_damping(data, changes)
    data = _with_limits(data, changes)
    changes += [*late_start(data), *cut_off(data)]
    return Cleaned(replace(data, notes=(*data.notes, *(each.sentence for each in changes if each.changed))), tuple(changes))


def asymmetries(matrices: FloatArray) -> dict[tuple[int, int], float]:
    """Return, for couplings that are no rounding, the largest difference of both sides as a share of the largest coupling."""
    every = matrices.reshape(-1, 6, 6)
    diagonal = scales(every)
    found = {}
    own = moving(every)
    for i in own:
        for j in own[: own.index(i)]:
            coupling = max(np.abs(every[:, i, j]).max(), np.abs(every[:, j, i]).max())
            if coupling > NOTHING * np.sqrt(diagonal[i] * diagonal[j]):
                found[j, i] = float(np.abs(every[:, i, j] - every[:, j, i]).max() / coupling)
    return found


def cut_off(data: HydroData) -> list[Change]:
    """Return how much damping is left at the highest frequency, for motions in which that is more than 5 % of the largest."""
    ends = damping_at_the_end(data)
    cut = {MOTIONS[i]: share for i, share in enumerate(ends) if share > CUT}
    if not cut:
        return []
    words = listed(f"{name} {share:.0%}" for name, share in cut.items())
    sentence = (
        f"damping at the highest frequency, {data.frequencies[-1]:.4g} rad/s, is still so much of its largest value: {words}; "
        "compute higher frequencies for a better memory of the water"
    )
    return [Change("cut-off", sentence, max(cut.values()), changed=False)]


def late_start(data: HydroData) -> list[Change]:
    """Return how much damping there is at the lowest frequency already, for motions in which that is much."""
    shares = begins_late(data.damping)
    late = {MOTIONS[i]: float(shares[i]) for i in moving(data.damping) if shares[i] > LATE}
    if not late:
        return []
    words = listed(f"{name} {share:.0%}" for name, share in late.items())
    sentence = (
        f"damping at the lowest frequency, {data.frequencies[0]:.4g} rad/s, is already so much of its largest value: {words}; "
        "compute lower frequencies, for limits and memory cannot be had without them"
    )
    return [Change("late start", sentence, max(late.values()), changed=False)]


def damping_at_the_end(data: HydroData) -> FloatArray:
    """Return damping at the highest frequency as a share of the largest, for the six motions."""
    diagonal = np.abs(np.diagonal(data.damping, axis1=1, axis2=2))
    own = moving(data.damping)
    shares = np.zeros(6)
    shares[own] = diagonal[-1, own] / diagonal.max(axis=0)[own]
    return shares


def _symmetric(data: HydroData, name: str, changes: list[Change]) -> HydroData:
    matrices = getattr(data, name)
    if matrices is None:
        return data
    mean = (matrices + np.swapaxes(matrices, -1, -2)) / 2
    defects = {pair: share for pair, share in asymmetries(matrices).items() if share > WORTH}
    if defects:
        words = listed(f"{MOTIONS[i]}-{MOTIONS[j]} by {share:.1%}" for (i, j), share in defects.items())
        sentence = f"{name.replace('_', ' ')} was made symmetric; both sides differed, of the largest coupling: {words}"
        changes.append(Change("symmetry", sentence, max(defects.values())))
    return replace(data, **{name: mean})


def _without_negative_damping(data: HydroData, changes: list[Change]) -> HydroData:
    """Return data in which no motion gets energy from radiated waves: eigenvalues below zero become zero.

    Motions are scaled by their largest damping, so that newtons and newton metres count alike.
    """
    scale = np.sqrt(scales(data.damping))
    values, vectors = np.linalg.eigh(data.damping / np.outer(scale, scale))
    bad = values[:, 0] < 0
    if not bad.any():
        return data
    worst = int(values[:, 0].argmin())
    mended = np.einsum("nik,nk,njk->nij", vectors, np.maximum(values, 0.0), vectors) * np.outer(scale, scale)
    mended = (mended + mended.transpose(0, 2, 1)) / 2
    mended_data = replace(data, damping=np.where(bad[:, None, None], mended, data.damping))
    if values[worst, 0] > -ROUNDING:
        return mended_data
    sentence = (
        f"negative damping was removed at {int((values[:, 0] < -ROUNDING).sum())} of {len(bad)} frequencies; the least, at "
        f"{data.frequencies[worst]:.4g} rad/s and mostly in {MOTIONS[int(np.abs(vectors[worst, :, 0]).argmax())]}, was "
        f"{100 * values[worst, 0]:.2g} % of the largest"
    )
    changes.append(Change("negative damping", sentence, float(-values[worst, 0])))
    return mended_data


def _with_limits(data: HydroData, changes: list[Change]) -> HydroData:
    if len(data.frequencies) < 3 or late_start(data):
        return data
    if data.added_mass_inf is None:
        infinite, scatter = added_mass_inf(data)
        largest = np.abs(np.diagonal(data.added_mass, axis1=1, axis2=2)).max(axis=0)
        share = float(np.divide(np.diag(scatter), largest, out=np.zeros(6), where=largest > 0).max())
        sentence = (
            "the added mass for infinite frequency is not in the file: estimated from damping by Kramers and Kronig's relation "
            f"(Ogilvie), about which the rows scatter by up to {share:.1%} of the largest added mass"
        )
        changes.append(Change("infinite frequency", sentence, share))
        data = replace(data, added_mass_inf=(infinite + infinite.T) / 2)
    if data.added_mass_zero is None and data.added_mass_inf is not None:
        zero = added_mass_zero(data, data.added_mass_inf)
        largest = np.abs(np.diagonal(data.added_mass, axis1=1, axis2=2)).max(axis=0)
        step = np.abs(np.diag(zero) - np.diagonal(data.added_mass[0]))
        share = float(np.divide(step, largest, out=np.zeros(6), where=largest > 0).max())
        sentence = (
            "the added mass for vanishing frequency is not in the file: found from damping and the other limit, by up to "
            f"{share:.1%} of the largest added mass from that at {data.frequencies[0]:.4g} rad/s"
        )
        changes.append(Change("vanishing frequency", sentence, share))
        data = replace(data, added_mass_zero=(zero + zero.T) / 2)
    return data
