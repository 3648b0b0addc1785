"""Where a servo problem begins: a point that meets the path, the equations, and all that follows from their derivatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.derivative_array import DerivativeArray, FirstOrder
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.system import ServoPoint
from kingpost.mechanism.trajectories import HIGHEST_ORDER

#: Derivatives of the unknowns that a start knows beyond those that the index asks for: what backward differences begin with.
KNOWN = 3
#: The largest scaled residual of a consistent point: rounding of numbers of the size one, with a margin.
CONSISTENT = 1e-9


@dataclass(frozen=True, eq=False)
class ServoStart:
    """The unknowns of a servo problem at a time, as a Taylor series in (t - t_start) / tau."""

    problem: ServoProblem
    first_order: FirstOrder
    t: float
    tau: float
    series: FloatArray
    #: The derivatives of the equations that were used.
    order: int

    def at(self, t: float) -> ServoPoint:
        """Return the point that the series gives at a time near the start."""
        s = (t - self.t) / self.tau
        powers = s ** np.arange(self.series.shape[1])
        rates = np.arange(1, self.series.shape[1]) * s ** np.arange(self.series.shape[1] - 1) / self.tau
        x, xdot = self.series @ powers, self.series[:, 1:] @ rates
        at = self.first_order.unknowns
        signals = self.problem.signals([t], EXPRESSED)[0]
        return ServoPoint(t, x[at.q], x[at.v], xdot[at.v], x[at.z], xdot[at.z], x[at.lam], x[at.u], signals)

    @cached_property
    def point(self) -> ServoPoint:
        """The point at the start itself."""
        return self.at(self.t)


def consistent_start(problem: ServoProblem, index: int, t: float | None = None, tau: float | None = None) -> ServoStart:
    """Return the start nearest to the start values of the machine, or refuse a path that cannot be begun from there.

    Internal states keep their start values as far as the equations leave them free.
    """
    system = FirstOrder(problem)
    t = problem.task.t_start if t is None else t
    at = system.unknowns
    last = index + KNOWN
    tau = time_scale(problem, t, last) if tau is None else tau
    series = np.zeros((at.size, 2))
    equations = problem.equations
    x0 = problem.posed.x0
    series[at.q, 0], series[at.v, 0] = equations.split(x0)
    series[at.z, 0] = equations.states_of(x0)
    series[at.q, 1] = _rates(problem, x0) * tau
    weights = _sizes(system, t, series)
    left = np.inf
    for order in range(last + 1):
        if order:
            series = np.hstack([series, np.zeros((at.size, 1))])
        array = DerivativeArray(system, order, tau)
        series, left = array.consistent(t, series, weights)
    if not left <= CONSISTENT:
        worst = _worst(array, t, series)
        raise SolverError(
            f"no start was found from which '{equations.mechanism.name}' can follow the path at t = {t:g} s: the largest "
            f"scaled residual is {left:.2e}, in the {worst}. Begin nearer to the path (start values of the machine), or begin "
            "the path where the machine is"
        )
    return ServoStart(problem, system, t, tau, series, last)


def time_scale(problem: ServoProblem, t: float, order: int) -> float:
    """Return the time (s) in which no Taylor coefficient of the path moves it by more than its size, at most one second."""
    found = problem.signals([t], min(order, HIGHEST_ORDER))[0]
    size = max(1.0, float(np.abs(found[0]).max(initial=0.0)))
    times = [1.0]
    for k, derivatives in enumerate(found[1:], start=1):
        largest = float(np.abs(derivatives).max(initial=0.0))
        if largest > 0:
            times.append((size * math.factorial(k) / largest) ** (1 / k))
    return min(times)


def _rates(problem: ServoProblem, x0: FloatArray) -> FloatArray:
    equations = problem.equations
    q, v = equations.split(x0)
    return np.asarray(equations.kinematics(q, v, problem.p)).ravel()


def _sizes(system: FirstOrder, t: float, series: FloatArray) -> FloatArray:
    """Return the sizes of the unknowns: forces by those that act at the start, all others one."""
    problem, at = system.problem, system.unknowns
    zeros = np.zeros(at.size)
    rows = np.abs(np.asarray(system.function(t, series[:, 0], zeros, problem.signals([t], 0)[0, 0], problem.p)).ravel())
    sizes = np.ones(at.size)
    begin = problem.equations.nq
    force = float(np.nan_to_num(rows[begin : begin + problem.equations.nv]).max(initial=1.0))
    sizes[at.lam], sizes[at.u] = max(1.0, force), max(1.0, force)
    return sizes


def _worst(array: DerivativeArray, t: float, series: FloatArray) -> str:
    residual = array.residual(t, series, array.signals(t))
    k, row = divmod(int(np.nan_to_num(np.abs(residual), nan=np.inf).argmax()), array.size)
    name = array.system.row_names[row]
    return f"derivative {k} of the {name}" if k else name
