"""Exact linearisation of flat problems by a controller with states of its own."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.control.blocks.description import Block, State
from kingpost.control.servo.feedback import Feedback, FeedbackOptions, ServoLoop, derivative_unit
from kingpost.mechanism.elements import Parameter
from kingpost.plugins.feedback.poles import gains_of
from kingpost.plugins.feedback.prolongation import prolong


@dataclass(frozen=True)
class DynamicExtensionOptions(FeedbackOptions):
    """``poles`` of the errors in 1/s: one number for all, or as many as the order, ``"-2 -3 -4+1j -4-1j"``."""

    poles: float | str | tuple[float, ...] = -3.0


class DynamicExtension(Feedback):
    """Every error obeys a linear equation with poles of one's choice, in flat problems of any realisation.

    Eq. (33) of document 003. What inputs cannot reach at once is reached by further derivatives, for which the controller
    remembers accelerations of measures that others are led through: of a crane the load's vertical acceleration and jerk, which
    stand for the tension of the rope and its rate.
    """

    name = "dynamic-extension"
    Options = DynamicExtensionOptions
    internal_states = False

    def block(self, loop: ServoLoop) -> Block:
        problem = loop.problem
        found = prolong(loop)
        order, s = found.order, problem.symbols
        gains = gains_of(self.options.poles, order)
        names, units = problem.task.measures, loop.measure_units
        begin = problem.signals([problem.task.t_start], order)[0]
        states = [
            State(f"{names[i]}.d{k}", derivative_unit(units[names[i]], k), float(begin[k, i]))
            for i, first in found.leading.items()
            for k in range(first, order)
        ]
        parameters = loop.parameters(
            *(
                Parameter(f"gain{k}", float(gain), derivative_unit("1", order - k), f"of derivative {k} of the errors")
                for k, gain in enumerate(gains)
            )
        )
        inputs = loop.inputs(order)
        memory = ca.vertcat(ca.SX(0, 1), *(symbol for i in found.leading for symbol in found.memory[i]))
        given = s.signals[0][problem.outputs :, :]
        known = [s.t, s.q, s.v, s.z, given, s.p, memory]
        rows = [ca.vertcat(*(found.derivatives[i][k] for i in range(problem.outputs))) for k in range(order)]
        seen = ca.Function("kp_seen", known, ca.cse([ca.densify(row) for row in rows]))
        law = ca.Function("kp_law", [*known, found.commanded], ca.cse([found.inputs]))
        t, x, u, p = (
            ca.MX.sym(name, size) for name, size in zip("txup", (1, len(states), len(inputs), len(parameters)), strict=True)
        )
        own, k = p[: s.p.numel(), :], p[s.p.numel() :, :]
        q, v, z, others = loop.parts(u)
        measured = [t, q, v, z, others, own, x]
        y = seen.call(measured)
        gamma = loop.path(t, u, own, order)
        commanded = gamma[order]
        for j in range(order):
            commanded = commanded + k[j] * (gamma[j] - y[j])
        rates, place = [], 0
        for i, first in found.leading.items():
            length = order - first
            rates += [x[place + 1 : place + length, :], commanded[i]]
            place += length
        name = problem.equations.mechanism.name
        return Block(
            f"{name}-{self.name}",
            inputs=inputs,
            outputs=loop.outputs,
            states=states,
            parameters=parameters,
            description=f"keeps '{name}' on its path: errors of order {order} with gains of one's choice",
            body=ca.Function("kp_block", [t, x, u, p], [ca.vertcat(ca.MX(0, 1), *rates), law(*measured, commanded)]),
        )
