"""Straight-line code: functions in which nothing is computed twice and nothing branches, and equations solved in them."""

from __future__ import annotations

from typing import Any

import casadi as ca

#: Up to this many degrees of freedom, accelerations and loads are observed by one function that shares their common parts; code
#: of that shape takes a C compiler too long for larger machines.
FUSED = 10
#: Up to this many operations, a function of one piece takes a C compiler no longer than several of the same size together.
LONGEST = 10_000


def fused(function: ca.Function) -> ca.Function:
    """Return the same function as straight-line code in which nothing is computed twice, or as it is where that cannot be."""
    straight = expanded(function)
    if straight is None:
        return function
    symbols = straight.sx_in()
    return ca.Function(function.name(), symbols, ca.cse(straight.call(symbols)))


def shorter(function: ca.Function) -> ca.Function:
    """Return the same function as straight-line code where that is less code, else as it is.

    It often is: what functions that are called from several places share is found once. Where one is called for many bodies, it
    is not.
    """
    straight = fused(function)
    if straight is function:
        return function
    parts = [part for part in (function, *function.find_functions()) if part.is_a("SXFunction") or part.is_a("MXFunction")]
    return straight if straight.n_instructions() <= min(LONGEST, sum(part.n_instructions() for part in parts)) else function


def expanded(function: ca.Function) -> ca.Function | None:
    """Return a function as straight-line code; None if a solver of sparse systems inside of it forbids that."""
    try:
        return function.expand()
    except RuntimeError as error:
        if "eval_sx not defined" not in str(error):
            raise
        return None


def solve_symmetric(matrix: Any, right: Any) -> Any:
    """Return matrix^-1 right for a symmetric positive definite matrix; as straight-line code where it is made of SX."""
    if matrix.shape[0] == 0:
        return right
    if isinstance(matrix, ca.MX):
        return ca.solve(ca.densify(matrix), right, "qr")
    D, LT, permutation = ca.ldl(matrix)
    return ca.ldl_solve(right, D, LT, permutation)
