"""The index by numbers: from the null spaces of the derivative array at a consistent point.

With F_k = (F, F', ..., F^(k)) the index is the smallest k for which F_k = 0 determines xdot where x is given: no vector of the
null space of dF_k/d(x_1, x_2, ...) has a component in x_1. That is so when leaving x_1 out takes nothing off the dimension of
the null space. The dimension that x_0 adds to it is the number of states that the path leaves free: the internal states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import DerivativeArray, ImplicitSystem
from kingpost.control.servo.index.points import consistent_point, widened
from kingpost.control.servo.index.ranks import Gap, equilibrated, rank_of, widest_gap

#: Derivatives of the equations beyond which no index is looked for.
HIGHEST = 9
#: Derivatives that a first point meets; most machines need no more.
FIRST = 5
#: Other scales of time are tried while the narrowest gap is narrower than this.
BEYOND_DOUBT = 1e9


@dataclass(frozen=True)
class Level:
    """What the equations and their first ``order`` derivatives say at a time, with the scale of time that shows it best."""

    t: float
    order: int
    tau: float
    #: Of dF_k/d(x_0, x_1, ...), dF_k/d(x_1, x_2, ...) and dF_k/d(x_2, x_3, ...).
    with_states: Gap
    with_rates: Gap
    beyond: Gap
    #: The largest component in x_1 of a unit vector in the null space of dF_k/d(x_1, x_2, ...).
    component: float

    @property
    def determined(self) -> bool:
        """Whether the rates are functions of the unknowns."""
        return self.clear and self.with_rates.nullity == self.beyond.nullity

    @property
    def free(self) -> int:
        """How many of the unknowns can be chosen freely: of a system whose rates are determined, its states."""
        return self.with_states.nullity - self.with_rates.nullity

    @property
    def width(self) -> float:
        """The narrowest of the gaps by which it was decided."""
        return min(self.with_states.width, self.with_rates.width, self.beyond.width)

    @property
    def clear(self) -> bool:
        return self.with_states.clear and self.with_rates.clear and self.beyond.clear


def time_scales(duration: float) -> tuple[float, ...]:
    """Return the scales of time that are tried for a manoeuvre, in s; its whole duration shows nothing."""
    return tuple(duration / part for part in (10.0, 40.0, 3.0, 160.0))


def level(J: FloatArray, n: int, tau: float, t: float, taus: Sequence[float]) -> Level:
    """Return what the Jacobian of a derivative array of ``n`` unknowns says, which was written with the scale ``tau``."""
    found: list[Level] = []
    for scale in taus:
        scaled = scaled_jacobian(J, n, scale / tau)
        _, values, Vt = np.linalg.svd(scaled[:, n:])
        rates = widest_gap(values, scaled.shape[1] - n)
        null = Vt[rates.rank :, :n]
        component = float(np.linalg.norm(null, 2)) if len(null) else 0.0
        parts = rank_of(scaled), rates, rank_of(scaled[:, 2 * n :])
        found.append(Level(t, len(J) // n - 1, scale, *parts, component=component))
        if found[-1].width > BEYOND_DOUBT:
            break
    return max(found, key=lambda one: one.width)


def scaled_jacobian(J: FloatArray, n: int, ratio: float) -> FloatArray:
    """Return the Jacobian of a derivative array with another scale of time, and with rows and unknowns scaled.

    Coefficient j of x, and row j of F, become ratio^j times what they were. All derivatives of an unknown are scaled alike, so
    that in the null space they still belong together.
    """
    rows, columns = (np.repeat(ratio ** np.arange(float(count)), n) for count in (len(J) // n, J.shape[1] // n))
    J = J * rows[:, None] / columns
    folded = np.abs(J).reshape(len(J), -1, n).max(axis=1, initial=0.0)
    _, by_row, by_unknown = equilibrated(folded)
    return J * by_row[:, None] * np.tile(by_unknown, J.shape[1] // n)


def level_at(system: ImplicitSystem, order: int, tau: float, t: float, x: FloatArray, taus: Sequence[float]) -> Level:
    """Return what the equations differentiated up to an order say at a consistent series."""
    array = DerivativeArray(system, order, tau)
    J = array.jacobian(t, x[:, : order + 2], array.signals(t))
    return level(J, system.size, tau, t, taus)


def levels_at(
    system: ImplicitSystem, tau: float, t: float, x: FloatArray, taus: Sequence[float], highest: int = HIGHEST
) -> tuple[list[Level], FloatArray]:
    """Return the levels at a time from k = 1 up to the index, or to the highest order; and a consistent series there.

    Each order starts from the series that meets the equations of the order before.
    """
    levels: list[Level] = []
    for k in range(1, highest + 1):
        if x.shape[1] < k + 2:
            x = consistent_point(DerivativeArray(system, k, tau), t, widened(x, k))
        levels.append(level_at(system, k, tau, t, x, taus))
        if levels[-1].determined:
            break
    return levels, x
