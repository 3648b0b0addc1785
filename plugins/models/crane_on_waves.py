"""A crane on a vessel whose motions in waves are prescribed: the usual shortcut to crane loads, without hydrodynamics."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.box_hull import BoxHull
from kingpost.marine.wave_tables import WaveTable
from kingpost.mechanism.elements import Body, ForceElement, Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.plugins.models.offshore_crane import OffshoreCrane
from kingpost.plugins.models.offshore_data import SMALL, Ship
from kingpost.plugins.models.offshore_vessel import (
    GRAVITY,
    PITCH_RADIUS,
    ROLL_RADIUS,
    WATER,
    Parts,
    any_sea,
    hull_coefficients,
)

#: Where the motions are tabulated, in rad/s and rad: closer where vessels have their natural frequencies.
FREQUENCIES = np.concatenate([np.linspace(0.15, 2.35, 45), np.linspace(2.5, 6.0, 15)])
HEADINGS = np.radians(np.arange(0.0, 360.0, 15.0))


def motion_table(ship: Ship) -> WaveTable:
    """Return the motions of a vessel in regular waves, about the waterline amidships: (-w^2 (M + A) + i w B + C) xi = X.

    The numbers are those of the vessel's model, linear damping alone; the crane stands still, its load hangs at the tip.
    """
    vessel, g = ship.vessel, GRAVITY.default
    total, weight = vessel.hull_mass + ship.carried_mass, WATER.default * g
    roll, pitch = vessel.hull_mass * (ROLL_RADIUS * vessel.beam) ** 2, vessel.hull_mass * (PITCH_RADIUS * vessel.length) ** 2
    stiffness, added, _, damping = hull_coefficients(total, roll, pitch, weight, vessel.length, vessel.beam)
    M, C = _inertia(ship, (roll, pitch, pitch)), np.diag(np.array(stiffness, dtype=float))
    # Weights above the waterline, and buoyancy below it, upset the vessel in roll and pitch alike.
    upset = g * (total * vessel.buoyancy_z - sum(mass * float(place[2]) for mass, place in _masses(ship)))
    C[3, 3] += upset
    C[4, 4] += upset
    sea = any_sea(ship, weight, vessel.length, vessel.beam)
    box, fullness = BoxHull(**sea["box"]), np.array(sea["scale"], dtype=float)
    values = np.empty((len(FREQUENCIES), len(HEADINGS), 6), dtype=complex)
    for i, w in enumerate(FREQUENCIES):
        dynamic = -(w**2) * (M + np.diag(added)) + 1j * w * np.diag(damping) + C
        values[i] = np.linalg.solve(dynamic, (fullness * box.at(np.full(len(HEADINGS), w), HEADINGS)).T).T
    return WaveTable(FREQUENCIES, HEADINGS, values, "motion")


def _masses(ship: Ship) -> list[tuple[float, FloatArray]]:
    crane, foot = ship.crane, np.array(ship.vessel.foot)
    hull = (ship.vessel.hull_mass, np.array([*ship.ballast, ship.vessel.hull_z]))
    return [hull, *((crane.masses[name], foot + place) for name, place in crane.places.items())]


def _inertia(ship: Ship, own: tuple[float, float, float]) -> FloatArray:
    """Return the mass matrix in the marine order about the waterline amidships, with the hull's own moments of inertia."""
    total = np.zeros((6, 6))
    for mass, (x, y, z) in _masses(ship):
        c = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        total += mass * np.block([[np.eye(3), -c], [c, -c @ c]])
    total[3:, 3:] += np.diag(own)
    return total


class OffshoreCraneOnWaves(OffshoreCrane):
    """The offshore crane on a base that moves with the waves as its vessel's motion RAOs say, without hydrodynamics."""

    name = "offshore-crane-on-waves"

    def build(self) -> Mechanism:
        base = Parts(
            parameters=[GRAVITY],
            bodies=[Body("base", mass=0)],
            joints=[Joint("hull", "given", "world", "base", pose=(0, 0, 0, 0, 0, 0))],
            forces=[
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                ForceElement("wave-motion", name="waves", joint="hull", table=motion_table(self.ship), ramp=10.0),
            ],
        )
        return (base + self._crane("base", self.ship.vessel.foot)).mechanism(self)


class SmallCraneOnWaves(OffshoreCraneOnWaves):
    """The small crane on a base that moves with the waves as its workboat's motion RAOs say, without hydrodynamics."""

    name = "small-crane-on-waves"
    ship = SMALL
