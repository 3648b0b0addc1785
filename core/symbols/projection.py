"""Linear systems with side conditions, solved on the orthogonal complement of these, in symbols of either kind.

    M y = f - B' lam,    B y + d = 0

With the complement C of B (B C = 0) and any y* that meets the conditions, y = C z + y* and C'MC z = C'(f - M y*): no lam. The
columns of C are here those of an orthogonal matrix, which Householder's reflections make of the rows of B in their order, so
that nothing becomes singular before B loses rank, whichever variables are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from kingpost.symbols.straightline import solve_symmetric


@dataclass(frozen=True, eq=False)
class OnComplement:
    """The solution y, column by column of f, and how far the rows of B are from depending on each other.

    ``margin`` is the ratio of pivots: what is shortest of a row beyond all rows before it, over the longest row. It is 1 for
    orthogonal rows of one length, and 0 where one follows from others, or vanishes.
    """

    y: Any
    margin: Any


def solve_on_complement(M: Any, f: Any, B: Any, d: Any) -> OnComplement:
    """Return y with B y + d = 0 and M y - f orthogonal to all that B allows; f and d may have several columns."""
    rows, size = B.shape
    if not rows:
        return OnComplement(solve_symmetric(M, f), type(M)(1))
    normals, W = [], B.T
    shortest, longest = None, type(M)(0)
    for k in range(rows):
        column = W[k:, k]
        length = ca.norm_2(column)
        shortest = length if shortest is None else ca.fmin(shortest, length)
        longest = ca.fmax(longest, ca.norm_2(W[:, k]))
        # Away from zero, so that nothing cancels.
        turned = ca.if_else(column[0] < 0, -1, 1)
        normal = column + turned * length * ca.DM([1.0] + [0.0] * (size - k - 1))
        # A reflection is 1 - 2 n n' / n'n, and n'n is 2 length (length + |first entry|).
        normal = normal / ca.sqrt(length * (length + ca.fabs(column[0])))
        normals.append(normal)
        W = _rows_from(W, k, lambda part, normal=normal: part - normal @ (normal.T @ part))
        f = _rows_from(f, k, lambda part, normal=normal: part - normal @ (normal.T @ part))
        M = _reflected(M, k, normal)
    # R' w = -d for the part of y along the rows, by substitution.
    along: list[Any] = []
    for k in range(rows):
        known = sum((W[i, k] * along[i] for i in range(k)), type(M)(1, f.shape[1]))
        along.append((-d[k, :] - known) / W[k, k])
    fixed = ca.vertcat(*along)
    free = solve_symmetric(M[rows:, rows:], f[rows:, :] - M[rows:, :rows] @ fixed) if size > rows else type(M)(0, f.shape[1])
    y = ca.vertcat(fixed, free)
    for k in reversed(range(rows)):
        y = _rows_from(y, k, lambda part, normal=normals[k]: part - normal @ (normal.T @ part))
    return OnComplement(y, shortest / longest)


def _rows_from(matrix: Any, k: int, change: Any) -> Any:
    """Return a matrix with its rows from ``k`` on changed."""
    changed = change(matrix[k:, :])
    return ca.vertcat(matrix[:k, :], changed) if k else changed


def _reflected(M: Any, k: int, normal: Any) -> Any:
    """Return H M H for the reflection H = 1 - n n' of the rows from ``k`` on; of a symmetric M, half is enough."""
    padded = ca.vertcat(type(M)(k, 1), normal)
    product = M @ padded
    inner = ca.dot(padded, product)
    shift = product - (inner / 2) * padded
    change = padded @ shift.T
    return ca.tril2symm(ca.tril(M - change - change.T))
