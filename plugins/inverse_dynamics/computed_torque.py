"""Inverse dynamics of machines whose motion is prescribed altogether."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, closest, listed
from kingpost.control.servo.building import LEVELS
from kingpost.control.servo.marching import march_system
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.rubbing import Rubbing, forces_of_motion
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.stepping import ServoStepperOptions
from kingpost.control.servo.system import DirectInverse, Progress, ServoSystem
from kingpost.kernel.kernel import Kernel
from kingpost.plugins.inverse_dynamics.allocation import allocate, read_bounds, read_weights
from kingpost.plugins.inverse_dynamics.steppers import BackwardEuler

#: Singular values of what the inputs do, scaled, below which they do not act on every motion.
SINGULAR = 1e-10


@dataclass(frozen=True)
class ComputedTorqueOptions:
    """``weights``: what a unit of each input costs, where there are more of them than measures. ``bounds``: its limits.

    As tables, ``{"left": 2.0}`` and ``{"left": (0.0, 500.0)}``, or as texts, ``"left:2/right:1"`` and ``"left:0:500"``; inputs
    that are not named cost 1 and have no bounds. The sum of cost times square is smallest.
    """

    weights: Any = field(default_factory=dict)
    bounds: Any = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", read_weights(self.weights))
        object.__setattr__(self, "bounds", read_bounds(self.bounds))


class ComputedTorque(DirectInverse):
    """As many measures as degrees of freedom: places from the path, inputs from the equations of motion, no steps.

    Document 003, eqs. (5) to (7). With more inputs than measures their weighted squares are smallest, within their bounds.
    Where the measures are the joint coordinates themselves, nothing is solved for: one compiled function gives everything.
    """

    name = "computed-torque"
    Options = ComputedTorqueOptions
    realisations = ("orthogonal",)
    internal_states = False
    redundant_inputs = True
    load_dependent = True
    order = 2

    def refusal(self, problem: ServoProblem) -> str:
        e = problem.equations
        freedom, outputs = e.nv - e.constraints.count, problem.outputs
        if outputs != freedom:
            return (
                f"method '{self.name}' needs as many measures as degrees of freedom, so that the path says how everything "
                f"moves; the task has {outputs} ({', '.join(problem.task.measures)}) and '{e.mechanism.name}' has {freedom}"
            )
        if e.nz:
            return f"method '{self.name}' takes no forces with states, and '{e.mechanism.name}' has {e.nz} of them"
        return super().refusal(problem)

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        weights = self._weights(problem)
        _check_inputs(self.name, problem, start)
        if problem.rubbing:
            motion, signals = self.motion(problem, start, times, progress)
            values = Rubbing(problem, forces_of_motion(problem)).solve(times, motion, signals)
        elif explicit(problem) is not None:
            signals = np.ascontiguousarray(problem.signals(times, EXPRESSED).reshape(len(times), -1))
            kernel = Kernel([torque_function(problem, weights)], problem.posed.how.backend or "auto")
            values = kernel.sample(times, np.zeros((len(times), 0)), signals, problem.p)
        else:
            stepper = BackwardEuler(ServoStepperOptions(step=float(times[1] - times[0])))
            system = algebraic_system(problem, weights)
            values = march_system(system, stepper, start, times, f"method '{self.name}'", {}, progress).values
            if len(problem.driven) > problem.outputs:
                # The start knows of no costs.
                free = np.full(len(problem.driven), np.inf)
                found = _allocated(problem, times[0], values[0], weights, -free, free)
                assert found is not None
                values[0, -len(found) :] = found
        return times, self.bounded(problem, times, values, weights)

    def motion(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        """Return the motion that the path prescribes, as rows of a solution without inputs and multipliers; and the signals."""
        signals = np.ascontiguousarray(problem.signals(times, EXPRESSED).reshape(len(times), -1))
        rows = explicit(problem)
        if rows is not None:
            kernel = Kernel([_explicit_motion(problem, rows)], problem.posed.how.backend or "auto")
            return kernel.sample(times, np.zeros((len(times), 0)), signals, problem.p), signals
        stepper = BackwardEuler(ServoStepperOptions(step=float(times[1] - times[0])))
        system = kinematic_system(problem)
        return march_system(system, stepper, start, times, f"method '{self.name}'", {}, progress).values, signals

    def bounded(self, problem: ServoProblem, times: FloatArray, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return a solution with inputs within the bounds that the options set."""
        return self._within_bounds(problem, ServoSolution(times, values), weights) if self.options.bounds else values

    def _weights(self, problem: ServoProblem) -> FloatArray:
        for option, given in (("weights", self.options.weights), ("bounds", self.options.bounds)):
            for name in given:
                if name not in problem.input_names:
                    raise MechanismError(
                        f"method '{self.name}': {option} name '{name}', which is no input of the task"
                        f"{closest(name, problem.input_names)} Inputs: {listed(problem.input_names)}."
                    )
        return np.array([self.options.weights.get(name, 1.0) for name in problem.input_names])

    def _within_bounds(self, problem: ServoProblem, solution: ServoSolution, weights: FloatArray) -> FloatArray:
        """Return the solution with inputs within their bounds; only where they leave them something is to be done."""
        bounds: Mapping[str, tuple[float, float]] = self.options.bounds
        lower, upper = (
            np.array([bounds.get(name, (-np.inf, np.inf))[side] for name in problem.input_names]) for side in (0, 1)
        )
        u = solution.part(problem, "u")
        beyond = np.flatnonzero(((u < lower) | (u > upper)).any(axis=1))
        for i in beyond:
            # As many inputs as measures, where friction depends on loads: there are no others.
            row = solution.values[i]
            found = None if problem.rubbing else _allocated(problem, solution.times[i], row, weights, lower, upper)
            if found is None:
                over = [
                    f"{name} = {value:.6g} (bounds {low:g} to {high:g})"
                    for name, value, low, high in zip(problem.input_names, u[i], lower, upper, strict=True)
                    if value < low or value > high
                ]
                raise SolverError(
                    f"the inputs cannot follow the path within their bounds at t = {solution.times[i]:.6g} s: with the "
                    f"smallest efforts {listed(over)}, and no others meet the equations of motion there. Move more slowly, or "
                    "widen the bounds"
                )
            solution.values[i, -len(found) :] = found
        return solution.values


