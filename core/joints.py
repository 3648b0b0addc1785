"""Joint kinds: how a child frame M moves against a parent frame F.

Each kind gives the pose of M in F, and the motion subspace S: the twist of M against F, referenced to the origin of M
and expressed in M, is ``S @ v`` (angular part first).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from kingpost.screws import Pose, rotation_about


@dataclass(frozen=True)
class Coordinate:
    """One joint coordinate and the generalized speed that is its rate."""

    name: str
    unit: str

    @property
    def rate_unit(self) -> str:
        """The unit of the coordinate's rate."""
        return f"{self.unit}/s"


class JointKind:
    """The geometry of one kind of joint; ``axis`` is a unit vector in both F and M."""

    kind: ClassVar[str]
    coordinates: ClassVar[tuple[Coordinate, ...]]

    def pose_FM(self, q: ca.SX, axis: ca.SX) -> Pose:
        """Return the pose of M in F at the joint coordinates ``q``."""
        raise NotImplementedError

    def motion_subspace(self, axis: ca.SX) -> ca.SX:
        """Return the 6 x n matrix S of admitted twists of M against F, in M."""
        raise NotImplementedError


class Revolute(JointKind):
    """Rotation about an axis."""

    kind = "revolute"
    coordinates = (Coordinate("angle", "rad"),)

    def pose_FM(self, q: ca.SX, axis: ca.SX) -> Pose:
        return Pose(rotation_about(axis, q[0]), ca.SX(3, 1))

    def motion_subspace(self, axis: ca.SX) -> ca.SX:
        return ca.vertcat(axis, ca.SX(3, 1))


class Prismatic(JointKind):
    """Translation along an axis."""

    kind = "prismatic"
    coordinates = (Coordinate("displacement", "m"),)

    def pose_FM(self, q: ca.SX, axis: ca.SX) -> Pose:
        return Pose(ca.SX.eye(3), axis * q[0])

    def motion_subspace(self, axis: ca.SX) -> ca.SX:
        return ca.vertcat(ca.SX(3, 1), axis)


class Weld(JointKind):
    """No motion at all."""

    kind = "weld"
    coordinates = ()

    def pose_FM(self, q: ca.SX, axis: ca.SX) -> Pose:
        return Pose(ca.SX.eye(3), ca.SX(3, 1))

    def motion_subspace(self, axis: ca.SX) -> ca.SX:
        return ca.SX(6, 0)


JOINT_KINDS: dict[str, JointKind] = {joint.kind: joint for joint in (Revolute(), Prismatic(), Weld())}
