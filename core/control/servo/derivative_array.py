"""The equations of a servo problem together with their time derivatives, in Taylor coefficients.

With x = (q, v, z, lam, u, mu) the problem is 0 = F(t, x, xdot, signals, p). Its first k derivatives are the coefficients 1 to k
of the series of F along x = x_0 + x_1 s + ..., with t = t_0 + tau s. In these coefficients a derivative of order j is scaled by
tau^j / j!, without which ranks cannot be told (document 000 has index 7 for a crane that looks like 6 in plain derivatives).

mu are multipliers of the unit length of quaternions, and of the lengths of directors where speeds are fewer than coordinates,
which else would count as states of their own. The rows of coordinates that only follow others are what they follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.problem import ServoProblem
from kingpost.symbols.taylor import TaylorSeries, scaled_powers

#: Newton steps for a consistent point.
MOST_STEPS = 60
#: Singular values below this part of the largest one are taken for zero in Newton steps.
SMALLEST = 1e-11
#: Newton steps below this part of the unknowns, in their sizes, are the last.
SETTLED = 1e-12
#: ... and steps below this one after one that was so many times longer, the next of which would be shorter than rounding.
NEARLY, FALLING = 1e-8, 1e3
#: Newton steps are not shortened further.
SHORTEST = 1e-4
#: Scaled residuals below this are rounding.
ROUNDING = 1e-15
#: How much more easily unknowns without rates move than positions and speeds.
EASY = 1e3
#: How much more easily derivatives move than the unknowns themselves, which stay where they are as far as they can.
LOOSE = 1e2


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Where the unknowns of a servo problem are in x."""

    names: tuple[str, ...]
    q: slice
    v: slice
    z: slice
    lam: slice
    u: slice
    mu: slice

    @property
    def size(self) -> int:
        return len(self.names)


class Signals(Protocol):
    """What is known in a system: the values of its parameters, and its signals with their derivatives."""

    @property
    def p(self) -> FloatArray: ...

    def signals(self, times: Sequence[float] | FloatArray, order: int) -> FloatArray: ...


class ImplicitSystem:
    """As many equations as unknowns, 0 = F(t, x, xdot, signals, p), with the names of both.

    Its Taylor series serve derivative arrays of all orders.
    """

    #: Functions of x that never change, whatever moves: the lengths of directors, where speeds are fewer than coordinates.
    invariants = 0

    def __init__(
        self, symbols: Sequence[ca.SX], residual: ca.SX, known: Signals, names: Sequence[str], row_names: Sequence[str]
    ) -> None:
        self.t, self.x, self.xdot, self.signals, self.p = symbols
        self.residual, self.known = residual, known
        self.names, self.row_names = tuple(names), tuple(row_names)
        self.function = ca.Function("kp_servo_dae", list(symbols), [ca.densify(residual)], ["t", "x", "xdot", "s", "p"], ["F"])

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.names)

    @cached_property
    def slopes(self) -> tuple[ca.SX, ca.SX]:
        """The Jacobians dF/dx and dF/dxdot."""
        return ca.jacobian(self.residual, self.x), ca.jacobian(self.residual, self.xdot)

    @cached_property
    def jacobians(self) -> ca.Function:
        """The function (t, x, xdot, signals, p) -> dF/dx and dF/dxdot, dense, one after the other by columns."""
        columns = ca.cse([ca.vertcat(*(ca.vec(ca.densify(part)) for part in self.slopes))])
        return ca.Function("kp_servo_jacobians", [self.t, self.x, self.xdot, self.signals, self.p], columns)

    @cached_property
    def series(self) -> TaylorSeries:
        """The Taylor series of F."""
        return TaylorSeries(self.function)

    @cached_property
    def slope_series(self) -> tuple[TaylorSeries, list[tuple[FloatArray, FloatArray]]]:
        """The Taylor series of the nonzeros of dF/dx and dF/dxdot, and the rows and columns of these."""
        places = [(np.array(part.sparsity().row()), np.array(part.sparsity().get_col())) for part in self.slopes]
        symbols = [self.t, self.x, self.xdot, self.signals, self.p]
        nonzeros = [part.nz[:] for part in self.slopes]
        return TaylorSeries(ca.Function("kp_servo_slopes", symbols, ca.cse(nonzeros))), places


