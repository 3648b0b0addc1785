"""Closures: what closes the loops of a machine whose joints make a tree.

A closure ties two bodies, or two joint coordinates, that the tree leaves free of each other. It uses the words of a joint:
frames F on the parent and M on the child, an axis, and kinds with the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import casadi as ca

from kingpost.elements import ZERO, check_name
from kingpost.errors import MechanismError, closest, listed
from kingpost.expressions import Scalar, Vector3
from kingpost.fields import convert_fields
from kingpost.screws import Pose, perpendicular


@dataclass(frozen=True)
class Closure:
    """A tie between two bodies, or between two joint coordinates, that closes a loop.

    Parameters
    ----------
    kind
        One of the kinds of :mod:`kingpost.closures`; each needs some of the following fields.
    parent, child
        The bodies; either may be the world. Kinds that tie coordinates have none.
    axis, axis2
        Directions as in a joint: ``axis`` in F and M, the second one of a universal closure in M.
    position, rotation, child_position, child_rotation
        Places of F on the parent and of M on the child, as in a joint.
    length
        Distance in m; of a rope, its free length when the winch is at zero.
    coordinates
        The two joint coordinates that a gear ties, or the one that a rope's winch turns with.
    ratio, offset
        Of a gear: first coordinate = ratio * second + offset.
    radius
        In m: of a wheel, ball or disc that rolls; of a winch, whose rope grows by radius times its angle.

    """

    name: str
    kind: str
    parent: str = ""
    child: str = ""
    axis: Vector3 | None = None
    axis2: Vector3 | None = None
    position: Vector3 = ZERO
    rotation: Vector3 = ZERO
    child_position: Vector3 = ZERO
    child_rotation: Vector3 = ZERO
    length: Scalar | None = None
    coordinates: tuple[str, ...] = ()
    ratio: Scalar | None = None
    offset: Scalar = 0.0
    radius: Scalar | None = None

    def __post_init__(self) -> None:
        check_name("closure", self.name)
        what = f"closure '{self.name}'"
        if self.kind not in CLOSURE_KINDS:
            raise MechanismError(
                f"{what}: unknown kind '{self.kind}'{closest(str(self.kind), CLOSURE_KINDS)} "
                f"Kinds: {listed(sorted(CLOSURE_KINDS))}.",
                path=("kind",),
            )
        convert_fields(self, what)
        kind = CLOSURE_KINDS[self.kind]
        for name, example in _EXAMPLES.items():
            given = getattr(self, name) not in (None, "", ())
            if given and name not in kind.needs:
                raise MechanismError(f"{what} is {self.kind} and has no '{name}'; remove it", path=(name,))
            if not given and name in kind.needs:
                raise MechanismError(f"{what} is {self.kind} and lacks '{name}', e.g. {example}")
        if self.coordinates and len(self.coordinates) != kind.coordinates:
            raise MechanismError(
                f"{what}: a {self.kind} closure ties {kind.coordinates} coordinate(s), got {listed(self.coordinates)}",
                path=("coordinates",),
            )
        for name in ("length", *(("radius",) if self.kind in ("rolling", "rolling-disc") else ())):
            value = getattr(self, name)
            if isinstance(value, float) and value <= 0.0:
                raise MechanismError(f"{what}: {name} is {value:g} m; it must be positive", path=(name,))
        for name in ("axis", "axis2"):
            value = getattr(self, name)
            if value is not None and all(component == 0.0 for component in value):
                raise MechanismError(f"{what}: {name} is [0, 0, 0]; give a direction, e.g. [0, 0, 1]", path=(name,))


_EXAMPLES = {
    "parent": '"world"',
    "child": '"rod"',
    "axis": "[0, 0, 1]",
    "axis2": "[1, 0, 0]",
    "length": "1.5",
    "coordinates": '["crank.angle", "wheel.angle"]',
    "ratio": "2.0",
    "radius": "0.3",
}


class Place(Protocol):
    """What a closure kind sees: the pose of M in F, and its own fields as symbols."""

    closure: Closure
    X_FM: Pose
    #: Twist of M against F about M's origin, in M.
    t_FM: ca.SX
    axis: ca.SX
    axis2: ca.SX

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a field as a symbol."""

    def coordinate(self, i: int) -> ca.SX:
        """Return the i-th of the closure's coordinates."""


class ClosureKind:
    """The equations of one kind of closure."""

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    #: How many joint coordinates it names.
    coordinates: ClassVar[int] = 0

    def positions(self, place: Place) -> ca.SX:
        """Return what must vanish in every position."""
        raise NotImplementedError

    def speeds(self, place: Place) -> ca.SX:
        """Return what else must vanish at speed level, beyond the rates of :meth:`positions`; linear in the speeds."""
        return ca.SX(0, 1)


PAIR = ("parent", "child")


def _sideways(place: Place) -> ca.SX:
    """Return the displacement of M from F across the axis."""
    return perpendicular(place.axis).T @ place.X_FM.p


def _aligned(place: Place) -> ca.SX:
    """Return zero if the axis fixed in M is along the axis fixed in F: 2 sin(a/2) for an angle a between them.

    Their cross product alone, sin(a), would let a loop close with the axes opposed.
    """
    turned = place.X_FM.R @ place.axis
    return perpendicular(place.axis).T @ turned * ca.sqrt(2 / (1 + ca.dot(place.axis, turned)))


