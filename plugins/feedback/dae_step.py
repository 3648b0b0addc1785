"""Feedback by one implicit step of the servo equations from the measured state, whatever the realisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.control.blocks.description import DiscreteBlock, State
from kingpost.control.servo.feedback import Feedback, FeedbackOptions, ServoLoop
from kingpost.control.servo.problem import EXPRESSED
from kingpost.control.servo.stepping import ServoMarch
from kingpost.control.servo.system import ServoSystem, SteppedInverse
from kingpost.mechanism.elements import Parameter
from kingpost.plugins.feedback.measured import MeasuredMotion
from kingpost.plugins.inverse_dynamics.steppers import BackwardEuler
from kingpost.registry.selection import make, select

#: The implicit step is so many samples long where nobody says.
SAMPLES = 5
#: Derivatives of a path from outside by which it is carried on to the end of the step.
CARRIED_ON = 4


@dataclass(frozen=True)
class DaeStepOptions(FeedbackOptions):
    """How the step is taken.

    ``a0`` (1/s^2) and ``a1`` (1/s): what errors of the measures and of their rates add to the accelerations that are asked for.
    ``horizon``: length of the implicit step in s; zero for five samples. In the document it is one. ``method``: the equations
    that are stepped, of those that ``kingpost inverse`` has. ``iterations``: of Newton's method.
    """

    a0: float = 1.0
    a1: float = 2.0
    horizon: float = 0.0
    method: str = "minimal-extension"
    iterations: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a0", "a1", "horizon"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise MechanismError(f"{name} = {value:g}: it must be finite and not negative", path=(name,))
        if self.iterations < 1:
            raise MechanismError(f"iterations = {self.iterations}: Newton's method needs at least one", path=("iterations",))


class DaeStep(Feedback):
    """One backward-Euler step of the servo equations from the measured state: Fig. 3 of document 003 with eqs. (8), (19), (20).

    Each sample asks which inputs bring the machine from where it is onto the path at the end of the step, with accelerations
    gamma'' + a1 (gamma' - y') + a0 (gamma - y). Any realisation will do. Where measures are led tangentially, by coordinates in
    between, the step asks these to be right at its end: they are pulled with 1/horizon^2 and damped with 1/horizon, half of
    critical. With one sample for a horizon, as in the document, this is hard, and unstable in a loop with a sample of delay. On
    the path the inputs are those of the end of the step, and a first-order method's: wrong by about the horizon.
    """

    name = "dae-step"
    Options = DaeStepOptions
    exact = False

    def block(self, loop: ServoLoop) -> DiscreteBlock:
        problem, options = loop.problem, self.options
        horizon = options.horizon or SAMPLES * options.sample_time
        method = select(problem.posed.plugins.of("inverse_dynamics"), options.method)
        if not isinstance(method, SteppedInverse):
            known = [
                cls.name for cls, _ in problem.posed.plugins.of("inverse_dynamics").entries() if issubclass(cls, SteppedInverse)
            ]
            raise MechanismError(f"method '{method.name}' has no equations that could be stepped; take one of {listed(known)}")
        system = method.reduce(problem, loop.start.point)
        march = ServoMarch(system, make(BackwardEuler, {"step": horizon, "iterations": options.iterations}))
        w, xdot, scales = _beginning(loop, system, march, horizon)
        parameters = loop.parameters(
            Parameter("a0", options.a0, "1/s2", "of the error", minimum=0.0),
            Parameter("a1", options.a1, "1/s", "of the rate of the error", minimum=0.0),
        )
        inputs = loop.inputs(CARRIED_ON)
        memory = tuple(
            State(f"guess.{k + 1}", "1", float(value), shown=False) for k, value in enumerate(np.concatenate([w, xdot]))
        )
        step = _step(loop, system, march, scales, horizon, [1, len(memory), len(inputs), len(parameters), 1])
        name = problem.equations.mechanism.name
        return DiscreteBlock(
            f"{name}-{self.name}",
            inputs=inputs,
            outputs=loop.outputs,
            step=step,
            sample_time=options.sample_time,
            memory=memory,
            parameters=parameters,
            held=loop.held(),
            description=f"keeps '{name}' on its path by an implicit step of {horizon:g} s",
        )


def _beginning(
    loop: ServoLoop, system: ServoSystem, march: ServoMarch, horizon: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the unknowns and rates from which Newton's method begins, and the scales of unknowns and rows."""
    problem, at = loop.problem, loop.start.point
    found = system.started(at.t, at.q, at.v, at.a, at.z, at.zdot, at.lam, at.u, at.signals.ravel(), problem.p)
    x, xdot, w = (np.asarray(part).ravel() for part in found)
    given = np.tile(problem.signals([at.t], system.orders).ravel(), 2)
    scales = march.scales(at.t, np.concatenate([x, w, xdot]), given, problem.p, horizon)
    return w, xdot, scales


def _step(
    loop: ServoLoop, system: ServoSystem, march: ServoMarch, scales: FloatArray, horizon: float, sizes: list[int]
) -> ca.Function:
    """Return the function (t, memory, inputs, parameters, h) -> memory, inputs of the machine."""
    problem = loop.problem
    t, memory, u, p, _ = symbols = [ca.MX.sym(name, size) for name, size in zip("tmuph", sizes, strict=True)]
    machine = problem.equations.np
    own, gains = p[:machine, :], p[machine:, :]
    q, v, z, given = loop.parts(u)
    motion = MeasuredMotion(loop)
    seen = ca.Function("kp_seen", motion.symbols, [ca.densify(problem.y), motion.y_rate])
    y, rate = seen.call([t, q, v, z, given, own])
    now = loop.path(t, u, own, 1)
    after = _path_after(loop, t, u, own, horizon)
    after[2] = after[2] + gains[1] * (now[1] - rate) + gains[0] * (now[0] - y)
    nothing = ca.MX.zeros(given.numel())
    signals = ca.vertcat(*(ca.vertcat(after[k], given if k == 0 else nothing) for k in range(EXPRESSED + 1)))
    empty = [ca.MX.zeros(system.started.numel_in(k)) for k in range(9)]
    x = system.started(t, q, v, empty[3], z, empty[5], empty[6], empty[7], signals, own)[0]
    w, xdot = memory[: march.nw, :], memory[march.nw :, :]
    state = ca.vertcat(x, w, xdot)
    numbers = ca.vertcat(own, ca.DM(scales))
    following = march.step(t, state, ca.vertcat(signals, signals), numbers, ca.MX(horizon))
    x_after, w_after, xdot_after, _ = march._split(following)
    solved = system.solved.call([t + horizon, x_after, xdot_after, w_after, signals, own])
    return ca.Function("kp_block_step", symbols, [ca.vertcat(w_after, xdot_after), ca.densify(solved[-1])])


def _path_after(loop: ServoLoop, t: ca.MX, u: ca.MX, p: ca.MX, horizon: float) -> list[Any]:
    """Return the path and two derivatives at the end of the step; one from outside is carried on by its derivatives."""
    if loop.path_from == "inside":
        return loop.path(t + horizon, u, p, EXPRESSED)
    now = loop.path(t, u, p, CARRIED_ON)
    return [
        sum(now[j] * (horizon ** (j - k) / math.factorial(j - k)) for j in range(k, CARRIED_ON + 1))
        for k in range(EXPRESSED + 1)
    ]
