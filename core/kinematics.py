"""Where the bodies of a tree are and how they move, in joint coordinates q and rates v.

Shared by every formulation with minimal coordinates. Frames: W world, P body frame of the parent, F and M joint frames
on parent and child, B body frame of the child.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from kingpost.assembly import Assembly
from kingpost.expressions import Scalar
from kingpost.joints import JOINT_KINDS
from kingpost.mechanism import WORLD, Joint, Mechanism, Output
from kingpost.screws import Pose, rotation_rpy, twist_cross, twist_to


@dataclass(frozen=True)
class Link:
    """A body and the joint that carries it."""

    joint: Joint
    #: Rows of this joint in q and v.
    rows: slice
    #: Screw transformation of a twist from the parent's body frame to this body frame.
    V_BP: ca.SX
    #: Motion subspace of the joint about the body origin, in body axes.
    S_B: ca.SX
    X_WB: Pose
    #: Twist of the body against the world, about the body origin, in body axes.
    t_WB_B: ca.SX
    #: The part of the twist's rate that holds no accelerations: Pdot_k u of eq. (36), about the body origin.
    bias_B: ca.SX


class TreeKinematics:
    """Symbols of a tree's motion; what forces see (:class:`kingpost.interfaces.force.Kinematics`)."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.mechanism: Mechanism = assembly.mechanism
        names = [coordinate.name for coordinate in self.mechanism.coordinates]
        self._row = {name: i for i, name in enumerate(names)}
        self.q = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))
        self.v = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"{name}.rate") for name in names))
        self.links = self._walk()

    def _walk(self) -> Mapping[str, Link]:
        links: dict[str, Link] = {}
        for joint in self.mechanism.tree:
            parent = links.get(joint.parent)
            assert parent is not None or joint.parent == WORLD
            links[joint.child] = self._link(joint, parent)
        return links

    def _link(self, joint: Joint, parent: Link | None) -> Link:
        kind = JOINT_KINDS[joint.kind]
        first = self._row[joint.quantities[0].name] if joint.quantities else 0
        rows = slice(first, first + len(joint.quantities))
        q, v = self.q[rows], self.v[rows]
        axis = ca.SX(3, 1)
        if joint.axis is not None:
            axis = self.vector(joint.axis)
            axis = axis / ca.norm_2(axis)
        X_PF = self._placement(joint.position, joint.rotation)
        X_BM = self._placement(joint.child_position, joint.child_rotation)
        X_PB = X_PF @ kind.pose_FM(q, axis) @ X_BM.inverse()
        V_BP = twist_to(X_PB.inverse())
        S_B = twist_to(X_BM) @ kind.motion_subspace(axis)
        relative = S_B @ v
        if parent is None:
            return Link(joint, rows, V_BP, S_B, X_PB, relative, ca.SX(6, 1))
        t_WB_B = V_BP @ parent.t_WB_B + relative
        # Rate of a twist S v that is fixed in B while B moves with t: the bracket t x (S v).
        bias_B = V_BP @ parent.bias_B + twist_cross(t_WB_B) @ relative
        return Link(joint, rows, V_BP, S_B, parent.X_WB @ X_PB, t_WB_B, bias_B)

    def _placement(self, position: tuple[Scalar, ...], rotation: tuple[Scalar, ...]) -> Pose:
        angles = self.vector(rotation)
        return Pose(rotation_rpy(angles[0], angles[1], angles[2]), self.vector(position))

    def value(self, scalar: Scalar) -> ca.SX:
        return self.assembly.value(scalar)

    def vector(self, vector: tuple[Scalar, ...]) -> ca.SX:
        return self.assembly.vector(vector)

    def pose(self, body: str) -> Pose:
        return self.links[body].X_WB

    def twist(self, body: str) -> ca.SX:
        return self.links[body].t_WB_B

    def coordinate(self, name: str) -> ca.SX:
        return self.q[self._row[name]]

    def rate(self, name: str) -> ca.SX:
        return self.v[self._row[name]]

    def effort_row(self, name: str) -> int:
        """Return the row of a joint coordinate in q and v."""
        return self._row[name]

    def inertia(self, body: str) -> ca.SX:
        """Return the inertia matrix of a body about its centre of mass, in body axes."""
        entries = [self.value(entry) for entry in self.mechanism.body(body).inertia]
        xx, yy, zz, xy, xz, yz = entries if len(entries) == 6 else [*entries, *[ca.SX(0)] * 3]
        return ca.sparsify(ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def output(self, output: Output) -> ca.SX:
        """Return the three components of an output, in world axes."""
        X_WB, t_WB_B = self.pose(output.body), self.twist(output.body)
        at: Any = self.vector(output.at)
        if output.quantity == "position":
            return ca.densify(X_WB.p + X_WB.R @ at)
        return ca.densify(X_WB.R @ (t_WB_B[3:] + ca.cross(t_WB_B[:3], at)))
