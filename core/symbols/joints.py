"""Joint kinds: how a child frame M moves against a parent frame F.

Each kind gives the pose of M in F, the motion subspace S (the twist of M against F about M's origin, in M, is ``S v``, angular
part first), the map N with qdot = N v, and a basis of the motions that it forbids. At neutral coordinates M and F coincide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.symbols.screws import (
    NO_ROTATION,
    Pose,
    perpendicular,
    quaternion_about,
    quaternion_product,
    quaternion_rate,
    rotation_about,
    rotation_of_quaternion,
    twist_to,
)

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class GivenMotion:
    """How M moves against F where that is given: pose, its unit quaternion, and the twist of M about its origin, in M."""

    pose: Pose
    quaternion: ca.SX
    twist: ca.SX
    #: The rate of the components of the twist.
    rate: ca.SX


@dataclass(frozen=True, eq=False)
class Geometry:
    """The symbols of a joint's own fields: unit vectors, pitch (m/rad), letters of its rotation axes, its given motion."""

    axis: ca.SX
    axis2: ca.SX
    pitch: ca.SX
    sequence: str
    given: GivenMotion | None = None


class JointKind:
    """The geometry of one kind of joint."""

    kind: ClassVar[str]
    #: The fields of :class:`kingpost.Joint` that this kind needs.
    needs: ClassVar[tuple[str, ...]] = ()
    coordinates: ClassVar[tuple[Quantity, ...]]
    #: Generalized speeds where they are not the rates of the coordinates.
    speeds: ClassVar[tuple[Quantity, ...] | None] = None
    #: Whether its ``axis2`` is perpendicular to its ``axis``.
    right_angle: ClassVar[bool] = False
    #: Row of the first component of a unit quaternion among the coordinates.
    quaternion: ClassVar[int | None] = None

    @property
    def neutral(self) -> tuple[float, ...]:
        """The coordinates at which M and F coincide."""
        return tuple(1.0 if i == self.quaternion else 0.0 for i in range(len(self.coordinates)))

    @property
    def freedom(self) -> int:
        """The number of generalized speeds."""
        return len(self.coordinates if self.speeds is None else self.speeds)

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        """Return the pose of M in F."""
        raise NotImplementedError

    def motion_subspace(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        """Return the 6 x n matrix S."""
        raise NotImplementedError

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        """Return a 6 x (6 - n) basis of the motions of M against F, in M, that the joint does not allow, orthogonal to S."""
        raise NotImplementedError

    def effort_wrenches(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        """Return a 6 x n matrix T with T' S = I: unit efforts along the speeds, as wrenches on M about its origin, in M.

        Orthonormal motions are their own efforts; other kinds say what drives them.
        """
        return self.motion_subspace(q, geometry)

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        """Return the unit quaternion of the pose of M in F."""
        raise NotImplementedError

    def velocity_map(self, q: ca.SX) -> ca.SX:
        """Return N with qdot = N v."""
        return ca.SX.eye(len(self.coordinates))

    def subspace_rate(self, q: ca.SX, v: ca.SX, geometry: Geometry) -> ca.SX:
        """Return Sdot v, by differentiating S v along qdot = N v."""
        return ca.jtimes(self.motion_subspace(q, geometry) @ v, q, self.velocity_map(q) @ v)

    def regularity(self, q: ca.SX, sequence: str) -> ca.SX | None:
        """Return a measure that is 1 where the coordinates are at their best and 0 where they are singular, or None."""
        return None


class ChainJoint(JointKind):
    """A joint made of successive rotations and translations, each about or along an axis fixed in the frame it moves."""

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        """Return ``("turn" | "slide", axis)`` for each coordinate in its order, outermost motion first."""
        raise NotImplementedError

    #: Coordinates in the order in which the motions follow each other, outermost first.
    order: ClassVar[tuple[int, ...] | None] = None

    def _steps(self, q: ca.SX, geometry: Geometry) -> list[tuple[int, Pose, ca.SX]]:
        motions = self.motions(geometry)
        steps = []
        for row, (motion, axis) in zip(self.order or range(len(motions)), motions, strict=True):
            if motion == "turn":
                pose, unit = Pose(rotation_about(axis, q[row]), ca.SX(3, 1)), ca.vertcat(axis, ca.SX(3, 1))
            else:
                pose, unit = Pose(ca.SX.eye(3), axis * q[row]), ca.vertcat(ca.SX(3, 1), axis)
            steps.append((row, pose, unit))
        return steps

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        X = Pose.identity()
        for _, pose, _ in self._steps(q, geometry):
            X = X @ pose
        return X

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        e = NO_ROTATION
        for row, (motion, axis) in zip(self.order or range(len(self.coordinates)), self.motions(geometry), strict=True):
            if motion == "turn":
                e = quaternion_product(e, quaternion_about(axis, q[row]))
        return e

    def motion_subspace(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        S = ca.SX(6, len(self.coordinates))
        (row, beyond, unit), *outer = reversed(self._steps(q, geometry))
        S[:, row] = unit  # the innermost motion is seen as it is
        for row, pose, unit in outer:
            S[:, row] = twist_to(beyond.inverse()) @ unit
            beyond = pose @ beyond
        return ca.sparsify(S)


def _angular(columns: ca.SX) -> ca.SX:
    return ca.vertcat(columns, ca.SX(3, columns.shape[1]))


def _linear(columns: ca.SX) -> ca.SX:
    return ca.vertcat(ca.SX(3, columns.shape[1]), columns)


class Revolute(ChainJoint):
    """Rotation about an axis."""

    kind = "revolute"
    needs = ("axis",)
    coordinates = (Quantity("angle", "rad"),)

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("turn", geometry.axis)]

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.horzcat(_angular(perpendicular(geometry.axis)), _linear(ca.SX.eye(3)))


class Prismatic(ChainJoint):
    """Translation along an axis."""

    kind = "prismatic"
    needs = ("axis",)
    coordinates = (Quantity("displacement", "m"),)

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("slide", geometry.axis)]

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.horzcat(_angular(ca.SX.eye(3)), _linear(perpendicular(geometry.axis)))


class Screw(JointKind):
    """Rotation about an axis with a translation of ``pitch`` metres for each radian along it."""

    kind = "screw"
    needs = ("axis", "pitch")
    coordinates = (Quantity("angle", "rad"),)

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        return Pose(rotation_about(geometry.axis, q[0]), geometry.axis * geometry.pitch * q[0])

    def motion_subspace(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.vertcat(geometry.axis, geometry.pitch * geometry.axis)

    def effort_wrenches(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return _angular(geometry.axis)  # an effort on the angle is a torque; the thread makes the axial force of it

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return quaternion_about(geometry.axis, q[0])

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        sides = perpendicular(geometry.axis)
        slip = ca.vertcat(-geometry.pitch * geometry.axis, geometry.axis)
        return ca.horzcat(_angular(sides), _linear(sides), slip)


class Cylindrical(ChainJoint):
    """Rotation about an axis and translation along it."""

    kind = "cylindrical"
    needs = ("axis",)
    coordinates = (Quantity("angle", "rad"), Quantity("displacement", "m"))

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("turn", geometry.axis), ("slide", geometry.axis)]

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        sides = perpendicular(geometry.axis)
        return ca.horzcat(_angular(sides), _linear(sides))


class Universal(ChainJoint):
    """Rotation about ``axis``, fixed in the parent, then about ``axis2``, fixed in the child."""

    kind = "universal"
    needs = ("axis", "axis2")
    coordinates = (Quantity("first", "rad"), Quantity("second", "rad"))

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("turn", geometry.axis), ("turn", geometry.axis2)]

    def effort_wrenches(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        S = self.motion_subspace(q, geometry)
        return S @ ca.inv(S.T @ S)  # the axes need not be perpendicular

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        first_M = rotation_about(geometry.axis2, q[1]).T @ geometry.axis
        normal = ca.cross(first_M, geometry.axis2)
        return ca.horzcat(_angular(normal / ca.norm_2(normal)), _linear(ca.SX.eye(3)))


class Planar(ChainJoint):
    """Translation along ``axis2`` and ``axis`` x ``axis2``, then rotation about ``axis``, the normal of the plane."""

    kind = "planar"
    needs = ("axis", "axis2")
    right_angle = True
    coordinates = (Quantity("x", "m"), Quantity("y", "m"), Quantity("angle", "rad"))

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        side = ca.cross(geometry.axis, geometry.axis2)
        return [("slide", geometry.axis2), ("slide", side), ("turn", geometry.axis)]

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.horzcat(_angular(perpendicular(geometry.axis)), _linear(geometry.axis))


class Translational(ChainJoint):
    """Translation without rotation: where the origin of the child's joint frame is in the parent's. For points, and loads."""

    kind = "translational"
    coordinates = (Quantity("x", "m"), Quantity("y", "m"), Quantity("z", "m"))

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("slide", ca.sparsify(ca.SX(ca.DM(AXES[letter])))) for letter in "xyz"]

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return _angular(ca.SX.eye(3))


class PlanarTranslational(ChainJoint):
    """Translation without rotation along ``axis2`` and ``axis`` x ``axis2``, in the plane with the normal ``axis``."""

    kind = "planar-translational"
    needs = ("axis", "axis2")
    right_angle = True
    coordinates = (Quantity("x", "m"), Quantity("y", "m"))

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("slide", geometry.axis2), ("slide", ca.cross(geometry.axis, geometry.axis2))]

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.horzcat(_angular(ca.SX.eye(3)), _linear(geometry.axis))


