"""Inputs that change during a step, for components that only know constant ones."""

from __future__ import annotations

from kingpost.base.arrays import FloatArray


def held(values: FloatArray, slopes: FloatArray, a: float, b: float) -> FloatArray:
    """Return the mean, from ``a`` to ``b`` s after a time, of inputs with these values and first and second derivatives there.

    An input that holds at its mean moves a state by as much, up to the third power of the step, as one that changes.
    """
    result: FloatArray = values + slopes[0] * ((a + b) / 2) + slopes[1] * ((a * a + a * b + b * b) / 6)
    return result
