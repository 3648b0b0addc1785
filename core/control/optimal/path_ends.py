"""How measures begin and end to move in an optimum: derivatives by time that the equations of the machine give.

Between nodes a path is joined by a spline through these, for they are smooth from node to node: what is solved there, stairs of
inputs and their jumps, is smoothed out on the way. But at both ends a spline knows nothing of what comes beyond. Second
derivatives follow from the state and the inputs there; third ones from their slopes, too, and are as good as those where inputs
are linear and continuous.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.mechanism.optimal_parts import Limits

#: Derivatives with inputs that are constant over intervals, and with linear ones.
STAIRS, LINES = 2, 3
#: Inputs at the edge of three intervals from those in their middles, by a parabola.
EDGE = np.array([15.0, -10.0, 3.0]) / 8


def path_ends(optimum: Optimum, measures: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Return the first derivatives of measures at the ``"begin"`` and the ``"end"`` of a motion, by name."""
    sides = {"begin": (optimum.parts[0], 0), "end": (optimum.parts[-1], -1)}
    found = {side: _derivatives(part, tuple(measures), at) for side, (part, at) in sides.items()}
    return {name: {side: rows[:, i].tolist() for side, rows in found.items()} for i, name in enumerate(measures)}


def _derivatives(part: Optimum, measures: tuple[str, ...], at: int) -> FloatArray:
    """Return derivatives at a node, one order in each row."""
    problem = part.problem
    row = part.input_rows[at].copy()
    if not problem.linear:
        row[list(problem.driven)] = _at_edge(part, at)
    function = _rates(problem, measures, LINES if problem.linear else STAIRS)
    return np.asarray(function(part.times[at], part.states[at], row, part.p))


def _at_edge(part: Optimum, at: int) -> FloatArray:
    """Return inputs at the first or last node, where those of intervals lead, within their bounds."""
    inputs = part.inputs if at == 0 else part.inputs[::-1]
    found = EDGE @ inputs[:3] if len(inputs) >= len(EDGE) else inputs[0]
    limits = [part.problem.task.bounds.get(name, Limits()) for name in part.problem.task.inputs]
    return np.clip(found, [own.low for own in limits], [own.high for own in limits])


def _rates(problem: OptimalProblem, measures: tuple[str, ...], orders: int) -> ca.Function:
    """Return the function (t, x, u, p) -> derivatives of measures along the motion, one order below the other."""
    e = problem.equations
    t, x, u, p = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", e.nx), ("u", e.nu), ("p", e.np)))
    value, rate, rows = problem.observer(measures)(t, x, u, p), e.rhs(t, x, u, p), []
    for _ in range(orders):
        value = ca.jtimes(value, t, ca.MX(1)) + ca.jtimes(value, x, rate)
        rows.append(value.T)
    return ca.Function("kp_path_rates", [t, x, u, p], [ca.densify(ca.vertcat(*rows))])