def _unturned(place: Place) -> ca.SX:
    """Return zero if M and F have the same axes: twice the vector part of the unit quaternion between them.

    The skew part of the rotation matrix alone would let a loop close half a turn away.
    """
    R = place.X_FM.R
    skew = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    return skew / ca.sqrt(1 + R[0, 0] + R[1, 1] + R[2, 2])


class SphericalClosure(ClosureKind):
    """Two points coincide."""

    kind = "spherical"
    needs = PAIR

    def positions(self, place: Place) -> ca.SX:
        return place.X_FM.p


class RevoluteClosure(ClosureKind):
    """Rotation about an axis only."""

    kind = "revolute"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return ca.vertcat(place.X_FM.p, _aligned(place))


class PrismaticClosure(ClosureKind):
    """Translation along an axis only."""

    kind = "prismatic"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return ca.vertcat(_sideways(place), _unturned(place))


class CylindricalClosure(ClosureKind):
    """Rotation about an axis and translation along it."""

    kind = "cylindrical"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return ca.vertcat(_sideways(place), _aligned(place))


class UniversalClosure(ClosureKind):
    """Two points coincide, and an axis of the parent keeps its angle (mostly 90 degrees) to one of the child."""

    kind = "universal"
    needs = (*PAIR, "axis", "axis2")

    def positions(self, place: Place) -> ca.SX:
        angle = ca.dot(place.axis, place.X_FM.R @ place.axis2) - ca.dot(place.axis, place.axis2)
        return ca.vertcat(place.X_FM.p, angle)


class PlanarClosure(ClosureKind):
    """Motion in a plane with the normal ``axis``."""

    kind = "planar"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return ca.vertcat(ca.dot(place.axis, place.X_FM.p), _aligned(place))


class WeldClosure(ClosureKind):
    """No motion at all."""

    kind = "weld"
    needs = PAIR

    def positions(self, place: Place) -> ca.SX:
        return ca.vertcat(place.X_FM.p, _unturned(place))


class PointOnLine(ClosureKind):
    """The origin of M stays on a line through the origin of F along ``axis``."""

    kind = "point-on-line"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return _sideways(place)


class Distance(ClosureKind):
    """Two points keep their distance: a massless rod with ball joints."""

    kind = "distance"
    needs = (*PAIR, "length")

    def positions(self, place: Place) -> ca.SX:
        length = place.value(place.closure.length or 0.0)
        return (ca.dot(place.X_FM.p, place.X_FM.p) - length**2) / (2 * length)


class Rope(ClosureKind):
    """A taut rope between two points, paid out by a winch; it is never slack."""

    kind = "rope"
    needs = (*PAIR, "length", "coordinates", "radius")
    coordinates = 1

    def positions(self, place: Place) -> ca.SX:
        closure = place.closure
        length = place.value(closure.length or 0.0) + place.value(closure.radius or 0.0) * place.coordinate(0)
        return (ca.dot(place.X_FM.p, place.X_FM.p) - length**2) / (2 * place.value(closure.length or 0.0))


class Gear(ClosureKind):
    """Two joint coordinates in a fixed ratio: gears, or a rack and its pinion."""

    kind = "gear"
    needs = ("coordinates", "ratio")
    coordinates = 2

    def positions(self, place: Place) -> ca.SX:
        closure = place.closure
        ratio, offset = place.value(closure.ratio or 0.0), place.value(closure.offset)
        return place.coordinate(0) - ratio * place.coordinate(1) - offset


class Rolling(ClosureKind):
    """A ball, or a wheel that stays upright, with its centre at the origin of M rolls without slip on the plane z = 0 of F."""

    kind = "rolling"
    needs = (*PAIR, "radius")

    def positions(self, place: Place) -> ca.SX:
        return place.X_FM.p[2] - place.value(place.closure.radius or 0.0)

    def speeds(self, place: Place) -> ca.SX:
        return _slip(place, ca.vertcat(0, 0, -place.value(place.closure.radius or 0.0)))


class RollingDisc(ClosureKind):
    """A thin disc, its centre at the origin of M and its axle along ``axis``, rolls on its edge on the plane z = 0 of F."""

    kind = "rolling-disc"
    needs = (*PAIR, "axis", "radius")

    def positions(self, place: Place) -> ca.SX:
        axle = place.X_FM.R @ place.axis
        return place.X_FM.p[2] - place.value(place.closure.radius or 0.0) * ca.sqrt(1 - axle[2] ** 2)

    def speeds(self, place: Place) -> ca.SX:
        # The lowest point of the edge: straight down, less what of it is along the axle.
        axle = place.X_FM.R @ place.axis
        down = axle[2] * axle - ca.vertcat(0, 0, 1)
        return _slip(place, place.value(place.closure.radius or 0.0) * down / ca.sqrt(1 - axle[2] ** 2))


def _slip(place: Place, arm: ca.SX) -> ca.SX:
    """Return the velocity along the plane of the material point at ``arm`` from the origin of M, both in F."""
    R = place.X_FM.R
    w, v = R @ place.t_FM[:3], R @ place.t_FM[3:]
    return (v + ca.cross(w, arm))[:2]


_KINDS: tuple[ClosureKind, ...] = (
    RevoluteClosure(),
    SphericalClosure(),
    PrismaticClosure(),
    CylindricalClosure(),
    UniversalClosure(),
    PlanarClosure(),
    WeldClosure(),
    PointOnLine(),
    Distance(),
    Rope(),
    Gear(),
    Rolling(),
    RollingDisc(),
)
CLOSURE_KINDS: dict[str, ClosureKind] = {item.kind: item for item in _KINDS}
