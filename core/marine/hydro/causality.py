"""Kramers and Kronig's relations: added mass and damping of one hull are not independent.

A(w) = A_inf + (2/pi) PV Int_0^inf B(u) / (u^2 - w^2) du, which is Ogilvie's relation with the retardation function eliminated.
Between its rows, damping follows a cubic spline; below them it goes to zero as w^3, above them as w^-3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import HydroData

#: Stretches between two rows of the table, in which damping is taken as linear.
REFINED = 12
#: The tail above the table: to this multiple of the highest frequency, in so many stretches.
TAIL, TAIL_STRETCHES = 40.0, 240
#: Damping at the lowest frequency above this share of the largest begins too late for these relations.
LATE = 0.2
#: Powers of the frequency with which damping begins and ends.
BEGINS, ENDS = 3.0, -3.0


def begins_late(damping: FloatArray) -> FloatArray:
    """Return damping at the lowest frequency as a share of the largest, for the six motions."""
    diagonal = np.abs(np.diagonal(damping, axis1=1, axis2=2))
    largest = diagonal.max(axis=0)
    return np.divide(diagonal[0], largest, out=np.zeros(6), where=largest > 0)


def added_mass_from_damping(frequencies: FloatArray, damping: FloatArray) -> FloatArray:
    """Return A(w) - A_inf at the rows of the table (n, ...) that the damping (n, ...) asks for."""
    u, B = extended(frequencies, damping)
    flat = B.reshape(len(u), -1)
    found = np.array([_principal_value(u, w) @ flat for w in frequencies])
    return 2 / np.pi * found.reshape(damping.shape)


def added_mass_inf(data: HydroData) -> tuple[FloatArray, FloatArray]:
    """Return an estimate of the added mass for infinite frequency, and how far the rows scatter about it (6, 6)."""
    rows = data.added_mass - added_mass_from_damping(data.frequencies, data.damping)
    return rows.mean(axis=0), rows.std(axis=0)


def added_mass_zero(data: HydroData, infinite: FloatArray) -> FloatArray:
    """Return the added mass for vanishing frequency that damping and the other limit ask for: A_inf + (2/pi) Int B/u^2 du."""
    u, B = extended(data.frequencies, data.damping)
    inside = u > 0
    integrand = np.zeros_like(B)
    integrand[inside] = B[inside] / u[inside, None, None] ** 2
    steps = np.diff(u)[:, None, None]
    area: FloatArray = (steps * (integrand[1:] + integrand[:-1]) / 2).sum(axis=0)
    return infinite + 2 / np.pi * area


def extended(frequencies: FloatArray, damping: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return frequencies from zero to far beyond the table, and the damping there."""
    from scipy.interpolate import CubicSpline

    first, last = frequencies[0], frequencies[-1]
    low = np.linspace(0.0, first, REFINED, endpoint=False)
    high = last * np.geomspace(1.0, TAIL, TAIL_STRETCHES + 1)[1:]
    shape = (-1,) + (1,) * (damping.ndim - 1)
    below = damping[0] * ((low / first) ** BEGINS).reshape(shape)
    above = damping[-1] * ((high / last) ** ENDS).reshape(shape)
    if len(frequencies) == 1:
        return np.concatenate([low, frequencies, high]), np.concatenate([below, damping, above])
    shares = np.arange(REFINED) / REFINED
    inside = np.append((frequencies[:-1, None] + np.diff(frequencies)[:, None] * shares).ravel(), last)
    between = CubicSpline(frequencies, damping, bc_type="not-a-knot" if len(frequencies) > 3 else "natural")(inside)
    return np.concatenate([low, inside, high]), np.concatenate([below, between, above])


def _principal_value(u: FloatArray, w: float) -> NDArray[np.float64]:
    """Return weights of the nodes in PV Int B/(u^2 - w^2) du, with B linear between them; w is one of them.

    1/(u^2 - w^2) = (1/(u - w) - 1/(u + w)) / (2 w), and Int (a + b u)/(u - s) du = b u + (a + b s) ln|u - s|. At the node w
    both neighbours have the same a + b w, so that their logarithms of zero cancel; both are left out.
    """
    weights = np.zeros_like(u)
    for sign in (1.0, -1.0):
        distance = np.abs(u - sign * w)
        logarithm = np.zeros_like(u)
        away = distance > 1e-12 * w
        logarithm[away] = np.log(distance[away])
        rise = np.diff(logarithm)
        share = 1 + (sign * w - u[:-1]) / np.diff(u) * rise
        weights[1:] += sign * share
        weights[:-1] += sign * (rise - share)
    return weights / (2 * w)
