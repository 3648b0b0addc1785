"""Along the path of a servo task from one consistent point to the next."""

from __future__ import annotations

from math import comb

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import DerivativeArray, ImplicitSystem
from kingpost.control.servo.index.points import CONSISTENT, InconsistentError, at_rest, consistent_point, widened

#: How often a way to the next point is halved before it is given up.
HALVINGS = 10


class Walk:
    """A consistent series at a time, which can be taken to other times."""

    def __init__(self, system: ImplicitSystem, tau: float, t: float, x: FloatArray, order: int) -> None:
        self.system, self.tau, self.t = system, tau, t
        self.x = x[:, : order + 2]
        for k in range(self.order, order + 1):
            self.x = consistent_point(DerivativeArray(system, k, tau), t, widened(self.x, k))

    @classmethod
    def begin(cls, system: ImplicitSystem, tau: float, t: float, start: FloatArray, order: int) -> Walk:
        """Return a walk from values of the unknowns at a time."""
        return cls(system, tau, t, np.column_stack([start, np.zeros(len(start))]), order)

    @classmethod
    def from_rest(cls, system: ImplicitSystem, tau: float, t: float, start: FloatArray, order: int) -> Walk:
        """Return a walk from values of the unknowns at a time, with multipliers and inputs that hold the machine at rest there.

        Without these, accelerations of free fall would be the nearest ones, and the way from them to the path a long one.
        """
        x, left = at_rest(system, t, start)
        return cls.begin(system, tau, t, x if left < CONSISTENT else start, order)

    def fork(self, order: int) -> Walk:
        """Return another walk from here, with fewer or more derivatives of the equations."""
        return Walk(self.system, self.tau, self.t, self.x.copy(), order)

    def near_rest(self, t: float) -> Walk | None:
        """Return a walk from a point that meets the path at a time and else moves as little as can be, if there is one."""
        x, left = at_rest(self.system, t, self.state)
        if not left < CONSISTENT:
            return None
        try:
            return Walk.begin(self.system, self.tau, t, x, self.order)
        except InconsistentError:
            return None

    @property
    def order(self) -> int:
        """The derivatives of the equations that the series meets."""
        return self.x.shape[1] - 2

    @property
    def state(self) -> FloatArray:
        """The unknowns."""
        return self.x[:, 0]

    def to(self, t: float, determined: int = 0) -> None:
        """Go to another time; halve the way where Newton's method does not get there.

        ``determined`` is the highest derivative of the unknowns that the equations determine: with internal states, the series
        up to it says where they go. With 0, the nearest point is taken.
        """
        length = t - self.t
        shortest = abs(length) / 2**HALVINGS
        array = DerivativeArray(self.system, self.order, self.tau)
        while self.t != t:
            ahead = t if abs(length) >= abs(t - self.t) else self.t + length
            try:
                x = consistent_point(array, ahead, self._shifted(ahead - self.t, determined))
            except InconsistentError:
                length = (ahead - self.t) / 2
                if abs(length) < shortest:
                    raise
                continue
            self.t, self.x = ahead, x

    def _shifted(self, ahead: float, determined: int) -> FloatArray:
        """Return the series around a later time."""
        x = self.x.copy()
        for j in range(determined):
            x[:, j] = sum(comb(i, j) * (ahead / self.tau) ** (i - j) * self.x[:, i] for i in range(j, determined + 1))
        return x
