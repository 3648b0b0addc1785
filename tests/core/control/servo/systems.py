"""Equations of document 000 as they are printed there, without a mechanism: an independent way to the same machines."""

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.control.servo.derivative_array import ImplicitSystem
from kingpost.mechanism.polynomials import HIGHEST_ORDER
from kingpost.mechanism.trajectories import RestToRest, ThreePhase

GRAVITY = 9.81


@dataclass(frozen=True)
class Known:
    """Paths and no parameters."""

    paths: tuple
    p: np.ndarray

    def signals(self, times, order):
        result = np.zeros((len(times), order + 1, len(self.paths)))
        for j, path in enumerate(self.paths):
            for k in range(min(order, HIGHEST_ORDER) + 1):
                result[:, k, j] = [float(path.value(float(t), {}, k)) for t in times]
        return result


@dataclass(frozen=True)
class Printed:
    """A system, the values of its unknowns at the start, and the end of its manoeuvre."""

    system: ImplicitSystem
    start: np.ndarray
    t_end: float

    def place(self, name):
        return self.system.names.index(name)


def mechanical(q, M, f, B, phi, y, paths, start, t_end):
    """Return qdot = v, M vdot = f + phi_q' lam + B u, phi = 0, y = gamma; functions of the coordinates q alone."""
    n, m, a = q.numel(), phi.numel(), len(paths)
    size = 2 * n + m + a
    x, xdot, s = ca.SX.sym("x", size), ca.SX.sym("xdot", size), ca.SX.sym("s", a)
    t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
    parts = ca.Function("parts", [q], [f, phi, ca.jacobian(phi, q), B, y]).call([x[:n]])
    force, held, G, acting, led = parts
    v, lam, u = x[n : 2 * n], x[2 * n : 2 * n + m], x[2 * n + m :]
    rows = ca.vertcat(xdot[:n] - v, M @ xdot[n : 2 * n] - force - G.T @ lam - acting @ u, held, led - s)
    names = [str(item) for item in ca.vertsplit(q)]
    unknowns = [*names, *(f"{name}'" for name in names), *(f"lam{i + 1}" for i in range(m)), *(f"u{i + 1}" for i in range(a))]
    labels = [f"row {i + 1}" for i in range(size)]
    system = ImplicitSystem((t, x, xdot, s, p), rows, Known(tuple(paths), np.zeros(0)), unknowns, labels)
    return Printed(system, np.concatenate([start, np.zeros(n + m + a)]), t_end)


def symbols(names):
    return [ca.SX.sym(name) for name in names.split()]


def half_square(vector, length):
    return (ca.sumsqr(vector) - length**2) / 2


def navy_2d():
    """Eqs. (A.2): massless pulley; rope L1 is horizontal at the start, and carries nothing there."""
    m, J, r, alpha, length = 100.0, 0.1, 0.1, math.pi / 3, 10.0
    L1, L2, L0, x0, z0, x, z = symbols("L1 L2 L0 x0 z0 x z")
    A = -length * np.array([math.sin(alpha), math.cos(alpha)])
    pulley, load = ca.vertcat(x0, z0), ca.vertcat(x, z)
    phi = ca.vertcat(half_square(pulley - A, L1), half_square(pulley, L0), half_square(load - pulley, L2 - L0))
    B = ca.SX(7, 2)
    B[0, 0] = B[1, 1] = 1 / r
    M = ca.diag(ca.SX([J / r**2, J / r**2, 0, 0, 0, m, m]))
    f = ca.SX([0, 0, 0, 0, 0, 0, -m * GRAVITY])
    paths = [RestToRest(a, b, 0.0, 3.0) for a, b in ((0.0, -5.0), (-15.0, -12.0))]
    start = [5 * math.sqrt(3), 15, 5, 0, -5, 0, -15]
    return mechanical(ca.vertcat(L1, L2, L0, x0, z0, x, z), M, f, B, phi, load, paths, start, 3.0)


