"""Wave numbers and group speeds of small waves in water of any depth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray

#: Newton's steps; from the start below, four reach the last bit.
STEPS = 8


def wave_number(frequency: ArrayLike, gravity: float, depth: float = float("inf")) -> FloatArray:
    """Return k of w^2 = g k tanh(k h), in rad/m, for circular frequencies in rad/s.

    >>> k = wave_number(1.0, 9.81, 20.0)
    >>> round(float(9.81 * k * np.tanh(k * 20.0)), 12)
    1.0
    """
    deep = np.asarray(frequency, dtype=float) ** 2 / gravity
    if not np.isfinite(depth):
        return deep
    target = deep * depth
    # Eckart's approximation, within 5 %; Newton on x tanh x = target, which is convex where it matters.
    x = target / np.sqrt(np.tanh(target))
    for _ in range(STEPS):
        tanh = np.tanh(x)
        x = x - (x * tanh - target) / (tanh + x * (1 - tanh**2))
    return x / depth


def group_speed(frequency: ArrayLike, gravity: float, depth: float = float("inf")) -> FloatArray:
    """Return d w / d k in m/s: w / (2 k) (1 + 2 k h / sinh 2 k h)."""
    w = np.asarray(frequency, dtype=float)
    k = wave_number(w, gravity, depth)
    x = np.minimum(2 * k * depth, 700.0) if np.isfinite(depth) else np.full_like(k, 700.0)
    speed: FloatArray = w / (2 * k) * (1 + x / np.sinh(x))
    return speed