class FirstOrder(ImplicitSystem):
    """A servo problem as 0 = F(t, x, xdot, signals, p)."""

    def __init__(self, problem: ServoProblem) -> None:
        self.problem = problem
        e, s = problem.equations, problem.symbols
        sizes = [e.nq, e.nv, e.nz, e.constraints.count, len(problem.driven), len(problem.length_names)]
        ends = np.cumsum([0, *sizes])
        names = problem.row_names
        labels = (
            *names["q"],
            *names["v"],
            *names["z"],
            *(f"multiplier of {owner}" for owner in names["lam"]),
            *names["u"],
            *problem.length_names,
        )
        parts = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        self.unknowns = Unknowns(labels, *parts)
        x, xdot = ca.SX.sym("x", self.unknowns.size), ca.SX.sym("xdot", self.unknowns.size)
        rows, row_names = self._rows(xdot, x)
        given = [s.q, s.v, s.a, s.z, s.zdot, s.lam, s.u]
        at = self.unknowns
        values = [x[at.q], x[at.v], xdot[at.v], x[at.z], xdot[at.z], x[at.lam], x[at.u]]
        (residual,) = ca.substitute([rows], given, [ca.densify(value) for value in values])
        super().__init__((s.t, x, xdot, s.signals[0], s.p), residual, problem, labels, row_names)
        self.invariants = e.nq - e.coordinates.followers - len(problem.length_names) - e.nv

    def along(self, problem: ServoProblem) -> FirstOrder:
        """Return the same equations for a problem with another path (:meth:`ServoProblem.along`)."""
        other = copy(self)
        other.problem = other.known = problem
        return other

    @property
    def start(self) -> FloatArray:
        """The unknowns at the start of the problem, with nothing for multipliers and inputs."""
        x = np.zeros(self.size)
        given = self.problem.posed.x0
        x[: len(given)] = given
        return x

    def _rows(self, xdot: ca.SX, x: ca.SX) -> tuple[ca.SX, tuple[str, ...]]:
        problem, e, s = self.problem, self.problem.equations, self.problem.symbols
        names = problem.row_names
        kinematics = xdot[self.unknowns.q] - problem.N @ s.v
        if problem.length_names:
            kinematics += problem.across @ x[self.unknowns.mu]
        followers = e.coordinates.followers
        if followers:
            # Not an integral of their rates, which would be a state of its own.
            free = e.nq - followers
            kinematics = ca.vertcat(kinematics[:free], s.q[free:] - e.coordinates.follow(s.q, s.p))  # type: ignore[misc]
        held = e.constraints
        speeds = problem.constraint_speeds[held.holonomic :, :]
        # Friction by loads changes no rank where the path says how everything moves, and is found once the motion is known.
        balance = ca.substitute(problem.balance, s.e, ca.SX.zeros(s.e.numel())) if problem.rubbing else problem.balance
        rows = ca.vertcat(
            kinematics,
            balance,
            s.zdot - problem.state_rates,
            problem.phi,
            speeds,
            problem.servo_positions,
            problem.lengths,
        )
        labels = (
            *(f"rate of {name}" for name in names["q"]),
            *(f"equation of motion of {name}" for name in names["v"]),
            *(f"rate of {name}" for name in names["z"]),
            *(f"constraint {owner}" for owner in names["lam"]),
            *(f"servo-constraint {name}" for name in names["y"]),
            *problem.length_names,
        )
        return rows, labels


