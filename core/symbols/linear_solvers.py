"""Systems of linear equations solved in straight-line code."""

from __future__ import annotations

import casadi as ca


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