class Gimbal(ChainJoint):
    """Three successive rotations about coordinate axes, ``sequence`` naming them from the parent to the child."""

    kind = "gimbal"
    needs: ClassVar[tuple[str, ...]] = ("sequence",)
    coordinates = (Quantity("first", "rad"), Quantity("second", "rad"), Quantity("third", "rad"))

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("turn", ca.sparsify(ca.SX(ca.DM(AXES[letter])))) for letter in geometry.sequence]

    def effort_wrenches(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return _angular(ca.inv(self.motion_subspace(q, geometry)[:3, :]).T)  # its axes are not perpendicular to each other

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return _linear(ca.SX.eye(3))

    def regularity(self, q: ca.SX, sequence: str) -> ca.SX:
        # With three different axes the outer two line up at a middle angle of 90 degrees, with two at 0 and 180.
        lock = ca.sin if sequence[0] == sequence[2] else ca.cos
        return ca.fabs(lock(q[1]))


class Cardan(Gimbal):
    """Roll, pitch and yaw: R = Rz(yaw) Ry(pitch) Rx(roll)."""

    kind = "cardan"
    needs = ()
    coordinates = (Quantity("roll", "rad"), Quantity("pitch", "rad"), Quantity("yaw", "rad"))
    order = (2, 1, 0)

    def motions(self, geometry: Geometry) -> list[tuple[str, ca.SX]]:
        return [("turn", ca.sparsify(ca.SX(ca.DM(AXES[letter])))) for letter in "zyx"]

    def regularity(self, q: ca.SX, sequence: str) -> ca.SX:
        return ca.fabs(ca.cos(q[1]))


QUATERNION = tuple(Quantity(name, "1") for name in ("qw", "qx", "qy", "qz"))
ANGULAR = tuple(Quantity(name, "rad/s") for name in ("wx", "wy", "wz"))


class Spherical(JointKind):
    """Any rotation about a point: a unit quaternion, and the angular velocity in the child's joint frame."""

    kind = "spherical"
    coordinates = QUATERNION
    speeds = ANGULAR
    quaternion = 0

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        return Pose(rotation_of_quaternion(q), ca.SX(3, 1))

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return q / ca.norm_2(q)

    def motion_subspace(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return _angular(ca.SX.eye(3))

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return _linear(ca.SX.eye(3))

    def velocity_map(self, q: ca.SX) -> ca.SX:
        return quaternion_rate(q)


class Free(JointKind):
    """Any motion: position of the child's joint frame in the parent's, a unit quaternion, and the twist in the child's."""

    kind = "free"
    coordinates = (Quantity("x", "m"), Quantity("y", "m"), Quantity("z", "m"), *QUATERNION)
    speeds = (*ANGULAR, Quantity("vx", "m/s"), Quantity("vy", "m/s"), Quantity("vz", "m/s"))
    quaternion = 3

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        return Pose(rotation_of_quaternion(q[3:7]), q[:3])

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return q[3:7] / ca.norm_2(q[3:7])

    def motion_subspace(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.SX.eye(6)

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.SX(6, 0)

    def velocity_map(self, q: ca.SX) -> ca.SX:
        return ca.blockcat(ca.SX(3, 3), rotation_of_quaternion(q[3:7]), quaternion_rate(q[3:7]), ca.SX(4, 3))


class Weld(JointKind):
    """No motion at all."""

    kind = "weld"
    coordinates = ()

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        return Pose.identity()

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return NO_ROTATION

    def motion_subspace(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.SX(6, 0)

    def forbidden(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.SX.eye(6)

    def subspace_rate(self, q: ca.SX, v: ca.SX, geometry: Geometry) -> ca.SX:
        return ca.SX(6, 1)


class Given(Weld):
    """No freedom: the motion is given, by formulas of the time or by inputs."""

    kind = "given"
    needs = ("pose",)

    def pose_FM(self, q: ca.SX, geometry: Geometry) -> Pose:
        assert geometry.given is not None
        return geometry.given.pose

    def rotation_FM(self, q: ca.SX, geometry: Geometry) -> ca.SX:
        assert geometry.given is not None
        return geometry.given.quaternion


_KINDS: tuple[JointKind, ...] = (
    Revolute(),
    Prismatic(),
    Screw(),
    Cylindrical(),
    Universal(),
    Planar(),
    Translational(),
    PlanarTranslational(),
    Gimbal(),
    Cardan(),
    Spherical(),
    Free(),
    Weld(),
    Given(),
)
JOINT_KINDS: dict[str, JointKind] = {joint.kind: joint for joint in _KINDS}
