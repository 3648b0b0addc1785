"""Feedback of the measures' errors and their rates, where inputs act directly on all measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.control.blocks.description import Block
from kingpost.control.servo.feedback import Feedback, FeedbackOptions, ServoLoop
from kingpost.mechanism.elements import Parameter
from kingpost.plugins.feedback.measured import MeasuredMotion


@dataclass(frozen=True)
class PdOutputOptions(FeedbackOptions):
    """``a0`` (1/s^2) and ``a1`` (1/s): errors obey e'' + a1 e' + a0 e = 0."""

    a0: float = 9.0
    a1: float = 6.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a0", "a1"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise MechanismError(f"{name} = {value:g}: it must be positive, or errors do not decay", path=(name,))


class PdOutput(Feedback):
    """Feedback linearisation by inputs that act directly on all measures: eq. (8) in eq. (12) of document 003, Fig. 2.

    u = Y^-1 (gamma'' + a1 (gamma' - y') + a0 (gamma - y) - f_y) with the measured state, so that every error e = gamma - y
    obeys e'' + a1 e' + a0 e = 0 exactly, however large it is. The realisation must be orthogonal; internal states
    must be stable by themselves, since nobody looks after them.
    """

    name = "pd-output"
    Options = PdOutputOptions
    realisations = ("orthogonal",)

    def block(self, loop: ServoLoop) -> Block:
        problem, options = loop.problem, self.options
        motion = MeasuredMotion(loop)
        s = problem.symbols
        free, Y = motion.y_accelerations
        wanted = ca.SX.sym("wanted", problem.outputs)
        law = ca.Function("kp_law", [*motion.symbols, wanted], ca.cse([ca.densify(ca.solve(Y, wanted - free))]))
        seen = ca.Function("kp_seen", motion.symbols, [ca.densify(problem.y), motion.y_rate])
        inputs = loop.inputs(2)
        parameters = loop.parameters(
            Parameter("a0", options.a0, "1/s2", "of the error", minimum=0.0),
            Parameter("a1", options.a1, "1/s", "of the rate of the error", minimum=0.0),
        )
        t, x, u, p = (ca.MX.sym(name, size) for name, size in zip("txup", (1, 0, len(inputs), len(parameters)), strict=True))
        own, gains = p[: s.p.numel(), :], p[s.p.numel() :, :]
        q, v, z, given = loop.parts(u)
        known = [t, q, v, z, given, own]
        y, rate = seen.call(known)
        gamma = loop.path(t, u, own, 2)
        stabilised = gamma[2] + gains[1] * (gamma[1] - rate) + gains[0] * (gamma[0] - y)
        body = ca.Function("kp_block", [t, x, u, p], [ca.MX(0, 1), law(*known, stabilised)])
        return Block(
            f"{problem.equations.mechanism.name}-{self.name}",
            inputs=inputs,
            outputs=loop.outputs,
            parameters=parameters,
            description=f"keeps '{problem.equations.mechanism.name}' on its path: e'' + a1 e' + a0 e = 0",
            body=body,
        )
