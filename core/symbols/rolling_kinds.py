"""Closures of what rolls and slides: balls, discs, wheels, and pins in slots."""

from __future__ import annotations

import casadi as ca

from kingpost.symbols.closure_kind import PAIR, SURFACE_NAMES, ClosureKind, Place, sideways
from kingpost.symbols.screws import perpendicular


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
        across = sideways(place)
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
        d = perpendicular(place.axis) @ sideways(place)
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
