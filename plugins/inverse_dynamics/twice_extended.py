"""The second extension of document 000, section 5.1.3: an algebraic system at each time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.control.servo.index.signature import Signature, jacobian_rank, signature
from kingpost.control.servo.marching import march_system
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.stepping import ServoStepperOptions
from kingpost.control.servo.system import DirectInverse, Progress, ServoSystem
from kingpost.plugins.inverse_dynamics.steppers import BackwardEuler
from kingpost.symbols.taylor import taylor


@dataclass(frozen=True)
class MinimalExtensionOptions:
    """``twice``: extend until the system is algebraic, which takes a problem without internal states."""

    twice: bool = False


class TwiceExtended(DirectInverse):
    """Every equation with as many derivatives as determine all unknowns at a time: no steps, no error that adds up.

    Document 000, eqs. (5.25) and (5.26), for any machine: the signature method says which derivatives of which equations make a
    square system with derivatives of which unknowns. Coordinates must show that structure: ropes and loads in dependent
    coordinates do, joint coordinates of a swinging load do not, since there inertia hides what cancels.
    """

    name = "minimal-extension"
    Options = MinimalExtensionOptions
    internal_states = False

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        if start.internal_states:
            raise MechanismError(
                f"method '{self.name}' with twice = true needs a path that determines everything, and it leaves "
                f"{start.internal_states} internal states free (document 000, remark 6)"
            )
        found = with_accelerations(checked_signature(self.name, start), start)
        system = prolonged_system(start, found)
        stepper = BackwardEuler(ServoStepperOptions(step=float(times[1] - times[0])))
        return times, march_system(system, stepper, start, times, f"method '{self.name}'", {}, progress).values


def checked_signature(method: str, start: ServoStart) -> Signature:
    """Return the structure of a problem, or refuse one whose coordinates do not show it."""
    system, name = start.first_order, start.problem.equations.mechanism.name
    x, rates = start.series[:, 0], start.series[:, 1] / start.tau
    found = signature(system, start.t, x, rates)
    shown = "its equations cannot be assigned to its unknowns"
    if found is not None:
        n = system.unknowns.size
        jacobians = ca.Function(
            "jacobians",
            [system.t, system.x, system.xdot, system.signals, system.p],
            [ca.densify(ca.jacobian(system.residual, symbol)) for symbol in (system.x, system.xdot)],
        )
        signals = start.problem.signals([start.t], 0)[0, 0]
        parts = jacobians(start.t, x, rates, signals, start.problem.p)
        gap, _ = jacobian_rank(found.jacobian(*(np.asarray(part.full()) for part in parts)))
        if gap.rank == n and sum(found.unknown_offsets) == sum(found.row_offsets):
            return found
        shown = f"the matrix of its highest derivatives has rank {gap.rank} of {n} at t = {start.t:g} s"
        if start.singular:
            shown += f" (they lose rank there: it takes {start.needed} derivatives of the path, elsewhere {start.order})"
    raise MechanismError(
        f"method '{method}' with twice = true needs coordinates in which the structure of the equations shows, and {shown} for "
        f"'{name}'. Coordinates of the load itself, with ropes as closures, would do; or take method 'flat', which needs no "
        "structure"
    )


def with_accelerations(found: Signature, start: ServoStart) -> Signature:
    """Return offsets with which the rates of all speeds and states of forces are among the unknowns: one more for everything.

    What has no inertia, such as the share of a rope before a pulley, needs no acceleration to be determined.
    """
    at = start.first_order.unknowns
    if all(found.unknown_offsets[j] for part in (at.v, at.z) for j in range(part.start, part.stop)):
        return found
    rows, unknowns = (tuple(offset + 1 for offset in offsets) for offsets in (found.row_offsets, found.unknown_offsets))
    return replace(found, row_offsets=rows, unknown_offsets=unknowns)


def prolonged_system(start: ServoStart, found: Signature) -> ServoSystem:
    """Return the square system of equations and unknowns with their derivatives, in Taylor coefficients."""
    system, problem = start.first_order, start.problem
    tau = start.tau
    order = max(found.row_offsets)
    n = system.unknowns.size
    places = [(j, k) for j in range(n) for k in range(found.unknown_offsets[j] + 1)]
    w = ca.SX.sym("w", len(places))
    columns = ca.SX(n, order + 2)
    for i, (j, k) in enumerate(places):
        columns[j, k] = w[i]
    s = problem.symbols
    signals = [s.signals[0], *(ca.SX.sym(f"signals_{k}", s.signals[0].numel()) for k in range(1, order + 1))]
    known = ca.horzcat(*(signal * (tau**k / math.factorial(k)) for k, signal in enumerate(signals)))
    time = ca.horzcat(s.t, *([tau] * min(1, order)), *([0.0] * max(0, order - 1)))
    rates = ca.horzcat(*(columns[:, k + 1] * ((k + 1) / tau) for k in range(order + 1)))
    p = ca.horzcat(s.p, ca.SX.zeros(s.p.numel(), order))
    series = taylor(system.function, order)(time, columns[:, : order + 1], rates, known, p)
    rows = [(i, k) for i, offset in enumerate(found.row_offsets) for k in range(offset + 1)]
    residual = ca.vertcat(*(series[i, k] for i, k in rows))
    at = system.unknowns
    pick = {place: i for i, place in enumerate(places)}

    def part(where: slice, coefficient: int = 0) -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *(w[pick[j, coefficient]] for j in range(where.start, where.stop)))

    def begun(begin: ServoStart, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        assert t == begin.t
        empty = np.zeros(0)
        return empty, empty, np.array([begin.series[j, k] if k < begin.series.shape[1] else 0.0 for j, k in places])

    def ahead(values: ca.SX, time: ca.SX) -> ca.SX:
        """Return the coefficients about a later time."""
        moved = []
        for j, k in places:
            further = [
                math.comb(m, k) * values[pick[j, m]] * (time / tau) ** (m - k) for m in range(k, found.unknown_offsets[j] + 1)
            ]
            moved.append(sum(further))
        return ca.vertcat(*moved)

    empty = ca.SX(0, 1)
    return ServoSystem(
        problem=problem,
        x=empty,
        xdot=empty,
        w=w,
        signals=tuple(signals),
        residual=residual,
        solution={
            "q": part(at.q),
            "v": part(at.v),
            "a": part(at.v, 1) / tau,
            "z": part(at.z),
            "lam": part(at.lam),
            "u": part(at.u),
        },
        start=begun,
        x_names=(),
        w_names=tuple(f"{system.unknowns.names[j]}, derivative {k}" for j, k in places),
        rows=tuple(f"derivative {k} of the {system.row_names[i]}" if k else system.row_names[i] for i, k in rows),
        index=1,
        ahead=ahead,
    )
