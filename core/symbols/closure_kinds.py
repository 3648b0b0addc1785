"""The kinds of closures: which relative motions each of them forbids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

import casadi as ca

from kingpost.base.formulas import Scalar, Vector3
from kingpost.symbols.screws import Pose, perpendicular


class ClosureFields(Protocol):
    """What a closure kind reads of the closure itself."""

    @property
    def length(self) -> Scalar | None: ...

    @property
    def ratio(self) -> Scalar | None: ...

    @property
    def offset(self) -> Scalar: ...

    @property
    def radius(self) -> Scalar | None: ...

    @property
    def child_radius(self) -> Scalar | None: ...

    @property
    def coordinates(self) -> tuple[str, ...]: ...

    @property
    def surface(self) -> Scalar | None: ...

    @property
    def axis(self) -> Vector3 | None: ...


class Place(Protocol):
    """What a closure kind sees: the pose of M in F, and its own fields as symbols."""

    @property
    def closure(self) -> ClosureFields:
        """The closure's own fields."""

    X_FM: Pose
    #: Twist of M against F about M's origin, in M.
    t_FM: ca.SX
    axis: ca.SX
    axis2: ca.SX

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a field as a symbol."""

    def formula(self, scalar: Scalar, names: Mapping[str, ca.SX]) -> ca.SX:
        """Return a field that is a formula of ``names`` beside parameters."""

    def coordinate(self, i: int) -> ca.SX:
        """Return the i-th of the closure's coordinates."""


class ClosureKind:
    """The equations of one kind of closure."""

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    #: Fields that it takes and can do without.
    takes: ClassVar[tuple[str, ...]] = ()
    #: How many joint coordinates it names, at most; fewer only where it takes them without needing them.
    coordinates: ClassVar[int] = 0
    #: Whether its two directions are perpendicular to each other.
    right_angle: ClassVar[bool] = False
    #: Whether it is a line that pulls, and so has a tension.
    pulls: ClassVar[bool] = False

    def positions(self, place: Place) -> ca.SX:
        """Return what must vanish in every position."""
        raise NotImplementedError

    def speeds(self, place: Place) -> ca.SX:
        """Return what else must vanish at speed level, beyond the rates of :meth:`positions`; linear in the speeds."""
        return ca.SX(0, 1)


PAIR = ("parent", "child")
#: What the formula of a surface calls the place of a point in F.
SURFACE_NAMES = ("x", "y", "z")


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


class RollingWheels(ClosureKind):
    """A wheel with its centre at M rolls on, or in, one with its centre at F, in the plane with the normal ``axis``.

    Radii have signs: that of a ring, which is touched from within, is negative. The vector d between the centres is as long as
    the sum of both, and the point of contact is at d R1 / (R1 + R2) from F and at -d R2 / (R1 + R2) from M, on or in alike.

    Wheels that do not slip cannot slip back either: the direction of d turns by R2 / (R1 + R2) of the turn of the child against
    the parent. Poses know turns only up to full ones, so this needs ``coordinates`` that count them: the turn of the child, and
    that of the parent unless it stands still. With them both rows are on positions: d points along ``axis2``, turned by
    ``offset``, where the child is not turned. Without them the second row is on speeds.
    """

    kind = "rolling-wheels"
    needs = (*PAIR, "axis", "radius", "child_radius")
    takes = ("coordinates", "axis2")
    coordinates = 2
    right_angle = True

    def positions(self, place: Place) -> ca.SX:
        R1, R2 = _radii(place)
        across = _sideways(place)
        if not place.closure.coordinates:
            return (ca.sumsqr(across) - (R1 + R2) ** 2) / (2 * ca.fabs(R1 + R2))
        direction = place.value(place.closure.offset) + R2 / (R1 + R2) * self._turn(place)
        zero = perpendicular(place.axis).T @ place.axis2
        side = ca.vertcat(-zero[1], zero[0])
        return across - ca.fabs(R1 + R2) * (ca.cos(direction) * zero + ca.sin(direction) * side)

    def speeds(self, place: Place) -> ca.SX:
        if place.closure.coordinates:
            return ca.SX(0, 1)
        R1, R2 = _radii(place)
        d = perpendicular(place.axis) @ _sideways(place)
        along = ca.cross(place.axis, d) / ca.fabs(R1 + R2)
        return ca.dot(along, _velocity(place, -R2 / (R1 + R2) * d))

    def _turn(self, place: Place) -> ca.SX:
        """Return the turn of M against F about the axis: what the pose says of it, and full turns as the coordinates count.

        So what the closure does is felt by the bodies where they touch, and not along the coordinates.
        """
        columns = perpendicular(place.axis)
        turned = columns.T @ (place.X_FM.R @ columns[:, 0])
        pose = ca.atan2(turned[1], turned[0])
        count = [place.coordinate(i) for i in range(len(place.closure.coordinates))]
        counted = count[0] - count[1] if len(count) > 1 else count[0]
        return pose + 2 * ca.pi * ca.floor((counted - pose) / (2 * ca.pi) + 0.5)


