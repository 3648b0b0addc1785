"""Recursive equations of motion of trees: the articulated-body algorithm and recursive Newton-Euler, both O(n).

Featherstone, Rigid Body Dynamics Algorithms (2008), tables 5.1 and 7.1, with twists and wrenches in the order of this package. Each
link is a few small functions that call no other link's, so generated code and build time grow with the number of links, not faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from kingpost.assembly import Assembly
from kingpost.elements import WORLD, Joint
from kingpost.equations import Channel, Equations
from kingpost.interfaces.formulation import Formulation
from kingpost.kinematics import joint_motion
from kingpost.plugins.formulations.cut import CutKinematics
from kingpost.screws import Pose, hat, twist_cross, twist_to


class Recursive(Formulation):
    """Articulated-body algorithm: accelerations in O(n), for machines with many links."""

    name = "recursive"

    def derive(self, assembly: Assembly) -> Equations:
        tree = _Tree(assembly)
        space = tree.space
        outputs = assembly.mechanism.outputs
        return Equations(
            mechanism=assembly.mechanism,
            formulation=self.name,
            t=space.mx["t"],
            q=space.mx["q"],
            v=space.mx["v"],
            u=space.mx["u"],
            p=space.mx["p"],
            N=space.lower("velocity_map", space.velocity_map()),
            M=tree.mass_matrix(),
            f=-tree.inverse_dynamics(),
            vdot=tree.accelerations(),
            kinetic=tree.kinetic_energy(),
            potential=space.lower("potential", tree.potential),
            outputs=ca.vertcat(
                ca.MX(0, 1), *(space.lower(f"output{i}", space.output(output)) for i, output in enumerate(outputs))
            ),
            output_channels=tuple(
                Channel(f"{output.name}.{axis}", output.unit, "world") for output in outputs for axis in "xyz"
            ),
            lam=ca.MX(0, 1),
            traced=space.traced,
        )


@dataclass(frozen=True, eq=False)
class _Link:
    """The functions of one link. X packs R_PB by columns and p_PB; symmetric matrices are packed by their upper triangle."""

    joint: Joint
    rows: slice
    #: (q, v, p, t_P) -> X, t_B, c_B, bias wrench t x* I t
    move: ca.Function
    #: (q, p, X, c, IA, pA, tau) -> IA and pA for the parent, U, inverse of D, u
    gather: ca.Function
    #: (q, p, X, c, a_P, U, Dinv, u) -> vdot, a_B
    accelerate: ca.Function
    #: (q, p, X, a_P, vdot) -> a_B, without velocity terms
    carry: ca.Function
    #: (a_B, p) -> I a
    resist: ca.Function
    #: (q, p, X, f_B) -> tau, f for the parent
    pass_on: ca.Function
    #: (t_B, p) -> kinetic energy
    energy: ca.Function
    #: p -> I, packed
    inertia: ca.Function


def _pack(matrix: ca.SX) -> ca.SX:
    return ca.vertcat(*(matrix[i, j] for i in range(6) for j in range(i, 6)))


def _unpack(entries: ca.SX) -> ca.SX:
    matrix = ca.SX(6, 6)
    k = 0
    for i in range(6):
        for j in range(i, 6):
            matrix[i, j] = matrix[j, i] = entries[k]
            k += 1
    return matrix


def _unpack_pose(X: ca.SX) -> Pose:
    return Pose(ca.reshape(X[:9], 3, 3), X[9:])


def _make_link(space: CutKinematics, joint: Joint) -> _Link:
    q_rows, v_rows = space.rows(joint)
    q, v, p = ca.SX.sym("q", len(joint.positions)), ca.SX.sym("v", len(joint.speeds)), space.assembly.p
    own = joint_motion(space, joint)

    def localised(expression: ca.SX) -> ca.SX:
        """Put this joint's own symbols in the place of its rows of q and v."""
        given = ca.vertcat(space.q[q_rows], space.v[v_rows])
        return ca.substitute(expression, given, ca.vertcat(q, v)) if given.numel() else expression

    X_PB = Pose(localised(own.X_PB.R), localised(own.X_PB.p))
    S, Sdot_v = localised(own.S_B), localised(own.Sdot_v)
    n = v.numel()
    body = space.mechanism.body(joint.child)
    com, mass = space.vector(body.com), space.value(body.mass)
    com_hat = hat(com)
    # Spatial inertia about the body origin.
    inertia = ca.sparsify(
        ca.blockcat(space.inertia(joint.child) - mass * com_hat @ com_hat, mass * com_hat, -mass * com_hat, mass * ca.SX.eye(3))
    )

    t_P, t_B, a_P, a_B, f_B, c = (ca.SX.sym(name, 6) for name in ("t_P", "t_B", "a_P", "a_B", "f_B", "c"))
    X = ca.SX.sym("X", 12)
    V_BP = twist_to(_unpack_pose(X).inverse())
    V_own = twist_to(X_PB.inverse())
    relative = S @ v
    moving = V_own @ t_P + relative
    bias = twist_cross(moving) @ relative + Sdot_v
    gyroscopic = -twist_cross(moving).T @ (inertia @ moving)

    IA_entries, pA, tau = ca.SX.sym("IA", 21), ca.SX.sym("pA", 6), ca.SX.sym("tau", n)
    U_symbols, Dinv_symbols, u_symbols = ca.SX.sym("U", 6 * n), ca.SX.sym("Dinv", n * n), ca.SX.sym("rest", n)
    IA = _unpack(IA_entries)
    U = IA @ S
    D = S.T @ U
    Dinv = ca.inv(ca.densify(D)) if n > 1 else 1 / D if n else ca.SX(0, 0)
    u = tau - S.T @ pA
    Ia = IA - U @ Dinv @ U.T if n else IA
    pa = pA + Ia @ c + (U @ Dinv @ u if n else 0)

    U_known, Dinv_known = ca.reshape(U_symbols, 6, n), ca.reshape(Dinv_symbols, n, n)
    arriving = V_BP @ a_P + c
    vdot = Dinv_known @ (u_symbols - U_known.T @ arriving) if n else ca.SX(0, 1)
    vdot_symbols = ca.SX.sym("vdot", n)

    name = f"link{space.mechanism.joints.index(joint)}"

    def function(verb: str, inputs: list[ca.SX], results: list[ca.SX]) -> ca.Function:
        dense = [ca.densify(result) for result in results]
        return ca.Function(f"{name}_{verb}", inputs, ca.cse(dense))

    return _Link(
        joint,
        v_rows,
        move=function(
            "move",
            [q, v, p, t_P],
            [ca.vertcat(ca.vec(ca.densify(X_PB.R)), ca.densify(X_PB.p)), moving, bias, gyroscopic],
        ),
        gather=function(
            "gather",
            [q, p, X, c, IA_entries, pA, tau],
            [_pack(V_BP.T @ Ia @ V_BP), V_BP.T @ pa, ca.vec(ca.densify(U)), ca.vec(ca.densify(Dinv)), u],
        ),
        accelerate=function("accelerate", [q, p, X, c, a_P, U_symbols, Dinv_symbols, u_symbols], [vdot, arriving + S @ vdot]),
        carry=function("carry", [q, p, X, a_P, vdot_symbols], [V_BP @ a_P + S @ vdot_symbols]),
        resist=function("resist", [a_B, p], [inertia @ a_B]),
        pass_on=function("pass_on", [q, p, X, f_B], [S.T @ f_B, V_BP.T @ f_B]),
        energy=function("energy", [t_B, p], [ca.dot(t_B, inertia @ t_B) / 2]),
        inertia=function("inertia", [p], [_pack(ca.densify(inertia))]),
    )


