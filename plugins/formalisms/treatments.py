"""What becomes of constraints: ways to find x and y of M x + A' y = f, A x = c, by formulas that differ.

Equation numbers are those of document 002, which writes A x + b = 0: here c = -b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.formalism import Road, system_parts
from kingpost.symbols.orthogonal import complement, least_squares, rest_of_space, row_basis, triangular
from kingpost.symbols.straightline import solve_symmetric

#: Up to this many speeds, everything becomes one piece of straight-line code.
STRAIGHT = 8


@dataclass(frozen=True, eq=False)
class Treated(Road):
    """A road whose end is one of the ways below, on a system that is scaled so that its numbers have the size one."""

    #: The function of speeds and rows that gives the function (M, f, A, c) -> x, y.
    way: Callable[[int, int], ca.Function]

    def solved(self, equations: Equations, name: str, rate: float) -> ca.Function:
        parts = system_parts(equations, f"{name}_parts", rate, [self.M, self.f])
        way = self.way(equations.nv, equations.constraints.count)
        straight = all(function.is_a("SXFunction") for function in (parts, way)) and equations.nv <= STRAIGHT
        arguments: Any = parts.sx_in() if straight else parts.mx_in()
        A, drift, M, f = parts.call(arguments)
        x, y = treated(way, M, f, A, -drift)
        return ca.Function(name, arguments, [ca.densify(x), ca.densify(y)])


def treated(way: ca.Function, M: Any, f: Any, A: Any, c: Any) -> tuple[Any, Any]:
    """Return x and y by one of the ways, the system scaled by roots of inertias."""
    rows, speeds = A.shape
    if not speeds:
        return f, c
    columns, lines = scales(speeds, rows)(M, A)
    D, E = ca.diag(columns), ca.diag(lines)
    x, y = way(D @ M @ D, columns * f, E @ A @ D, lines * c)
    return columns * x, lines * y


@lru_cache
def scales(speeds: int, rows: int) -> ca.Function:
    """Return the function (M, A) -> factors of x and of y: what has no inertia counts as the mean."""
    M, A = ca.SX.sym("M", speeds, speeds), ca.SX.sym("A", rows, speeds)
    own = ca.diag(M)
    mean = ca.sum1(own) / speeds
    columns = 1 / ca.sqrt(ca.if_else(own > 1e-12 * mean, own, mean))
    lengths = ca.sum2((A @ ca.diag(columns)) ** 2)
    lines = 1 / ca.sqrt(ca.if_else(lengths > 0, lengths, 1))
    return ca.Function("kp_scales", [M, A], [columns, ca.densify(lines)])


def _symbols(speeds: int, rows: int) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    return (
        ca.SX.sym("M", speeds, speeds),
        ca.SX.sym("f", speeds),
        ca.SX.sym("A", rows, speeds),
        ca.SX.sym("c", rows),
    )


def _way(name: str, symbols: tuple[ca.SX, ...], x: ca.SX, y: ca.SX) -> ca.Function:
    return ca.Function(f"kp_{name}", list(symbols), ca.cse([ca.densify(x), ca.densify(y)]))


@lru_cache
def projected(speeds: int, rows: int) -> ca.Function:
    """Along admissible motions alone: x = C z + e with A C = 0, and C' (f - M x) = 0, eqs. (4.6), (4.13)."""
    M, f, A, c = symbols = _symbols(speeds, rows)
    if not rows:
        return _way("projected", symbols, solve_symmetric(M, f), c)
    Q, R, C = complement(rows, speeds)(A)
    x = Q @ triangular(rows, 1)(R.T, c)
    if speeds > rows:
        x = x + C @ solve_symmetric(C.T @ M @ C, C.T @ (f - M @ x))
    return _way("projected", symbols, x, triangular(rows, 1, True)(R.T, Q.T @ (f - M @ x)))


@lru_cache
def least_compulsion(speeds: int, rows: int) -> ca.Function:
    """The quadratic program of Gauss: x' M x / 2 - f' x is smallest under A x = c.

    With M = L L' it is the shortest y = L' (x - M^-1 f) with A L^-T y = c - A M^-1 f.
    """
    M, f, A, c = symbols = _symbols(speeds, rows)
    L = ca.chol(M).T
    forward, backward = triangular(speeds, 1), triangular(speeds, 1, True)
    free = backward(L, forward(L, f))
    if not rows:
        return _way("least_compulsion", symbols, free, c)
    B = triangular(speeds, rows)(L, A.T).T
    Q, R, _ = complement(rows, speeds)(B)
    needed = triangular(rows, 1)(R.T, c - A @ free)
    x = free + backward(L, Q @ needed)
    return _way("least_compulsion", symbols, x, -triangular(rows, 1, True)(R.T, needed))


