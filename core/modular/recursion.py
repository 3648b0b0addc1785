"""Theorem 2.10 and Table 4.1: from what the nodes of a tree bring to what the whole does, leaves first.

With the accelerations (variables of the highest order) q of a node, its constraints A q + b = 0 and the forces g - M q, every
child delivers all motions that it can make, q = S z + e, and its equations of motion, fbar = hb - Mb z. A node then only has to
complement its external constraints in the few z of its children: B = A R. All entries are numbers or symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kingpost.modular.labelled import Labelled, assemble
from kingpost.modular.partitions import Partition


@dataclass(frozen=True, eq=False)
class Given:
    """What a node brings: extra variables, external constraints in all its variables, own forces along them, children."""

    path: str
    #: Variables of the highest order that the node adds; all those of a leaf.
    extra: tuple[str, ...]
    #: Rows: external constraints. Columns: the variables of the node and of everything below.
    A: Labelled
    b: Labelled
    #: Own forces g - M q, rows and columns as those of A.
    M: Labelled
    g: Labelled
    children: tuple[Given, ...] = ()
    #: Variables that should be independent, if that was said.
    independent: tuple[str, ...] | None = None

    @property
    def q(self) -> tuple[str, ...]:
        """The variables of the node and of everything below."""
        return self.A.columns

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, eq=False)
class Node:
    """A node with everything that follows (Table 4.1): all motions are q = S z + e, and hb - Mb z = 0 says which one."""

    given: Given
    children: tuple[Node, ...]
    partition: Partition
    R: Labelled
    B: Labelled
    C: Labelled
    S: Labelled
    #: What variables are when the independent ones are zero.
    e: Labelled
    #: Inertia and forces in the motions of the children, before the external constraints.
    M: Labelled
    h: Labelled
    #: The same after them: what the node passes on.
    Mb: Labelled
    hb: Labelled

    @property
    def path(self) -> str:
        """The names of the nodes from the root to this one, with dots between them."""
        return self.given.path

    @property
    def A(self) -> Labelled:
        """All constraints of the node and of everything below (2.33)."""
        return assemble(self.given.A, *(child.A for child in self.children)).part(..., self.given.q)

    @property
    def b(self) -> Labelled:
        """What A q lacks to be zero."""
        return assemble(self.given.b, *(child.b for child in self.children))

    @property
    def degrees_of_freedom(self) -> int:
        """The number of columns of C, and of S."""
        return len(self.C.columns)

    def forces(self, q: Labelled) -> tuple[Labelled, Labelled]:
        """Return f and fbar = C' f (4.8), (4.11), (4.12), for accelerations q of the node and everything below."""
        own = self.given.g - self.given.M @ q.part(self.given.q)
        below = [child.forces(q)[1] for child in self.children]
        f = assemble(self.R.T @ own, *below).part(self.R.columns)
        return f, self.C.T @ f


#: What chooses, for a node and its B, the independent variables.
Choice: TypeAlias = Callable[[Given, Labelled], Partition]


def recursion(given: Given, choice: Choice) -> Node:
    """Return the node of what was given, with everything below it, leaves first."""
    children = tuple(recursion(child, choice) for child in given.children)
    extra = given.extra
    R = assemble(Labelled.identity(extra), *(child.S for child in children)).part(given.q)
    constant = assemble(Labelled.zeros(extra), *(child.e for child in children)).part(given.q)
    B = given.A @ R
    b = given.b + given.A @ constant
    partition = choice(given, B)
    C, particular = partition.complement(B), partition.particular(B, b)
    motions = R.columns
    nothing = Labelled(np.zeros((len(motions), len(motions))), motions, motions)
    M = assemble(nothing, R.T @ given.M @ R, *(child.Mb for child in children))
    h = assemble(Labelled.zeros(motions), R.T @ (given.g - given.M @ constant), *(child.hb for child in children))
    return Node(
        given=given,
        children=children,
        partition=partition,
        R=R,
        B=B,
        C=C,
        S=R @ C,
        e=R @ particular + constant,
        M=M,
        h=h,
        Mb=C.T @ M @ C,
        hb=C.T @ (h - M @ particular),
    )


def accelerations(root: Node) -> Labelled:
    """Return the accelerations of everything: q = S z + e with Mb z = hb at the root (Theorem 4.1)."""
    if not root.C.columns:
        return root.e
    rows = {label: f"balance of {label}" for label in root.C.columns}
    z = root.Mb.renamed(rows).solve(root.hb.renamed(rows))
    return root.S @ z + root.e


def everyone(node: Node) -> list[Node]:
    """Return a node and all below it, the root first."""
    return [node, *(below for child in node.children for below in everyone(child))]
