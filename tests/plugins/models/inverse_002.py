"""Plane mechanisms of document 002 by virtual work: places of centres as functions of the time, written out by hand."""

from dataclasses import dataclass
from math import cos, hypot, pi, sin

import casadi as ca
import numpy as np


@dataclass(frozen=True)
class Part:
    """Mass, moment of inertia about its centre, where the centre is, and how far it is turned."""

    mass: float
    moment: float
    at: ca.SX
    turn: ca.SX


def moments_of_motion(parts, x, speed, acceleration):
    """Return the generalized forces along x that the parts ask for: sum of m a . dr/dx + J w' dturn/dx."""

    def accelerated(place):
        J = ca.jacobian(place, x)
        return J, J @ acceleration + ca.jtimes(J @ speed, x, speed)

    total = ca.SX.zeros(x.numel())
    for part in parts:
        J, moving = accelerated(part.at)
        K, turning = accelerated(part.turn)
        total += part.mass * J.T @ moving + part.moment * K.T @ turning
    return total


def moments_of(parts, x, path, t):
    """Return the generalized forces along x where x = path(t)."""
    places = ca.vertcat(*path)
    v = ca.densify(ca.jacobian(places, t))
    a = ca.densify(ca.jacobian(v, t))
    speed, acceleration = SPEED[: x.numel()], ACCELERATION[: x.numel()]
    total = moments_of_motion(parts, x, speed, acceleration)
    return ca.substitute(total, ca.vertcat(x, speed, acceleration), ca.vertcat(places, v, a))


SPEED, ACCELERATION = ca.SX.sym("v", 3), ca.SX.sym("a", 3)


def kinetic_energy(parts, x, speed=None):
    """Return the kinetic energy with speeds of x, by default :data:`SPEED`."""
    speed = SPEED[: x.numel()] if speed is None else speed
    rates = [(part, ca.jacobian(part.at, x) @ speed, ca.jacobian(part.turn, x) @ speed) for part in parts]
    return sum(part.mass * ca.sumsqr(v) / 2 + part.moment * w**2 / 2 for part, v, w in rates)


def along(t, expressions):
    """Return a function of the time that gives expressions and their first two derivatives, as arrays."""
    column = ca.vertcat(*expressions)
    rate = ca.jacobian(column, t)
    function = ca.Function("along", [t], [column, rate, ca.jacobian(rate, t)])
    return lambda time: tuple(np.asarray(part).ravel() for part in function(time))


def needed(equations, t, q, v, a, p, driven):
    """Return the inputs and multipliers that the equations of motion ask for, and the largest residual of everything."""
    e, held = equations, equations.constraints
    names = [signal.name for signal in e.mechanism.inputs]
    columns = [names.index(name) for name in driven]
    rate = ca.jtimes(held.A @ e.v + held.b, e.q, e.N @ e.v)
    parts = ca.Function(
        "parts", [e.t, e.q, e.v, e.u, e.p], [e.M, e.f, ca.jacobian(e.f, e.u), held.A, held.phi, held.A @ e.v + held.b, rate]
    )
    M, f, B, A, phi, speeds, bias = (np.asarray(part) for part in parts(t, q, v, np.zeros(e.u.numel()), p))
    left = np.hstack([B[:, columns], -A.T])
    wanted = M @ a - f.ravel()
    solution, *_ = np.linalg.lstsq(left, wanted, rcond=1e-12)
    residuals = (left @ solution - wanted, phi, speeds, A @ a + bias.ravel())
    return solution[: len(columns)], max(float(np.abs(part).max(initial=0.0)) for part in residuals)


#: Lengths of Whitworth's rod, lever and crank (m).
L2, L3, R4 = hypot(0.65, 0.2), hypot(0.15, 0.6), hypot(0.1, 0.1)


def quick_return(crank):
    """Return the parts of Whitworth's mechanism, and the coordinates of the model, as functions of the angle of the crank."""
    pin = ca.vertcat(R4 * ca.cos(crank), 0.3 + R4 * ca.sin(crank))
    lever = ca.atan2(pin[1], pin[0])
    out = ca.vertcat(ca.cos(lever), ca.sin(lever))
    tip = L3 * out
    rise = 0.8 - tip[1]
    x = tip[0] + ca.sqrt(L2**2 - rise**2)
    rod = ca.atan2(rise, x - tip[0])
    slider = ca.vertcat(x, 0.8)
    parts = [
        Part(1.0, 0.0, slider, ca.SX(0)),
        Part(0.2, 0.2 * 0.1**2 / 12, (tip + slider) / 2, rod),
        Part(0.4, 0.2 * 0.5**2 / 12, tip / 2, lever),
        Part(0.2, 0.2 * 0.1**2 / 3, ca.vertcat(0, 0.3), crank),
    ]
    return parts, [crank, lever, rod - lever, x]


#: Which side of the line from base to corner the elbows are on: all to the same, seen along it.
SIDE = -1.0


def rrr_legs(x, y, turn):
    """Return the angles of the bars at the base and at the platform, and the parts that move, at a pose of the platform."""
    bases, distals = [], []
    parts = [Part(1.0, 0.25, ca.vertcat(x, y), turn)]
    for direction in (0.0, 2 * pi / 3, -2 * pi / 3):
        base = ca.DM([3 * cos(direction), 3 * sin(direction)])
        corner = ca.vertcat(x + ca.cos(turn + direction), y + ca.sin(turn + direction))
        apart = corner - base
        # Two bars of the same length: the elbow is across the middle of the line between their ends.
        half = ca.acos(ca.norm_2(apart) / 4)
        first = ca.atan2(apart[1], apart[0]) + SIDE * half
        second = ca.atan2(apart[1], apart[0]) - SIDE * half
        elbow = base + 2 * ca.vertcat(ca.cos(first), ca.sin(first))
        parts += [Part(0.5, 2 / 3, ca.SX(base), first), Part(0.5, 1 / 6, (elbow + corner) / 2, second)]
        bases.append(first)
        distals.append(second)
    return bases, distals, parts


def rrr_path(t):
    """Return the pose of the platform at a time."""
    return [-ca.sin(pi * t / 2), ca.sin(pi * t / 4), pi / 6 * ca.sin(pi * t / 4) ** 4]
