"""Where the bodies of a tree are and how they move, in joint coordinates q and generalized speeds v.

Shared by every formulation with minimal coordinates. Frames: W world, P body frame of the parent, F and M joint frames
on parent and child, B body frame of the child.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.formulas import Scalar
from kingpost.mechanism.elements import WORLD, Joint, Output
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.applied import AppliedForce, Seen, brought
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.force import Loads, Rotor, WaveMotion
from kingpost.symbols.externals import External
from kingpost.symbols.joints import JOINT_KINDS, Geometry, GivenMotion, JointKind
from kingpost.symbols.screws import (
    Pose,
    pack_pose,
    quaternion_of_vector,
    quaternion_product,
    quaternion_rpy,
    rotation_of_quaternion,
    rotation_rpy,
    twist_cross,
    twist_to,
)

#: Terms of the series of sine and cosine: the first that is left out is 8e-20 at a half turn.
SERIES = 12


class JointSpace:
    """The symbols q and v of a tree, its joints' geometry, and the parts of what forces see that need no poses."""

    #: Whether the equations are written in joint coordinates, where given motions and added inertias have their place.
    joint_based: ClassVar[bool] = False

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.mechanism: Mechanism = assembly.mechanism
        self._q_row = {coordinate.name: i for i, coordinate in enumerate(self.mechanism.coordinates)}
        self._v_row = {speed.name: i for i, speed in enumerate(self.mechanism.speeds)}
        self.q = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in self._q_row))
        self.v = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in self._v_row))
        #: Functions outside the expressions; what moves given joints comes first, since places of bodies depend on it.
        self.externals: list[External] = list(assembly.moving_externals)
        #: What forces show, by name, with units; known once :meth:`loads` has gone through all of them.
        self.signals: dict[str, tuple[ca.SX, str]] = {}
        #: Whether joint coordinates that rotors turn with are coordinates of the equations, though others are not.
        self.takes_rotors = False
        for joint in self.mechanism.joints:
            if joint.pose is not None and not self.joint_based:
                raise MechanismError(
                    f"joint '{joint.name}' is given, which natural coordinates and quaternions of bodies cannot express; use "
                    "formulation 'kane' or 'recursive'"
                )

    def value(self, scalar: Scalar) -> ca.SX:
        return self.assembly.value(scalar)

    def vector(self, vector: tuple[Scalar, ...]) -> ca.SX:
        return self.assembly.vector(vector)

    @property
    def t(self) -> ca.SX:
        return self.assembly.t

    def pose(self, body: str) -> Pose:
        return Pose.identity() if body == WORLD else self._pose(body)

    def twist(self, body: str) -> ca.SX:
        return ca.SX(6, 1) if body == WORLD else self._twist(body)

    def relative_pose(self, body: str, other: str) -> Pose:
        """Return the pose of ``other`` in ``body``; either may be the world."""
        return self.pose(other) if body == WORLD else self.pose(body).inverse() @ self.pose(other)

    def joint_pose(self, joint: Joint) -> Pose:
        """Return X_FM, the pose of a joint's frame on its child in the one on its parent."""
        X_PF, X_BM = self.placements(joint)
        return X_PF.inverse() @ self.relative_pose(joint.parent, joint.child) @ X_BM

    def _pose(self, body: str) -> Pose:
        raise NotImplementedError

    def _twist(self, body: str) -> ca.SX:
        raise NotImplementedError

    def coordinate(self, name: str) -> ca.SX:
        return self.q[self._q_row[name]]

    def rate(self, name: str) -> ca.SX:
        return self.v[self.effort_row(name)]

    def effort_row(self, name: str) -> int:
        """Return the row in v of a generalized speed, or of the rate of a coordinate."""
        return self._v_row[name if name in self._v_row else f"{name}.rate"]

    def expression_of(self, seen: Seen) -> ca.SX:
        """Return what stands here for a symbol that forces are written in."""
        kind, name = seen
        if kind == "pose":
            return pack_pose(self.pose(name))
        return {"twist": self.twist, "coordinate": self.coordinate, "speed": self.rate}[kind](name)

    def bring(self, applied: AppliedForce) -> AppliedForce:
        """Return a force in the expressions of this space."""
        here = brought(applied, self.assembly.seen, self.expression_of)
        self.externals += () if applied.loads.motions else here.externals
        return here

    def loads(self) -> Iterator[Loads]:
        """Yield what each force of the mechanism does."""
        for applied in self.assembly.applied:
            name, force = applied.name, applied.force
            if applied.loads.inertias and not self.joint_based:
                raise MechanismError(
                    f"force '{name}' ({force.name}) adds inertia to body '{next(iter(applied.loads.inertias))}', which natural "
                    "coordinates and quaternions of bodies cannot express; use formulation 'kane' or 'recursive'"
                )
            if applied.loads.rotors and not (self.joint_based or self.takes_rotors):
                turned = next(iter(applied.loads.rotors[0].ratios))
                raise MechanismError(
                    f"force '{name}' ({force.name}) adds inertia to coordinate '{turned}', which natural coordinates and "
                    "quaternions of bodies cannot express; use formulation 'kane' or 'recursive', or 'directors:effort=angle'"
                )
            loads = self.bring(applied).loads
            self.signals |= {f"{name}.{signal}": shown for signal, shown in loads.signals.items()}
            yield loads

    def rotor_matrix(self, rotors: Iterable[Rotor]) -> ca.SX:
        """Return what rotors add to the mass matrix: the sum of inertia c c', with c the ratios along v."""
        total = ca.SX(self.v.numel(), self.v.numel())
        for rotor in rotors:
            ratios = ca.SX(self.v.numel(), 1)
            for name, ratio in rotor.ratios.items():
                ratios[self.effort_row(name)] += ratio
            total += rotor.inertia * (ratios @ ratios.T)
        return ca.SX(ca.sparsify(total))

    def rows(self, joint: Joint) -> tuple[slice, slice]:
        """Return the rows of a joint in q and in v."""
        first_q = self._q_row[joint.positions[0].name] if joint.positions else 0
        first_v = self._v_row[joint.speeds[0].name] if joint.speeds else 0
        return slice(first_q, first_q + len(joint.positions)), slice(first_v, first_v + len(joint.speeds))

    def geometry(self, joint: Joint) -> Geometry:
        """Return the symbols of a joint's own fields."""
        axis, axis2 = (ca.SX(3, 1) if field is None else self.unit(field) for field in (joint.axis, joint.axis2))
        pitch = ca.SX(0) if joint.pitch is None else self.value(joint.pitch)
        return Geometry(axis, axis2, pitch, joint.sequence or "", self.given_motion(joint) if joint.pose else None)

    def given_motion(self, joint: Joint) -> GivenMotion:
        """Return how a given joint moves, in the symbols of time, inputs and parameters."""
        assert joint.pose is not None
        pose = self.vector(joint.pose)
        p, angles = pose[:3], pose[3:]
        e = quaternion_rpy(*ca.vertsplit(angles)) if angles.numel() == 3 else angles / ca.norm_2(angles)
        R = rotation_rpy(*ca.vertsplit(angles)) if angles.numel() == 3 else rotation_of_quaternion(angles)
        signals = ca.vertcat(ca.SX(0, 1), self.assembly.u)
        if joint.twist is None:
            if signals.numel() and ca.depends_on(pose, signals):
                raise MechanismError(
                    f"joint '{joint.name}': its pose comes from inputs, so its twist and twist_rate must be given, too: nobody "
                    "knows the rates of inputs"
                )
            R_rate = ca.reshape(ca.jacobian(ca.vec(ca.densify(R)), self.t), 3, 3)
            twist = ca.vertcat(ca.inv_skew(R.T @ R_rate), R.T @ ca.jacobian(p, self.t))
        else:
            twist = self.vector(joint.twist)
        if joint.twist_rate is None:
            if signals.numel() and ca.depends_on(twist, signals):
                raise MechanismError(f"joint '{joint.name}': its twist comes from inputs, so its twist_rate must be given, too")
            rate = ca.jacobian(twist, self.t)
        else:
            rate = self.vector(joint.twist_rate)
        if joint.since is not None:
            ago = self.t - self.value(joint.since)
            w, v = twist[:3], twist[3:]
            turned = w * ago + rate[:3] * ago**2 / 2
            p = p + R @ (v * ago + (rate[3:] + ca.cross(w, v)) * ago**2 / 2)
            further = quaternion_of_vector(turned)
            R, e = R @ rotation_of_quaternion(further), quaternion_product(e, further)
            twist = twist + rate * ago
        own = GivenMotion(Pose(R, p), e, ca.densify(twist), ca.densify(rate))
        for motion in self.assembly.motions.get(joint.name, ()):
            own = moved_by_waves(own, motion)
        return own

    def unit(self, direction: tuple[Scalar, ...]) -> ca.SX:
        """Return a direction as a vector of length one."""
        vector = self.vector(direction)
        return vector / ca.norm_2(vector)

    def placements(self, joint: Joint) -> tuple[Pose, Pose]:
        """Return X_PF and X_BM, the places of the joint frames on parent and child."""
        return self._placement(joint.position, joint.rotation), self._placement(joint.child_position, joint.child_rotation)

    def _placement(self, position: tuple[Scalar, ...], rotation: tuple[Scalar, ...]) -> Pose:
        angles = self.vector(rotation)
        return Pose(rotation_rpy(angles[0], angles[1], angles[2]), self.vector(position))

    def inertia(self, body: str) -> ca.SX:
        """Return the inertia matrix of a body about its centre of mass, in body axes."""
        entries = [self.value(entry) for entry in self.mechanism.body(body).inertia]
        xx, yy, zz, xy, xz, yz = entries if len(entries) == 6 else [*entries, *[ca.SX(0)] * 3]
        return ca.sparsify(ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def velocity_map(self) -> ca.SX:
        """Return N with qdot = N v."""
        N = ca.SX(self.q.numel(), self.v.numel())
        for joint in self.mechanism.joints:
            q_rows, v_rows = self.rows(joint)
            if joint.positions:
                N[q_rows, v_rows] = JOINT_KINDS[joint.kind].velocity_map(self.q[q_rows, :])
        return ca.sparsify(N)

    def output(self, output: Output) -> ca.SX:
        """Return the three components of an output, in world axes."""
        X_WB, t_WB_B = self.pose(output.body), self.twist(output.body)
        at = self.vector(output.at)
        if output.quantity == "position":
            return ca.densify(X_WB.p + X_WB.R @ at)
        return ca.densify(X_WB.R @ (t_WB_B[3:] + ca.cross(t_WB_B[:3], at)))


def moved_by_waves(own: GivenMotion, motion: WaveMotion) -> GivenMotion:
    """Return a given motion with one along its axes on top: R exp(r) turns, and the point ``at`` shifts."""
    x, rate, acceleration = symbols = [ca.SX.sym(name, 6) for name in ("x", "rate", "acceleration")]
    e = small_quaternion(x[3:])
    R = rotation_of_quaternion(e)
    p = ca.densify(motion.at + x[:3] - R @ motion.at)
    R_rate = ca.reshape(ca.jtimes(ca.vec(ca.densify(R)), x, rate), 3, 3)
    twist = ca.densify(ca.vertcat(ca.inv_skew(R.T @ R_rate), R.T @ ca.jtimes(p, x, rate)))
    twist_rate = ca.jtimes(twist, x, rate) + ca.jtimes(twist, rate, acceleration)
    parts = ca.substitute([R, p, e, twist, twist_rate], symbols, [motion.position, motion.rate, motion.acceleration])
    X, further = Pose(parts[0], parts[1]), parts[3]
    carried = twist_to(X.inverse())
    total = carried @ own.twist + further
    return GivenMotion(
        own.pose @ X,
        quaternion_product(own.quaternion, parts[2]),
        ca.densify(total),
        # The rate of a twist that is fixed in M while M moves with the whole is the bracket.
        ca.densify(carried @ own.rate + twist_cross(total) @ further + parts[4]),
    )


def small_quaternion(r: ca.SX) -> ca.SX:
    """Return the unit quaternion of a rotation vector up to pi long, by series that can be differentiated at zero."""
    square = ca.dot(r, r) / 4
    cosine, sine = (sum((-square) ** k / math.factorial(2 * k + odd) for k in range(SERIES)) for odd in (0, 1))
    return ca.vertcat(cosine, sine / 2 * r)


@dataclass(frozen=True, eq=False)
class JointMotion:
    """The motion of a body against its parent, as a joint allows it."""

    X_PB: Pose
    #: Motion subspace about the body origin, in body axes.
    S_B: ca.SX
    #: The relative twist about the body origin, in body axes, and the part of its rate that holds no accelerations.
    relative: ca.SX
    relative_rate: ca.SX


def joint_motion(space: JointSpace, joint: Joint) -> JointMotion:
    """Return how ``joint`` moves its child, in its own rows of q and v."""
    kind: JointKind = JOINT_KINDS[joint.kind]
    q_rows, v_rows = space.rows(joint)
    q, v, geometry = space.q[q_rows, :], space.v[v_rows, :], space.geometry(joint)
    X_PF, X_BM = space.placements(joint)
    to_B = twist_to(X_BM)
    S = to_B @ kind.motion_subspace(q, geometry)
    if geometry.given is None:
        relative, rate = S @ v, ca.sparsify(to_B @ kind.subspace_rate(q, v, geometry))
    else:
        relative, rate = to_B @ geometry.given.twist, to_B @ geometry.given.rate
    return JointMotion(X_PF @ kind.pose_FM(q, geometry) @ X_BM.inverse(), S, relative, rate)


@dataclass(frozen=True, eq=False)
class TreeBody:
    """A body and the joint that carries it."""

    joint: Joint
    #: Rows of this joint in v.
    rows: slice
    #: Screw transformation of a twist from the parent's body frame to this body frame.
    V_BP: ca.SX
    #: Motion subspace of the joint about the body origin, in body axes.
    S_B: ca.SX
    X_PB: Pose
    X_WB: Pose
    #: Twist of the body against the world, about the body origin, in body axes.
    t_WB_B: ca.SX
    #: The part of the twist's rate that holds no accelerations: Pdot_k u of eq. (36), about the body origin.
    bias_B: ca.SX
    #: The share of its own joint in that: a_B = V_BP a_P + S_B vdot + own_bias_B.
    own_bias_B: ca.SX


class TreePlaces(JointSpace):
    """Places along the tree: they depend on the joints between two bodies, and on nothing else."""

    joint_based = True

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        self._carrier = {joint.child: joint for joint in self.mechanism.joints}
        self._in_parent: dict[str, Pose] = {}

    def pose_in_parent(self, body: str) -> Pose:
        """Return X_PB, the pose of a body in the one that carries it."""
        if body not in self._in_parent:
            joint = self._carrier[body]
            X_PF, X_BM = self.placements(joint)
            self._in_parent[body] = X_PF @ self.joint_pose(joint) @ X_BM.inverse()
        return self._in_parent[body]

    def joint_pose(self, joint: Joint) -> Pose:
        return JOINT_KINDS[joint.kind].pose_FM(self.q[self.rows(joint)[0], :], self.geometry(joint))

    def relative_pose(self, body: str, other: str) -> Pose:
        """Return the pose of ``other`` in ``body``, by way of the nearest body that carries both."""
        carriers = self._carriers(body)
        X = Pose.identity()
        while other not in carriers:
            X, other = self.pose_in_parent(other) @ X, self._carrier[other].parent
        down = Pose.identity()
        for name in reversed(carriers[: carriers.index(other)]):
            down = down @ self.pose_in_parent(name)
        return down.inverse() @ X

    def _carriers(self, body: str) -> list[str]:
        """Return a body and all that carry it, to the world."""
        names = [body]
        while names[-1] != WORLD:
            names.append(self._carrier[names[-1]].parent)
        return names


class TreeKinematics(TreePlaces):
    """Poses and twists of all bodies as expressions in q and v; what forces see (:class:`kingpost.Kinematics`)."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        self.links: Mapping[str, TreeBody] = {}
        for joint in self.mechanism.tree:
            self.links = {**self.links, joint.child: self._link(joint, self.links.get(joint.parent))}

    def _link(self, joint: Joint, parent: TreeBody | None) -> TreeBody:
        motion = joint_motion(self, joint)
        _, rows = self.rows(joint)
        V_BP = twist_to(motion.X_PB.inverse())
        relative, X_PB = motion.relative, motion.X_PB
        if parent is None:
            rate = motion.relative_rate
            return TreeBody(joint, rows, V_BP, motion.S_B, X_PB, X_PB, relative, rate, rate)
        t_WB_B = V_BP @ parent.t_WB_B + relative
        # The rate of a twist that is fixed in B while B moves with t is the bracket t x (S v).
        own_bias_B = twist_cross(t_WB_B) @ relative + motion.relative_rate
        bias_B = V_BP @ parent.bias_B + own_bias_B
        return TreeBody(joint, rows, V_BP, motion.S_B, X_PB, parent.X_WB @ X_PB, t_WB_B, bias_B, own_bias_B)

    def pose_in_parent(self, body: str) -> Pose:
        return self.links[body].X_PB

    def _pose(self, body: str) -> Pose:
        return self.links[body].X_WB

    def _twist(self, body: str) -> ca.SX:
        return self.links[body].t_WB_B
