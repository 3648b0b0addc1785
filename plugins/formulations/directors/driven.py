"""Joint coordinates as coordinates of their own beside directors: the coordinate augmentation of document 000.

Eqs. (2.103)-(2.113): an angle theta, or a displacement, becomes a coordinate without mass that one more constraint ties to the
directors. What forces and closures say about it, they say about the coordinate itself: a torque u does exactly the work
u dtheta, and the rope of a winch is quadratic in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.plugins.formulations.directors.joints import ANGLES, JointPlace, angle_closure, angle_parts, coordinates


@dataclass(frozen=True, eq=False)
class Driven:
    """The joint coordinates that are coordinates of their own, and their symbols."""

    quantities: tuple[Quantity, ...] = ()
    values: Mapping[str, ca.SX] = field(default_factory=dict)
    rates: Mapping[str, ca.SX] = field(default_factory=dict)
    #: Whether angles are closed as document 000 prints it.
    printed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the joint coordinates."""
        return tuple(self.values)

    def named(self, q: ca.SX, v: ca.SX) -> Driven:
        """Return the same coordinates with these symbols."""
        names = [item.name.removesuffix(ENDING) for item in self.quantities]
        values, rates = (dict(zip(names, ca.vertsplit(part), strict=True)) if names else {} for part in (q, v))
        return Driven(self.quantities, values, rates, self.printed)


#: What the names of such coordinates have behind that of the joint's.
ENDING = ".driven"


def driven_coordinates(assembly: Assembly, printed: bool) -> Driven:
    """Return all joint coordinates that forces or closures name, as far as their rates are speeds."""
    mechanism = assembly.mechanism
    named: set[str] = {name for closure in mechanism.closures for name in closure.coordinates}
    for applied in assembly.applied:
        named |= {name.removesuffix(".rate") for name in applied.loads.efforts}
        named |= {name for rotor in applied.loads.rotors for name in rotor.ratios}
        named |= {name for kind, name in applied.seen if kind == "coordinate"}
    wanted = [item for item in mechanism.coordinates if item.name in named and item.name in mechanism.rated_coordinates]
    return Driven(tuple(Quantity(f"{item.name}{ENDING}", item.unit) for item in wanted), printed=printed)


def driven_rows(places: Mapping[str, JointPlace], joints: Iterable[Joint], driven: Driven) -> dict[str, ca.SX]:
    """Return what vanishes where each coordinate is that of the directors, by its name.

    The angle closure of document 000, eqs. (2.104) and (2.108), has the slope cos(theta) + sin(theta), which is zero at
    3 pi/4 + k pi: there the constraints lose a rank, and the end of the document's own manoeuvre is such a place. Ours has
    the slope 1 at every angle.
    """
    rows = {}
    for joint in joints:
        near = ca.vertcat(
            *(driven.values.get(item.name, ca.SX(0)) for item in joint.positions),
            ca.SX(0, 1),
        )
        for i, item in enumerate(joint.positions):
            if item.name not in driven.values:
                continue
            theta, place = driven.values[item.name], places[joint.name]
            if i not in ANGLES.get(joint.kind, ()):
                rows[item.name] = coordinates(place, near)[i] - theta
                continue
            sine, cosine = angle_parts(place, near)[i]
            if driven.printed:
                rows[item.name] = ca.sin(theta) - sine + cosine - ca.cos(theta)
            else:
                rows[item.name] = angle_closure(theta, sine, cosine)
    return rows


def rotor_inertia(assembly: Assembly, names: tuple[str, ...]) -> ca.SX:
    """Return the mass matrix of the coordinates: that of the rotors that turn with them."""
    total = ca.SX(len(names), len(names))
    for applied in assembly.applied:
        for rotor in applied.loads.rotors:
            ratios = ca.vertcat(*(ca.SX(rotor.ratios.get(name, 0.0)) for name in names))
            total += rotor.inertia * (ratios @ ratios.T)
    return ca.SX(ca.sparsify(total))


def never_turns(joint: Joint) -> bool:
    """Say whether the child of a joint to the world keeps its orientation: a point, as far as its motion goes."""
    return joint.parent == "world" and joint.kind in ("translational", "planar-translational")
