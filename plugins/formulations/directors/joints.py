"""Joints in natural coordinates: what they forbid, and their coordinates, from points and axes of the two bodies."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.multibody.tree import JointSpace
from kingpost.plugins.formulations.directors.bodies import DirectorBody
from kingpost.symbols.joints import JOINT_KINDS, Geometry
from kingpost.symbols.screws import Pose, perpendicular, quaternion_of_rotation, rotation_rpy

#: Kinds of joints in natural coordinates: a motion that is given has no coordinates of its own there.
NATURAL_JOINTS = tuple(kind for kind in JOINT_KINDS if kind != "given")
#: Kinds whose efforts have fixed directions in the parent; document 001 takes those directions from the parent's directors.
ALONG_PARENT = ("revolute", "prismatic", "screw", "cylindrical", "planar", "translational", "planar-translational")
#: Rows of the coordinates that are angles.
ANGLES = {
    "revolute": (0,),
    "screw": (0,),
    "cylindrical": (0,),
    "universal": (0, 1),
    "planar": (2,),
    "gimbal": (0, 1, 2),
    "cardan": (0, 1, 2),
}
#: Rows of the coordinates that are a unit quaternion, of which the rotation tells all but the sign.
QUATERNIONS = {
    name: range(kind.quaternion, kind.quaternion + 4) for name, kind in JOINT_KINDS.items() if kind.quaternion is not None
}


def angle_closure(theta: ca.SX, sine: ca.SX, cosine: ca.SX) -> ca.SX:
    """Return what vanishes if ``theta`` is the angle with this sine and cosine, or half a turn away from it.

    Its derivative by theta is cos(theta) cosine + sin(theta) sine, which is 1 at every angle. Document 000 (eq. 2.104) prints
    sin(theta) - cos(theta) - sine + cosine, whose derivative cos(theta) + sin(theta) is zero at 3 pi/4 + k pi.
    """
    return ca.sin(theta) * cosine - ca.cos(theta) * sine


def followed(theta: ca.SX, sine: ca.SX, cosine: ca.SX) -> ca.SX:
    """Return the angle with this sine and cosine (up to a common positive factor) that is within half a turn of ``theta``."""
    return theta - ca.atan2(angle_closure(theta, sine, cosine), ca.cos(theta) * cosine + ca.sin(theta) * sine)


@dataclass(frozen=True, eq=False)
class JointPlace:
    """The two frames of a joint or closure, with axes as linear functions of the directors."""

    kind: str
    parent: DirectorBody
    child: DirectorBody
    geometry: Geometry
    X_PF: Pose
    X_BM: Pose
    #: Centres of mass in the body frames.
    com_P: ca.SX
    com_B: ca.SX

    @property
    def R_WF(self) -> ca.SX:
        """Axes of F."""
        return self.parent.D @ self.X_PF.R

    @property
    def R_WM(self) -> ca.SX:
        """Axes of M."""
        return self.child.D @ self.X_BM.R

    @property
    def R_FM(self) -> ca.SX:
        """Products of the axes of F and M."""
        return self.R_WF.T @ self.R_WM

    @property
    def origin_M(self) -> ca.SX:
        """The origin of M."""
        return self.child.r + self.child.D @ (self.X_BM.p - self.com_B)

    @property
    def apart(self) -> ca.SX:
        """From the origin of F to that of M."""
        return self.origin_M - self.parent.r - self.parent.D @ (self.X_PF.p - self.com_P)

    def efforts(self, coordinates: ca.SX) -> ca.SX:
        """Return the 6 x n matrix of unit efforts as wrenches on the child about the origin of M, in world axes.

        At a mid-point the directions are contravariant, as in document 001, eq. 4.62.
        """
        kind = JOINT_KINDS[self.kind]
        if self.kind in ALONG_PARENT:
            R, at = self.parent.dual @ self.X_PF.R, ca.SX(ca.DM(kind.neutral))
        else:
            R, at = self.child.dual @ self.X_BM.R, coordinates
        return ca.SX(ca.sparsify(ca.diagcat(R, R) @ kind.effort_wrenches(at, self.geometry)))

    def speeds(self, coordinates: ca.SX) -> ca.SX:
        """Return the generalized speeds of the joint: what its unit efforts work on."""
        x, parent, child = self.origin_M, self.parent, self.child
        velocity = child.r_rate + ca.cross(child.spin, x - child.r) - parent.r_rate - ca.cross(parent.spin, x - parent.r)
        return self.efforts(coordinates).T @ ca.vertcat(child.spin - parent.spin, velocity)

    def effort_pair(self, efforts: ca.SX, coordinates: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the wrenches on child and parent that efforts amount to, each about its centre of mass, in world axes."""
        wrench = self.efforts(coordinates) @ efforts
        moment, force = wrench[:3], wrench[3:]
        x = self.origin_M
        on_child = ca.vertcat(moment + ca.cross(x - self.child.r, force), force)
        return on_child, -ca.vertcat(moment + ca.cross(x - self.parent.r, force), force)


