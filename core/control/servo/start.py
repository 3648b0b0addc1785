"""Where a servo problem begins: a point that meets the path, the equations, and all that follows from their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.prolonged import Found, Prolonged
from kingpost.control.servo.system import ServoPoint
from kingpost.mechanism.trajectories import HIGHEST_ORDER

#: Derivatives of the path beyond those that determine inputs: what backward differences of order three begin with.
KNOWN = 2
#: Derivatives of the path beyond which nothing is looked for.
HIGHEST = 11
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
    #: The derivatives of the path that determine the inputs: one less than the index.
    order: int
    #: The number of states that the path leaves free.
    internal_states: int
    #: The sizes of the unknowns.
    weights: FloatArray
    #: The derivatives of the path that determine the inputs at the start itself: more where the equations lose rank there.
    needed: int = 0

    @property
    def singular(self) -> bool:
        """Whether the equations lose rank at the start."""
        return self.needed > self.order

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


def consistent_start(
    problem: ServoProblem,
    order: int | None = None,
    t: float | None = None,
    tau: float = 1.0,
    equations: FirstOrder | None = None,
) -> ServoStart:
    """Return the start nearest to the start values of the machine, or refuse a path that cannot be begun from there.

    Internal states keep their start values as far as the equations leave them free. ``order`` is the number of derivatives of
    the path that determine the inputs, where it is known; ``equations`` are those of the same machine with another path.
    """
    system = FirstOrder(problem) if equations is None else equations.along(problem)
    redundant = len(problem.driven) > problem.outputs
    t = problem.task.t_start if t is None else t
    at = system.unknowns
    series = np.zeros((at.size, 2))
    x0 = problem.posed.x0
    series[at.q, 0], series[at.v, 0] = problem.equations.split(x0)
    series[at.z, 0] = problem.equations.states_of(x0)
    weights = unknown_sizes(system, t, series[:, 0])
    found, free = None, 0
    # One derivative after the other: where ranks are lost at the start, this finds the solution that goes on from there.
    for k in range(2, HIGHEST + 1):
        found = Prolonged(system, k, tau).solve(t, series, weights)
        _check(found)
        series = found.series
        if k >= (order or 2) and (redundant or found.determined()):
            break
    else:
        raise SolverError(
            f"the inputs {', '.join(problem.input_names)} of '{problem.equations.mechanism.name}' are not determined by "
            f"{HIGHEST} derivatives of the path of {', '.join(problem.task.measures)} at t = {t:g} s; some of them may not act "
            "on these measures at all, or only through each other. An index analysis says which"
        )
    assert found is not None
    needed, free = found.array.k, found.free_states()
    for k in range(needed + 1, max(needed, min(needed + KNOWN, HIGHEST_ORDER)) + 1):
        further = Prolonged(system, k, tau).solve(t, series, weights)
        if not further.left <= CONSISTENT:
            break
        series = further.series
    return ServoStart(problem, system, t, tau, series, order or needed, free - system.invariants, weights, needed)


def unknown_sizes(system: FirstOrder, t: float, x: FloatArray) -> FloatArray:
    """Return the sizes of the unknowns: forces by those that act at the start, all others one."""
    problem, at = system.problem, system.unknowns
    zeros = np.zeros(at.size)
    rows = np.abs(np.asarray(system.function(t, x, zeros, problem.signals([t], 0)[0, 0], problem.p)).ravel())
    sizes = np.ones(at.size)
    begin = problem.equations.nq
    force = float(np.nan_to_num(rows[begin : begin + problem.equations.nv]).max(initial=1.0))
    sizes[at.lam], sizes[at.u] = max(1.0, force), max(1.0, force)
    return sizes


def _check(found: Found) -> None:
    if found.left <= CONSISTENT:
        return
    problem = found.array.system.problem
    raise SolverError(
        f"no start was found from which '{problem.equations.mechanism.name}' can follow the path at t = {found.t:g} s: the "
        f"largest scaled residual is {found.left:.2e}, in the {worst_row(found)}. Begin nearer to the path (start values of "
        "the machine), or begin the path where the machine is"
    )


def worst_row(found: Found) -> str:
    """Return the name of the row with the largest residual."""
    array, times = found.array, np.array([found.t])
    residual = array.residual(times, found.series[:, :, None], array.signals(times))[0]
    size = np.abs(found.J).max(axis=1, initial=0.0) if found.J.size else np.ones(len(residual))
    worst = int(np.nan_to_num(np.abs(residual) * size, nan=np.inf).argmax())
    order, row = array.rows[worst]
    name = array.system.row_names[row]
    return f"derivative {order} of the {name}" if order else name
