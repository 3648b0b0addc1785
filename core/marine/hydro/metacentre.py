"""How stiff a hull floats: displacement and metacentric heights."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import HydroData


def displaced_mass(data: HydroData) -> float | None:
    """Return the mass of the displaced water in kg, or of the hull where only that is known."""
    if data.volume is not None:
        return data.water_density * data.volume
    return float(data.inertia[0, 0]) if data.inertia is not None and data.inertia[0, 0] > 0 else None


def metacentric_heights(data: HydroData) -> FloatArray | None:
    """Return GM for roll and for pitch in m; None if restoring, displacement or (without weight) centre of gravity lacks.

    Of C about any point, C44 - C34^2 / C33 is that about the centre of flotation, which is displacement times g times GM.
    """
    mass = displaced_mass(data)
    if data.restoring is None or mass is None or data.restoring[2, 2] <= 0:
        return None
    C = data.restoring
    found = np.array([C[i, i] - C[2, i] * C[i, 2] / C[2, 2] for i in (3, 4)]) / (mass * data.gravity)
    if data.restoring_has_weight:
        return found
    if data.centre_of_gravity is None:
        return None
    height: FloatArray = found - (data.centre_of_gravity[2] - data.reference[2])
    return height
