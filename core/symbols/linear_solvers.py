"""Systems of linear equations solved in straight-line code."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca

from kingpost.base.errors import SolverError


def householder(size: int, columns: int) -> ca.Function:
    """Return the function (A, B) -> A^-1 B, sign of det A, by Householder's method as straight-line code.

    Unlike elimination in a fixed order it meets no vanishing pivot before A is singular, and its reflections tell the sign.
    """
    A, B = ca.SX.sym("A", size, size), ca.SX.sym("B", size, columns)
    both, sign = ca.densify(ca.horzcat(A, B)), ca.SX(1)
    for k in range(size - 1):
        column = both[k:, k]
        # Away from zero, so that nothing cancels; the reflection turns the column into -turned * length.
        turned = ca.if_else(column[0] < 0, -1, 1)
        length = ca.norm_2(column)
        normal = column + turned * length * ca.DM([1.0] + [0.0] * (size - k - 1))
        weight = 2 / ca.sumsqr(normal)
        both[k:, k:] = both[k:, k:] - weight * normal @ (normal.T @ both[k:, k:])
        sign = sign * turned
    if size:
        sign = sign * ca.if_else(both[size - 1, size - 1] < 0, -1, 1)
    X = ca.SX.zeros(size, columns)
    for k in reversed(range(size)):
        X[k, :] = (both[k, size:] - both[k, k + 1 : size] @ X[k + 1 :, :]) / both[k, k]
    return ca.Function("kp_householder", [A, B], [X, sign])


def solve_blocks(matrix: Any, right: Any) -> Any:
    """Return matrix^-1 right: the blocks of a block-triangular form one after the other, each by Householder's method.

    So sparse systems, which are mostly triangular after a permutation, are solved by few operations.
    """
    n, columns = matrix.shape[0], right.shape[1]
    if n == 0 or columns == 0:
        return type(matrix)(n, columns)
    rank = ca.sprank(matrix.sparsity())
    if rank < n:
        raise SolverError(f"{n} linear equations are singular whatever their entries are: their rank is {rank} at most")
    _, rows, order, row_blocks, _, _, _ = matrix.sparsity().btf()
    # Lower block-triangular: the first block stands alone.
    solved: list[Any] = [None] * n
    for first, last in pairwise(row_blocks):
        here, unknown = list(rows[first:last]), list(order[first:last])
        known = list(order[:first])
        rest = right[here, :]
        if known:
            rest = rest - matrix[here, known] @ ca.vertcat(*(solved[j] for j in known))
        block = matrix[here, unknown]
        found = rest / block if len(here) == 1 else householder(len(here), columns)(block, rest)[0]
        for place, j in enumerate(unknown):
            solved[j] = found[place, :]
    return ca.vertcat(*solved)
