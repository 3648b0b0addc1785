"""Inputs from accelerations: the servo problem as an ordinary differential equation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError
from kingpost.control.servo.building import SystemBuilder
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.system import DirectInverse, InverseDynamics, Progress, ServoPoint, ServoSystem, SteppedInverse
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import Integrator, StepMap
from kingpost.kernel.kernel import Kernel
from kingpost.registry.selection import select
from kingpost.simulation.grid import Grid
from kingpost.simulation.input_rows import input_rows
from kingpost.simulation.problem import Problem, check_pairing
from kingpost.simulation.run import Simulation
from kingpost.symbols.straightline import solve_symmetric

#: Singular values of Y, with rows and columns in the sizes that they could have, below which it is singular.
SINGULAR = 1e-9


@dataclass(frozen=True)
class OutputInputOptions:
    """``integrator``: an integrator of simulations in the place of a stepper, such as ``rk4`` or ``dop853:rtol=1e-10``."""

    integrator: str = ""


class OutputInput(SteppedInverse):
    """Inputs from the accelerations of the measures, for orthogonal realisations: document 003, eqs. (12) and (13).

    Only accelerations follow the path, so that errors of steps add up in speeds and places: of the order of the stepper, and
    growing with time. With the option ``integrator`` any integrator of simulations takes the place of the stepper.
    """

    name = "output-input"
    load_dependent = True
    holds = "acceleration"
    Options = OutputInputOptions
    realisations = ("orthogonal",)

    def chosen(self) -> InverseDynamics:
        return OutputInputODE(self.options) if self.options.integrator else self

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        check_regular(self.name, problem, at)
        builder = SystemBuilder(problem)
        builder.kinematics()
        builder.forces()
        builder.motion(problem.balance)
        builder.state_rates()
        builder.constraints()
        builder.servo(2)
        return builder.system(index=1)


class OutputInputODE(DirectInverse):
    """The same as an ordinary differential equation, eq. (13) of document 003, for any integrator of simulations.

    The inputs stand in the equations of motion as functions of time and state, eq. (12), and so does the path. Integrators with
    steps take that of the stepper.
    """

    name = "output-input"
    Options = OutputInputOptions
    realisations = ("orthogonal",)

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        check_regular(self.name, problem, start.point)
        posed = problem.posed
        integrator = select(posed.plugins.integrators, self.options.integrator)
        law = feedforward(problem)
        point = start.point
        closed = replace(
            posed,
            equations=closed_loop(problem, law),
            integrator=integrator,
            x0=np.concatenate([point.q, point.v, point.z]),
            step=float(times[1] - times[0]),
        )
        check_pairing(closed.equations, integrator, posed.plugins)
        states = simulated(closed, integrator, times, progress)
        return times, self._solution(problem, law, times, states)

    def _solution(self, problem: ServoProblem, law: ca.Function, times: FloatArray, states: FloatArray) -> FloatArray:
        """Return the rows of the solution for states at all times."""
        e = problem.equations
        count = problem.outputs + len(problem.given_inputs)
        sizes = [1, e.nx, (EXPRESSED + 1) * count, e.np]
        t, x, given, p = symbols = [ca.MX.sym(f"i{k}", size) for k, size in enumerate(sizes)]
        q, v = e.split(x)
        z = e.states_of(x)
        a, lam, u = law(t, q, v, z, given, p)
        observe = ca.Function("kp_observe", symbols, [ca.densify(ca.vertcat(q, v, a, z, lam, u))])
        kernel = Kernel([observe], problem.posed.how.backend or "auto")
        signals = np.ascontiguousarray(problem.signals(times, EXPRESSED).reshape(len(times), -1))
        return kernel.sample(times, states, signals, problem.p)


def feedforward(problem: ServoProblem) -> ca.Function:
    """Return the function (t, q, v, z, signals, p) -> a, lam, u of eqs. (12) and (13), for machines with constraints, too."""
    s = problem.symbols
    a, lam, u = law_expressions(problem)[:3]
    arguments = [s.t, s.q, s.v, s.z, ca.vertcat(*s.signals), s.p]
    return ca.Function("kp_feedforward", arguments, [ca.densify(item) for item in ca.cse([a, lam, u])])


def law_expressions(problem: ServoProblem) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return accelerations, multipliers and inputs for the accelerations of the path, and Y: yddot = fy + Y u."""
    s, A = problem.symbols, problem.A
    # Accelerations without inputs, and what each input adds, along the constraints.
    columns = solve_symmetric(problem.M, ca.horzcat(problem.f_without, problem.B))
    pushed = ca.SX(0, columns.shape[1])
    if A.numel():
        inverse_A = solve_symmetric(problem.M, A.T)
        drift = ca.substitute(problem.constraint_accelerations, s.a, ca.SX.zeros(s.a.numel()))
        right = A @ columns
        right[:, 0] += drift
        pushed = solve_symmetric(A @ inverse_A, right)
        columns = columns - inverse_A @ pushed
    Y = problem.H @ columns[:, 1:]
    left = ca.substitute(problem.servo_accelerations, s.a, columns[:, 0])
    u = -ca.solve(Y, left)
    return columns[:, 0] + columns[:, 1:] @ u, pushed[:, 0] + pushed[:, 1:] @ u, u, Y