@lru_cache
def augmented(speeds: int, rows: int) -> ca.Function:
    """Both at once, eq. (3.95): [M A'; A 0] [x; y] = [f; c], by sparse QR."""
    M, f, A, c = (
        ca.MX.sym("M", speeds, speeds),
        ca.MX.sym("f", speeds),
        ca.MX.sym("A", rows, speeds),
        ca.MX.sym("c", rows),
    )
    matrix = ca.densify(ca.blockcat([[M, A.T], [A, ca.MX(rows, rows)]])) if rows else M
    both = ca.solve(matrix, ca.vertcat(f, c), "qr")
    return ca.Function("kp_both", [M, f, A, c], [both[:speeds, :], both[speeds:, :]])


@lru_cache
def maggi(speeds: int, rows: int) -> ca.Function:
    """Maggi's equations (3.124), [C' M; A] x = [C' f; c], and multipliers (3.125), y = C.#' (f - M x), C.# the inverse of A.

    Rows of A that follow from others are harmless: their multipliers are zero.
    """
    M, f, A, c = symbols = _symbols(speeds, rows)
    if not rows:
        return _way("maggi", symbols, least_squares(speeds, speeds)(M, f), c)
    Q, L = row_basis(rows, speeds)(A)
    C = rest_of_space(rows, speeds)(Q)
    x = least_squares(speeds + rows, speeds)(ca.vertcat(C.T @ M, A), ca.vertcat(C.T @ f, c))
    return _way("maggi", symbols, x, triangular(rows, 1, True)(L, Q @ (f - M @ x)))


@lru_cache
def udwadia_kalaba(speeds: int, rows: int) -> ca.Function:
    """Eq. (3.149), x = a + M^-1/2 (A M^-1/2)^P (c - A a) with the free acceleration a = M^-1 f; needs M > 0.

    Any L with L L' = M does for the root: M^1/2 = L U with an orthogonal U, which the pseudo-inverse takes away.
    """
    M, f, A, c = symbols = _symbols(speeds, rows)
    L = ca.chol(M).T
    forward, backward = triangular(speeds, 1), triangular(speeds, 1, True)
    a = backward(L, forward(L, f))
    if not rows:
        return _way("udwadia_kalaba", symbols, a, c)
    B = triangular(speeds, rows)(L, A.T).T
    y = -solve_symmetric(B @ B.T, c - A @ a)  # B^P = B' (B B')^-1
    return _way("udwadia_kalaba", symbols, a - backward(L, B.T @ y), y)


@lru_cache
def udwadia_phohomsiri(speeds: int, rows: int) -> ca.Function:
    """Eq. (3.155): x = [(1 - A^P A) M; A]^P [f; c], for any M as long as [M; A] has full rank."""
    M, f, A, c = symbols = _symbols(speeds, rows)
    if not rows:
        return _way("udwadia_phohomsiri", symbols, least_squares(speeds, speeds)(M, f), c)
    Q, L = row_basis(rows, speeds)(A)
    beside = ca.SX.eye(speeds) - Q.T @ Q
    # With the projector on the right, too, as in eq. (3.154): the residual of the least squares is then zero, not just normal.
    x = least_squares(speeds + rows, speeds)(ca.vertcat(beside @ M, A), ca.vertcat(beside @ f, c))
    return _way("udwadia_phohomsiri", symbols, x, triangular(rows, 1, True)(L, Q @ (f - M @ x)))


@lru_cache
def udwadia_schutte(speeds: int, rows: int, alpha: float = 1.0) -> ca.Function:
    """Eq. (3.149) with M + alpha^2 A^P A for M: positive definite as long as [M; A] has full rank, for any alpha."""
    M, f, A, c = symbols = _symbols(speeds, rows)
    if not rows:
        return _way("udwadia_schutte", symbols, solve_symmetric(M, f), c)
    Q, L = row_basis(rows, speeds)(A)
    heavier = M + alpha**2 * Q.T @ Q
    right = triangular(rows, 1)(L, c)  # A x = c is Q x = right; rows of zeros hold nothing
    solved = solve_symmetric(heavier, ca.horzcat(f, Q.T))
    a, moved = solved[:, 0], solved[:, 1:]
    schur = Q @ moved
    held = ca.diag(ca.if_else(ca.sum2(Q**2) > 0.5, 0, 1)) + schur
    x = a + moved @ solve_symmetric(held, right - Q @ a)
    return _way("udwadia_schutte", symbols, x, triangular(rows, 1, True)(L, Q @ (f - M @ x)))


@lru_cache
def augmented_lagrangian(speeds: int, rows: int, alpha: float, iterations: int) -> ca.Function:
    """Penalties alpha on A x - c, and multipliers that take over what they leave, ``iterations`` times; 0: penalties alone.

    Each iteration solves for a correction, so that large penalties cost no digits in the end.
    """
    M, f, A, c = symbols = _symbols(speeds, rows)
    if not rows:
        return _way("penalty", symbols, solve_symmetric(M, f), c)
    D, LT, order = ca.ldl(M + alpha * A.T @ A)
    x = ca.ldl_solve(f + alpha * A.T @ c, D, LT, order)
    y = alpha * (A @ x - c)
    for _ in range(iterations):
        x = x + ca.ldl_solve(f - M @ x - A.T @ (y + alpha * (A @ x - c)), D, LT, order)
        y = y + alpha * (A @ x - c)
    return _way("penalty", symbols, x, y)
