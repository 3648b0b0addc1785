"""Steppers for servo systems: backward differences of order one to three, and the Radau IIA method with two stages."""

from __future__ import annotations

from typing import Any

from kingpost.control.servo.stepping import ServoStepper


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
