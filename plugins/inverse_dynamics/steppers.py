"""Steppers for servo systems: backward differences of order one to three, and the Radau IIA method with two stages."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kingpost.control.servo.stepping import ServoStep, ServoStepper
from kingpost.control.servo.system import ServoSystem


class BackwardEuler(ServoStepper):
    """Backward Euler, eqs. (19) and (20) of document 003: order 1."""

    name = "backward-euler"
    order = 1

    def rates(self, stages: list[Any], x: Any, earlier: list[Any], h: Any) -> list[Any]:
        return [(stages[0] - x) / h]


class BDF2(ServoStepper):
    """Backward differences over two steps: order 2."""

    name = "bdf2"
    order = 2
    earlier = 1

    def rates(self, stages: list[Any], x: Any, earlier: list[Any], h: Any) -> list[Any]:
        return [(3 * stages[0] - 4 * x + earlier[0]) / (2 * h)]


class BDF3(ServoStepper):
    """Backward differences over three steps: order 3."""

    name = "bdf3"
    order = 3
    earlier = 2

    def rates(self, stages: list[Any], x: Any, earlier: list[Any], h: Any) -> list[Any]:
        return [(11 * stages[0] - 18 * x + 9 * earlier[0] - 2 * earlier[1]) / (6 * h)]


class Radau2(ServoStepper):
    """Radau IIA with two stages: order 3 for differential equations, but 1 for the inputs of systems of index 3."""

    name = "radau2"
    order = 1
    stages = (1 / 3, 1.0)

    def rates(self, stages: list[Any], x: Any, earlier: list[Any], h: Any) -> list[Any]:
        # The inverse of ((5/12, -1/12), (3/4, 1/4)).
        first, second = (stage - x for stage in stages)
        return [(1.5 * first + 0.5 * second) / h, (-4.5 * first + 2.5 * second) / h]


class Midpoint(ServoStepper):
    """The mid-point rule, for study: what is stepped is met in the middle of a step, everything else at its end.

    Of second order for differential equations, but the inputs of servo problems ring: where places are given, the error of
    speeds changes its sign from step to step, v1 + v0 = 2 (q1 - q0) / h, and nothing damps it (document 000, section 7.2). A
    jump of the third derivative of a coordinate by j leaves M j h / 6 in the inputs.
    """

    name = "midpoint"
    order = 1
    between = (0.5,)
    warning = (
        "stepper 'midpoint' makes inputs ring: their error changes its sign from step to step, and nothing damps it. It is "
        "there for study; 'bdf2' has order 2 and does not ring"
    )

    def rates(self, stages: list[Any], x: Any, earlier: list[Any], h: Any) -> list[Any]:
        return [(stages[0] - x) / h]

    def residual(self, system: ServoSystem, step: ServoStep) -> ca.SX:
        middle = system.equations(
            step.t + step.h / 2, (step.x + step.stages[0]) / 2, step.rates[0], step.w[0], step.signals[1], step.p
        )
        end = system.equations(step.t + step.h, step.stages[0], step.rates[0], step.w[0], step.signals[0], step.p)
        stepped = ca.which_depends(system.residual, system.xdot, 1, True) if system.x.numel() else [False] * end.numel()
        return ca.vertcat(*(middle[i] if inside else end[i] for i, inside in enumerate(stepped)))
