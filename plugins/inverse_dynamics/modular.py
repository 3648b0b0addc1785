"""Inverse dynamics on the complement of all constraints: document 002, theorem 4.3."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.servo.marching import march_system
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.stepping import ServoStepperOptions
from kingpost.control.servo.system import Progress, ServoSystem
from kingpost.kernel.kernel import Kernel
from kingpost.plugins.inverse_dynamics.computed_torque import ComputedTorque, explicit, force_parts, kinematic_system
from kingpost.plugins.inverse_dynamics.steppers import BackwardEuler
from kingpost.symbols.linear_solvers import householder
from kingpost.symbols.projection import solve_on_complement

#: Singular values of [A; B'], scaled, below which the variables of the inputs are no independent ones.
SINGULAR_CHOICE = 1e-10


class Modular(ComputedTorque):
    """As many measures as degrees of freedom: the motion from the path, then inputs by an explicit law, no multipliers.

    Document 002, theorem 4.3. An input does work on a variable that is associated with it, at the rate B'v. Where these can be
    the independent ones, there is one complement C of all constraints with B'C = 1, and u = -C' f*, with the effective forces
    f* without inputs. With more inputs than measures, B'C' u = -C' f* is met by those whose weighted squares are smallest.
    """

    name = "modular"

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        weights = self._weights(problem)
        point = start.point
        state = np.concatenate([point.q, point.v, point.a, point.z, point.lam, point.u])
        self._check(problem, np.array([point.t]), state[None, :], MechanismError)
        rows = explicit(problem)
        if rows is not None:
            signals = np.ascontiguousarray(problem.signals(times, EXPRESSED).reshape(len(times), -1))
            kernel = Kernel([_explicit_function(problem, rows, weights)], problem.posed.how.backend or "auto")
            values = kernel.sample(times, np.zeros((len(times), 0)), signals, problem.p)
        else:
            stepper = BackwardEuler(ServoStepperOptions(step=float(times[1] - times[0])))
            system = modular_system(problem, weights)
            values = march_system(system, stepper, start, times, f"method '{self.name}'", {}, progress).values
        self._check(problem, times, values, SolverError)
        return times, self.bounded(problem, times, values, weights)

    def _check(self, problem: ServoProblem, times: FloatArray, values: FloatArray, error: type[Exception]) -> None:
        """Refuse inputs whose variables cannot be the independent ones at one of the times."""
        margins = choice_margins(problem, times, values)
        worst = int(margins[:, -1].argmin())
        if margins[worst, -1] < SINGULAR_CHOICE:
            rank = int((margins[worst] > SINGULAR_CHOICE).sum())
            raise error(
                f"method '{self.name}' takes what the inputs {listed(problem.input_names)} work on for the independent "
                f"variables, and at t = {times[worst]:.6g} s they are none: constraints and inputs have rank {rank} of "
                f"{margins.shape[1]} there (smallest scaled singular value {margins[worst, -1]:.1e}, {SINGULAR_CHOICE:.0e} is "
                "the least). Drive the machine elsewhere, or lead it past that place"
            )


def choice_margins(problem: ServoProblem, times: FloatArray, values: FloatArray) -> FloatArray:
    """Return the singular values of [A; B'], its rows of unit length, at each row of a solution."""
    n, count = problem.equations.nv, len(times)
    B, A, _ = (np.asarray(part.full()) for part in force_parts(problem)(times[None, :], values.T, problem.p))
    by_time = [part.reshape(part.shape[0], count, -1).transpose(1, 0, 2) for part in (A, B)]
    choice = np.concatenate([by_time[0], by_time[1].transpose(0, 2, 1)], axis=1)
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


def _explicit_function(problem: ServoProblem, rows: list[int], weights: FloatArray) -> ca.Function:
    """Return kp_observe: (t, nothing, signals, p) -> q, v, a, u, for measures that are coordinates."""
    s, e = problem.symbols, problem.equations
    order = [rows.index(i) for i in range(e.nq)]
    q, v, a = (column[order] for column in problem.gamma)
    moved = ca.substitute([explicit_law(problem, weights)[0]], [s.q, s.v, s.a], [q, v, a])
    results = ca.cse([ca.densify(ca.vertcat(q, v, a, *moved))])
    return ca.Function("kp_observe", [s.t, ca.SX(0, 1), ca.vertcat(*s.signals), s.p], results)


def modular_system(problem: ServoProblem, weights: FloatArray) -> ServoSystem:
    """Return the motion as unknowns of one time, and inputs and multipliers as what follows from it."""
    u, lam = explicit_law(problem, weights)
    s = problem.symbols
    return kinematic_system(problem, {"q": s.q, "v": s.v, "a": s.a, "z": s.z, "lam": lam, "u": u})
