"""Points that meet the equations of a servo problem and some of their derivatives."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import MOST_STEPS, SETTLED, DerivativeArray, ImplicitSystem, least_norm

#: The largest scaled residual of a point that is called consistent.
CONSISTENT = 1e-9


class InconsistentError(Exception):
    """No point that meets the equations was found near the last one."""

    def __init__(self, t: float, order: int, left: float, row: str) -> None:
        after = f", differentiated up to {order} times" if order else ""
        super().__init__(
            f"no state of the machine was found that meets the path at {t:.6g} s: {left:.2e} is left of the {row}{after}"
        )
        self.t, self.order, self.left, self.row = t, order, left, row


def consistent_point(array: DerivativeArray, t: float, x: FloatArray) -> FloatArray:
    """Return the series nearest to ``x`` that meets all equations of a derivative array at a time."""
    x, left = array.consistent(t, x)
    if left < CONSISTENT:
        return x
    r = np.abs(array.residual(t, x, array.signals(t))).reshape(array.order + 1, array.size)
    r[~np.isfinite(r)] = np.inf
    worst = int(np.unravel_index(int(np.argmax(r)), r.shape)[1])
    raise InconsistentError(t, array.order, left, array.system.row_names[worst])


def widened(x: FloatArray, order: int) -> FloatArray:
    """Return a series with zeros for what the equations differentiated ``order`` times hold beyond it."""
    return np.pad(x, ((0, 0), (0, max(0, order + 2 - x.shape[1]))))


def at_rest(system: ImplicitSystem, t: float, x: FloatArray) -> tuple[FloatArray, float]:
    """Return the unknowns near ``x`` with which everything stands still at a time, and the scaled residual that is left."""
    n = system.size
    array = DerivativeArray(system, 0, 1.0)
    signals = array.signals(t)
    still = np.column_stack([x, np.zeros(n)])
    weights = array.weights(t, still, signals)
    left = np.inf
    for _ in range(MOST_STEPS):
        r = array.residual(t, still, signals)
        J = array.jacobian(t, still, signals)[:, :n] * weights
        rows = np.abs(J).max(axis=1)
        rows[rows == 0.0] = 1.0
        left = float(np.abs(r / rows).max(initial=0.0))
        if not (np.isfinite(left) and np.isfinite(J).all()):
            return x, np.inf
        step = -least_norm(J / rows[:, None], r / rows)
        length = float(np.abs(step).max(initial=0.0))
        still[:, 0] += min(1.0, 2.0 / length if length else 1.0) * weights * step
        if length < SETTLED * (1.0 + float(np.abs(still[:, 0] / weights).max(initial=0.0))):
            break
    return still[:, 0], left
