"""Forces along one joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import CoordinateName
from kingpost.base.formulas import Scalar, Scalars, as_scalar
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import Constant, Trajectory
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads
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

    ``target`` is a number, a formula in parameters, inputs and t, or a trajectory (docs/model-files.md). With a
    ``time_constant`` (s) the effort follows what the law asks for with a lag of first order, from ``start`` (N m or N) on.
    """

    coordinate: CoordinateName
    stiffness: Scalar
    damping: Scalar
    target: Trajectory = field(default_factory=lambda: Constant(0.0))
    effort: Scalar = 0.0
    time_constant: Scalar | None = None
    start: Scalar = 0.0

    def __post_init__(self) -> None:
        given = None if self.time_constant is None else as_scalar(self.time_constant)
        if isinstance(given, float) and not given > 0:
            raise MechanismError(
                f"joint-actuator on '{self.coordinate}': time_constant is {given:g} s; it must be positive. Leave it out for "
                "an effort without lag",
                path=("time_constant",),
            )
        if given is None and as_scalar(self.start) != 0.0:
            raise MechanismError(
                f"joint-actuator on '{self.coordinate}': without a time_constant its effort follows at once and has no start",
                path=("start",),
            )


class JointActuator(Force):
    """PD actuator: effort = -stiffness (q - target) - damping (qdot - target rate) + effort, at once or with a lag.

    The paper's control law, eq. (63), regulates to zero; this one follows a set-point and its rate. With a time constant T the
    effort e is a state, T e' + e = what the law asks for.
    """

    name = "joint-actuator"
    Options = JointActuatorOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        target, rate = kinematics.target(options.target)
        error = kinematics.coordinate(options.coordinate) - target
        error_rate = kinematics.rate(options.coordinate) - rate
        asked = -kinematics.value(options.stiffness) * error - kinematics.value(options.damping) * error_rate
        asked = asked + kinematics.value(options.effort)
        if options.time_constant is None:
            return Loads(efforts={options.coordinate: asked})
        effort = kinematics.state("effort")
        rate_of_effort = (asked - effort) / kinematics.value(options.time_constant)
        return Loads(efforts={options.coordinate: effort}, rates={"effort": rate_of_effort})

    def states(self, mechanism: Mechanism) -> tuple[ForceState, ...]:
        if self.options.time_constant is None:
            return ()
        units = {quantity.name: quantity.unit for quantity in mechanism.coordinates}
        unit = "N" if units[self.options.coordinate] == "m" else "N.m"
        return (ForceState("effort", unit, self.options.start),)


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