class DerivativeArray:
    """F and its first ``order`` derivatives as equations for the Taylor coefficients x_0 ... x_(order + 1)."""

    def __init__(self, system: ImplicitSystem, order: int, tau: float) -> None:
        self.system, self.order, self.tau = system, order, tau
        self.size = system.size
        self._p = system.known.p

    def signals(self, t: float) -> FloatArray:
        """Return the Taylor coefficients of the signals at a time, one column for each order."""
        found = self.system.known.signals([t], self.order)[0]
        return np.asarray(found.T * np.array(scaled_powers(self.tau, self.order)))

    def _arguments(self, t: float, x: FloatArray, signals: FloatArray) -> list[FloatArray]:
        k = self.order
        time = np.zeros((1, k + 1))
        time[0, : min(2, k + 1)] = (t, self.tau)[: k + 1]
        rates = x[:, 1 : k + 2] * np.arange(1, k + 2) / self.tau
        return [time, x[:, : k + 1], rates, signals, self._p[:, None]]

    def residual(self, t: float, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the coefficients 0 ... order of F along a series x (a column for each order), order by order."""
        return self.system.series(*self._arguments(t, x, signals))[0].ravel(order="F")

    def _slopes(self, t: float, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the coefficients of dF/dx and of dF/dxdot: orders x both x rows x columns."""
        n = self.size
        series, places = self.system.slope_series
        slopes = np.zeros((self.order + 1, 2, n, n))
        for part, (values, (rows, columns)) in enumerate(zip(series(*self._arguments(t, x, signals)), places, strict=True)):
            slopes[:, part, rows, columns] = values.T
        return slopes

    def jacobian(self, t: float, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the derivative of :meth:`residual` with respect to the coefficients of x, order by order.

        What the coefficient j of x does to the coefficient i of F depends on i - j alone, but for the factor j of the rate.
        """
        n, k = self.size, self.order
        slopes = self._slopes(t, x, signals)
        J = np.zeros(((k + 1) * n, (k + 2) * n))
        for i in range(k + 1):
            for j in range(i + 2):
                block = J[i * n : (i + 1) * n, j * n : (j + 1) * n]
                if j <= i:
                    block += slopes[i - j, 0]
                if j >= 1:
                    block += slopes[i - j + 1, 1] * (j / self.tau)
        return J

    def consistent(self, t: float, x: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Return the nearest series that meets all equations, and the largest scaled residual that is left.

        Newton's method with steps of least norm, shortened while the residual does not fall. ``weights`` are the sizes of the
        unknowns; without them those of :meth:`weights`.
        """
        signals = self.signals(t)
        columns = np.tile(self.weights(t, x, signals) if weights is None else weights, self.order + 2)
        columns[self.size :] *= LOOSE
        r = self.residual(t, x, signals)
        left, length = np.inf, 0.0
        for _ in range(MOST_STEPS):
            J = self.jacobian(t, x, signals) * columns
            rows = np.abs(J).max(axis=1)
            rows[rows == 0.0] = 1.0
            left = float(np.abs(r / rows).max(initial=0.0))
            if not (np.isfinite(left) and np.isfinite(J).all()):
                return x, np.inf
            if left <= ROUNDING:
                return x, left
            step = -least_norm(J / rows[:, None], r / rows)
            size = 1.0 + float(np.abs(x.T.ravel() / columns).max(initial=0.0))
            change = (columns * step).reshape(self.order + 2, self.size).T
            factor, norm = 1.0, float(np.linalg.norm(r / rows))
            while True:
                after = self.residual(t, x + factor * change, signals)
                if float(np.linalg.norm(after / rows)) <= (1.0 - factor / 4) * norm or factor < SHORTEST:
                    break
                factor /= 2
            before, length = length, float(np.abs(step).max(initial=0.0))
            settled = length < SETTLED * size or (factor == 1.0 and FALLING * length < before and length < NEARLY * size)
            if factor < SHORTEST:
                # Rounding is all that is left, or there is no way down.
                return x, left
            x, r = x + factor * change, after
            if settled:
                return x, float(np.abs(r / rows).max(initial=0.0))
        return x, left

    def weights(self, t: float, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return sizes of the unknowns such that all of them matter alike in the equations that feel them most.

        Unknowns without rates, such as inputs and multipliers, move more easily than positions and speeds.
        """
        n = self.size
        slopes = self._slopes(t, x, signals)[0]
        felt = np.abs(slopes[0]) + np.abs(slopes[1]) / self.tau
        felt[~np.isfinite(felt)] = 0.0
        sizes = np.ones(n)
        for _ in range(10):
            rows, columns = (felt * sizes).max(axis=1), np.zeros(n)
            rows[rows == 0.0] = 1.0
            columns = (felt * sizes / rows[:, None]).max(axis=0)
            columns[columns == 0.0] = 1.0
            sizes = sizes / np.sqrt(columns)
        free = ~(np.abs(slopes[1]) > 0.0).any(axis=0)
        return np.asarray(np.where(free, EASY * sizes, sizes))


def least_norm(J: FloatArray, r: FloatArray) -> FloatArray:
    """Return the shortest step that meets J step = r as well as can be."""
    from scipy.linalg import lstsq  # slow to import

    return np.asarray(lstsq(J, r, cond=SMALLEST, lapack_driver="gelsy", check_finite=False)[0])
