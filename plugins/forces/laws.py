"""Laws shared by springs and dampers: polynomials, and those that act in one direction only."""

from __future__ import annotations

import casadi as ca

from kingpost.base.formulas import Scalar, Scalars
from kingpost.multibody.force import Kinematics


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


#: Keeps a quotient of two vanishing forces finite; far below any force in N that matters.
NEGLIGIBLE = 1e-100


def one_sided(stretch: ca.SX, width: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return max(s, 0) with its corner rounded off over ``width``, its slope, and its integral.

    With x = s / width + 1/2, held between 0 and 1, the slope is 3 x^2 - 2 x^3. So the value is exactly 0 below -width / 2,
    exactly s above width / 2, and twice differentiable between; above, the integral is s^2 / 2 + width^2 / 40.
    """
    x = ca.fmin(ca.fmax(stretch / width + 0.5, 0), 1)
    beyond = ca.fmax(stretch - width / 2, 0)
    value = width * x**3 * (1 - x / 2) + beyond
    integral = width**2 * x**4 * (1 / 4 - x / 10) + beyond * (beyond + width) / 2
    return value, x**2 * (3 - 2 * x), integral


def never_negative(elastic: ca.SX, drag: ca.SX) -> ca.SX:
    """Return elastic + drag, but never less than zero: what a rope or a contact can do.

    Where the drag takes off more than half of the elastic part, the result is elastic^2 / (4 |drag|), which goes on with the
    same slope and tends to zero.
    """
    half = elastic / 2
    return half + ca.fmax(drag, -half) + elastic**2 / (4 * (ca.fmax(-drag, half) + NEGLIGIBLE))


def _several(scalars: Scalars) -> tuple[Scalar, ...]:
    return scalars if isinstance(scalars, tuple) else (scalars,)
