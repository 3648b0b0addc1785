"""Loops whose loads rigid bodies leave open: which joints they have, and by how much.

A self-stress is a set of loads in the joints and closures of a machine that balance each other on every body. Added to the
loads of a motion it changes nothing in it, so statics cannot tell how much of it there is. Self-stresses live in loops alone:
bodies are nodes, joints and closures are edges, and each set of loops that share edges has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations
from kingpost.equations.redundancy import independent_rows
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints, tree_constraints
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.joints import JOINT_KINDS

Edge: TypeAlias = Joint | Closure


@dataclass(frozen=True, eq=False)
class Loops:
    """Loops that share edges, in which some constraints follow from others."""

    joints: tuple[Joint, ...]
    #: Those that tie bodies, and gears that tie coordinates of its joints.
    closures: tuple[Closure, ...]
    #: Rows of the constraints of all closures, in joint coordinates: those that say everything, and those that follow.
    kept: tuple[int, ...]
    following: tuple[int, ...]

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Joints and closures between bodies."""
        return (*self.joints, *(closure for closure in self.closures if closure.child))


@dataclass(frozen=True, eq=False)
class OpenLoads:
    """All loops of a machine with self-stresses, and the constraints of its closures in joint coordinates."""

    loops: tuple[Loops, ...]
    tree: TreeKinematics
    constraints: Constraints


def open_loads(assembly: Assembly, equations: Equations) -> OpenLoads | None:
    """Return the loops whose loads rigid bodies leave open, or None if all loads are unique."""
    held = equations.constraints
    if not assembly.mechanism.closures or not held.judged_at:
        return None
    # In joint coordinates a constraint is redundant where the loads are open; other coordinates may hold some of it back.
    if equations.joint_coordinates and not held.redundant:
        return None
    tree = TreeKinematics(assembly)
    constraints = tree_constraints(tree, assembly.mechanism.closures)
    jacobian = ca.Function("A", [tree.t, tree.q, assembly.p], [ca.densify(constraints.A)])
    A = np.asarray(jacobian(*held.judged_at[0]))
    found = tuple(_with_self_stress(assembly.mechanism, constraints.owners, A))
    return OpenLoads(found, tree, constraints) if found else None


def _with_self_stress(mechanism: Mechanism, owners: Sequence[str], A: FloatArray) -> Iterator[Loops]:
    for edges in loops_that_share_edges(mechanism):
        names = {edge.name for edge in edges}
        rows = [i for i, owner in enumerate(owners) if owner in names]
        independent = [rows[i] for i in independent_rows(A[rows])]
        following = [i for i in rows if i not in independent]
        if following:
            yield Loops(
                tuple(edge for edge in edges if isinstance(edge, Joint)),
                tuple(edge for edge in edges if isinstance(edge, Closure)),
                tuple(independent),
                tuple(following),
            )


def loops_that_share_edges(mechanism: Mechanism) -> list[list[Edge]]:
    """Return the joints and closures of each set of loops that hang together by edges, in the order of the mechanism.

    Which joints are closures does not matter. Joints that hold nothing are no edges; a gear ties the loops of its joints.
    """
    edges: list[Edge] = [joint for joint in mechanism.joints if JOINT_KINDS[joint.kind].freedom < 6]
    edges += [closure for closure in mechanism.closures if closure.child]
    above: dict[str, tuple[str, int]] = {}
    group = list(range(len(edges) + len(mechanism.closures)))

    def leader(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    def unite(members: Sequence[int]) -> None:
        for member in members[1:]:
            group[leader(member)] = leader(members[0])

    def way_up(body: str) -> list[int]:
        way = []
        while body in above:
            body, edge = above[body]
            way.append(edge)
        return way

    in_loops: set[int] = set()
    for i, edge in enumerate(edges):
        one, other = set(way_up(edge.parent)), set(way_up(edge.child))
        if _root(above, edge.parent) != _root(above, edge.child):
            _hang(above, edge.child, edge.parent, i)
            continue
        loop = [i, *sorted(one ^ other)]
        unite(loop)
        in_loops.update(loop)
    gears = [closure for closure in mechanism.closures if not closure.child or closure.coordinates]
    everything = [*edges, *(gear for gear in gears if not gear.child)]
    place = {edge.name: i for i, edge in enumerate(everything)}
    for gear in gears:
        tied = [place[name.split(".")[0]] for name in gear.coordinates if name.split(".")[0] in place]
        unite([place[gear.name], *tied])
        in_loops.update([place[gear.name], *tied])
    sets: dict[int, list[Edge]] = {}
    for i, edge in enumerate(everything):
        if i in in_loops:
            sets.setdefault(leader(i), []).append(edge)
    return list(sets.values())


def _root(above: dict[str, tuple[str, int]], body: str) -> str:
    while body in above:
        body = above[body][0]
    return body


def _hang(above: dict[str, tuple[str, int]], body: str, parent: str, edge: int) -> None:
    """Hang the tree of ``body`` on ``parent`` by an edge, turning it so that ``body`` is its root."""
    while True:
        former = above.get(body)
        above[body] = (parent, edge)
        if former is None:
            return
        parent, (body, edge) = body, former
