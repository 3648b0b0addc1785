"""Friction that depends on joint loads, in a motion that the path prescribes altogether.

Inputs u, multipliers lam and efforts e of such a motion q, v, a meet

    M a = f + B u + E e - A' lam,    e = g(w),    w = w(t, q, v, a, lam, u, p).

For given efforts u and lam are the solution of linear equations, so that the loads are w = w0 + W e, as in a machine that moves
freely, with another W: here accelerations stay what they are. What is left, e - g(w0 + W e) = 0, is solved as it is there, by a
few steps of Newton's method in compiled code, and has one solution if the friction that a unit of friction causes is below one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.system import ServoPoint
from kingpost.kernel.kernel import Kernel
from kingpost.loads.load_dependent import LoadLaws, jam
from kingpost.symbols.linear_solvers import householder


def check_rubbing(problem: ServoProblem) -> None:
    """Refuse tasks in which friction that depends on joint loads cannot be found from the motion."""
    if not problem.rubbing:
        return
    e, owners = problem.equations, listed(problem.rubbing)
    freedom, inputs = e.nv - e.constraints.count, len(problem.driven)
    if not freedom == problem.outputs == inputs:
        raise MechanismError(
            f"force {owners} depends on joint loads, which inverse dynamics takes where the path says how everything moves and "
            f"as many inputs drive it; '{e.mechanism.name}' has {freedom} degrees of freedom, and the task {problem.outputs} "
            f"measures and {inputs} inputs. Prescribe every motion, or give friction a load of its own ('joint-friction')"
        )
    s = problem.symbols
    rubbing = Rubbing(problem, forces_of_motion(problem))
    w = ca.SX.sym("w", rubbing.laws.rows)
    slopes = ca.jacobian(rubbing.loads, ca.vertcat(s.u, s.lam))
    law = rubbing.laws.law(s.t, s.q, s.v, rubbing.acting, s.p, w)
    curved = [name for k, name in enumerate(problem.input_names) if ca.depends_on(law, s.u[k]) or ca.depends_on(slopes, s.u[k])]
    if curved:
        raise MechanismError(
            f"force {owners} depends on joint loads, and on {listed(curved)} in other ways than by these, so that inverse "
            "dynamics cannot look for it: take other inputs, or give friction a load of its own ('joint-friction')"
        )


def forces_of_motion(problem: ServoProblem) -> tuple[ca.SX, ca.SX]:
    """Return inputs and multipliers at a motion q, v, a and efforts e: the solution of B u - A' lam = M a - f."""
    s, n, inputs = problem.symbols, problem.equations.nv, len(problem.driven)
    matrix = ca.densify(ca.horzcat(problem.B, -problem.A.T))
    found = householder(n, 1)(matrix, ca.densify(problem.M @ s.a - problem.f_without))[0]
    return found[:inputs, :], found[inputs:, :]


