"""Forces along one joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from kingpost.expressions import Scalar
from kingpost.fields import CoordinateName
from kingpost.interfaces.force import Force, Kinematics, Loads


@dataclass(frozen=True)
class JointSpringOptions:
    """Effort = -stiffness (q - rest) - damping qdot, in N m and rad or N and m."""

    coordinate: CoordinateName
    stiffness: Scalar = 0.0
    damping: Scalar = 0.0
    rest: Scalar = 0.0


class JointSpring(Force):
    """Linear spring and damper on a joint coordinate."""

    name = "joint-spring"
    Options = JointSpringOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        coordinate = self.options.coordinate
        stiffness = kinematics.value(self.options.stiffness)
        stretch = kinematics.coordinate(coordinate) - kinematics.value(self.options.rest)
        effort = -stiffness * stretch - kinematics.value(self.options.damping) * kinematics.rate(coordinate)
        return Loads(efforts={coordinate: effort}, potential=stiffness * stretch**2 / 2)


@dataclass(frozen=True)
class JointEffortOptions:
    """``effort`` in N m or N: a number, or a formula in parameters, inputs and the time t."""

    coordinate: CoordinateName
    effort: Scalar


class JointEffort(Force):
    """Torque or force on a joint coordinate, given by a formula or an input."""

    name = "joint-effort"
    Options = JointEffortOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        return Loads(efforts={self.options.coordinate: kinematics.value(self.options.effort)})