class _Tree:
    """The links of a mechanism, from base to tips, and the passes over them."""

    def __init__(self, assembly: Assembly) -> None:
        self.space = CutKinematics(assembly)
        self.links = {joint.child: _make_link(self.space, joint) for joint in assembly.mechanism.tree}
        self.X: dict[str, ca.MX] = {}
        self.t: dict[str, ca.MX] = {WORLD: ca.MX.zeros(6)}
        self.c: dict[str, ca.MX] = {}
        self.gyroscopic: dict[str, ca.MX] = {}
        for body, link in self.links.items():
            q, v = self._own("q", link), self._own("v", link)
            self.X[body], self.t[body], self.c[body], self.gyroscopic[body] = link.move(
                q, v, self._p, self.t[link.joint.parent]
            )
            self.space.place(body, link.joint.parent, self.X[body], self.t[body])
        self.potential = ca.SX(0)
        wrenches: dict[str, ca.SX] = {}
        efforts = ca.SX(self.space.v.numel(), 1)
        for loads in self.space.loads():
            for body, wrench in loads.wrenches.items():
                wrenches[body] = wrenches.get(body, 0) + wrench
            for name, effort in loads.efforts.items():
                efforts[self.space.effort_row(name)] += effort
            self.potential += loads.potential
        self.wrenches = {body: self.space.lower(f"wrench_{i}", wrench) for i, (body, wrench) in enumerate(wrenches.items())}
        self.efforts = self.space.lower("efforts", ca.densify(efforts))

    @property
    def _p(self) -> ca.MX:
        return self.space.mx["p"]

    def _own(self, name: str, link: _Link) -> ca.MX:
        q_rows, v_rows = self.space.rows(link.joint)
        return self.space.mx[name][q_rows if name == "q" else v_rows]

    def _in_order(self, results: dict[str, ca.MX]) -> ca.MX:
        """Return the parts of a vector like v, found link by link, in the order of the joints."""
        ordered = [results[joint.child] for joint in self.space.mechanism.joints]
        return ca.vertcat(ca.MX(0, 1), *ordered)

    @cached_property
    def _bias_wrenches(self) -> dict[str, ca.MX]:
        """Inertial less applied wrench of each body at zero acceleration."""
        return {
            body: self.gyroscopic[body] - self.wrenches[body] if body in self.wrenches else self.gyroscopic[body]
            for body in self.links
        }

    def accelerations(self) -> ca.MX:
        """Articulated-body algorithm."""
        IA: dict[str, ca.MX] = {body: link.inertia(self._p) for body, link in self.links.items()}
        pA = dict(self._bias_wrenches)
        kept: dict[str, tuple[ca.MX, ca.MX, ca.MX]] = {}
        for body, link in reversed(self.links.items()):
            to_parent = link.gather(
                self._own("q", link), self._p, self.X[body], self.c[body], IA[body], pA[body], self.efforts[link.rows]
            )
            kept[body] = to_parent[2:]
            parent = link.joint.parent
            if parent != WORLD:
                IA[parent] = IA[parent] + to_parent[0]
                pA[parent] = pA[parent] + to_parent[1]
        a: dict[str, ca.MX] = {WORLD: ca.MX.zeros(6)}
        vdot: dict[str, ca.MX] = {}
        for body, link in self.links.items():
            vdot[body], a[body] = link.accelerate(
                self._own("q", link), self._p, self.X[body], self.c[body], a[link.joint.parent], *kept[body]
            )
        return self._in_order(vdot)

    def inverse_dynamics(self) -> ca.MX:
        """Recursive Newton-Euler at zero accelerations: the effort that would be needed, less the applied one."""
        accelerations = {WORLD: ca.MX.zeros(6)}
        wrenches = dict(self._bias_wrenches)
        for body, link in self.links.items():
            still = ca.MX.zeros(len(link.joint.speeds))
            carried = link.carry(self._own("q", link), self._p, self.X[body], accelerations[link.joint.parent], still)
            accelerations[body] = carried + self.c[body]
            wrenches[body] = wrenches[body] + link.resist(accelerations[body], self._p)
        return self._gathered(wrenches, self.X, self._own) - self.efforts

    def mass_matrix(self) -> ca.MX:
        """Recursive Newton-Euler for one unit acceleration after the other, at rest and without loads."""
        n = self.space.v.numel()
        if n == 0:
            return ca.MX(0, 0)
        q, p, vdot = ca.MX.sym("q", self.space.q.numel()), ca.MX.sym("p", self._p.numel()), ca.MX.sym("vdot", n)

        def own(name: str, link: _Link) -> ca.MX:
            q_rows, v_rows = self.space.rows(link.joint)
            return q[q_rows] if name == "q" else vdot[v_rows]

        X: dict[str, ca.MX] = {}
        accelerations, wrenches = {WORLD: ca.MX.zeros(6)}, {}
        for body, link in self.links.items():
            still = ca.MX.zeros(len(link.joint.speeds))
            X[body] = link.move(own("q", link), still, p, ca.MX.zeros(6))[0]
            accelerations[body] = link.carry(own("q", link), p, X[body], accelerations[link.joint.parent], own("v", link))
            wrenches[body] = link.resist(accelerations[body], p)
        column = ca.Function("mass_times", [q, p, vdot], [self._gathered(wrenches, X, own, p)])
        # One loop over the columns in generated code, not n copies of it.
        return column.map(n)(ca.repmat(self.space.mx["q"], 1, n), ca.repmat(self._p, 1, n), ca.DM.eye(n))

    def _gathered(
        self, wrenches: dict[str, ca.MX], X: dict[str, ca.MX], own: Callable[[str, _Link], ca.MX], p: ca.MX | None = None
    ) -> ca.MX:
        """Return the efforts along the joints of wrenches that are passed on from the tips to the base."""
        efforts: dict[str, ca.MX] = {}
        for body, link in reversed(self.links.items()):
            efforts[body], passed = link.pass_on(own("q", link), self._p if p is None else p, X[body], wrenches[body])
            if link.joint.parent != WORLD:
                wrenches[link.joint.parent] = wrenches[link.joint.parent] + passed
        return self._in_order(efforts)

    def kinetic_energy(self) -> ca.MX:
        """Sum over the bodies."""
        return sum((link.energy(self.t[body], self._p) for body, link in self.links.items()), ca.MX(0))
