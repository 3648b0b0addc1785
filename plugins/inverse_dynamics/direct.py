"""The servo problem as it is, for study."""

from __future__ import annotations

from kingpost.control.servo.building import SystemBuilder
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import ServoPoint, ServoSystem, SteppedInverse


class Direct(SteppedInverse):
    """The equations of motion with the servo-constraints at position level alone: document 003, eq. (11); for study.

    Its index is that of the problem, 5 for most cranes: inputs of backward Euler converge at first, and rounding makes them
    wrong by dt^(1 - index) for short steps.
    """

    name = "direct"
    load_dependent = True

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        builder = SystemBuilder(problem)
        builder.kinematics()
        builder.forces()
        builder.motion(problem.balance)
        builder.state_rates()
        builder.constraints()
        builder.servo(0)
        return builder.system()

    def warning(self, index: int) -> str:
        return (
            f"method 'direct' steps equations of index {index} as they are: errors of inputs grow like dt^{1 - index} as steps "
            "get shorter. It is there for study; 'minimal-extension' and 'projection' take two off the index first"
            if index > 2
            else ""
        )
