"""Points that meet the equations of a servo problem and some of their derivatives."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import DerivativeArray

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
