"""Orthogonal bases of rows and of what is left beside them, and least squares, in straight-line code."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca

#: A row of which less than this part is left, beside those before it, follows from them.
DEPENDENT = 1e-8


@lru_cache
def complement(rows: int, columns: int) -> ca.Function:
    """Return the function A -> Q, R, C with A' = Q R by Householder's method: A C = 0, the columns of Q and C orthonormal.

    A must have full rank. The columns of C are no smooth functions of A; use them where nothing depends on their choice.
    """
    A = ca.SX.sym("A", rows, columns)
    R, whole = ca.densify(A.T), ca.SX.eye(columns)
    whole = ca.densify(whole)
    for k in range(min(rows, columns - 1)):
        normal, weight = _reflection(R[k:, k])
        R[k:, k:] = R[k:, k:] - weight * normal @ (normal.T @ R[k:, k:])
        whole[k:, :] = whole[k:, :] - weight * normal @ (normal.T @ whole[k:, :])
    Q = whole.T
    return ca.Function("kp_complement", [A], [Q[:, :rows], ca.triu(R[:rows, :]), Q[:, rows:]])


def _reflection(column: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return normal and weight of the reflection that turns a column into a multiple of the first unit vector."""
    # Away from zero, so that nothing cancels.
    length = ca.norm_2(column) * ca.if_else(column[0] < 0, -1, 1)
    normal = ca.densify(column)
    normal[0] += length
    return normal, 2 / ca.sumsqr(normal)


@lru_cache
def row_basis(rows: int, columns: int) -> ca.Function:
    """Return the function A -> Q, L with A = L Q: the rows of Q are orthonormal, or zero where a row of A follows from others.

    Gram and Schmidt's method, each row twice, which leaves them orthogonal to rounding. Q' Q is A^P A, whatever the rank.
    """
    A = ca.SX.sym("A", rows, columns)
    Q, L = ca.SX.zeros(rows, columns), ca.SX.zeros(rows, rows)
    for i in range(rows):
        rest = A[i, :]
        length = ca.norm_2(rest)
        for _ in range(2):
            along = Q[:i, :] @ rest.T
            rest = rest - along.T @ Q[:i, :]
            L[i, :i] += along.T
        left = ca.norm_2(rest)
        own = left > DEPENDENT * length
        Q[i, :] = own * rest / ca.if_else(own, left, 1)
        L[i, i] = own * left
    return ca.Function("kp_row_basis", [A], [Q, L])


@lru_cache
def rest_of_space(rows: int, columns: int) -> ca.Function:
    """Return the function Q -> C of the rows of :func:`row_basis`: orthonormal columns that fill the space, the others zero.

    The unit vector that is farthest from all vectors before is taken at a time, so that rows that are zero do no harm.
    """
    Q = ca.SX.sym("Q", rows, columns)
    left = ca.SX.eye(columns) - Q.T @ Q
    found = []
    for _ in range(columns):
        size, column = left[0, 0], left[:, 0]
        for i in range(1, columns):
            longer = left[i, i] > size
            size, column = ca.if_else(longer, left[i, i], size), ca.if_else(longer, left[:, i], column)
        # As long as a direction is left, one of the unit vectors has at least this part along it.
        own = size > 0.5 / columns
        direction = own * column / ca.sqrt(ca.if_else(own, size, 1))
        left = left - direction @ direction.T
        found.append(direction)
    return ca.Function("kp_rest", [Q], [ca.horzcat(*found)])


@lru_cache
def triangular(rows: int, columns: int, transposed: bool = False) -> ca.Function:
    """Return the function (L, B) -> X with L X = B, or L' X = B, zero where L has a zero on its diagonal."""
    L, B = ca.SX.sym("L", rows, rows), ca.SX.sym("B", rows, columns)
    X = ca.SX.zeros(rows, columns)
    for i in reversed(range(rows)) if transposed else range(rows):
        others = (L[:, i].T if transposed else L[i, :]) @ X
        own = L[i, i] != 0
        X[i, :] = own * (B[i, :] - others) / ca.if_else(own, L[i, i], 1)
    return ca.Function("kp_triangular", [L, B], [X])


@lru_cache
def least_squares(rows: int, columns: int) -> ca.Function:
    """Return the function (A, b) -> x that makes A x - b shortest, by Householder's method; A has full column rank."""
    A, b = ca.SX.sym("A", rows, columns), ca.SX.sym("b", rows)
    both = ca.densify(ca.horzcat(A, b))
    for k in range(min(columns, rows - 1)):
        normal, weight = _reflection(both[k:, k])
        both[k:, k:] = both[k:, k:] - weight * normal @ (normal.T @ both[k:, k:])
    x = ca.SX.zeros(columns)
    for k in reversed(range(columns)):
        x[k] = (both[k, columns] - both[k, k + 1 : columns] @ x[k + 1 :, :]) / both[k, k]
    return ca.Function("kp_least_squares", [A, b], [x])
