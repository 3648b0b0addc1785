"""Linear-quadratic feedback along the motion that inverse dynamics finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.blocks.description import Block
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.feedback import Feedback, FeedbackOptions, ServoLoop
from kingpost.control.servo.index.points import CONSISTENT, at_rest
from kingpost.control.servo.inverse import PreparedInverse, default_method
from kingpost.plugins.inverse_dynamics.steppers import BDF3
from kingpost.registry.selection import make, select
from kingpost.statics.linearize import Linearisation, linearize_along, refuse_other_coordinates

#: Relative tolerance of the Riccati equation on its way back from the end.
TOLERANCE = 1e-8
#: Motions that decay slower than this (1/s) must be reached by inputs, with singular values of this size, in parts of the
#: largest entries.
LAZY, REACHED = 1e-6, 1e-9


@dataclass(frozen=True)
class LqrAlongOptions(FeedbackOptions):
    """What is dear.

    ``position``: an error of a measure that costs as much as ``effort``, in the unit of the measure. ``state``: the same for a
    displacement of any coordinate (rad or m) and for its speed (per s). ``effort``: of an input, in its unit; zero for its
    largest change along the path. ``step``: of the reference motion in s. ``method``: of inverse dynamics; by default its own
    choice.
    """

    position: float = 0.1
    state: float = 1.0
    effort: float = 0.0
    step: float = 0.01
    method: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("position", "state", "step"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise MechanismError(f"{name} = {value:g}: it must be positive and finite", path=(name,))
        if not (math.isfinite(self.effort) and self.effort >= 0):
            raise MechanismError(f"effort = {self.effort:g}: it must be finite and not negative", path=("effort",))
        if self.path != "inside":
            raise MechanismError("path: 'lqr-along' knows the motion along its own path alone; it stays inside", path=("path",))


class LqrAlong(Feedback):
    """Inputs of inverse dynamics, with a linear-quadratic regulator around the motion that they cause; any realisation.

    u = u_ref(t) - K(t) (x - x_ref(t)): the gains minimise the integral of weighted squares of errors and inputs for the machine
    linearised along the path. They come from the Riccati equation, backwards from its steady solution at the end, where the
    machine comes to rest. Errors decay that are small enough for the linear system; what cannot be stabilised is refused.
    """

    name = "lqr-along"
    Options = LqrAlongOptions
    causal = False

    def block(self, loop: ServoLoop) -> Block:
        problem, options = loop.problem, self.options
        e = problem.equations
        refuse_other_coordinates(e, "linear-quadratic feedback")
        times, x, u = _reference(loop, options.method, options.step)
        along = linearize_along(e, times, x, u, problem.p)
        effort = np.full(len(problem.driven), options.effort) if options.effort else _efforts(u[:, list(problem.driven)])
        gains = _Regulator(loop, times, x, along, effort, options).gains()
        inputs, parameters = loop.inputs(0), loop.parameters()
        t, state, given, p = (
            ca.MX.sym(name, size) for name, size in zip("txup", (1, 0, len(inputs), len(parameters)), strict=True)
        )
        now = ca.fmin(ca.fmax(t, float(times[0])), float(times[-1]))
        ended = t >= float(times[-1])
        rest = _rest(loop)
        x_ref = ca.if_else(ended, rest[: e.nx], _table("kp_reference", times, x, "bspline")(now))
        forces = _table("kp_feedforward", times, u[:, list(problem.driven)], "bspline")(now)
        u_ref = ca.if_else(ended, rest[e.nx :], forces)
        K = ca.reshape(_table("kp_gain", times, gains.reshape(len(times), -1), "linear")(now), gains.shape[2], gains.shape[1]).T
        error = _deviation(loop, along[0], given, x_ref, p)
        law = u_ref - K @ error
        name = e.mechanism.name
        return Block(
            f"{name}-{self.name}",
            inputs=inputs,
            outputs=loop.outputs,
            parameters=parameters,
            description=f"keeps '{name}' on its path by linear-quadratic feedback along it",
            body=ca.Function("kp_block", [t, state, given, p], [ca.MX(0, 1), ca.densify(law)]),
        )


def _reference(loop: ServoLoop, name: str, step: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, states and all inputs of the machine along the path."""
    problem = loop.problem
    known = problem.posed.plugins.of("inverse_dynamics")
    method = select(known, name or default_method(problem))
    history = PreparedInverse(problem, method, make(BDF3, {"step": step}), loop.report).run()
    x = np.column_stack([history[quantity.name] for quantity in loop.quantities])
    u = np.tile(problem.posed.u0, (len(history.time), 1))
    for row, signal in zip(problem.driven, problem.input_names, strict=True):
        u[:, row] = history[signal]
    return history.time, np.ascontiguousarray(x), u


def _rest(loop: ServoLoop) -> FloatArray:
    """Return the state at rest at the end of the path, and the inputs that hold it there."""
    system, problem = FirstOrder(loop.problem), loop.problem
    x, left = at_rest(system, problem.task.t_end, system.start)
    if not left < CONSISTENT:
        raise SolverError(
            f"'{problem.equations.mechanism.name}' finds no rest at the end of the path (residual {left:.1e}), where "
            "'lqr-along' would hold it"
        )
    return np.concatenate([x[: problem.equations.nx], x[system.unknowns.u]])


def _efforts(u: FloatArray) -> FloatArray:
    """Return the largest change of each input along the path, or its size if it does not change."""
    change = np.abs(u - u[0]).max(axis=0)
    return np.where(change > 0, change, np.maximum(np.abs(u).max(axis=0), 1.0))


