"""The equations of a servo problem together with their time derivatives, in Taylor coefficients.

With x = (q, v, z, lam, u, mu) the problem is 0 = F(t, x, xdot, signals, p). Its first k derivatives are the coefficients 1 to k
of the series of F along x = x_0 + x_1 s + ..., with t = t_0 + tau s. In these coefficients a derivative of order j is scaled by
tau^j / j!, without which ranks cannot be told (document 000 has index 7 for a crane that looks like 6 in plain derivatives).

mu are multipliers of the unit length of quaternions, which else would count as states of their own, and the rows of coordinates
that only follow others are what they follow.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.problem import ServoProblem
from kingpost.symbols.taylor import TaylorSeries, scaled_powers

#: Newton steps for a consistent point.
MOST_STEPS = 60
#: Singular values below this part of the largest one are taken for zero in Newton steps.
SMALLEST = 1e-11


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Where the unknowns of a servo problem are in x."""

    q: slice
    v: slice
    z: slice
    lam: slice
    u: slice
    mu: slice
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.names)


class FirstOrder:
    """A servo problem as 0 = F(t, x, xdot, signals, p)."""

    def __init__(self, problem: ServoProblem) -> None:
        self.problem = problem
        e, s = problem.equations, problem.symbols
        quaternions = e.quaternions
        sizes = [e.nq, e.nv, e.nz, e.constraints.count, len(problem.driven), len(quaternions)]
        ends = np.cumsum([0, *sizes])
        names = problem.row_names
        labels = (
            *names["q"],
            *names["v"],
            *names["z"],
            *(f"multiplier of {owner}" for owner in names["lam"]),
            *names["u"],
            *(f"length of quaternion {k + 1}" for k in range(len(quaternions))),
        )
        parts = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        self.unknowns = Unknowns(*parts, names=labels)
        x, xdot = ca.SX.sym("x", self.unknowns.size), ca.SX.sym("xdot", self.unknowns.size)
        rows, self.row_names = self._rows(xdot, quaternions, x)
        given = [s.q, s.v, s.a, s.z, s.zdot, s.lam, s.u]
        at = self.unknowns
        values = [x[at.q], x[at.v], xdot[at.v], x[at.z], xdot[at.z], x[at.lam], x[at.u]]
        (self.residual,) = ca.substitute([rows], given, [ca.densify(value) for value in values])
        self.t, self.x, self.xdot, self.signals, self.p = s.t, x, xdot, s.signals[0], s.p
        self.function = ca.Function(
            "kp_servo_dae",
            [self.t, x, xdot, self.signals, self.p],
            [ca.densify(self.residual)],
            ["t", "x", "xdot", "s", "p"],
            ["F"],
        )

    def _rows(self, xdot: ca.SX, quaternions: tuple[int, ...], x: ca.SX) -> tuple[ca.SX, tuple[str, ...]]:
        problem, e, s = self.problem, self.problem.equations, self.problem.symbols
        names = problem.row_names
        kinematics = xdot[self.unknowns.q] - problem.N @ s.v
        lengths = []
        for k, first in enumerate(quaternions):
            rows = slice(first, first + 4)
            kinematics[rows] += s.q[rows] * x[self.unknowns.mu][k]
            lengths.append((ca.sumsqr(s.q[rows]) - 1) / 2)
        followers = e.coordinates.followers
        if followers:
            # Not an integral of their rates, which would be a state of its own.
            free = e.nq - followers
            kinematics = ca.vertcat(kinematics[:free], s.q[free:] - e.coordinates.follow(s.q, s.p))  # type: ignore[misc]
        held = e.constraints
        speeds = problem.constraint_speeds[held.holonomic :, :]
        rows = ca.vertcat(
            kinematics,
            problem.balance,
            s.zdot - problem.state_rates,
            problem.phi,
            speeds,
            problem.servo_positions,
            *lengths,
        )
        labels = (
            *(f"rate of {name}" for name in names["q"]),
            *(f"equation of motion of {name}" for name in names["v"]),
            *(f"rate of {name}" for name in names["z"]),
            *(f"constraint {owner}" for owner in names["lam"]),
            *(f"servo-constraint {name}" for name in names["y"]),
            *(f"length of quaternion {k + 1}" for k in range(len(quaternions))),
        )
        return rows, labels

    @cached_property
    def jacobians(self) -> tuple[ca.Function, list[tuple[FloatArray, FloatArray]]]:
        """The function (t, x, xdot, signals, p) -> nonzeros of dF/dx and dF/dxdot, and the rows and columns of these."""
        parts = [ca.jacobian(self.residual, symbol) for symbol in (self.x, self.xdot)]
        places = [(np.array(part.sparsity().row()), np.array(part.sparsity().get_col())) for part in parts]
        arguments = [self.t, self.x, self.xdot, self.signals, self.p]
        return ca.Function("kp_servo_jacobians", arguments, [ca.vertcat(*part.nonzeros()) for part in parts]), places

    @cached_property
    def series(self) -> TaylorSeries:
        """The Taylor series of F."""
        return TaylorSeries(self.function)

    @cached_property
    def slopes(self) -> TaylorSeries:
        """The Taylor series of the nonzeros of :attr:`jacobians`."""
        return TaylorSeries(self.jacobians[0])