def _radii(place: Place) -> tuple[ca.SX, ca.SX]:
    closure = place.closure
    return place.value(closure.radius or 0.0), place.value(closure.child_radius or 0.0)


class Slot(ClosureKind):
    """A pin at the origin of M slides in a slot through the origin of F along ``axis``, in the plane with the normal ``axis2``.

    The tree keeps both in that plane. With ``coordinates`` one is how far the pin is along the slot, so that springs, friction
    and drives along it act between pin and slot: that of a joint which moves nothing, so that nothing else has a part in it.
    """

    kind = "slot"
    needs = (*PAIR, "axis", "axis2")
    takes = ("coordinates",)
    coordinates = 1
    right_angle = True

    def positions(self, place: Place) -> ca.SX:
        beside = ca.dot(ca.cross(place.axis2, place.axis), place.X_FM.p)
        if not place.closure.coordinates:
            return beside
        return ca.vertcat(beside, ca.dot(place.axis, place.X_FM.p) - place.coordinate(0))


def _velocity(place: Place, arm: ca.SX) -> ca.SX:
    """Return the velocity against F of the material point at ``arm`` from the origin of M, both in F."""
    R = place.X_FM.R
    w, v = R @ place.t_FM[:3], R @ place.t_FM[3:]
    return v + ca.cross(w, arm)


def _slip(place: Place, arm: ca.SX) -> ca.SX:
    """Return the velocity along the plane z = 0 of the material point at ``arm`` from the origin of M, both in F."""
    return _velocity(place, arm)[:2]


class RollingSurface(ClosureKind):
    """A ball, or a thin disc with its axle along ``axis``, with its centre at the origin of M rolls on a surface of F.

    The surface is gamma(x, y, z) = 0 in the axes of F, and the ball is where gamma is positive. The coordinates are those of
    the point of contact in F: of a ``translational`` joint of a body without mass, which the contact alone holds. With them
    every row is exact and of low order; a contact point that is found from the centre would need Newton's method inside.
    """

    kind = "rolling-surface"
    needs = (*PAIR, "radius", "surface", "coordinates")
    takes = ("axis",)
    coordinates = 3

    def _contact(self, place: Place) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the distance of the point of contact from the surface, the unit normal there, and its arm from the centre.

        The distance is gamma over the length of its gradient, which it is to first order.
        """
        x = ca.SX.sym("x", 3)
        gamma = place.formula(place.closure.surface or 0.0, dict(zip(SURFACE_NAMES, ca.vertsplit(x), strict=True)))
        slope = ca.densify(ca.gradient(gamma, x))
        steepness = ca.sqrt(ca.dot(slope, slope))
        at = ca.vertcat(*(place.coordinate(i) for i in range(3)))
        distance, normal = ca.substitute([gamma / steepness, slope / steepness], [x], [ca.densify(at)])
        radius = place.value(place.closure.radius or 0.0)
        if place.closure.axis is None:
            return distance, normal, -radius * normal
        axle = place.X_FM.R @ place.axis
        inward = normal - ca.dot(normal, axle) * axle  # in the plane of the disc, across its edge at the contact
        return distance, normal, -radius * inward / ca.sqrt(ca.dot(inward, inward))

    def positions(self, place: Place) -> ca.SX:
        distance, _, arm = self._contact(place)
        return ca.vertcat(distance, *(place.X_FM.p[i] + arm[i] - place.coordinate(i) for i in range(3)))

    def speeds(self, place: Place) -> ca.SX:
        _, normal, arm = self._contact(place)
        return perpendicular(normal).T @ _velocity(place, arm)


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