class _Regulator:
    """The Riccati equation along a motion."""

    def __init__(
        self, loop: ServoLoop, times: FloatArray, x: FloatArray, along: list[Linearisation], effort: FloatArray,
        options: LqrAlongOptions,
    ) -> None:  # fmt: skip
        problem, s = loop.problem, loop.problem.symbols
        driven = list(problem.driven)
        H = ca.Function("H", [s.t, s.q, s.signals[0], s.p], [ca.densify(problem.H)])
        signals = problem.signals(times, 0)[:, 0]
        felt = [
            np.asarray(H(t, row[: problem.equations.nq], signal, problem.p))
            for t, row, signal in zip(times, x, signals, strict=True)
        ]
        self.name, self.times, self.states = problem.equations.mechanism.name, times, along[0].states
        self.inputs = problem.input_names
        self.A = np.array([system.A for system in along])
        self.B = np.array([system.B[:, driven] for system in along])
        self.Q = np.array([_weights(system, rows, options) for system, rows in zip(along, felt, strict=True)])
        self.R = np.diag(1 / effort**2)

    def gains(self) -> FloatArray:
        """Return K at all times: an array (times, inputs, states)."""
        S = self._solved(self._steady())
        return np.array([np.linalg.solve(self.R, b.T @ s) for b, s in zip(self.B, S, strict=True)])

    def _steady(self) -> FloatArray:
        """Return the solution that does not change any more, at the end."""
        A, B = self.A[-1], self.B[-1]
        left = [value for value in np.linalg.eigvals(A) if value.real > -LAZY and not _reached(A, B, value)]
        if left:
            raise MechanismError(
                f"'{self.name}' cannot be stabilised at the end of the path by {listed(self.inputs)}: they do not reach "
                f"the motion with the eigenvalue {left[0]:.4g} 1/s. Take further inputs, or end the path elsewhere"
            )
        try:
            return np.asarray(scipy.linalg.solve_continuous_are(A, B, self.Q[-1], self.R))
        except (np.linalg.LinAlgError, ValueError) as error:
            raise SolverError(
                f"the Riccati equation of '{self.name}' has no steady solution at the end of the path: {error}"
            ) from None

    def _solved(self, end: FloatArray) -> FloatArray:
        """Return the solutions at all times, backwards from the end."""
        times, n = self.times, len(end)

        def rate(back: float, flat: FloatArray) -> FloatArray:
            S = flat.reshape(n, n)
            A, B, Q = (_between(times, values, times[-1] - back) for values in (self.A, self.B, self.Q))
            SB = S @ B
            return np.asarray(A.T @ S + S @ A - SB @ np.linalg.solve(self.R, SB.T) + Q).ravel()

        length = float(times[-1] - times[0])
        at = np.clip(times[-1] - times[::-1], 0.0, length)
        solved = solve_ivp(
            rate, (0.0, length), end.ravel(), t_eval=at, method="LSODA", rtol=TOLERANCE, atol=TOLERANCE * np.abs(end).max()
        )
        if not solved.success:
            raise SolverError(f"the Riccati equation of '{self.name}' could not be followed along the path: {solved.message}")
        return np.asarray(solved.y.T[::-1].reshape(len(times), n, n))


def _weights(system: Linearisation, H: FloatArray, options: LqrAlongOptions) -> FloatArray:
    """Return the weights of the states of a linear system, whose measures feel displacements and speeds by H."""
    n, positions = len(system.states), system.displacement_map.shape[1]
    felt = np.zeros((2 * len(H), n))
    felt[: len(H), :positions] = H @ system.displacement_map
    felt[len(H) :, positions : positions + system.speed_map.shape[1]] = H @ system.speed_map
    return np.eye(n) / options.state**2 + felt.T @ felt / options.position**2


def _reached(A: FloatArray, B: FloatArray, value: complex) -> bool:
    """Say whether inputs reach the motion with this eigenvalue."""
    size = np.abs(A).max()
    rows = np.hstack([(A - value * np.eye(len(A))) / size, B / max(float(np.abs(B).max()), 1e-300)])
    return bool(np.linalg.svd(rows, compute_uv=False)[-1] > REACHED)


def _between(times: FloatArray, values: FloatArray, t: float) -> FloatArray:
    k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2))
    part = np.clip((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0)
    result: FloatArray = (1 - part) * values[k] + part * values[k + 1]
    return result


def _table(name: str, times: FloatArray, values: FloatArray, kind: str) -> ca.Function:
    """Return the function t -> values between the rows of a table."""
    return ca.interpolant(name, kind, [times.tolist()], values.ravel().tolist())


def _deviation(loop: ServoLoop, system: Linearisation, measured: ca.MX, reference: ca.MX, p: ca.MX) -> ca.MX:
    """Return the small displacements, speeds and states in which the linear system is written."""
    problem, e, s = loop.problem, loop.problem.equations, loop.problem.symbols
    q, v, z, _ = loop.parts(measured)
    q_ref, v_ref, z_ref = ca.vertsplit(reference, [0, e.nq, e.nq + e.nv, e.nx])
    turned = q - q_ref
    if e.nq != e.nv or not problem.N.is_eye():
        # Displacements are along the speeds, as near as coordinates can tell.
        N = ca.Function("N", [s.t, s.q, s.p], [ca.densify(problem.N)])(loop.problem.task.t_start, q_ref, p[: s.p.numel(), :])
        turned = ca.solve(N.T @ N, N.T @ turned)
    speeds, states = problem.row_names["v"], problem.row_names["z"]
    rows = []
    for name in system.states:
        if name.startswith("displacement of "):
            rows.append(turned[system.shape_names.index(name.removeprefix("displacement of "))])
        elif name in speeds:
            rows.append((v - v_ref)[speeds.index(name)])
        else:
            rows.append((z - z_ref)[states.index(name)])
    return ca.vertcat(*rows)