def place_between(space: JointSpace, item: Joint | Closure, parent: DirectorBody, child: DirectorBody) -> JointPlace:
    """Return a joint, or a closure between bodies, with its frames on two bodies."""
    X_PF, X_BM = (
        Pose(rotation_rpy(*ca.vertsplit(ca.densify(space.vector(angles)))), space.vector(position))
        for position, angles in ((item.position, item.rotation), (item.child_position, item.child_rotation))
    )
    com_P, com_B = (
        ca.SX(3, 1) if body == WORLD else space.vector(space.mechanism.body(body).com) for body in (item.parent, item.child)
    )
    axis, axis2 = (ca.SX(3, 1) if field is None else space.unit(field) for field in (item.axis, item.axis2))
    pitch, sequence = ca.SX(0), ""
    if isinstance(item, Joint):
        pitch, sequence = ca.SX(0) if item.pitch is None else space.value(item.pitch), item.sequence or ""
    geometry = Geometry(axis, axis2, pitch, sequence)
    return JointPlace(item.kind, parent, child, geometry, X_PF, X_BM, com_P, com_B)


def constraints(place: JointPlace, angle: ca.SX) -> ca.SX:
    """Return what a joint makes vanish: at most quadratic in the coordinates, but for the thread of a screw.

    Products of an axis of the parent with axes of the child *across* it keep full rank; document 001 (eq. 4.51) takes
    directors of the child, which fails where one of them is along the axis. ``angle`` is that of a screw.
    """
    kind, axis = place.kind, place.geometry.axis
    if kind == "free":
        return ca.SX(0, 1)
    apart = place.apart
    if kind in ("spherical", "gimbal", "cardan"):
        return apart
    if kind == "universal":
        second = place.geometry.axis2
        return ca.vertcat(apart, ca.dot(place.R_WF @ axis, place.R_WM @ second) - ca.dot(axis, second))
    if kind in ("weld", "translational"):
        axis = ca.SX(ca.DM([0.0, 0.0, 1.0]))
    sides = perpendicular(axis)
    normal, across = place.R_WF @ axis, place.R_WF @ sides
    sides_M = place.R_WM @ sides
    aligned = sides_M.T @ normal
    if kind == "revolute":
        return ca.vertcat(apart, aligned)
    if kind == "planar":
        return ca.vertcat(ca.dot(normal, apart), aligned)
    if kind in ("prismatic", "weld", "translational", "planar-translational"):
        # Products of three different pairs of axes: of full rank at the one relative rotation that there is.
        unturned = ca.vertcat(aligned, ca.dot(across[:, 0], sides_M[:, 1]))
        held = {"weld": apart, "prismatic": across.T @ apart, "planar-translational": ca.dot(normal, apart)}
        return ca.vertcat(held.get(kind, ca.SX(0, 1)), unturned)
    slide = across.T @ apart
    if kind == "cylindrical":
        return ca.vertcat(slide, aligned)
    return ca.vertcat(slide, aligned, ca.dot(normal, apart) - place.geometry.pitch * angle)


