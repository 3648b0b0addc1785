"""Joint loads from auxiliary generalized speeds, section II-C of document 004; equation numbers are the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.loads.method import JointLoads
from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.multibody.tree import TreeBody, TreeKinematics
from kingpost.symbols.externals import External, with_externals
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose, shift_twist, shift_wrench, twist_to, wrench_to


class AuxiliarySpeeds(JointLoads):
    """Auxiliary generalized speeds along the motions that joints forbid (document 004)."""

    name = "auxiliary-speeds"

    def constraint_wrenches(self, dynamics: TreeDynamics, equations: Equations, joints: Sequence[Joint]) -> Mapping[str, ca.MX]:
        auxiliary = auxiliary_speeds(dynamics.assembly, joints, closed=tuple(dynamics.closing))
        results = [auxiliary.opened[joint.name].wrench(auxiliary.rho) for joint in joints]
        symbols = [auxiliary.t, auxiliary.q, auxiliary.v, auxiliary.vdot, auxiliary.u, auxiliary.p, auxiliary.closing]
        function = with_externals("kp_auxiliary", symbols, results, auxiliary.externals)
        dynamics.externals += auxiliary.externals
        closing = ca.vertcat(ca.MX(0, 1), *dynamics.closing.values())
        values = function.call([dynamics.t, *dynamics.joint_motion, dynamics.u, dynamics.p, closing])
        return {joint.name: value for joint, value in zip(joints, values, strict=True)}


@dataclass(frozen=True, eq=False)
class Opened:
    """A joint that is imagined to open (Fig. 3): unknown loads, and auxiliary velocities along them, in M about its origin.

    ``constraints`` are the wrenches of unit constraint loads, a basis of the motions that the joint forbids; ``efforts``
    those of unit efforts along the motions that it allows. The velocities are dual to them: each load works on its own speed
    alone.
    """

    joint: Joint
    #: Rows of this joint in the vector of unknown magnitudes, constraint loads first.
    rows: slice
    constraints: ca.SX
    efforts: ca.SX
    motions: ca.SX
    X_BM: Pose

    @property
    def loads(self) -> ca.SX:
        """Unit loads as columns, constraints first: what the selection matrices of eqs. (71), (72) are made of."""
        return ca.horzcat(self.constraints, self.efforts)

    @property
    def velocities(self) -> ca.SX:
        """Unit auxiliary velocities as columns, eq. (67), dual to :attr:`loads`."""
        C, T, S = self.constraints, self.efforts, self.motions
        if not C.shape[1]:
            return S
        along = ca.solve(C.T @ C, C.T).T if C.shape[1] > 1 else C / ca.dot(C, C)
        return ca.horzcat(along - S @ (T.T @ along), S)

    def wrench(self, rho: ca.SX) -> ca.SX:
        """Return the constraint part of the load."""
        first = self.rows.start
        return self.constraints @ rho[first : first + self.constraints.shape[1], :]


@dataclass(frozen=True, eq=False)
class AuxiliaryMatrices:
    """The terms of eqs. (39)-(50) for a set of joints, and the symbols they are written in."""

    t: ca.SX
    q: ca.SX
    v: ca.SX
    vdot: ca.SX
    u: ca.SX
    p: ca.SX
    #: Wrenches of closures on the bodies that they tie, about the body origins in body axes, one after the other.
    closing: ca.SX
    opened: dict[str, Opened]
    #: Projection matrices P_ck about each body's centre of gravity, eq. (42).
    P_c: dict[str, ca.SX]
    #: The sum over k of P_ck' times the sum over p of U-bar N_pk: the bracket of eq. (50).
    bracket: ca.SX
    #: M_f udot + C_f u - tau_f, the right-hand side of eq. (50).
    demand: ca.SX
    externals: tuple[External, ...]

    @property
    def rho(self) -> ca.SX:
        """Magnitudes of the unknown loads, eq. (50): constraint loads, then efforts, joint by joint.

        Every load acts on both bodies of its joint and its speed moves only what lies beyond, so the bracket is the identity
        and there is nothing to invert.
        """
        return self.demand


def auxiliary_speeds(
    assembly: Assembly, joints: Sequence[Joint], reactions: bool = True, closed: Sequence[str] = ()
) -> AuxiliaryMatrices:
    """Return the terms of eqs. (39)-(50) for a set of opened joints.

    ``reactions=False`` leaves out the loads on the parents (N_1,1 of eq. 71), to show what that does. ``closed`` are the bodies
    on which closures act; the paper has none, and they count as applied wrenches.
    """
    kinematics = TreeKinematics(assembly)
    opened = _open(kinematics, joints)
    size = 6 * len(joints)
    vdot = ca.SX.sym("vdot", kinematics.v.numel())
    applied: dict[str, ca.SX] = {name: ca.SX(6, 1) for name in kinematics.links}
    inertias: dict[str, ca.SX] = {}
    for loads in kinematics.loads():
        for name, wrench in loads.wrenches.items():
            applied[name] += wrench
        for name, added in loads.inertias.items():
            inertias[name] = inertias.get(name, 0) + added
    closing = ca.SX.sym("closing", 6 * len(closed))
    for i, name in enumerate(closed):
        applied[name] += closing[6 * i : 6 * i + 6]
    # Wrenches of unit loads on each body, about its origin in body axes: the sum over p of U-bar N_pk.
    acting: dict[str, ca.SX] = {name: ca.SX(6, size) for name in kinematics.links}
    for item in opened.values():
        link = kinematics.links[item.joint.child]
        on_child = wrench_to(item.X_BM) @ item.loads
        acting[item.joint.child][:, item.rows] += on_child
        if reactions and item.joint.parent in acting:
            acting[item.joint.parent][:, item.rows] -= link.V_BP.T @ on_child
    moved: dict[str, ca.SX] = {}
    rates: dict[str, ca.SX] = {}
    P_c, bracket, demand = {}, ca.SX(size, size), ca.SX(size, 1)
    for name, link in kinematics.links.items():
        moved[name] = _updated(kinematics, link, opened, moved, size)
        parent = rates.get(link.joint.parent)
        rates[name] = link.S_B @ vdot[link.rows, :] + (0 if parent is None else link.V_BP @ parent)
        if name in inertias:
            applied[name] -= inertias[name] @ (rates[name] + link.bias_B)
        body = assembly.mechanism.body(name)
        com = assembly.vector(body.com)
        U = shift_twist(com)
        P_c[name], t, tdot = U @ moved[name], U @ link.t_WB_B, U @ (rates[name] + link.bias_B)
        D = ca.diagcat(kinematics.inertia(name), assembly.value(body.mass) * ca.SX.eye(3))  # eq. (35)
        momentum = D @ t
        inertial = D @ tdot + ca.vertcat(ca.cross(t[:3], momentum[:3]), ca.cross(t[:3], momentum[3:]))
        # Eqs. (44), (45), (47): everything about the centre of gravity, hence the shift back from the origin.
        to_com = shift_wrench(-com)
        demand += P_c[name].T @ (inertial - to_com @ applied[name])
        bracket += P_c[name].T @ to_com @ acting[name]
    symbols = (assembly.t, kinematics.q, kinematics.v, vdot, assembly.u, assembly.p, closing)
    return AuxiliaryMatrices(*symbols, opened, P_c, bracket, demand, tuple(kinematics.externals))


def _open(kinematics: TreeKinematics, joints: Sequence[Joint]) -> dict[str, Opened]:
    opened = {}
    for i, joint in enumerate(joints):
        kind, geometry = JOINT_KINDS[joint.kind], kinematics.geometry(joint)
        q = kinematics.q[kinematics.rows(joint)[0], :]
        opened[joint.name] = Opened(
            joint,
            slice(6 * i, 6 * i + 6),
            ca.sparsify(kind.forbidden(q, geometry)),
            ca.sparsify(kind.effort_wrenches(q, geometry)),
            ca.sparsify(kind.motion_subspace(q, geometry)),
            kinematics.placements(joint)[1],
        )
    return opened


def _updated(
    kinematics: TreeKinematics, link: TreeBody, opened: Mapping[str, Opened], moved: Mapping[str, ca.SX], size: int
) -> ca.SX:
    """Return the twist of a body about its origin as a map of the auxiliary speeds, eqs. (66)-(70)."""
    parent = moved.get(link.joint.parent)
    twist = ca.SX(6, size) if parent is None else link.V_BP @ parent
    item = opened.get(link.joint.name)
    if item is not None:
        twist[:, item.rows] += twist_to(item.X_BM) @ item.velocities
    return ca.sparsify(twist)
