"""Newton and Euler for every body of a tree: how it moves and accelerates, what acts on it, what its joint must transmit.

An MX graph with small functions for each link, so that it grows no faster than the number of links. Symbols: time t,
coordinates q, generalized speeds v, their rates vdot, Lagrange multipliers lam, inputs u, parameters p; q and v are those of
the equations of motion, from which joint coordinates and speeds are found where they are others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import efforts_of
from kingpost.multibody.cut import CutKinematics
from kingpost.multibody.force import Rotor
from kingpost.multibody.links import LinkFunctions, make_link
from kingpost.symbols.externals import External
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import (
    Pose,
    pack_pose,
    quaternion_conjugate,
    quaternion_product,
    quaternion_rpy,
    rotation_rpy,
    twist_to,
    unpack_pose,
    wrench_to,
)


@dataclass(frozen=True, eq=False)
class JointFunctions:
    """What has to be known of a joint to speak of its load; q are its own coordinates."""

    #: (w_B, p) -> the same wrench about the origin of M, in M.
    to_joint: ca.Function
    #: (w_M, q, p) -> the part that does no work on the motions that the joint allows.
    constraint: ca.Function
    #: (effort, q, p) -> the wrench on M that the efforts along the joint's speeds amount to.
    effort: ca.Function
    #: (e_WP, q, p) -> e_WB, unit quaternions.
    turn: ca.Function


class TreeDynamics:
    """All bodies of a tree, from base to tips."""

    def __init__(
        self, assembly: Assembly, multipliers: int = 0, joint_state: ca.Function | None = None, disturbed: bool = False
    ) -> None:
        self.assembly = assembly
        self.space = space = CutKinematics(assembly)
        #: Symbols added to the rates of given twists, by joint.
        self.disturbances: dict[str, ca.MX] = space.disturb() if disturbed else {}
        self.t, self.q, self.v, self.u, self.p = (space.symbols[name] for name in "tqvup")
        #: Parameters, and the motions of given joints: what the functions of links and joints take for parameters.
        self.known = space.mx["p"]
        self.vdot = ca.MX.sym("vdot", space.v.numel())
        #: Joint coordinates, joint speeds and their rates, in these symbols.
        self.joint_motion: tuple[ca.MX, ca.MX, ca.MX] = (self.q, self.v, self.vdot)
        if joint_state is not None:
            names = ("q", "v", "vdot")
            self.q, self.v, self.vdot = (ca.MX.sym(name, joint_state.numel_in(i)) for i, name in enumerate(names))
            joint_q, joint_v, joint_vdot = joint_state(self.q, self.v, self.vdot, self.p)
            self.joint_motion = (joint_q, joint_v, joint_vdot)
            space.mx["q"], space.mx["v"] = joint_q, joint_v
        self.lam = ca.MX.sym("lam", multipliers)
        self.links: dict[str, LinkFunctions] = {joint.child: make_link(space, joint) for joint in assembly.mechanism.tree}
        self.joints: dict[str, JointFunctions] = {
            joint.name: _joint_functions(space, joint) for joint in assembly.mechanism.tree
        }
        #: The pose X_WB of each body, packed, its unit quaternion, its twist about its origin in body axes, and the rate of
        #: that.
        self.poses: dict[str, ca.MX] = {}
        self.quaternions: dict[str, ca.MX] = {}
        self.twists: dict[str, ca.MX] = {}
        self.accelerations: dict[str, ca.MX] = {}
        #: Inertial less applied wrench of each body, about its origin in body axes: what its joints must supply.
        self.needed: dict[str, ca.MX] = {}
        #: The wrench of all closures on each body that they tie, about its origin in body axes; part of ``needed``.
        self.closing: dict[str, ca.MX] = {}
        #: What loads that rigid bodies leave open are more in a joint, about the origin of M in M, than its multipliers say.
        self.shared: dict[str, ca.MX] = {}
        self._entries: dict[str, ca.MX] = {}
        self._move()
        self._apply()
        self._passed: dict[str, ca.MX] | None = None
        #: ``needed`` without closures, once there are some.
        self._unclosed: dict[str, ca.MX] | None = None
        #: Functions outside the expressions, those of a method that derives expressions of its own included: CasADi does not
        #: keep them alive.
        self.externals: list[External] = [*self.space.externals, *self.space.traced]

    @property
    def symbols(self) -> list[ca.MX]:
        """The symbols t, q, v, vdot, lam, u, p, in the order of every function's arguments."""
        return [self.t, self.q, self.v, self.vdot, self.lam, self.u, self.p]

    def own_q(self, joint: Joint) -> ca.MX:
        """Return the coordinates of a joint."""
        return self.joint_motion[0][self.space.rows(joint)[0], :]

    def _move(self) -> None:
        poses = {WORLD: ca.MX(ca.DM(pack_pose(Pose.identity())))}
        quaternions = {WORLD: ca.MX(ca.DM([1.0, 0.0, 0.0, 0.0]))}
        twists, accelerations = {WORLD: ca.MX.zeros(6)}, {WORLD: ca.MX.zeros(6)}
        _, v, vdot = self.joint_motion
        for body, link in self.links.items():
            parent, q = link.joint.parent, self.own_q(link.joint)
            x, twists[body], c, gyroscopic = link.move(q, v[link.rows, :], self.known, twists[parent])
            poses[body] = link.place(poses[parent], x, self.known)
            quaternions[body] = self.joints[link.joint.name].turn(quaternions[parent], q, self.known)
            accelerations[body] = link.carry(x, q, self.known, accelerations[parent], vdot[link.rows, :]) + c
            self.needed[body] = gyroscopic + link.resist(accelerations[body], self.known)
            self._entries[body] = x
            self.space.place(body, poses[body], twists[body])
        self.poses, self.quaternions, self.twists, self.accelerations = poses, quaternions, twists, accelerations

    def _apply(self) -> None:
        """Take the applied wrenches off, and sort the efforts by the part of the load that they are reported as."""
        space = self.space
        wrenches: dict[str, ca.SX] = {}
        inertias: dict[str, ca.SX] = {}
        rotors: list[Rotor] = []
        efforts = {part: ca.SX(space.v.numel(), 1) for part in ("actuator", "friction")}
        gravity = ca.SX(3, 1)
        for force, loads in zip(self.assembly.forces.values(), space.loads(), strict=True):
            for body, wrench in loads.wrenches.items():
                wrenches[body] = wrenches.get(body, 0) + wrench
            for body, inertia in loads.inertias.items():
                inertias[body] = inertias.get(body, 0) + inertia
            for name, effort in loads.efforts.items():
                efforts[force.part][space.effort_row(name)] += effort
            rotors += loads.rotors
            if loads.gravity is not None:
                gravity += loads.gravity
        space.resolve_externals()
        for body, wrench in wrenches.items():
            self.needed[body] = self.needed[body] - space.lower("wrench", wrench, space.mx)
        for body, inertia in inertias.items():
            self.needed[body] = self.needed[body] + space.lower("inertia", inertia, space.mx) @ self.accelerations[body]
        #: Efforts along v by part, and which of them are there at all; efforts that depend on loads wait for these.
        self._own_efforts = {part: ca.densify(effort) for part, effort in efforts.items()}
        self._further_efforts: dict[str, ca.MX] = {}
        self._driven = {part: {int(row) for row in ca.sparsify(effort).sparsity().row()} for part, effort in efforts.items()}
        if rotors:
            # What a drive gives to the joint is what is left of its effort once its own rotor is accelerated.
            added = space.rotor_matrix(rotors)
            self._further_efforts["actuator"] = -space.lower("rotors", ca.densify(added), space.mx) @ self.joint_motion[2]
            self._driven["actuator"] |= {int(row) for row in added.sparsity().row()}
        #: Acceleration of free fall, in world axes.
        self.gravity = space.lower("gravity", ca.densify(gravity), space.mx)

    def close(self, reactions: Mapping[str, ca.MX]) -> None:
        """Take off what the closures do, given their wrenches (and efforts) as in :class:`.constraints.Constraints`.

        Done again, it replaces what was said before.
        """
        if self._unclosed is None:
            self._unclosed = dict(self.needed)
        self.needed, self.closing, self._passed = dict(self._unclosed), {}, None
        efforts = ca.MX.zeros(self.space.v.numel())
        driven: set[int] = set()
        for closure in self.assembly.mechanism.closures:
            if closure.child:
                on_child, on_parent = self._closure_wrenches(closure, reactions[closure.name])
                for body, wrench in ((closure.child, on_child), (closure.parent, on_parent)):
                    if body != WORLD:
                        self.closing[body] = self.closing[body] + wrench if body in self.closing else wrench
            for i, name in enumerate(closure.coordinates):
                row = self.space.effort_row(name)
                efforts[row] += reactions[efforts_of(closure.name)][i]
                driven.add(row)
        for body, wrench in self.closing.items():
            self.needed[body] = self.needed[body] - wrench
        if driven:
            self._further_efforts["closure"], self._driven["closure"] = efforts, driven

    def closure_frames(self, closure: Closure) -> tuple[Pose, Pose]:
        """Return X_PF and X_BM, the places of a closure's frames on parent and child."""
        space = self.space
        X_PF, X_BM = (
            Pose(rotation_rpy(*ca.vertsplit(ca.densify(space.vector(rotation)))), space.vector(position))
            for position, rotation in (
                (closure.position, closure.rotation),
                (closure.child_position, closure.child_rotation),
            )
        )
        return X_PF, X_BM

    def _closure_wrenches(self, closure: Closure, wrench: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Return the wrenches on child and parent, each about its origin in its axes, of one on the child in M."""
        X_WP, X_WB, w_M = ca.SX.sym("X_WP", 12), ca.SX.sym("X_WB", 12), ca.SX.sym("w", 6)
        _, X_BM = self.closure_frames(closure)
        X_PB = unpack_pose(X_WP).inverse() @ unpack_pose(X_WB)
        on_child = wrench_to(X_BM) @ w_M
        results = [on_child, -wrench_to(X_PB) @ on_child]
        function = self.space.share("closure_wrenches", [X_WP, X_WB, w_M, self.space.assembly.p], results)
        on_child, on_parent = function(self.poses[closure.parent], self.poses[closure.child], wrench, self.p)
        return on_child, on_parent

    def parts(self, joint: Joint) -> tuple[str, ...]:
        """Return which kinds of effort a joint has, of ``actuator``, ``friction`` and ``closure``."""
        rows = self.space.rows(joint)[1]
        return tuple(part for part, driven in self._driven.items() if driven & set(range(rows.start, rows.stop)))

    def efforts(self, part: str) -> ca.MX:
        """Return the efforts of one part along v."""
        efforts = self._further_efforts.get(part, ca.MX.zeros(self.space.v.numel()))
        own = self._own_efforts.get(part)
        return efforts if own is None else efforts + self.with_loads("efforts", own)

    def with_loads(self, name: str, expression: ca.SX) -> ca.MX:
        """Return an SX expression of forces in the symbols of these dynamics, loads of joints included."""
        names = {f"load {joint.name}": joint for joint in self.assembly.mechanism.joints}
        loads = {group: self.constraint_load(names[group]) for group in self.space.groups(expression) if group in names}
        return self.space.lower(name, expression, {**self.space.mx, **loads})

    def constraint_load(self, joint: Joint) -> ca.MX:
        """Return the part of a joint's load that does no work on the motions that it allows, about the origin of M, in M.

        It comes from accelerations and multipliers alone: efforts along the joint are no part of it.
        """
        return ca.MX(self.joints[joint.name].constraint(self.transmitted(joint), self.own_q(joint), self.known))

    def effort_wrench(self, joint: Joint, part: str) -> ca.MX:
        """Return the wrench on the child's joint frame that the efforts of one part amount to."""
        rows = self.space.rows(joint)[1]
        return ca.MX(self.joints[joint.name].effort(self.efforts(part)[rows, :], self.own_q(joint), self.known))

    def transmitted(self, joint: Joint) -> ca.MX:
        """Return the whole wrench that a joint must transmit, by recursive Newton-Euler, about the origin of M, in M."""
        if self._passed is None:
            self._passed = dict(self.needed)
            for body, link in reversed(self.links.items()):
                if link.joint.parent != WORLD:
                    _, passed = link.pass_on(self._entries[body], self.own_q(link.joint), self.known, self._passed[body])
                    self._passed[link.joint.parent] = self._passed[link.joint.parent] + passed
        return ca.MX(self.joints[joint.name].to_joint(self._passed[joint.child], self.known))


def _joint_functions(space: CutKinematics, joint: Joint) -> JointFunctions:
    kind, geometry, p = JOINT_KINDS[joint.kind], space.geometry(joint), space.sx["p"]
    q = ca.SX.sym("q", len(joint.positions))
    _, X_BM = space.placements(joint)
    S, T = kind.motion_subspace(q, geometry), kind.effort_wrenches(q, geometry)
    wrench, effort, e_WP = ca.SX.sym("w", 6), ca.SX.sym("effort", S.shape[1]), ca.SX.sym("e", 4)
    e_PF, e_BM = (quaternion_rpy(*ca.vertsplit(space.vector(angles))) for angles in (joint.rotation, joint.child_rotation))
    e_FB = quaternion_product(kind.rotation_FM(q, geometry), quaternion_conjugate(e_BM))
    return JointFunctions(
        to_joint=space.share("to_joint", [wrench, p], [twist_to(X_BM).T @ wrench]),
        constraint=space.share("constraint", [wrench, q, p], [wrench - T @ (S.T @ wrench)]),
        effort=space.share("effort_wrench", [effort, q, p], [T @ effort]),
        turn=space.share("turn", [e_WP, q, p], [quaternion_product(quaternion_product(e_WP, e_PF), e_FB)]),
    )
