"""Forces along one joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import CoordinateName
from kingpost.base.formulas import Scalar, Scalars, as_scalar
from kingpost.mechanism.trajectories import Constant, Trajectory
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.laws import damping_law, spring_law


@dataclass(frozen=True)
class JointSpringOptions:
    """Stiffness [k1, k2, k3, ...] and damping [d1, d2, d3, ...], or one number for the linear law.

    With s = q - rest and r = qdot the effort is -(k1 s + k2 s^2 + k3 s^3 + ...) - (d1 r + d2 r |r| + d3 r^3 + ...), in N m and
    rad, or N and m.
    """

    coordinate: CoordinateName
    stiffness: Scalars = 0.0
    damping: Scalars = 0.0
    rest: Scalar = 0.0


class JointSpring(Force):
    """Spring and damper on a joint coordinate, linear or polynomial."""

    name = "joint-spring"
    Options = JointSpringOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        stretch = kinematics.coordinate(options.coordinate) - kinematics.value(options.rest)
        pull, potential = spring_law(kinematics, options.stiffness, stretch)
        drag = damping_law(kinematics, options.damping, kinematics.rate(options.coordinate))
        return Loads(efforts={options.coordinate: -pull - drag}, potential=potential)


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


@dataclass(frozen=True)
class JointActuatorOptions:
    """Gains (N m/rad and N m s/rad, or N/m and N s/m), the set-point, and an effort added to it all.

    ``target`` is a number, a formula in parameters, inputs and t, or a trajectory (docs/model-files.md).
    """

    coordinate: CoordinateName
    stiffness: Scalar
    damping: Scalar
    target: Trajectory = field(default_factory=lambda: Constant(0.0))
    effort: Scalar = 0.0


class JointActuator(Force):
    """PD actuator: effort = -stiffness (q - target) - damping (qdot - target rate) + effort.

    The paper's control law, eq. (63), regulates to zero; this one follows a set-point and its rate.
    """

    name = "joint-actuator"
    Options = JointActuatorOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        target, rate = kinematics.target(options.target)
        error = kinematics.coordinate(options.coordinate) - target
        error_rate = kinematics.rate(options.coordinate) - rate
        effort = -kinematics.value(options.stiffness) * error - kinematics.value(options.damping) * error_rate
        return Loads(efforts={options.coordinate: effort + kinematics.value(options.effort)})


@dataclass(frozen=True)
class JointFrictionOptions:
    """``viscous`` (N m s/rad or N s/m) and ``coulomb`` (N m or N), smoothed below ``transition`` (rad/s or m/s)."""

    coordinate: CoordinateName
    viscous: Scalar = 0.0
    coulomb: Scalar = 0.0
    transition: Scalar = 0.01

    def __post_init__(self) -> None:
        transition = as_scalar(self.transition)
        if isinstance(transition, float) and not transition > 0:
            raise MechanismError(
                f"joint-friction on '{self.coordinate}': transition is {transition:g}; it must be positive; friction "
                "cannot jump at rest",
                path=("transition",),
            )


class JointFriction(Force):
    """Viscous and smoothed Coulomb friction: effort = -viscous qdot - coulomb tanh(qdot / transition).

    Below the transition speed the Coulomb part is viscous, so a joint at rest creeps under load instead of sticking.
    """

    name = "joint-friction"
    part = "friction"
    Options = JointFrictionOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        rate: Any = kinematics.rate(options.coordinate)
        slide = ca.tanh(rate / kinematics.value(options.transition))
        effort = -kinematics.value(options.viscous) * rate - kinematics.value(options.coulomb) * slide
        return Loads(efforts={options.coordinate: effort})
