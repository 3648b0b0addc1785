"""Small motions of a floating hull in regular waves, in the frequency domain.

With the time factor exp(+i w t) the motions x of the reference point follow from

    (-w^2 M + i w (D + B + i w A) + C) x = X,

the mass M, added mass A and damping B of radiation, further linear damping D, the restoring C and the wave forces X.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.hydro.data import ComplexArray, HydroData

#: The names of what a hull needs to move, and what they are called in words.
NEEDED = {
    "inertia": "the mass matrix of the hull",
    "restoring": "the hydrostatic stiffness",
    "excitation": "wave forces",
}


def motion_response(
    data: HydroData,
    *,
    radiation: ComplexArray | None = None,
    inertia: FloatArray | None = None,
    stiffness: FloatArray | None = None,
    damping: FloatArray | None = None,
) -> ComplexArray:
    """Return motions per metre of wave amplitude over frequencies and headings (n, m, 6): m/m and rad/m.

    Parameters
    ----------
    data
        The hull, with wave forces, restoring and, unless given here, inertia.
    radiation
        B + i w A (n, 6, 6) in the place of that of the data; a fitted memory gives it.
    inertia
        Mass matrix (6, 6) about the reference point in the place of that of the data.
    stiffness, damping
        Further ones (6, 6), such as those of a mooring or of drag, about the reference point.

    """
    _refuse_missing(data, "restoring", "excitation", *(() if inertia is not None else ("inertia",)))
    assert data.excitation is not None
    Z = impedance(data, radiation=radiation, inertia=inertia, stiffness=stiffness, damping=damping)
    return as_complex(np.linalg.solve(Z[:, None], data.excitation[..., None])[..., 0])


def known_motions(data: HydroData) -> ComplexArray | None:
    """Return the motions of the data, or those that follow from their forces; None if neither can be had."""
    return free_motions(data) if data.motions is None else data.motions


def free_motions(data: HydroData) -> ComplexArray | None:
    """Return :func:`motion_response`, or None where something lacks for it or no motion answers some force."""
    if any(getattr(data, name) is None for name in NEEDED):
        return None
    if not data.restoring_has_weight and data.centre_of_gravity is None:
        return None
    if not np.isfinite(np.linalg.cond(impedance(data))).all():
        return None
    return motion_response(data)


def impedance(
    data: HydroData,
    *,
    radiation: ComplexArray | None = None,
    inertia: FloatArray | None = None,
    stiffness: FloatArray | None = None,
    damping: FloatArray | None = None,
) -> ComplexArray:
    """Return what turns motions into forces, -w^2 M + i w (D + B + i w A) + C, over the frequencies (n, 6, 6)."""
    _refuse_missing(data, "restoring", *(() if inertia is not None else ("inertia",)))
    M = data.inertia if inertia is None else inertia
    assert M is not None
    C = restoring_with_weight(data) + (0.0 if stiffness is None else stiffness)
    D = 0.0 if damping is None else damping
    w = data.frequencies[:, None, None]
    R = radiation_transfer(data) if radiation is None else radiation
    return as_complex(-(w**2) * M + 1j * w * (R + D) + C)


def radiation_transfer(data: HydroData) -> ComplexArray:
    """Return B + i w A of the data (n, 6, 6), as they are: what a velocity is answered with."""
    return as_complex(data.damping + 1j * data.frequencies[:, None, None] * data.added_mass)


def as_complex(values: ArrayLike) -> ComplexArray:
    """Return an array of complex numbers."""
    return np.asarray(values, dtype=np.complex128)


def along_axis(frequencies: ArrayLike) -> ComplexArray:
    """Return s = i w."""
    return as_complex(1j * np.asarray(frequencies, dtype=float))


def restoring_with_weight(data: HydroData) -> FloatArray:
    """Return the restoring matrix with the moment of the weight, whichever way the data have it."""
    _refuse_missing(data, "restoring")
    assert data.restoring is not None
    if data.restoring_has_weight:
        return data.restoring
    _refuse_missing(data, "inertia", "centre_of_gravity")
    assert data.inertia is not None
    assert data.centre_of_gravity is not None
    x, y, z = np.asarray(data.centre_of_gravity) - data.reference
    weight = data.inertia[0, 0] * data.gravity
    turned = np.zeros((6, 6))
    turned[3, 3] = turned[4, 4] = -weight * z
    turned[3, 5], turned[4, 5] = weight * x, weight * y
    return data.restoring + turned


def _refuse_missing(data: HydroData, *names: str) -> None:
    for name in names:
        if getattr(data, name) is None:
            words = NEEDED.get(name, f"'{name}'")
            raise MechanismError(
                f"hydrodynamic data '{data.name}' ({data.source or 'made in Python'}) lack {words}, which motions in waves "
                f"need; give '{name}' when they are read, or take a file that holds it"
            )
