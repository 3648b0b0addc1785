"""Which mass belongs to the hull, and which to what stands on it: weights, and whether they float as the data say.

Hydrodynamic data hold for one draught, upright: the weight of all that floats, hull and cargo and crane, must be that of the
displaced water, and its centre above the centre of buoyancy. The mass matrix in the data is usually that of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.vessels.hull import Floating, RigidHull


@dataclass(frozen=True)
class Weight:
    """A mass (kg) at a place in the vessel's frame (m), with its own inertia (kg m^2, 3 x 3) if that matters."""

    mass: float
    place: tuple[float, ...]
    inertia: tuple[tuple[float, ...], ...] = ((0.0,) * 3,) * 3


def together(weights: Sequence[Weight]) -> RigidHull:
    """Return mass, centre of gravity and inertia of weights that are held together."""
    mass = sum(weight.mass for weight in weights)
    if not mass > 0:
        raise MechanismError(f"the mass of {len(weights)} weights together is {mass:g} kg; it must be positive")
    centre = _centre([(weight.mass, np.array(weight.place)) for weight in weights])
    inertia = np.zeros((3, 3))
    for weight in weights:
        inertia += np.array(weight.inertia) + weight.mass * _about(np.array(weight.place) - centre)
    return RigidHull(float(mass), centre, inertia)


def hull_without(total: RigidHull, carried: Sequence[Weight]) -> RigidHull:
    """Return the hull alone, if ``total`` is hull and what it carries together."""
    moved = sum(weight.mass for weight in carried)
    mass = total.mass - moved
    if not mass > 0:
        raise MechanismError(
            f"what stands on the hull has {moved:.6g} kg, as much as hull and all together, {total.mass:.6g} kg; give the mass "
            "of the hull alone, or data for a deeper draught"
        )
    taken = [(-weight.mass, np.array(weight.place)) for weight in carried]
    centre = _centre([(total.mass, total.centre_of_gravity), *taken])
    inertia = total.inertia + total.mass * _about(total.centre_of_gravity - centre)
    for weight in carried:
        inertia = inertia - np.array(weight.inertia) - weight.mass * _about(np.array(weight.place) - centre)
    if not np.linalg.eigvalsh(inertia)[0] > 0:
        raise MechanismError(
            "the inertia of the hull alone would not be positive: what stands on it has more than hull and all together; give "
            "mass, centre_of_gravity and radii_of_gyration of the hull alone"
        )
    return RigidHull(mass, centre, inertia)


@dataclass(frozen=True, eq=False)
class Loading:
    """What floats, part by part, and where it would come to rest: sinkage (m, down), heel and trim (rad), by small motions."""

    parts: Mapping[str, tuple[float, FloatArray]]
    displaced: float
    centre_of_buoyancy: FloatArray
    sinkage: float
    heel: float
    trim: float
    #: What the data do not say and was taken for granted.
    assumed: tuple[str, ...] = ()

    @property
    def mass(self) -> float:
        """Mass of all parts (kg)."""
        return float(sum(mass for mass, _ in self.parts.values()))

    @property
    def centre_of_gravity(self) -> FloatArray:
        """Common centre of gravity (m)."""
        return _centre(list(self.parts.values()))

    def text(self) -> str:
        """Return the table in lines."""
        rows = [(name, mass, centre) for name, (mass, centre) in self.parts.items()]
        rows.append(("together", self.mass, self.centre_of_gravity))
        rows.append(("displaced water", self.displaced, self.centre_of_buoyancy))
        lines = [f"{'':<18}{'mass kg':>12}{'x m':>9}{'y m':>9}{'z m':>9}"]
        lines += [
            f"{name:<18}{mass:>12.5g}" + "".join(f"{round(float(value), 3) + 0.0:>9.3f}" for value in centre)
            for name, mass, centre in rows
        ]
        over, sinkage = round(self.mass - self.displaced, 1) + 0.0, round(self.sinkage, 4) + 0.0
        heel, trim = (round(float(np.degrees(angle)), 3) + 0.0 for angle in (self.heel, self.trim))
        lines.append(
            f"weight less buoyancy {over:+.6g} kg; at rest {sinkage:+.4f} m deeper than the data, heel {heel:+.3f} deg, trim "
            f"{trim:+.3f} deg (bow down)"
        )
        return "\n".join([*lines, *(f"assumed: {sentence}" for sentence in self.assumed)])


def loading(parts: Mapping[str, tuple[float, FloatArray]], floats: Floating, gravity: float) -> Loading:
    """Return the loading of masses (kg) with centres in the vessel's frame (m), on a hull that floats so."""
    mass = sum(own for own, _ in parts.values())
    weight = mass * gravity
    centre = _centre(list(parts.values()))
    lift, b = floats.displaced * gravity, floats.centre_of_buoyancy
    C = floats.waterplane[2:5, 2:5].copy()
    lever = lift * b[2] - weight * centre[2]
    C[[1, 2], [1, 2]] += lever
    # Forces in heave, roll and pitch of weight and buoyancy at the pose of the data.
    force = np.array([lift - weight, lift * b[1] - weight * centre[1], weight * centre[0] - lift * b[0]])
    if not np.linalg.eigvalsh((C + C.T) / 2)[0] > 0:
        raise MechanismError(
            f"the vessel capsizes: with {mass:.6g} kg at a height of {centre[2]:.3g} m its smallest stiffness in heave, roll "
            "and pitch is negative; lower the centre of gravity"
        )
    heave, roll, pitch = np.linalg.solve(C, force)
    return Loading(dict(parts), floats.displaced, b, -float(heave), float(roll), float(pitch), floats.assumed)


def _centre(masses: Sequence[tuple[float, FloatArray]]) -> FloatArray:
    own = np.array([mass for mass, _ in masses])
    return own @ np.array([place for _, place in masses]) / own.sum()


def _about(p: FloatArray) -> FloatArray:
    return np.dot(p, p) * np.eye(3) - np.outer(p, p)