def navy_2d_with_mass():
    """Eqs. (6.21): a pulley of 150 kg on a third rope, whose height is led as well."""
    m, m0, J, r, alpha, s, length = 100.0, 150.0, 0.1, 0.1, math.pi / 3, 5.0, 10.0
    L1, L2, L3, L0, x0, x, z, z0 = symbols("L1 L2 L3 L0 x0 x z z0")
    along = np.array([math.sin(alpha), math.cos(alpha)])
    pulley, load = ca.vertcat(x0, z0), ca.vertcat(x, z)
    phi = ca.vertcat(
        half_square(pulley + (s + length) * along, L1),
        half_square(pulley + s * along, L0),
        half_square(pulley, L3),
        half_square(load - pulley, L2 - L0),
    )
    B = ca.SX(8, 3)
    B[0, 0] = B[1, 1] = B[2, 2] = 1 / r
    M = ca.diag(ca.SX([J / r**2] * 3 + [0, m0, m, m, m0]))
    f = ca.SX([0, 0, 0, 0, 0, 0, -m * GRAVITY, -m0 * GRAVITY])
    ends = ((-2.5 * math.sqrt(3), -1.0), (-22.5, -17.5), (-12.5, -10.5))
    paths = [RestToRest(a, b, 0.0, 3.0) for a, b in ends]
    start = [10, 20, math.sqrt(175), 10, -2.5 * math.sqrt(3), -2.5 * math.sqrt(3), -22.5, -12.5]
    return mechanical(ca.vertcat(L1, L2, L3, L0, x0, x, z, z0), M, f, B, phi, ca.vertcat(x, z, z0), paths, start, 3.0)


PLATFORM, HEIGHT = 5 * math.sqrt(3), 5.0
THREE_PHASE = {"t_start": 0.0, "t_end": 20.0, "t_blend": 5.0}


def navy_3d():
    """Eqs. (A.4): massless pulley on a platform that turns."""
    m, M3, J, r = 100.0, 6.4, 0.1, 0.1
    L1, L3, L0, x0, y0, z0, x3, y3, x, y, z = symbols("L1 L3 L0 x0 y0 z0 x3 y3 x y z")
    pulley, P, load = ca.vertcat(x0, y0, z0), ca.vertcat(x3, y3, HEIGHT), ca.vertcat(x, y, z)
    phi = ca.vertcat(
        half_square(pulley - P / 2, L1),
        half_square(pulley - P, L0),
        half_square(P[:2], PLATFORM),
        half_square(load - pulley, L3 - L0),
    )
    B = ca.SX(11, 3)
    B[0, 0] = B[1, 1] = 1 / r
    B[6, 2], B[7, 2] = -y3 / PLATFORM**2, x3 / PLATFORM**2
    M = ca.diag(ca.SX([J / r**2] * 2 + [0, 0, 0, 0, M3, M3, m, m, m]))
    f = ca.SX([0] * 10 + [-m * GRAVITY])
    ends = ((PLATFORM, -2.0), (0.0, 4 * math.sqrt(3)), (-15.0, -13.0))
    paths = [ThreePhase(a, b, **THREE_PHASE) for a, b in ends]
    start = [PLATFORM / 2, 20, 2.5, PLATFORM, 0, 2.5, PLATFORM, 0, PLATFORM, 0, -15]
    return mechanical(ca.vertcat(L1, L3, L0, x0, y0, z0, x3, y3, x, y, z), M, f, B, phi, load, paths, start, 20.0)


def navy_3d_with_mass():
    """Eqs. (A.5): a pulley of 5 kg on a rope of its own. The document calls it index 5."""
    m, m0, M3, J, r = 100.0, 5.0, 6.4, 0.1, 0.1
    L1, L2, L3, L0, x0, y0, x3, y3, x, y, z, z0 = symbols("L1 L2 L3 L0 x0 y0 x3 y3 x y z z0")
    pulley, P, load = ca.vertcat(x0, y0, z0), ca.vertcat(x3, y3, HEIGHT), ca.vertcat(x, y, z)
    phi = ca.vertcat(
        half_square(P[:2], PLATFORM),
        half_square(pulley - P / 2, L1),
        half_square(pulley - 1.5 * P, L2),
        half_square(pulley - P, L0),
        half_square(load - pulley, L3 - L0),
    )
    B = ca.SX(12, 4)
    B[0, 0] = B[1, 1] = B[2, 2] = 1 / r
    B[6, 3], B[7, 3] = -y3 / PLATFORM**2, x3 / PLATFORM**2
    M = ca.diag(ca.SX([J / r**2] * 3 + [0, m0, m0, M3, M3, m, m, m, m0]))
    f = ca.SX([0] * 10 + [-m * GRAVITY, -m0 * GRAVITY])
    ends = ((PLATFORM, -2.0), (0.0, 4 * math.sqrt(3)), (-15.0, -13.0), (2.5, 1.5))
    paths = [ThreePhase(a, b, **THREE_PHASE) for a, b in ends]
    start = [PLATFORM / 2, math.sqrt(43.75), 20, 2.5, PLATFORM, 0, PLATFORM, 0, PLATFORM, 0, -15, 2.5]
    q = ca.vertcat(L1, L2, L3, L0, x0, y0, x3, y3, x, y, z, z0)
    return mechanical(q, M, f, B, phi, ca.vertcat(x, y, z, z0), paths, start, 20.0)
