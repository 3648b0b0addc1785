"""The rigid part of a hull, and what the water carries of it: mass, centre of gravity, inertia, buoyancy, waterplane.

The body frame of a vessel is that of its data: the origin in the still water surface, x forward, y to port, z up. Restoring is
split into what belongs to the waterplane, which stays whatever stands on the hull, and weight and buoyancy, each a force at
its own place. So a crane on the hull changes the stability by its own weight and height, with no number to be corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.points import motion_matrix


@dataclass(frozen=True, eq=False)
class RigidHull:
    """Mass (kg), centre of gravity in the vessel's frame (m), inertia about it (3, 3) in kg m^2."""

    mass: float
    centre_of_gravity: FloatArray
    inertia: FloatArray

    @property
    def entries(self) -> tuple[float, ...]:
        """The inertia as a body has it: Ixx, Iyy, Izz, Ixy, Ixz, Iyz."""
        return tuple(float(self.inertia[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))

    def matrix(self, point: FloatArray) -> FloatArray:
        """Return the mass matrix (6, 6) about a point, surge to yaw."""
        own = np.zeros((6, 6))
        own[:3, :3] = self.mass * np.eye(3)
        own[3:, 3:] = self.inertia
        T = motion_matrix(self.centre_of_gravity - point)
        return T.T @ own @ T


def rigid_hull(data: HydroData) -> RigidHull:
    """Return the hull that a mass matrix in the data describes."""
    if data.inertia is None:
        raise MechanismError(
            f"hydrodynamic data '{data.name}' hold no mass matrix; give mass, centre_of_gravity and radii_of_gyration of the "
            "hull"
        )
    M = (data.inertia + data.inertia.T) / 2
    mass = float(np.trace(M[:3, :3]) / 3)
    if not mass > 0 or np.abs(M[:3, :3] - mass * np.eye(3)).max() > 1e-6 * mass:
        raise MechanismError(
            f"hydrodynamic data '{data.name}': the mass matrix is none of a rigid body: masses in surge, sway and heave are "
            f"{M[0, 0]:.6g}, {M[1, 1]:.6g} and {M[2, 2]:.6g} kg; give mass, centre_of_gravity and radii_of_gyration of the hull"
        )
    S = M[3:, :3] / mass  # m S(c) below the mass, with c from the reference point
    c = np.array([S[2, 1], S[0, 2], S[1, 0]])
    return RigidHull(mass, data.reference + c, M[3:, 3:] + mass * _hat(c) @ _hat(c))


@dataclass(frozen=True, eq=False)
class Floating:
    """What the water carries: displaced mass (kg), its centre (m), and the waterplane's stiffness (6, 6) about the origin."""

    displaced: float
    centre_of_buoyancy: FloatArray
    waterplane: FloatArray
    #: What the data do not say and was taken for granted, in sentences.
    assumed: tuple[str, ...] = ()


def floating(data: HydroData) -> Floating:
    """Return buoyancy and waterplane of a hull: its restoring without what weight and buoyancy have in it.

    Restoring about a point holds rho g V z_b - m g z_g in roll and pitch, with heights above the point. What is left is the
    waterplane's: heave, roll, pitch and their couplings. A volume that the data lack is that of the mass in
    them; a centre of buoyancy that they lack lies below its centre of gravity, at the height of the
    point of reference: where along the vertical makes no difference to small motions, since the waterplane's part follows
    from it.
    """
    if data.restoring is None:
        raise MechanismError(
            f"hydrodynamic data '{data.name}' lack 'restoring', without which a hull does not float; take a file that holds it"
        )
    displaced, centre, assumed = _buoyancy(data, None if data.inertia is None else rigid_hull(data))
    C = data.restoring.copy()
    C[[3, 4], [3, 4]] -= displaced * data.gravity * (centre - data.reference)[2]
    if data.restoring_has_weight:
        own = rigid_hull(data)
        C[[3, 4], [3, 4]] += own.mass * data.gravity * (own.centre_of_gravity - data.reference)[2]
    upright = np.zeros((6, 6))
    upright[2:5, 2:5] = (C[2:5, 2:5] + C[2:5, 2:5].T) / 2
    T = motion_matrix(data.reference)
    waterplane = T.T @ upright @ T
    return Floating(displaced, centre, (waterplane + waterplane.T) / 2, assumed)


def _buoyancy(data: HydroData, whole: RigidHull | None) -> tuple[float, FloatArray, tuple[str, ...]]:
    """Return displaced mass, its centre, and what was taken for granted."""
    assumed = []
    if whole is None and (data.volume is None or data.centre_of_buoyancy is None):
        lacking = "volume" if data.volume is None else "centre_of_buoyancy"
        raise MechanismError(
            f"hydrodynamic data '{data.name}' lack '{lacking}', and hold no mass from which it follows; give it when they are "
            "read, or mass, centre_of_gravity and radii_of_gyration of the hull"
        )
    if data.volume is not None:
        displaced = data.water_density * data.volume
    else:
        assert whole is not None
        displaced = whole.mass
        assumed.append(f"the displaced volume is not in the data; it carries the mass of {displaced:.6g} kg")
    if data.centre_of_buoyancy is not None:
        return displaced, np.asarray(data.centre_of_buoyancy), tuple(assumed)
    assert whole is not None
    centre = np.array([*whole.centre_of_gravity[:2], data.reference[2]])
    assumed.append("the centre of buoyancy is not in the data; it lies below the centre of gravity")
    return displaced, centre, tuple(assumed)


def _hat(p: FloatArray) -> FloatArray:
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