class DerivativeArray:
    """F and its first ``order`` derivatives as equations for the Taylor coefficients x_0 ... x_(order + 1)."""

    def __init__(self, system: FirstOrder, order: int, tau: float) -> None:
        self.system, self.order, self.tau = system, order, tau
        self.size = system.unknowns.size
        self._p = system.problem.p

    def signals(self, t: float) -> FloatArray:
        """Return the Taylor coefficients of the signals at a time, one column for each order."""
        found = self.system.problem.signals([t], self.order)[0]
        return np.asarray(found.T * np.array(scaled_powers(self.tau, self.order)))

    def _arguments(self, t: float, x: FloatArray, signals: FloatArray) -> list[FloatArray]:
        k = self.order
        time, p = np.zeros((1, k + 1)), np.zeros((len(self._p), k + 1))
        time[0, : min(2, k + 1)] = (t, self.tau)[: k + 1]
        p[:, 0] = self._p
        rates = x[:, 1:] * np.arange(1, k + 2) / self.tau
        return [time, x[:, : k + 1], rates, signals, p]

    def residual(self, t: float, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the coefficients 0 ... order of F along a series x (a column for each order), order by order."""
        return self.system.series(*self._arguments(t, x, signals))[0].ravel(order="F")

    def jacobian(self, t: float, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the derivative of :meth:`residual` with respect to the coefficients of x, order by order.

        What the coefficient j of x does to the coefficient i of F depends on i - j alone, but for the factor j of the rate.
        """
        n, k = self.size, self.order
        found = self.system.slopes(*self._arguments(t, x, signals))
        slopes = np.zeros((2, k + 1, n, n))
        for part, (values, (rows, columns)) in enumerate(zip(found, self.system.jacobians[1], strict=True)):
            slopes[part][:, rows, columns] = values.T
        J = np.zeros(((k + 1) * n, (k + 2) * n))
        for i in range(k + 1):
            for j in range(i + 2):
                block = J[i * n : (i + 1) * n, j * n : (j + 1) * n]
                if j <= i:
                    block += slopes[0, i - j]
                if j >= 1:
                    block += slopes[1, i - j + 1] * (j / self.tau)
        return J

    def consistent(self, t: float, x: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Return the nearest series that meets all equations, and the largest scaled residual that is left.

        Newton's method with steps of least norm, columns scaled by ``weights`` (the sizes of the unknowns).
        """
        signals = self.signals(t)
        n = self.size
        scale = np.ones(n) if weights is None else weights
        columns = np.tile(scale, self.order + 2)
        left = np.inf
        for _ in range(MOST_STEPS):
            J = self.jacobian(t, x, signals) * columns
            r = self.residual(t, x, signals)
            rows = np.abs(J).max(axis=1)
            rows[rows == 0.0] = 1.0
            left = float(np.abs(r / rows).max(initial=0.0))
            if not np.isfinite(left):
                break
            step = -_least_norm(J / rows[:, None], r / rows)
            length = float(np.abs(step).max(initial=0.0))
            # Steps of the unknowns themselves beyond their size leave the place where first derivatives mean anything; in their
            # higher coefficients the equations are linear.
            moved = float(np.abs(step[:n]).max(initial=0.0))
            factor = min(1.0, 2.0 / moved) if moved > 0 else 1.0
            x = x + factor * (columns * step).reshape(self.order + 2, n).T
            if length < 1e-13 * max(1.0, float(np.abs(x / scale[:, None]).max())):
                break
        return x, left


def _least_norm(J: FloatArray, r: FloatArray) -> FloatArray:
    """Return the shortest step that meets J step = r as well as can be."""
    return np.asarray(np.linalg.lstsq(J, r, rcond=SMALLEST)[0])
