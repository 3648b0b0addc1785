"""Retardation functions straight from the damping, and motions by convolution: a way that shares nothing with a fit.

K(t) = 2/pi Int B(w) cos(w t) dw,        A(w) - A_inf = -1/w Int K(t) sin(w t) dt.
"""

from __future__ import annotations

import itertools

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import HydroData

#: Points that a damping curve is refined to between two frequencies of its table.
REFINED = 20


def retardation(data: HydroData, times: FloatArray, *, tail: bool = True) -> FloatArray:
    """Return K(t) (k, 6, 6) from the damping of the data.

    The damping is joined by cubic pieces without overshoot, from nothing at zero frequency; beyond the last frequency it falls
    like w^-3, or is cut off there without ``tail``.
    """
    w, B = _refined(data)
    weights = np.gradient(w)
    weights[[0, -1]] = np.diff(w)[[0, -1]] / 2
    K = np.einsum("tw,wij->tij", np.cos(np.outer(times, w)) * weights, B)
    if tail:
        K += _tail(float(w[-1]), times)[:, None, None] * B[-1]
    return 2 / np.pi * K


def decay_by_convolution(
    mass: FloatArray, stiffness: FloatArray, damping: FloatArray, kernel: FloatArray, start: FloatArray, step: float, count: int
) -> FloatArray:
    """Return motions (count, 6) after a hull is let go from rest, with the memory by convolution.

    ``mass`` holds the added mass A_inf; ``kernel`` is K at 0, step, 2 step ... (k, 6, 6), taken as zero beyond. The trapezoidal
    rule is used for the equation of motion and for the convolution, so errors fall with the square of the step.
    """
    x, v = np.zeros((count, 6)), np.zeros((count, 6))
    x[0] = start
    K = kernel * step
    K[0] /= 2
    flat = K[1:].transpose(1, 0, 2).reshape(6, -1)
    old = -stiffness @ x[0]
    left = mass + step / 2 * (damping + K[0]) + step**2 / 4 * stiffness
    for n in range(1, count):
        reach = min(n, len(K) - 1)
        # The velocity at the start is zero, so its half weight needs no care.
        remembered = flat[:, : 6 * reach] @ v[n - reach : n][::-1].ravel()
        ahead = x[n - 1] + step / 2 * v[n - 1]
        v[n] = np.linalg.solve(left, mass @ v[n - 1] + step / 2 * (old - remembered - stiffness @ ahead))
        x[n] = ahead + step / 2 * v[n]
        old = -(damping + K[0]) @ v[n] - remembered - stiffness @ x[n]
    return x


def _refined(data: HydroData) -> tuple[FloatArray, FloatArray]:
    from scipy.interpolate import PchipInterpolator

    w = np.concatenate([[0.0], data.frequencies])
    B = np.concatenate([np.zeros((1, 6, 6)), (data.damping + data.damping.transpose(0, 2, 1)) / 2])
    fine = np.unique(np.concatenate([np.linspace(a, b, REFINED + 1) for a, b in itertools.pairwise(w)]))
    return fine, PchipInterpolator(w, B)(fine)


def _tail(last: float, times: FloatArray) -> FloatArray:
    """Return the integral of (last / w)^3 cos(w t) from the last frequency on: last times E(x) with x = last t.

    Twice by parts: E(x) = cos x / 2 - x sin x / 2 + x^2 / 2 Ci(x), since the integral of cos(u) / u from x on is -Ci(x).
    """
    from scipy.special import sici

    x = last * np.asarray(times, dtype=float)
    ci = sici(np.where(x > 0, x, 1.0))[1]
    return last * np.where(x > 0, np.cos(x) / 2 - x * np.sin(x) / 2 + x**2 / 2 * ci, 0.5)
