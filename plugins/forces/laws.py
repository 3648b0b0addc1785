"""Polynomial laws shared by springs and dampers."""

from __future__ import annotations

import casadi as ca

from kingpost.expressions import Scalar, Scalars
from kingpost.interfaces.force import Kinematics


def spring_law(kinematics: Kinematics, stiffness: Scalars, stretch: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return k1 s + k2 s^2 + ... and its potential k1 s^2 / 2 + k2 s^3 / 3 + ..."""
    pull, potential, power = ca.SX(0), ca.SX(0), stretch
    for order, coefficient in enumerate(_several(stiffness), start=1):
        k = kinematics.value(coefficient)
        pull += k * power
        power = power * stretch
        potential += k * power / (order + 1)
    return pull, potential


def damping_law(kinematics: Kinematics, damping: Scalars, rate: ca.SX) -> ca.SX:
    """Return d1 r + d2 r |r| + d3 r^3 + ..., odd in r, so that it always takes energy away."""
    drag, power = ca.SX(0), rate
    for coefficient in _several(damping):
        drag += kinematics.value(coefficient) * power
        power = power * ca.fabs(rate)
    return drag


def _several(scalars: Scalars) -> tuple[Scalar, ...]:
    return scalars if isinstance(scalars, tuple) else (scalars,)