class Rubbing:
    """Inputs, multipliers and load-dependent efforts at a motion; ``forces`` are u and lam as they depend on the efforts."""

    def __init__(self, problem: ServoProblem, forces: tuple[ca.SX, ca.SX]) -> None:
        self.problem, self.forces = problem, forces
        loaded = problem.equations.loaded
        assert loaded is not None
        self.assembly = loaded.assembly
        self.laws = LoadLaws(loaded.assembly, loaded.opened)

    @property
    def acting(self) -> ca.SX:
        """Inputs and states in the symbols of the problem."""
        problem, s = self.problem, self.problem.symbols
        return ca.SX(problem.acting(s.u, s.signals[0][problem.outputs :], s.z))

    @cached_property
    def loads(self) -> ca.SX:
        """The loads w in the symbols of the problem."""
        s, laws = self.problem.symbols, self.laws
        full = ca.vertcat(self.acting, s.e, ca.SX.zeros(laws.rows + 1))
        return ca.SX(laws.loads(s.t, s.q, s.v, s.a, s.lam, full, s.p))

    @property
    def _known(self) -> list[ca.SX]:
        s = self.problem.symbols
        return [s.t, s.q, s.v, s.a, s.z, ca.vertcat(*s.signals), s.p]

    def _unknown(self, known: Sequence[Any]) -> list[Any]:
        """Return t, q, v, u, p as the laws take them: they depend on no input that is looked for."""
        t, q, v, _, z, signals, p = known
        problem = self.problem
        given = signals[problem.outputs : problem.outputs + len(problem.given_inputs), :]
        return [t, q, v, problem.acting(ca.MX.zeros(len(problem.driven)), given, z), p]

    @cached_property
    def _linear(self) -> ca.Function:
        """The function (t, q, v, a, z, signals, p, e) -> u, lam, w, dw/de."""
        s = self.problem.symbols
        u, lam = self.forces
        (w,) = ca.substitute([self.loads], [s.u, s.lam], [ca.densify(u), ca.densify(lam)])
        results = ca.cse([ca.densify(item) for item in (u, lam, w, ca.jacobian(w, s.e))])
        return ca.Function("kp_loads_of_motion", [*self._known, s.e], results)

    def seen(self, t: ca.MX, q: ca.MX, v: ca.MX, a: ca.MX, z: ca.MX, lam: ca.MX, u: ca.MX, signals: ca.MX, p: ca.MX) -> ca.MX:
        """Return efforts, loads and coupling of a solution: efforts that the equations of motion ask for, whatever laws say.

        So what laws make of the loads can be held against them.
        """
        problem, s = self.problem, self.problem.symbols
        E = ca.jacobian(problem.f, s.e)
        missing = ca.substitute(problem.balance, s.e, ca.SX.zeros(s.e.numel()))
        efforts = householder(s.e.numel(), 1)(ca.densify(E.T @ E), ca.densify(E.T @ missing))[0]
        needed = ca.Function("kp_needed", [*self._known, s.lam, s.u], [efforts])
        loads = ca.Function("kp_loads_of_solution", [*self._known, s.lam, s.u, s.e], [self.loads])
        known = [t, q, v, a, z, signals, p]
        e = needed(*known, lam, u)
        slopes = self._linear(*known, ca.DM.zeros(s.e.numel()))[3]
        return ca.vertcat(e, loads(*known, lam, u, e), self.laws.coupling(self._unknown(known), slopes))

    @cached_property
    def laws_met(self) -> ca.SX:
        """What vanishes where the efforts are what the laws make of the loads, in the symbols of the problem."""
        s = self.problem.symbols
        return ca.SX(s.e - self.laws.law(s.t, s.q, s.v, self.acting, s.p, self.loads))

    def begun(self, point: ServoPoint) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return multipliers, inputs and efforts at a motion, whatever the point says of them.

        Raises
        ------
        SolverError
            Where friction has no unique solution.

        """
        row = np.concatenate([point.q, point.v, point.a, point.z, point.lam, point.u])
        found = np.asarray(self.solution(point.t, row, point.signals.ravel(), self.problem.p)).ravel()
        self._refuse_jam(np.array([point.t]), found[None, -1])
        first, last = len(row) - len(point.lam) - len(point.u), len(row)
        lam, u = np.split(found[first:last], [len(point.lam)])
        return lam, u, found[last:-1]

    def check(self, times: FloatArray, rows: FloatArray) -> None:
        """Refuse a solution with a motion at which friction is not unique; its rows may have been found in any way."""
        signals = np.ascontiguousarray(self.problem.signals(times, EXPRESSED).reshape(len(times), -1))
        self.solve(times, rows, signals)

    @cached_property
    def solution(self) -> ca.Function:
        """The function kp_observe (t, row of a solution, signals, p) -> the row with lam and u, the efforts, the coupling."""
        s = self.problem.symbols
        parts = [s.q, s.v, s.a, s.z, s.lam, s.u]
        ends = [0, *np.cumsum([part.numel() for part in parts]).tolist()]
        t, p = ca.MX.sym("t"), ca.MX.sym("p", s.p.numel())
        row, signals = ca.MX.sym("row", ends[-1]), ca.MX.sym("signals", sum(column.numel() for column in s.signals))
        q, v, a, z, *_ = ca.vertsplit(row, ends)
        known = [t, q, v, a, z, signals, p]
        _, _, w0, W = self._linear(*known, ca.DM.zeros(s.e.numel()))
        e, coupling = self.laws.efforts(self._unknown(known), w0, W)
        u, lam, *_ = self._linear(*known, e)
        return ca.Function("kp_observe", [t, row, signals, p], [ca.densify(ca.vertcat(q, v, a, z, lam, u, e, coupling))])

    def solve(self, times: FloatArray, motion: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the rows of a motion with multipliers and inputs.

        Raises
        ------
        SolverError
            Where friction has no unique solution: with the number that decides it, at the first such time.

        """
        problem = self.problem
        kernel = Kernel([self.solution], problem.posed.how.backend or "auto")
        values = kernel.sample(times, motion, signals, problem.p)
        self._refuse_jam(times, values[:, -1])
        return np.ascontiguousarray(values[:, : motion.shape[1]])

    def _refuse_jam(self, times: FloatArray, couplings: FloatArray) -> None:
        jammed = np.flatnonzero(~(couplings < 1))
        if len(jammed):
            t, coupling = float(times[jammed[0]]), float(couplings[jammed[0]])
            raise SolverError(
                f"the path of {listed(self.problem.task.measures)} cannot be driven: {jam(self.assembly, t, coupling)}"
            )
