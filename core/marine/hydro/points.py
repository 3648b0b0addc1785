"""Another point of reference: moments and motions about O from those about P.

With r = P - O, velocities of the two points are v_P = T v_O, T = [[1, -S(r)], [0, 1]] and S(r) x = r x x. Power is the same for
both, so wrenches turn by the transpose and matrices by congruence: X_O = T^T X_P, A_O = T^T A_P T. The crest of the wave stays
at the origin of the axes, whatever the point.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.marine.hydro.data import HydroData


def moved(data: HydroData, point: ArrayLike) -> HydroData:
    """Return the data about ``point``, in m; hydrostatic stiffness with what the rest of weight and buoyancy adds to it."""
    new = np.array(point, dtype=float)
    if new.shape != (3,) or not np.isfinite(new).all():
        raise KingpostError(f"a point of reference is three finite numbers in m; got {point!r}")
    arm = data.reference - new
    T = motion_matrix(arm)
    changes: dict[str, Any] = {"reference": new}
    for name in ("added_mass", "damping", "added_mass_inf", "added_mass_zero", "inertia", "restoring"):
        matrix = getattr(data, name)
        changes[name] = None if matrix is None else T.T @ matrix @ T
    if data.restoring is not None:
        changes["restoring"] = changes["restoring"] + _unbalanced(data) * _lever(arm)
    if data.excitation is not None:
        changes["excitation"] = data.excitation @ T
    if data.motions is not None:
        changes["motions"] = data.motions @ np.linalg.inv(T).T
    if data.drift is not None:
        changes["drift"] = _known(data.drift, T)
    return replace(data, **changes)


def motion_matrix(arm: FloatArray) -> FloatArray:
    """Return T, which makes the velocity of P of that of O, with ``arm`` = P - O."""
    x, y, z = arm
    T = np.eye(6)
    T[:3, 3:] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return T


def _known(wrenches: FloatArray, T: FloatArray) -> NDArray[Any]:
    """Return wrenches about O; a component that is not known spoils only those that it is part of."""
    return np.stack([wrenches[..., rows] @ T[rows, j] for j, rows in enumerate(map(np.flatnonzero, T.T))], axis=-1)


def _unbalanced(data: HydroData) -> float:
    """Return the force along z that the stiffness does not hold in balance: buoyancy, less weight where that is in it."""
    if data.volume is None:
        if not data.restoring_has_weight:
            raise KingpostError(
                f"the hydrostatic stiffness of '{data.name}' is without weight, so its value about another point takes the "
                "displaced volume, which is not known; give 'volume'"
            )
        return 0.0
    buoyancy = data.water_density * data.gravity * data.volume
    if not data.restoring_has_weight:
        return buoyancy
    return 0.0 if data.inertia is None else buoyancy - data.gravity * float(data.inertia[0, 0])


def _lever(arm: FloatArray) -> FloatArray:
    """Return the stiffness that a unit force along z, which stays as it is, adds if it acts ``arm`` further from the point.

    The moment of F z at r + theta x r is F (r theta_z - theta r_z).
    """
    stiffness = np.zeros((6, 6))
    stiffness[3:, 3:] = arm[2] * np.eye(3)
    stiffness[3:, 5] -= arm
    return stiffness
