"""Polynomials through past samples of inputs."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError

HIGHEST = 2
#: Why such steps are made in Python.
EXTRAPOLATED = "inputs follow polynomials over its steps"


def check_order(order: int) -> None:
    """Refuse a degree that is not offered."""
    if not 0 <= order <= HIGHEST:
        raise MechanismError(f"extrapolation is {order}; it can be 0, 1 or {HIGHEST}")


class Samples:
    """The last samples of a vector, as many as a polynomial of the given degree needs; fewer at the start of a run.

    Entries in ``holds`` have no slope.
    """

    def __init__(self, order: int, holds: NDArray[np.bool_] | None = None) -> None:
        self._kept: deque[tuple[float, FloatArray]] = deque(maxlen=order + 1)
        self._holds = holds

    def add(self, t: float, values: FloatArray) -> None:
        """Remember the values at a time."""
        self._kept.append((t, values.copy()))

    def save(self) -> tuple[tuple[float, FloatArray], ...]:
        """Return what is remembered; the arrays in it are never written to."""
        return tuple(self._kept)

    def restore(self, state: tuple[tuple[float, FloatArray], ...]) -> None:
        """Remember what was saved."""
        self._kept.clear()
        self._kept.extend(state)

    def slopes(self, t: float, ahead: tuple[float, FloatArray] | None = None) -> FloatArray:
        """Return first and second derivatives at ``t`` of the polynomial through the samples.

        ``ahead`` is a sample later than ``t``, if one is known; it then takes the place of the oldest.
        """
        known = list(self._kept)
        if ahead is not None:
            known = [*(known[1:] if len(known) == self._kept.maxlen and len(known) > 1 else known), ahead]
        slopes = _derivatives([time - t for time, _ in known], np.array([values for _, values in known]))
        if self._holds is not None:
            slopes[:, self._holds] = 0.0
        return slopes


def _derivatives(times: list[float], values: FloatArray) -> FloatArray:
    """Return the first two derivatives at zero of the polynomial through values at times, by Newton's divided differences."""
    slopes = np.zeros((2, values.shape[1]))
    if len(times) > 1:
        first = (values[-1] - values[-2]) / (times[-1] - times[-2])
        slopes[0] = first
        if len(times) > 2:
            before = (values[-2] - values[-3]) / (times[-2] - times[-3])
            second = (first - before) / (times[-1] - times[-3])
            # p(t) = y_c + (t - c) first + (t - c)(t - b) second, with c the last time and b the one before
            slopes[0] = first - (times[-1] + times[-2]) * second
            slopes[1] = 2 * second
    return slopes
