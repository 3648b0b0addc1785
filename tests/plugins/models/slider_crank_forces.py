"""The spatial slider-crank of example 4.5 in closed form: the torque that a motion of its slider needs, by Newton and Euler."""

from typing import NamedTuple

import casadi as ca
import numpy as np

L1, L2, SHARE = 0.5, np.sqrt(2), np.sqrt(2) / 2
I1, I2, M2, M3 = 0.20, 0.10, 0.50, 2.0


class Needs(NamedTuple):
    """Torque u1, forces y3*, z3* and x3* of the guide on the slider, kinetic energy, the crank's angle, and |b|."""

    torque: ca.SX
    y3: ca.SX
    z3: ca.SX
    x3: ca.SX
    energy: ca.SX
    chi: ca.SX
    slope: ca.SX


def slider_path(t):
    """Return where the slider is at a time."""
    return -(1 - SHARE) * L2 * (1 + 8 * ca.sin(2 * ca.pi * t) ** 2) / 10


def slider_crank(x, v, a, mu):
    """Return what a motion of the slider needs: its place, speed and acceleration, and the coefficient of friction.

    The rod e from the pin p to the slider, l2 e = slider - p, has no spin. Its moments about its centre,
    (p - c) x (m2 a + f) - (slider - c) x f = I2 e x e'', with the force f of the rod on the slider, give
    f = -gamma2 m2 a - (I2 / l2) e'' + k e, and k follows from the slider along x: f_x = m3 s'' - x3*. Friction is
    x3* = -mu N with the sign of the speed in mu; N^2 = |A + b x3*|^2 has one positive root, since |mu b| < 1.
    """

    def rate(expression):
        return ca.jtimes(expression, x, v) + ca.jtimes(expression, v, a)

    chi = ca.acos(1 - (L2**2 - (L2 + x) ** 2) / (2 * L1**2))
    p = ca.vertcat(0, -L1 * ca.cos(chi), -L1 * ca.sin(chi))
    slider = ca.vertcat(L2 + x, -L1, 0)
    e = (slider - p) / L2
    centre = p + SHARE * L2 * e
    turning, moving = rate(e), rate(centre)
    acceleration = rate(moving)
    known = -SHARE * M2 * acceleration - I2 / L2 * rate(turning)
    f0 = known + (M3 * a - known[0]) / e[0] * e
    f1 = -e / e[0]
    A, b = -f0[1:], -f1[1:]
    square, line = 1 - mu**2 * ca.dot(b, b), mu * ca.dot(A, b)
    N = (-line + ca.sqrt(line**2 + square * ca.dot(A, A))) / square
    x3 = -mu * N
    f = f0 + x3 * f1
    on_pin = M2 * acceleration + f
    torque = I1 * rate(rate(chi)) + ca.cross(p, on_pin)[0]
    energy = (I1 * rate(chi) ** 2 + M3 * v**2 + M2 * ca.dot(moving, moving) + I2 * ca.dot(turning, turning)) / 2
    return Needs(torque, -f[1], -f[2], x3, energy, chi, ca.norm_2(b))
