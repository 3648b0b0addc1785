"""Rigid bodies that hang on the world, in unit quaternions: document 001, chapter 5, with its equation numbers.

A body turns about a point of its own, the pivot: the centre of mass of a free body, the joint of one that is held there. Its
quaternion q = (q0, n) is that of the body frame in the world, and its four numbers have the mass matrix

    M4 = 4 Ql(q) diag(J0, J) Ql(q)',     J0 = tr(J)/2,                                      (5.15)-(5.18)

J about the pivot. Along q itself it is J0: no motion that keeps the length of q feels it, but M4 is regular.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.force import Loads
from kingpost.multibody.tree import JointSpace
from kingpost.plugins.formulations.body_coordinates import BodyKinematics
from kingpost.symbols.screws import Pose, quaternion_conjugate, quaternion_product, quaternion_rate, quaternion_rpy

#: The joints that a body may hang by.
CARRYING_JOINTS = ("spherical", "free")


def convective(q: Any) -> Any:
    """Return the 3 x 4 matrix E2 = [-n, q0 I - hat(n)] with Omega = 2 E2 q' in body axes (5.10).

    The document calls it the spatial one in the sentence after (5.10), and the other way round; its equations are right.
    """
    return 2 * quaternion_rate(q).T


def spatial(q: Any) -> Any:
    """Return the 3 x 4 matrix E1 = [-n, q0 I + hat(n)] with omega = 2 E1 q' in world axes (5.10)."""
    return ca.horzcat(-q[1:4], q[0] * ca.DM.eye(3) + ca.skew(q[1:4]))


def left(q: Any) -> Any:
    """Return the 4 x 4 matrix Ql = [q, E2'] of the product q o x = Ql(q) x (5.2)."""
    return ca.horzcat(q, convective(q).T)


def quaternion_mass_matrix(q: Any, J: Any) -> Any:
    """Return M4 for the inertia matrix J about the pivot, in body axes."""
    Q = left(q)
    return 4 * Q @ ca.diagcat(ca.trace(J) / 2, J) @ Q.T


def angular_momentum(q: Any, p: Any) -> Any:
    """Return the angular momentum E1 p / 2 about the pivot, in world axes, from p = M4 q' (5.37)."""
    return spatial(q) @ p / 2


@dataclass(frozen=True, eq=False)
class QuaternionBody:
    """A body at a place with a velocity.

    ``square`` is what lengths of quaternions are divided by: one where they are one, so that poses are quadratic in q; q.q at
    the mean of two places, so that rotations are rotations there, and moments change the angular momentum by themselves.
    """

    e: ca.SX
    e_rate: ca.SX
    #: The pivot in the body frame, and in the world.
    pivot: ca.SX
    x: ca.SX
    x_rate: ca.SX
    square: ca.SX
    #: Whether the pivot moves.
    free: bool

    @cached_property
    def R(self) -> ca.SX:
        """The rotation matrix E1 E2' (5.9)."""
        return ca.SX(spatial(self.e) @ convective(self.e).T / self.square)

    @cached_property
    def spin(self) -> ca.SX:
        """The angular velocity in body axes."""
        return ca.SX(2 * convective(self.e) @ self.e_rate / self.square)

    def reduced(self, wrench: ca.SX) -> ca.SX:
        """Return a wrench about the body origin as the moment about the pivot, and, of a free body, the force in world axes."""
        moment, force = wrench[:3] - ca.cross(self.pivot, wrench[3:]), wrench[3:]
        return ca.vertcat(moment, self.R @ force) if self.free else moment

    def generalized(self, reduced: ca.SX) -> ca.SX:
        """Return the generalized forces of moment and force: 2 E2' m for the quaternion."""
        turning = 2 * convective(self.e).T @ reduced[:3] / self.square
        return ca.vertcat(reduced[3:], turning) if self.free else turning

    def felt(self, gradient: ca.SX) -> ca.SX:
        """Return the moment and force that a covector of generalized forces amounts to: small turns d move q by E2' d / 2."""
        moment = convective(self.e) @ gradient[-4:] / 2
        return ca.vertcat(moment, gradient[:3]) if self.free else moment