def _allocated(
    problem: ServoProblem, t: float, row: FloatArray, weights: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray | None:
    """Return multipliers and the cheapest inputs within bounds for the motion in a row of a solution, if there are any."""
    B, A, effort = force_parts(problem)(t, row, problem.p)
    forces = np.hstack([np.asarray(B), -np.asarray(A).reshape(-1, problem.equations.nv).T])
    found = allocate(forces, np.asarray(effort).ravel(), weights, lower, upper)
    return None if found is None else np.concatenate([found[len(lower) :], found[: len(lower)]])


def explicit(problem: ServoProblem) -> list[int] | None:
    """Return the coordinate of each measure where the measures are all coordinates, and rates of coordinates all speeds."""
    e, s = problem.equations, problem.symbols
    if e.constraints.count or e.nq != e.nv or not problem.N.is_eye():
        return None
    rows = []
    for i in range(problem.outputs):
        places = [k for k in range(e.nq) if ca.is_equal(problem.y[i], s.q[k])]
        if len(places) != 1:
            return None
        rows += places
    return rows if len(set(rows)) == e.nq else None


def torque_function(problem: ServoProblem, weights: FloatArray | None = None) -> ca.Function:
    """Return kp_observe: (t, nothing, signals, p) -> q, v, a, lam, u, for measures that are coordinates.

    One call of :meth:`Kernel.sample` gives the inputs at all times.
    """
    rows = explicit(problem)
    assert rows is not None
    s, e = problem.symbols, problem.equations
    order = [rows.index(i) for i in range(e.nq)]
    q, v, a = (column[order] for column in problem.gamma)
    cost = np.ones(len(problem.driven)) if weights is None else weights
    needed = problem.M @ s.a - problem.f_without
    u = _least(problem.B, needed, cost)
    moved = ca.substitute([u], [s.q, s.v, s.a], [q, v, a])
    given = ca.vertcat(*s.signals)
    return ca.Function("kp_observe", [s.t, ca.SX(0, 1), given, s.p], ca.cse([ca.densify(ca.vertcat(q, v, a, *moved))]))


def _explicit_motion(problem: ServoProblem, rows: list[int]) -> ca.Function:
    """Return kp_observe: (t, nothing, signals, p) -> row of a solution without inputs, for measures that are coordinates."""
    s, e = problem.symbols, problem.equations
    order = [rows.index(i) for i in range(e.nq)]
    motion = ca.densify(ca.vertcat(*(column[order] for column in problem.gamma[:3]), ca.SX.zeros(len(problem.driven))))
    return ca.Function("kp_observe", [s.t, ca.SX(0, 1), ca.vertcat(*s.signals), s.p], [motion])


def _least(B: ca.SX, needed: ca.SX, cost: FloatArray) -> ca.SX:
    """Return the inputs with B u = needed that cost least: the weighted pseudo-inverse of document 003, after eq. (8)."""
    if B.shape[0] == B.shape[1]:
        return ca.solve(B, needed)
    spread = ca.diag(1 / ca.DM(cost)) @ B.T
    return spread @ ca.solve(B @ spread, needed)


def kinematic_rows(problem: ServoProblem) -> tuple[list[ca.SX], list[str]]:
    """Return the equations that determine q, v and a of a motion that is prescribed altogether, and what they say."""
    s, names, e = problem.symbols, problem.row_names, problem.equations
    followers = e.coordinates.followers
    free = e.nq - followers
    rows = [problem.phi, problem.servo_positions]
    labels = [
        *(f"the constraint of '{owner}'" for owner in names["lam"][: e.constraints.holonomic]),
        *(f"the servo-constraint of '{name}' at {LEVELS[0]} level" for name in names["y"]),
    ]
    rows.append(problem.lengths)
    labels += [f"the {name}" for name in problem.length_names]
    if followers:
        rows.append((s.q - e.coordinates.followed(s.q, s.p))[free:])
        labels += [f"what '{name}' follows" for name in names["q"][free:]]
    rows += [problem.constraint_speeds, problem.servo_speeds, problem.constraint_accelerations, problem.servo_accelerations]
    for level in LEVELS[1:]:
        labels += [f"the constraint of '{owner}' at {level} level" for owner in names["lam"]]
        labels += [f"the servo-constraint of '{name}' at {level} level" for name in names["y"]]
    return rows, labels


def kinematic_system(problem: ServoProblem) -> ServoSystem:
    """Return the motion as unknowns of one time; inputs and multipliers are left at zero."""
    s, names = problem.symbols, problem.row_names
    rows, labels = kinematic_rows(problem)
    unknowns = ca.vertcat(s.q, s.v, s.a)
    nothing = {name: ca.SX.zeros(symbol.numel()) for name, symbol in (("lam", s.lam), ("u", s.u))}
    solution = {"q": s.q, "v": s.v, "a": s.a, "z": s.z, **nothing}
    return _instant(problem, unknowns, (*names["q"], *names["v"], *names["v"]), rows, labels, unknowns, solution)


def algebraic_system(problem: ServoProblem, weights: FloatArray) -> ServoSystem:
    """Return everything as unknowns of one time: nothing is stepped."""
    s, names, e = problem.symbols, problem.row_names, problem.equations
    nu = ca.SX.sym("nu", e.nv)
    redundant = len(problem.driven) > problem.outputs
    rows, labels = kinematic_rows(problem)
    rows.append(problem.balance)
    labels += [f"the equation of motion of '{name}'" for name in names["v"]]
    w, w_names = [s.q, s.v, s.a, s.lam, s.u], [*names["q"], *names["v"], *names["v"], *names["lam"], *names["u"]]
    if redundant:
        rows += [ca.diag(ca.DM(weights)) @ s.u - problem.B.T @ nu, problem.A @ nu]
        labels += [f"the share of '{name}'" for name in names["u"]] + [f"the share of '{owner}'" for owner in names["lam"]]
        w, w_names = [*w, nu], [*w_names, *(f"share of {name}" for name in names["v"])]
    zeros = [ca.SX.zeros(e.nv)] if redundant else []
    begun = ca.vertcat(s.q, s.v, s.a, s.lam, s.u, *zeros)
    solution = {"q": s.q, "v": s.v, "a": s.a, "z": s.z, "lam": s.lam, "u": s.u}
    return _instant(problem, ca.vertcat(*w), w_names, rows, labels, begun, solution)


def _instant(
    problem: ServoProblem,
    w: ca.SX,
    w_names: Sequence[str],
    rows: list[ca.SX],
    labels: Sequence[str],
    begun: ca.SX,
    solution: Mapping[str, ca.SX],
) -> ServoSystem:
    """Return a system in which nothing is stepped."""
    empty = ca.SX(0, 1)
    return ServoSystem(
        problem=problem,
        x=empty,
        xdot=empty,
        w=w,
        signals=problem.symbols.signals,
        residual=ca.vertcat(*(ca.densify(row) for row in rows)),
        solution=solution,
        start=(empty, empty, begun),
        x_names=(),
        w_names=tuple(w_names),
        rows=tuple(labels),
        index=1,
    )


def force_parts(problem: ServoProblem) -> ca.Function:
    """Return the function (t, row of a solution, p) -> B, A, M a - f without inputs and without friction by loads."""
    kept = problem.__dict__.get("_force_parts")
    if kept is None:
        s = problem.symbols
        row = ca.vertcat(s.q, s.v, s.a, s.z, s.lam, s.u)
        others = ca.DM(problem.other_inputs)
        parts = [problem.B, problem.A, problem.M @ s.a - problem.f_without]
        parts = [ca.substitute(part, s.e, ca.SX.zeros(s.e.numel())) if problem.rubbing else part for part in parts]
        held = s.signals[0][problem.outputs :]
        parts = [ca.substitute(part, held, others) if held.numel() else part for part in parts]
        kept = ca.Function("kp_force_parts", [s.t, row, s.p], [ca.densify(part) for part in parts])
        problem.__dict__["_force_parts"] = kept
    return kept


def _check_inputs(method: str, problem: ServoProblem, start: ServoStart) -> None:
    """Refuse inputs that do not act on every motion that constraints allow."""
    point = start.point
    row = np.concatenate([point.q, point.v, point.a, point.z, point.lam, point.u])
    B, A, _ = (np.asarray(part.full()) for part in force_parts(problem)(point.t, row, problem.p))
    s = problem.symbols
    M = np.asarray(ca.Function("M", [s.t, s.q, s.p], [ca.densify(problem.M)])(point.t, point.q, problem.p).full())
    scale = np.sqrt(np.abs(np.diag(M)))
    scale = np.where(scale > 0, scale, 1.0)
    columns = np.hstack([B, A.reshape(-1, len(scale)).T]) / scale[:, None]
    columns = columns / np.where((norms := np.linalg.norm(columns, axis=0)) > 0, norms, 1.0)
    U, values, _ = np.linalg.svd(columns)
    values = np.concatenate([values, np.zeros(len(scale) - len(values))])
    if values[-1] < SINGULAR:
        lost = int(np.abs(U[:, -1]).argmax())
        raise MechanismError(
            f"method '{method}' needs inputs that act on every motion, and {listed(problem.input_names)} leave a motion of "
            f"'{problem.row_names['v'][lost]}' alone at t = {point.t:g} s (smallest scaled singular value {values[-1]:.1e})"
        )