def check_regular(method: str, problem: ServoProblem, at: ServoPoint) -> None:
    """Refuse a problem in which some accelerations of measures do not feel the inputs."""
    s = problem.symbols
    parts = [problem.M, problem.A, problem.H, problem.B]
    function = ca.Function("parts", [s.t, s.q, s.v, s.z, s.u, ca.vertcat(*s.signals), s.p], [ca.densify(x) for x in parts])
    found = function(at.t, at.q, at.v, at.z, at.u, at.signals.ravel(), problem.p)
    M, A, H, B = (np.asarray(part.full()) for part in found)
    if np.linalg.matrix_rank(M, hermitian=True) < len(M):
        raise SolverError(
            f"method '{method}' divides by inertia, and the mass matrix of '{problem.equations.mechanism.name}' is singular"
        )
    Y, reach, force = output_map(M, A.reshape(-1, len(M)), H, B)
    scaled = Y / np.outer(reach, force)
    values = np.linalg.svd(scaled, compute_uv=False)
    if values[-1] < SINGULAR:
        raise MechanismError(
            f"method '{method}' needs inputs that act on the accelerations of all measures, and det Y = "
            f"{np.linalg.det(Y):.3g} at t = {at.t:g} s: Y = H M^-1 B has rank {int((values > SINGULAR).sum())} of {len(Y)} "
            f"(scaled singular values {', '.join(f'{value:.2e}' for value in values)}). Methods 'projection' and "
            "'minimal-extension' take any realisation"
        )


def output_map(M: FloatArray, A: FloatArray, H: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Y = H S (S'MS)^-1 S'B, and the lengths of the rows of H and the columns of B in that metric."""
    solved = np.linalg.solve(M, np.column_stack([H.T, B]))
    if len(A):
        inverse_A = np.linalg.solve(M, A.T)
        solved = solved - inverse_A @ np.linalg.lstsq(A @ inverse_A, A @ solved, rcond=None)[0]
    measures, inputs = solved[:, : len(H)], solved[:, len(H) :]
    reach = np.sqrt(np.maximum(np.diag(H @ measures), 0.0))
    force = np.sqrt(np.maximum(np.diag(B.T @ inputs), 0.0))
    return H @ inputs, np.where(reach > 0, reach, 1.0), np.where(force > 0, force, 1.0)


def closed_loop(problem: ServoProblem, law: ca.Function) -> Equations:
    """Return the equations of the machine with the inputs that are looked for as functions of time and state."""
    e, s = problem.equations, problem.symbols
    acting = e.u
    inputs = {signal.name: acting[i] for i, signal in enumerate(e.mechanism.inputs)}
    scope = {parameter.name: e.p[i] for i, parameter in enumerate(e.mechanism.parameters)} | inputs
    given = [acting[i] for i in problem.given_inputs]
    rows = []
    for order in range(EXPRESSED + 1):
        path = [ca.SX(trajectory.value(e.t, scope, order)) for trajectory in problem.task.path.values()]
        rows.append(ca.vertcat(*path, *(given if order == 0 else [0.0] * len(given))))
    z = acting[e.nu :, :]
    u = law(e.t, e.q, e.v, z, ca.vertcat(*rows), e.p)[2]
    forces = ca.Function("kp_forces", [s.t, s.q, s.v, s.z, s.u, s.signals[0], s.p], [problem.f])
    f = forces(e.t, e.q, e.v, z, u, rows[0], e.p)
    return replace(e, f=ca.densify(f), vdot=None)


def simulated(posed: Problem, integrator: Integrator, times: FloatArray, progress: Progress) -> FloatArray:
    """Return the states of a problem at evenly spaced times."""
    step = float(times[-1] - times[0]) / (len(times) - 1)
    grid = Grid(float(times[0]), step, 1, len(times) - 1)
    kernel = Kernel(posed.stepper.running, posed.how.backend or "auto")
    rows = input_rows(posed.mechanism, posed.values, {}, grid, posed.plugins, fixed=isinstance(integrator, StepMap))
    history = Simulation(posed, kernel, grid, rows).run(progress)
    return np.ascontiguousarray(history.values[:, : posed.equations.nx])
