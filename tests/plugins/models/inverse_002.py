"""Plane mechanisms of document 002 by virtual work: places of centres as functions of the time, written out by hand."""

from dataclasses import dataclass

import casadi as ca
import numpy as np


@dataclass(frozen=True)
class Part:
    """Mass, moment of inertia about its centre, where the centre is, and how far it is turned."""

    mass: float
    moment: float
    at: ca.SX
    turn: ca.SX


def moments_of(parts, x, path, t):
    """Return the generalized forces along x that the parts ask for where x = path(t): sum of m a . dr/dx + J w' dturn/dx."""
    places = ca.vertcat(*path)
    v = ca.densify(ca.jacobian(places, t))
    a = ca.densify(ca.jacobian(v, t))
    speed, acceleration = SPEED[: x.numel()], ACCELERATION[: x.numel()]

    def accelerated(place):
        J = ca.jacobian(place, x)
        return J, J @ acceleration + ca.jtimes(J @ speed, x, speed)

    total = ca.SX.zeros(x.numel())
    for part in parts:
        J, moving = accelerated(part.at)
        K, turning = accelerated(part.turn)
        total += part.mass * J.T @ moving + part.moment * K.T @ turning
    return ca.substitute(total, ca.vertcat(x, speed, acceleration), ca.vertcat(places, v, a))


SPEED, ACCELERATION = ca.SX.sym("v", 3), ca.SX.sym("a", 3)


def kinetic_energy(parts, x):
    """Return the kinetic energy with the speeds :data:`SPEED` of x."""
    speed = SPEED[: x.numel()]
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
