"""The kinds of closures: which relative motions each of them forbids."""

from __future__ import annotations

import casadi as ca

from kingpost.symbols.closure_kind import PAIR, ClosureKind, Place, sideways
from kingpost.symbols.rolling_kinds import Rolling, RollingDisc, RollingSurface, RollingWheels, Slot
from kingpost.symbols.screws import perpendicular


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
        return ca.vertcat(sideways(place), _unturned(place))


class CylindricalClosure(ClosureKind):
    """Rotation about an axis and translation along it."""

    kind = "cylindrical"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return ca.vertcat(sideways(place), _aligned(place))


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
        return sideways(place)


class PointOnPlane(ClosureKind):
    """The origin of M stays in the plane through the origin of F with the normal ``axis``."""

    kind = "point-on-plane"
    needs = (*PAIR, "axis")

    def positions(self, place: Place) -> ca.SX:
        return ca.dot(place.axis, place.X_FM.p)


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
    pulls = True

    def free_length(self, place: Place) -> ca.SX:
        """Return the length between the two points that the winch has paid out."""
        closure = place.closure
        return place.value(closure.length or 0.0) + place.value(closure.radius or 0.0) * place.coordinate(0)

    def positions(self, place: Place) -> ca.SX:
        length = self.free_length(place)
        return (ca.dot(place.X_FM.p, place.X_FM.p) - length**2) / (2 * place.value(place.closure.length or 0.0))


class Sheave(Rope):
    """The part of a taut rope beyond a sheave: what its winch pays out, less what lies before the sheave.

    The second coordinate is the length before the sheave, less that at the start; a ``rope`` with this coordinate is the part
    there. Both parts share it, so that without inertia of its own it makes their tensions equal: a sheave without friction.
    """

    kind = "sheave"
    coordinates = 2

    def free_length(self, place: Place) -> ca.SX:
        return super().free_length(place) - place.coordinate(1)


class Gear(ClosureKind):
    """Two joint coordinates in a fixed ratio: gears, or a rack and its pinion."""

    kind = "gear"
    needs = ("coordinates", "ratio")
    coordinates = 2

    def positions(self, place: Place) -> ca.SX:
        closure = place.closure
        ratio, offset = place.value(closure.ratio or 0.0), place.value(closure.offset)
        return place.coordinate(0) - ratio * place.coordinate(1) - offset


_KINDS: tuple[ClosureKind, ...] = (
    RevoluteClosure(),
    SphericalClosure(),
    PrismaticClosure(),
    CylindricalClosure(),
    UniversalClosure(),
    PlanarClosure(),
    WeldClosure(),
    PointOnLine(),
    PointOnPlane(),
    Distance(),
    Rope(),
    Sheave(),
    Gear(),
    Rolling(),
    RollingDisc(),
    RollingWheels(),
    Slot(),
    RollingSurface(),
)
CLOSURE_KINDS: dict[str, ClosureKind] = {item.kind: item for item in _KINDS}