def coordinates(place: JointPlace, near: ca.SX) -> ca.SX:
    """Return the joint's coordinates: angles within half a turn of ``near``, quaternions on the side of the sphere of ``near``.

    Of the two triples of angles that give the same rotation of a gimbal, it is the one on the side of its lock on which
    ``near`` is. Zero stands for principal values, and for a quaternion with a positive real part.
    """
    kind, geometry = place.kind, place.geometry
    axis = geometry.axis
    if kind == "weld":
        return ca.SX(0, 1)
    angles = {row: followed(near[row], *pair) for row, pair in angle_parts(place, near).items()}
    if kind in ("revolute", "screw", "cylindrical", "planar"):
        angle = angles[ANGLES[kind][0]]
        if kind == "cylindrical":
            return ca.vertcat(angle, ca.dot(place.R_WF @ axis, place.apart))
        if kind == "planar":
            return ca.vertcat(ca.horzcat(*_plane(place)).T @ place.apart, angle)
        return angle
    if kind == "prismatic":
        return ca.dot(place.R_WF @ axis, place.apart)
    if kind == "translational":
        return place.R_WF.T @ place.apart
    if kind == "planar-translational":
        return ca.horzcat(*_plane(place)).T @ place.apart
    if kind in ("universal", "gimbal", "cardan"):
        return ca.vertcat(*(angles[row] for row in sorted(angles)))
    rows = QUATERNIONS[kind]
    quaternion = quaternion_of_rotation(place.R_FM)
    quaternion = quaternion * ca.if_else(ca.dot(near[rows.start : rows.stop], quaternion) < 0, -1.0, 1.0)
    return quaternion if kind == "spherical" else ca.vertcat(place.R_WF.T @ place.apart, quaternion)


def angle_parts(place: JointPlace, near: ca.SX) -> dict[int, tuple[ca.SX, ca.SX]]:
    """Return sine and cosine of each angle of a joint, up to a common positive factor, by its row among the coordinates.

    Of joints with one angle, the factor is 1: half of the products of four axes.
    """
    kind, geometry = place.kind, place.geometry
    if kind in ("revolute", "screw", "cylindrical", "planar"):
        across, sides_M = (R @ perpendicular(geometry.axis) for R in (place.R_WF, place.R_WM))
        products = across.T @ sides_M
        pair = (products[1, 0] - products[0, 1]) / 2, (products[0, 0] + products[1, 1]) / 2
        return {ANGLES[kind][0]: pair}
    R = place.R_FM
    if kind == "universal":
        axis, axis2 = geometry.axis, geometry.axis2
        return {0: _turn(axis, axis2, R @ axis2), 1: _turn(-axis2, axis, R.T @ axis)}
    return _gimbal_parts(place, R, near) if kind in ("gimbal", "cardan") else {}


def _plane(place: JointPlace) -> tuple[ca.SX, ca.SX]:
    """Return the two directions in the plane of a joint."""
    geometry = place.geometry
    return place.R_WF @ geometry.axis2, place.R_WF @ ca.cross(geometry.axis, geometry.axis2)


def _turn(axis: ca.SX, before: ca.SX, after: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return sine and cosine, times a positive number, of the angle about ``axis`` by which a vector has turned."""
    return ca.dot(ca.cross(axis, before), after), ca.dot(before - axis * ca.dot(axis, before), after)


def _gimbal_parts(place: JointPlace, R: ca.SX, near: ca.SX) -> dict[int, tuple[ca.SX, ca.SX]]:
    letters = "zyx" if place.kind == "cardan" else place.geometry.sequence
    rows = (2, 1, 0) if place.kind == "cardan" else (0, 1, 2)
    i, j = ("xyz".index(letter) for letter in letters[:2])
    third = 3 - i - j
    parity = 1.0 if (i, j, third) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    lock = ca.sin if letters[0] == letters[2] else ca.cos
    side = ca.if_else(lock(near[rows[1]]) >= 0, 1.0, -1.0)
    if letters[0] == letters[2]:
        first = (side * R[j, i], -parity * side * R[third, i])
        middle = (side * ca.sqrt(R[i, j] ** 2 + R[i, third] ** 2), R[i, i])
        last = (side * R[i, j], parity * side * R[i, third])
    else:
        k = third
        first = (-parity * side * R[j, k], side * R[k, k])
        middle = (parity * R[i, k], side * ca.sqrt(R[i, i] ** 2 + R[i, j] ** 2))
        last = (-parity * side * R[i, j], side * R[i, i])
    return dict(zip(rows, (first, middle, last), strict=True))
