"""Inverse dynamics on the complement of all constraints: document 002, theorem 4.3."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError, listed
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.rubbing import Rubbing
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.system import Progress
from kingpost.kernel.kernel import Kernel
from kingpost.plugins.inverse_dynamics.computed_torque import ComputedTorque, force_parts
from kingpost.symbols.linear_solvers import householder
from kingpost.symbols.projection import solve_on_complement

#: Singular values of [A; B'], scaled, below which the variables of the inputs are no independent ones.
SINGULAR_CHOICE = 1e-10
#: A start whose measures are off the path by less than this is on it.
NEAR = 1e-6


class Modular(ComputedTorque):
    """As many measures as degrees of freedom: the motion from the path, then inputs by an explicit law, no multipliers.

    Document 002, theorem 4.3. An input does work on a variable that is associated with it, at the rate B'v. Where these can be
    the independent ones, there is one complement C of all constraints with B'C = 1, and u = -C' f*, with the effective forces
    f* without inputs. With more inputs than measures, B'C' u = -C' f* is met by those whose weighted squares are smallest.
    """

    name = "modular"

    def refusal(self, problem: ServoProblem) -> str:
        refused = super().refusal(problem)
        if refused:
            return refused
        posed, e = problem.posed, problem.equations
        t, (q, v) = problem.task.t_start, e.split(posed.x0)
        row = np.concatenate([q, v, np.zeros(e.nv + e.constraints.count + len(problem.driven))])
        # A start that is not on the path says nothing of it.
        s = problem.symbols
        begun = ca.Function("begun", [s.t, s.q, ca.vertcat(*s.signals), s.p], [problem.servo_positions])
        off = np.asarray(begun(t, q, problem.signals([t], EXPRESSED).ravel(), problem.p))
        return "" if np.abs(off).max() > NEAR else self._singular(problem, np.array([t]), row[None, :])

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        weights = self._weights(problem)
        values, signals = self.motion(problem, start, times, progress)
        singular = self._singular(problem, times, values)
        if singular:
            raise SolverError(singular)
        if problem.rubbing:
            values = Rubbing(problem, explicit_law(problem, weights)).solve(times, values, signals)
        else:
            law = Kernel([law_function(problem, weights)], problem.posed.how.backend or "auto")
            values = law.sample(times, values, signals, problem.p)
        return times, self.bounded(problem, times, values, weights)

    def _singular(self, problem: ServoProblem, times: FloatArray, values: FloatArray) -> str:
        """Return where the variables of the inputs cannot be independent, as a sentence without its end, or nothing."""
        margins = choice_margins(problem, times, values)
        worst = int(margins[:, -1].argmin())
        if margins[worst, -1] > SINGULAR_CHOICE:
            return ""
        rank = int((margins[worst] > SINGULAR_CHOICE).sum())
        return (
            f"method '{self.name}' takes what the inputs {listed(problem.input_names)} work on for the independent "
            f"variables, and at t = {times[worst]:.6g} s they are none: constraints and inputs have rank {rank} of "
            f"{margins.shape[1]} there (smallest scaled singular value {margins[worst, -1]:.1e}, {SINGULAR_CHOICE:.0e} is the "
            "least). Drive the machine by other inputs, or lead it elsewhere"
        )


def choice_margins(problem: ServoProblem, times: FloatArray, values: FloatArray) -> FloatArray:
    """Return the singular values of [A; B'], its rows of unit length, at each row of a solution."""
    n, count, inputs = problem.equations.nv, len(times), len(problem.driven)
    B, A, _ = (np.asarray(part.full()) for part in force_parts(problem)(times[None, :], values.T, problem.p))
    # Columns of one time stand side by side.
    held = A.reshape(A.shape[0], count, n).transpose(1, 0, 2)
    choice = np.concatenate([held, B.reshape(n, count, inputs).transpose(1, 2, 0)], axis=1)
    lengths = np.linalg.norm(choice, axis=2, keepdims=True)
    sizes = np.linalg.svd(choice / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    return np.concatenate([sizes, np.zeros((count, max(0, n - sizes.shape[1])))], axis=1)[:, :n]


def explicit_law(problem: ServoProblem, weights: FloatArray) -> tuple[ca.SX, ca.SX]:
    """Return the inputs and the multipliers at a motion q, v, a."""
    s, A, B = problem.symbols, problem.A, problem.B
    effective = problem.f_without - problem.M @ s.a  # f*, the effective forces at u = 0
    rows, n, inputs = A.shape[0], B.shape[0], B.shape[1]
    if inputs == n - rows:
        # C.u = 1: the complement with the identity on the variables of the inputs, eq. (4.15).
        unit = ca.vertcat(ca.SX(rows, inputs), ca.SX.eye(inputs))
        C = householder(n, inputs)(ca.densify(ca.vertcat(A, B.T)), ca.densify(unit))[0]
        u = -C.T @ effective
    else:
        # C.u' u = -C' f*, of all u the one of least weighted squares: u = W^-1 B' C n with C' B W^-1 B' C n = -C' f*.
        spread = ca.diag(1 / ca.DM(weights)) @ B.T
        u = spread @ solve_on_complement(B @ spread, -effective, A, ca.SX(rows, 1)).y
    lam = ca.SX(0, 1)
    if rows:
        lam = householder(rows, 1)(ca.densify(A @ A.T), ca.densify(A @ (effective + B @ u)))[0]
    return ca.densify(u), ca.densify(lam)


def law_function(problem: ServoProblem, weights: FloatArray) -> ca.Function:
    """Return kp_observe: (t, row of a solution, signals, p) -> the row with its multipliers and inputs."""
    s = problem.symbols
    row = ca.vertcat(s.q, s.v, s.a, s.z, s.lam, s.u)
    u, lam = explicit_law(problem, weights)
    results = ca.cse([ca.densify(ca.vertcat(s.q, s.v, s.a, s.z, lam, u))])
    return ca.Function("kp_observe", [s.t, row, ca.vertcat(*s.signals), s.p], results)
