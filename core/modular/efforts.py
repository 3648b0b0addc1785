"""What every invariant of a tree exerts: constraint forces, recovered from the accelerations that were found.

The forces f = g - M q of all nodes along all variables leave something at the accelerations that are found. It is what the
invariants A q + b = 0 make up for,

    f + A' lam = 0,

so that lam is the effort along an invariant, in the direction in which its expression grows. Section 4.4 of document 002 gives
each invariant a fictitious variable, c(x) = s, finds the equations of motion with it, and sets it to zero: lam is what has to
act along s then. Root first, each node is only solved in the motions R of its children, as in Theorem 2.10:

    B' lam = -R' f,    f <- f + A' lam    for what is below.

Where invariants say the same, the efforts that they can exert against each other are open. Those are taken for which the sum of
squares of the efforts along all variables, lam^2 |A|^2 of each invariant, is smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.modular.labelled import Labelled, assemble
from kingpost.modular.partitions import RANK_TOLERANCE
from kingpost.modular.recursion import Node, accelerations, everyone
from kingpost.symbols.straightline import solve_symmetric

if TYPE_CHECKING:
    from kingpost.modular.tree import Tree

#: Invariants with a smaller part in all efforts that others can exert against each other have none.
NO_PART = 1e-6


@dataclass(frozen=True, eq=False)
class Efforts:
    """Efforts along all invariants, by their labels."""

    #: The function (t, x, u, p) -> efforts in the order of ``labels``.
    function: ca.Function
    labels: tuple[str, ...]
    #: Those that others can take over, since they say the same.
    not_unique: tuple[str, ...] = ()


def efforts(tree: Tree) -> Efforts:
    """Return the efforts along all invariants of a tree, without those of stabilisation."""
    tree = tree.unpulled
    root, labels = tree.root, tuple(item.label for item in tree.system.invariants)
    found: dict[str, Any] = {label: ca.SX(0) for label in labels}
    column = carried(root, remaining(root, accelerations(root)))
    found |= {row: column.matrix[i, 0] for i, row in enumerate(column.rows)}
    open_rows = _open(tree.start)
    if open_rows:
        found |= _shared(root, open_rows, found)
    not_unique = _not_unique(tree.start, open_rows) if open_rows else ()
    lam = ca.vertcat(ca.SX(0, 1), *(found[label] for label in labels))
    function = ca.Function("kp_efforts", tree.system.arguments, [ca.cse(ca.densify(lam))], ["t", "x", "u", "p"], ["lam"])
    return Efforts(function, labels, not_unique)


def remaining(root: Node, q: Labelled) -> Labelled:
    """Return the forces g - M q of all nodes along all variables, at some accelerations."""
    parts = [node.given.g - node.given.M @ q.part(node.given.q) for node in everyone(root)]
    return assemble(*parts).part(root.given.q)


def carried(node: Node, forces: Labelled) -> Labelled:
    """Return what the invariants of a node and of all below must exert (rows) so that nothing remains of forces (columns)."""
    parts = node.partition
    own = Labelled.zeros(parts.rows, forces.columns)
    left = forces.part(node.given.q)
    if parts.rows:
        along = (node.R.T @ left).part(parts.dependent)
        own = -node.B.part(parts.rows, parts.dependent).T.solve(along)
        left = left + node.given.A.part(parts.rows).T @ own
    return assemble(own, *(carried(child, left) for child in node.children))


def _open(start: Node) -> tuple[str, ...]:
    """Return invariants that were left out since others say the same; those that say nothing at all exert nothing."""
    found = []
    for node in everyone(start):
        lengths = np.linalg.norm(node.given.A.matrix, axis=1)
        of_row = dict(zip(node.given.A.rows, lengths, strict=True))
        largest = max(1.0, float(np.abs(start.A.matrix).max(initial=0.0)))
        found += [row for row in node.partition.redundant if of_row[row] > RANK_TOLERANCE * largest]
    return tuple(found)


def _shared(root: Node, open_rows: tuple[str, ...], found: dict[str, Any]) -> dict[str, Any]:
    """Return efforts of which the sum of squares along all variables is smallest.

    With the rows T A that say the same as others, lam - T' mu of these and mu of those do the same for every mu.
    """
    A = root.A
    T = -carried(root, A.part(open_rows).T).T
    kept = T.columns
    lam = ca.vertcat(*(found[row] for row in kept))
    W, W_open = (ca.sum2(A.part(rows).matrix ** 2) for rows in (kept, open_rows))
    weighted = T.matrix @ ca.diag(W)
    mu = solve_symmetric(ca.diag(W_open) + weighted @ T.matrix.T, weighted @ lam)
    others = lam - T.matrix.T @ mu
    return {row: mu[i] for i, row in enumerate(open_rows)} | {row: others[i] for i, row in enumerate(kept)}


def _not_unique(start: Node, open_rows: tuple[str, ...]) -> tuple[str, ...]:
    """Return the invariants whose efforts are open, judged at the start for rows of unit length."""
    T = carried(start, start.A.part(open_rows).T)
    lengths = {row: float(np.linalg.norm(start.A.part((row,)).matrix)) for row in start.A.rows}
    own = np.array([lengths[row] for row in T.rows])[:, None]
    other = np.array([lengths[row] for row in open_rows])[None, :]
    has_part = (np.abs(T.matrix) * own / other > NO_PART).any(axis=1)
    found = {*open_rows, *(row for row, part in zip(T.rows, has_part, strict=True) if part)}
    return tuple(row for row in start.A.rows if row in found)