class QuaternionKinematics(BodyKinematics):
    """Poses, twists and joint coordinates as expressions in quaternions."""

    def __init__(self, assembly: Assembly, bodies: Mapping[str, QuaternionBody]) -> None:
        super().__init__(assembly)
        #: In the order of the joints.
        self.bodies = bodies

    def _pose(self, body: str) -> Pose:
        state = self.bodies[body]
        return Pose(state.R, state.x - state.R @ state.pivot)

    def _twist(self, body: str) -> ca.SX:
        state = self.bodies[body]
        return ca.vertcat(state.spin, state.R.T @ state.x_rate - ca.cross(state.spin, state.pivot))

    def joint_coordinates(self, joint: Joint) -> ca.SX:
        """Return the coordinates of a joint."""
        X_WF, X_BM = self.placements(joint)
        e_WF, e_BM = joint_quaternions(self, joint)
        state, X_WB = self.bodies[joint.child], self.pose(joint.child)
        e_FM = quaternion_product(quaternion_product(quaternion_conjugate(e_WF), state.e / ca.sqrt(state.square)), e_BM)
        return ca.vertcat(X_WF.R.T @ (X_WB.p + X_WB.R @ X_BM.p - X_WF.p), e_FM) if state.free else e_FM

    def joint_speeds(self, joint: Joint) -> ca.SX:
        """Return the generalized speeds of a joint: the twist of M in M, of a spherical joint its angular part."""
        _, X_BM = self.placements(joint)
        twist = self.twist(joint.child)
        spin, velocity = (X_BM.R.T @ part for part in (twist[:3], twist[3:] + ca.cross(twist[:3], X_BM.p)))
        return ca.vertcat(spin, velocity) if self.bodies[joint.child].free else spin

    def coordinate(self, name: str) -> ca.SX:
        joint = self._joint_of[name]
        return self.joint_coordinates(joint)[self._q_row[name] - self.rows(joint)[0].start]

    def wrenches(self, loads: Loads) -> ca.SX:
        """Return what a force does to all bodies, as :meth:`QuaternionBody.reduced`, stacked."""
        total = {name: loads.wrenches.get(name, ca.SX(6, 1)) for name in self.bodies}
        for name, effort in loads.efforts.items():
            joint = self._joint_of[name]
            _, X_BM = self.placements(joint)
            # Efforts along the speeds of these joints are the components of a wrench on M about its origin, in M.
            along = ca.SX(6, 1)
            along[self.effort_row(name) - self.rows(joint)[1].start] = effort
            moment, force = X_BM.R @ along[:3], X_BM.R @ along[3:]
            total[joint.child] = total[joint.child] + ca.vertcat(moment + ca.cross(X_BM.p, force), force)
        return ca.vertcat(ca.SX(0, 1), *(self.bodies[name].reduced(wrench) for name, wrench in total.items()))

    def felt(self, gradient: ca.SX) -> ca.SX:
        """Return :meth:`QuaternionBody.felt` of all bodies, stacked."""
        parts = ca.vertsplit(gradient, self._ends(extra=1))
        return ca.vertcat(ca.SX(0, 1), *(body.felt(part) for body, part in zip(self.bodies.values(), parts, strict=True)))

    def generalized(self, wrenches: ca.SX) -> ca.SX:
        """Return :meth:`QuaternionBody.generalized` of all bodies, stacked."""
        parts = ca.vertsplit(wrenches, self._ends(extra=0))
        return ca.vertcat(
            ca.SX(0, 1), *(body.generalized(part) for body, part in zip(self.bodies.values(), parts, strict=True))
        )

    def _ends(self, extra: int) -> list[int]:
        """Return where the parts of the bodies end in a vector that has ``extra`` entries for each besides its freedoms."""
        ends = [0]
        for body in self.bodies.values():
            ends.append(ends[-1] + (6 if body.free else 3) + extra)
        return ends


def joint_quaternions(space: JointSpace, joint: Joint) -> tuple[ca.SX, ca.SX]:
    """Return the quaternions of the joint frames F and M on parent and child."""
    first, second = (quaternion_rpy(*ca.vertsplit(space.vector(angles))) for angles in (joint.rotation, joint.child_rotation))
    return first, second


def pivot_inertia(space: JointSpace, joint: Joint) -> ca.SX:
    """Return the inertia matrix of a joint's child about its pivot, in body axes: that of (5.48) for a top."""
    body = space.mechanism.body(joint.child)
    J = space.inertia(body.name)
    if joint.kind == "free":
        return J
    d = space.vector(body.com) - space.vector(joint.child_position)
    return ca.SX(ca.sparsify(J + space.value(body.mass) * (ca.dot(d, d) * ca.SX.eye(3) - d @ d.T)))


def unit_quaternion(space: JointSpace, joint: Joint, coordinates: ca.SX) -> ca.SX:
    """Return the quaternion of the child in the world from the coordinates of the joint, whatever their length."""
    e_WF, e_BM = joint_quaternions(space, joint)
    e_FM = coordinates[-4:] / ca.norm_2(coordinates[-4:])
    return quaternion_product(quaternion_product(e_WF, e_FM), quaternion_conjugate(e_BM))


def coordinate_quantities(joint: Joint) -> tuple[Quantity, ...]:
    """Return names and units of the coordinates of a joint's child."""
    position = tuple(Quantity(f"{joint.child}.r.{axis}", "m") for axis in "xyz") if joint.kind == "free" else ()
    return position + tuple(Quantity(f"{joint.child}.q.{axis}", "1") for axis in "wxyz")
