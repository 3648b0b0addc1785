"""Allocation: what each of several drives does for a motion that fewer numbers describe, within bounds, as compiled code.

    minimise |J x - b|^2 + sum w_i (x_i - r_i)^2    with  lower <= x <= upper

With small weights w the motion comes first: drives share it by least norm about r as long as bounds allow, and where they do
not, what is left over is as small as possible. The problem is strictly convex: there is one solution, whatever the rank of J.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kingpost.symbols.straightline import solve_symmetric

#: A gradient that pushes a variable off its bound counts from this part of the largest entry on.
ROUNDING = 1e-11
#: Iterations for each variable, and in addition. Each adds or drops one bound; few more than the variables are ever needed.
PER_VARIABLE, FURTHER = 4, 4


def allocation(rows: int, drives: int) -> ca.Function:
    """Return the function (J, b, r, w, lower, upper) -> x.

    A primal active-set method with a fixed number of iterations: the same numbers give the same result, bounds hold exactly.
    Every iteration minimises over the variables that no bound holds; on the way there the first bound that is met holds its
    variable, and where none is met, the variable that its bound holds back in vain is let go.

    Parameters
    ----------
    rows, drives
        The numbers of rows and columns of J.

    """
    sizes = (rows * drives, rows, drives, drives, drives, drives)
    J, b, r, w, lower, upper = symbols = [ca.SX.sym(name, size) for name, size in zip("Jbrwlu", sizes, strict=True)]
    matrix = ca.reshape(J, rows, drives)
    H, g = matrix.T @ matrix + ca.diag(w), matrix.T @ b + w * r
    # Every variable in units in which its own curvature is one.
    unit = 1 / ca.sqrt(ca.diag(H))
    low, high = lower / unit, ca.fmax(lower, upper) / unit
    begin = ca.fmin(ca.fmax(r / unit, low), high)
    scaled = ca.diag(unit) @ H @ ca.diag(unit)
    posed = ca.vertcat(ca.vec(ca.densify(scaled)), ca.densify(unit * g), low, high)
    pose = ca.Function("kp_allocation_posed", symbols, [ca.vertcat(begin, ca.SX.zeros(drives), posed), unit])
    loop = _iteration(drives).fold(PER_VARIABLE * drives + FURTHER)
    given = [ca.MX.sym(f"i{k}", size) for k, size in enumerate(sizes)]
    state, size_of = pose.call(given)
    end = loop(state)
    x, held = end[:drives, :] * size_of, end[drives : 2 * drives, :]
    most = ca.fmax(given[4], given[5])
    # What a bound holds is at the bound itself, not at what scaling left of it.
    bounded = ca.if_else(held > 0, most, ca.if_else(held < 0, given[4], ca.fmin(ca.fmax(x, given[4]), most)))
    whole = ca.Function("kp_allocation_of_columns", given, [bounded])
    outer: list[Any] = [ca.MX.sym("J", rows, drives), *given[1:]]
    return ca.Function("kp_allocation", outer, [whole(ca.vec(outer[0]), *given[1:])])


def _iteration(n: int) -> ca.Function:
    """Return one iteration: [x; what holds it: -1, 0 or 1; H; g; lower; upper] -> the same after it."""
    state = ca.SX.sym("state", 2 * n + n * n + 3 * n)
    x, held, H, g, low, high = ca.vertsplit(state, [0, n, 2 * n, 2 * n + n * n, 3 * n + n * n, 4 * n + n * n, 5 * n + n * n])
    H = ca.reshape(H, n, n)
    free = held == 0
    mask = ca.diag(free)
    masked = mask @ H @ mask + ca.diag(1 - free)
    best = ca.if_else(free, solve_symmetric(masked, free * (g - H @ ((1 - free) * x))), x)
    way = best - x
    # How far each variable can go on the way to the best point; 2 where no bound is met.
    above, below = ca.logic_and(free, best > high), ca.logic_and(free, best < low)
    room = ca.if_else(above, high - x, ca.if_else(below, low - x, 0))
    part = ca.if_else(ca.logic_or(above, below), room / ca.if_else(way == 0, 1, way), 2)
    shortest = ca.mmin(part)
    blocked = shortest < 1
    stops = _first(part == shortest)
    reached = ca.if_else(stops, ca.if_else(above, high, low), x + shortest * way)
    gradient = H @ best - g
    # A bound holds back in vain where the gradient points inwards; a variable without room stays where it is.
    vain = ca.if_else(high > low, held * gradient, 0)
    worst = ca.mmax(vain)
    release = ca.logic_and(worst > ROUNDING * (1 + ca.mmax(ca.fabs(g))), _first(vain == worst))
    x_next = ca.if_else(blocked, reached, best)
    added = ca.if_else(stops, ca.if_else(above, 1, -1), held)
    held_next = ca.if_else(blocked, added, ca.if_else(release, 0, held))
    return ca.Function("kp_allocation_iteration", [state], [ca.vertcat(x_next, held_next, state[2 * n :])])


def _first(flags: ca.SX) -> ca.SX:
    """Return a column that is one at the first entry that is true, and zero elsewhere."""
    rows = ca.vertsplit(ca.densify(flags))
    seen: Any = ca.SX(0)
    found = []
    for row in rows:
        found.append(ca.logic_and(row, ca.logic_not(seen)))
        seen = ca.logic_or(seen, row)
    return ca.vertcat(*found)
