"""Machines of bodies and joints as trees for the recursion of Theorem 2.10: what `kingpost modular` shows of them.

A body is a leaf with the six rates of its twist (about its origin, in body axes) and Newton-Euler equations. A node, a group of
bodies or the whole machine, adds the rates of the speeds of the joints between its parts, with the external invariants

    a_B - V_BP a_P - S vdot - c = 0

of these joints, and those of the closures that depend on nothing outside. Nothing is known in advance of the complements, so
that this is also a check of formulations that make use of what a tree of joints is like.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.subsystems import chain_of, innermost, meeting
from kingpost.modular.labelled import VALUE, Labelled, assemble
from kingpost.modular.partitions import choose
from kingpost.modular.recursion import Given, Node, accelerations, recursion
from kingpost.modular.table import TableNode, table_of
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import tree_constraints
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.externals import with_externals
from kingpost.symbols.screws import hat, twist_cross

#: The rates of a twist.
TWIST = tuple(f"{part}{axis}_dot" for part in "wv" for axis in "xyz")


@dataclass(frozen=True, eq=False)
class Bodies:
    """What the nodes of a machine of bodies bring, in symbols, and the symbols."""

    kinematics: TreeKinematics
    given: Given

    def at(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> Given:
        """Return it in numbers."""
        own = self.kinematics
        nodes = list(_all(self.given))
        parts = [ca.densify(item.matrix) for given in nodes for item in (given.A, given.b, given.M, given.g)]
        symbols = [own.t, own.q, own.v, own.assembly.u, own.assembly.p]
        function = with_externals("kp_nodes", symbols, parts, tuple(own.externals))
        results = function(t, q, v, u, p)
        return _filled(self.given, iter(results if isinstance(results, tuple | list) else [results]))


def bodies_of(assembly: Assembly) -> Bodies:
    """Return the nodes of a machine: its groups of bodies, or one level with all bodies side by side."""
    return Bodies(*_Builder(assembly).whole())


def node_of(assembly: Assembly, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> Node:
    """Return the recursion of a machine at a state; rates of joints are independent where they can be."""
    given = bodies_of(assembly).at(t, q, v, u, p)
    return recursion(given, lambda node, B: choose(B, node.independent, singular="pivot", where=node.path))


def table_of_bodies(assembly: Assembly, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> TableNode:
    """Return Table 4.1 of a machine of bodies at a state [q; v; z]."""
    nq, nv = len(assembly.mechanism.coordinates), len(assembly.mechanism.speeds)
    root = node_of(assembly, t, x[:nq], x[nq : nq + nv], np.concatenate([u, x[nq + nv :]]), p)
    return table_of(root, accelerations(root))


def rate_label(speed: str) -> str:
    """Return the name of the rate of a generalized speed: slew.angle_ddot for slew.angle.rate."""
    return f"{speed.removesuffix('.rate')}_ddot" if speed.endswith(".rate") else f"{speed}_dot"


class _Builder:
    def __init__(self, assembly: Assembly) -> None:
        self.mechanism: Mechanism = assembly.mechanism
        self.kinematics = TreeKinematics(assembly)
        own = self.kinematics
        self.speeds = tuple(rate_label(speed.name) for speed in self.mechanism.speeds)
        self.inertias = {name: _spatial_inertia(own, name) for name in own.links}
        self.wrenches = {
            name: twist_cross(link.t_WB_B).T @ (self.inertias[name] @ link.t_WB_B) for name, link in own.links.items()
        }
        n = len(self.speeds)
        self.rotors, self.efforts = ca.SX(n, n), ca.SX(n, 1)
        for loads in own.loads():
            for name, wrench in loads.wrenches.items():
                self.wrenches[name] += wrench
            for name, added in loads.inertias.items():
                self.inertias[name] += added
            for coordinate, effort in loads.efforts.items():
                self.efforts[own.effort_row(coordinate)] += effort
            self.rotors += own.rotor_matrix(loads.rotors)

    def whole(self) -> tuple[TreeKinematics, Given]:
        return self.kinematics, self._node("", self.mechanism.name)

    def _node(self, name: str, path: str) -> Given:
        groups, owner = self.mechanism.subsystems, innermost(self.mechanism.subsystems)
        inside = [joint.child for joint in self.mechanism.tree if owner.get(joint.child, "") == name]
        children = (
            *(self._leaf(body, path) for body in inside),
            *(self._node(group.name, f"{path}.{group.name}") for group in groups if group.within == name),
        )
        joints = [joint for joint in self.mechanism.tree if self._home(joint) == name]
        closures = [closure for closure in self.mechanism.closures if self._home_of_closure(closure) == name]
        extra = tuple(label for joint in joints for label in self._speeds(joint))
        q = (*extra, *(label for child in children for label in child.q))
        rows = [self._joint_rows(joint) for joint in joints]
        rows += [self._closure_rows(closures)] if closures else []
        A = assemble(Labelled.zeros((), q), *(row[0] for row in rows)).part(..., q)
        b = assemble(Labelled.zeros(()), *(row[1] for row in rows))
        M, g = self._along_joints(q) if not name else (Labelled.zeros(q, q), Labelled.zeros(q))
        carried = {joint.child for joint in joints}
        free = [label for body in inside if body not in carried for label in _twist_rates(body)]
        below = [label for child in children if child.children for label in child.independent or ()]
        held = {label for body in carried for label in _twist_rates(body)}
        independent = (*extra, *free, *(label for label in below if label not in held))
        return Given(path, extra, A, b, M, g, children, independent)

    def _leaf(self, body: str, path: str) -> Given:
        labels = _twist_rates(body)
        nothing = Labelled.zeros((), labels)
        M, g = Labelled(self.inertias[body], labels, labels), Labelled(self.wrenches[body], labels)
        return Given(f"{path}.{body}", labels, nothing, Labelled.zeros(()), M, g, (), labels)

    def _speeds(self, joint: Joint) -> tuple[str, ...]:
        return self.speeds[self.kinematics.links[joint.child].rows]

    def _joint_rows(self, joint: Joint) -> tuple[Labelled, Labelled]:
        link = self.kinematics.links[joint.child]
        rows = tuple(f"{joint.name}.{name.removesuffix('_dot')}" for name in TWIST)
        parts = [Labelled(np.eye(6), rows, _twist_rates(joint.child))]
        if joint.parent != WORLD:
            parts.append(Labelled(-link.V_BP, rows, _twist_rates(joint.parent)))
        if link.S_B.shape[1]:
            parts.append(Labelled(-link.S_B, rows, self._speeds(joint)))
        return assemble(*parts), Labelled(-link.own_bias_B, rows, (VALUE,))

    def _closure_rows(self, closures: list[Closure]) -> tuple[Labelled, Labelled]:
        own = self.kinematics
        held = tree_constraints(own, closures)
        count: dict[str, int] = {}
        rows = []
        for name in held.owners:
            count[name] = count.get(name, 0) + 1
            rows.append(f"{name}.{count[name]}")
        speed = held.A @ own.v + held.b
        drift = ca.jtimes(speed, own.q, own.velocity_map() @ own.v) + ca.jacobian(speed, own.t)
        return Labelled(held.A, tuple(rows), self.speeds), Labelled(drift, tuple(rows))

    def _along_joints(self, q: tuple[str, ...]) -> tuple[Labelled, Labelled]:
        M = assemble(Labelled.zeros(q, q), Labelled(self.rotors, self.speeds, self.speeds)).part(q, q)
        return M, assemble(Labelled.zeros(q), Labelled(self.efforts, self.speeds)).part(q)

    def _home(self, joint: Joint) -> str:
        """Return the group in which both sides of a joint meet."""
        return meeting(self.mechanism.subsystems, (joint.parent, joint.child))

    def _home_of_closure(self, closure: Closure) -> str:
        """Return the innermost group that knows all joints whose speeds a closure depends on."""
        A = tree_constraints(self.kinematics, [closure]).A
        speeds = set(A.sparsity().get_col())
        moved = [joint for joint in self.mechanism.joints if speeds & set(self._columns(joint))]
        chains = [chain_of(self.mechanism.subsystems, self._home(joint)) for joint in moved]
        return next(name for name in chains[0] if all(name in chain for chain in chains)) if chains else ""

    def _columns(self, joint: Joint) -> range:
        rows = self.kinematics.links[joint.child].rows
        return range(rows.start, rows.stop)


def _twist_rates(body: str) -> tuple[str, ...]:
    return tuple(f"{body}.{name}" for name in TWIST)


def _spatial_inertia(kinematics: TreeKinematics, name: str) -> ca.SX:
    body = kinematics.mechanism.body(name)
    mass, com = kinematics.value(body.mass), hat(kinematics.vector(body.com))
    about_origin = kinematics.inertia(name) - mass * com @ com
    return ca.sparsify(ca.blockcat(about_origin, mass * com, -mass * com, mass * ca.SX.eye(3)))


def _all(given: Given) -> Iterator[Given]:
    yield given
    for child in given.children:
        yield from _all(child)


def _filled(given: Given, matrices: Iterator[ca.DM]) -> Given:
    A, b, M, g = (Labelled(next(matrices), item.rows, item.columns) for item in (given.A, given.b, given.M, given.g))
    children = tuple(_filled(child, matrices) for child in given.children)
    return replace(given, A=A, b=b, M=M, g=g, children=children)
