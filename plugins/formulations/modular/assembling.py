"""Theorem 2.10 and Table 4.1 of document 002 in symbols: subsystems assembled, level by level, from their bodies.

Quasi-accelerations of a body are the rate of its twist, about its origin in body axes, with Newton-Euler equations
-M a + h = 0. A node stacks those of its parts, z~, and adds the rates of the generalized speeds of its joints as extra
variables. A joint is an external invariant of second order of the node in which its sides meet,

    a_B - V_BP a_P - S vdot - c = 0,

and the partitioned complement (2.26)-(2.29) of all of them is known: the accelerations of the bodies that joints carry depend
on the others, whatever the state. With z~ = C z + e' the node delivers (the numeric form of (4.11)-(4.12))

    Mb = C' M~ C,    hb = C' (h~ - M~ e'),    S = R C,    e = R e' + e~,

with R made of the S of its parts (2.34). At the root z are the rates of all speeds, Mb the mass matrix, hb the forces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import casadi as ca

from kingpost.mechanism.elements import WORLD
from kingpost.multibody.tree import TreeBody
from kingpost.plugins.formulations.modular.nodes import Node
from kingpost.symbols.straightline import solve_symmetric

#: A body, with the six rates of its twist, or a joint, with one rate for each speed.
Name: TypeAlias = tuple[Literal["body", "joint"], str]


@dataclass(frozen=True, eq=False)
class Part:
    """What a subsystem delivers: fbar = hb - Mb z, and the accelerations q = S z + e of its bodies."""

    #: What z consists of, and of how many numbers each.
    z: Mapping[Name, int]
    M: ca.SX
    h: ca.SX
    #: Rows of S and e for each body.
    S: Mapping[str, ca.SX]
    e: Mapping[str, ca.SX]


def body_part(name: str, inertia: ca.SX, force: ca.SX) -> Part:
    """Return a leaf: a free body with -M a + h = 0."""
    return Part({("body", name): 6}, inertia, force, {name: ca.SX.eye(6)}, {name: ca.SX(6, 1)})


def assembled_part(node: Node, leaves: Mapping[str, Part], links: Mapping[str, TreeBody]) -> Part:
    """Return what a node delivers, from its bodies and the subsystems within it; ``links`` say how bodies hang by joints.

    A joint has as many rates as its link has motions: those of its speeds, and fictitious ones where somebody added some.
    """
    children = [assembled_part(child, leaves, links) for child in node.children]
    parts = [*(leaves[name] for name in node.bodies), *children]
    z = _independent(parts, [links[joint.child] for joint in node.joints])
    complement = _Complement(z, parts)
    for joint in node.joints:
        complement.hang(links[joint.child])
    n = complement.width
    M, h = ca.SX(n, n), ca.SX(n, 1)
    S: dict[str, ca.SX] = {}
    e: dict[str, ca.SX] = {}
    for part in parts:
        C, shift = complement.rows(part)
        M += _symmetric_product(C, part.M @ C)
        h += C.T @ (part.h - part.M @ shift)
        for body in part.S:
            S[body], e[body] = complement.motion(part, body)
    return Part(z, ca.sparsify(M), h, S, e)


def hub_projection(part: Part, body: str) -> tuple[ca.SX, ca.SX]:
    """Return the inertia and the force of a part that its hub feels, with everything else in z solved for.

    This is what is left of Mb and hb along the acceleration of ``body``, which must be one of z: the interface inertia, and the
    wrench without acceleration, that a port on a joint with a given motion shows (:mod:`kingpost.loads.ports`).
    """
    first = 0
    kept: list[int] = []
    others: list[int] = []
    for name, size in part.z.items():
        (kept if name == ("body", body) else others).extend(range(first, first + size))
        first += size
    yielding = solve_symmetric(part.M[others, others], ca.horzcat(part.M[others, kept], part.h[others, :]))
    rest = part.M[kept, others] @ yielding
    return part.M[kept, kept] - rest[:, :-1], part.h[kept, :] - rest[:, -1]


def _independent(parts: Sequence[Part], links: Sequence[TreeBody]) -> dict[Name, int]:
    """Return z: what the parts have, without the bodies that the joints carry, and the rates of the joints."""
    carried = {("body", link.joint.child) for link in links}
    kept = {name: size for part in parts for name, size in part.z.items() if name not in carried}
    return kept | {("joint", link.joint.name): link.S_B.shape[1] for link in links if link.S_B.shape[1]}


class _Complement:
    """The rows of C and e' for what the parts of a node have, as its joints, base first, make them known."""

    def __init__(self, z: Mapping[Name, int], parts: Sequence[Part]) -> None:
        self.width = sum(z.values())
        self._rows: dict[Name, tuple[ca.SX, ca.SX]] = {}
        first = 0
        for name, size in z.items():
            unit = ca.horzcat(ca.SX(size, first), ca.SX.eye(size), ca.SX(size, self.width - first - size))
            self._rows[name] = unit, ca.SX(size, 1)
            first += size
        self._owner = {body: part for part in parts for body in part.S}

    def rows(self, part: Part) -> tuple[ca.SX, ca.SX]:
        """Return the rows of C and e' of a part."""
        C, e = zip(*(self._rows[name] for name in part.z), strict=True)
        return ca.vertcat(*C), ca.vertcat(*e)

    def motion(self, part: Part, body: str) -> tuple[ca.SX, ca.SX]:
        """Return how the acceleration of a body depends on z: its rows of R C, and of R e' + e~."""
        C, e, first = ca.SX(6, self.width), part.e[body], 0
        for name, size in part.z.items():
            S, first = part.S[body][:, first : first + size], first + size
            # What a body does not depend on need not be known yet: parts of a subsystem may hang from those of another.
            if S.nnz():
                C, e = C + S @ self._rows[name][0], e + S @ self._rows[name][1]
        return ca.sparsify(C), ca.sparsify(e)

    def hang(self, link: TreeBody) -> None:
        """Let the child of a joint follow its parent."""
        joint = link.joint
        along = self._rows[("joint", joint.name)][0] if link.S_B.shape[1] else ca.SX(0, self.width)
        C, e = link.S_B @ along, link.own_bias_B
        if joint.parent != WORLD:
            S_P, e_P = self.motion(self._owner[joint.parent], joint.parent)
            C, e = link.V_BP @ S_P + C, link.V_BP @ e_P + e
        self._rows[("body", joint.child)] = ca.sparsify(C), ca.sparsify(e)


def _symmetric_product(A: ca.SX, B: ca.SX) -> ca.SX:
    """Return A' B where it is known to be symmetric: half of the products are enough."""
    return ca.tril2symm(ca.tril(A.T @ B)) if A.shape[1] else ca.SX(0, 0)
