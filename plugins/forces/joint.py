"""Forces along one joint coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import CoordinateName
from kingpost.base.formulas import Scalar, Scalars, as_scalar
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import Constant, Trajectory
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads, Rotor
from kingpost.plugins.forces.laws import damping_law, spring_law


@dataclass(frozen=True)
class JointSpringOptions:
    """Stiffness [k1, k2, k3, ...] and damping [d1, d2, d3, ...], or one number for the linear law.

    With s = q - rest and r = qdot the effort is -(k1 s + k2 s^2 + k3 s^3 + ...) - (d1 r + d2 r |r| + d3 r^3 + ...), in N m and
    rad, or N and m. Between two coordinates, s = q - other - rest and r is its rate, and the ``other`` one feels the opposite.
    """

    coordinate: CoordinateName
    stiffness: Scalars = 0.0
    damping: Scalars = 0.0
    rest: Scalar = 0.0
    other: CoordinateName | None = None


class JointSpring(Force):
    """Spring and damper on a joint coordinate, or between two of them, linear or polynomial."""

    name = "joint-spring"
    Options = JointSpringOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        stretch = kinematics.coordinate(options.coordinate) - kinematics.value(options.rest)
        rate = kinematics.rate(options.coordinate)
        if options.other is not None:
            what = f"joint-spring on '{options.coordinate}': other"
            known_coordinates(what, (options.other,), kinematics.mechanism)
            if options.other == options.coordinate:
                raise MechanismError(f"{what}: '{options.other}' is the coordinate itself; name another, or leave it out")
            stretch -= kinematics.coordinate(options.other)
            rate -= kinematics.rate(options.other)
        pull, potential = spring_law(kinematics, options.stiffness, stretch)
        pull += damping_law(kinematics, options.damping, rate)
        efforts = {options.coordinate: -pull} | ({} if options.other is None else {options.other: pull})
        return Loads(efforts=efforts, potential=potential)


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


@dataclass(frozen=True)
class JointInertiaOptions:
    """``inertia`` (kg m^2, or kg) of what turns, or slides, with ``coordinates``, each times its entry of ``ratios``.

    Without ratios there is one coordinate, with the ratio 1. Numbers or formulas in parameters.
    """

    coordinates: tuple[str, ...]
    inertia: Scalar
    ratios: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        what = f"joint-inertia on '{listed(self.coordinates)}'"
        number = as_scalar(self.inertia)
        if isinstance(number, float) and number < 0:
            raise MechanismError(f"{what}: inertia is {number:g}; it must not be negative", path=("inertia",))
        if not self.coordinates:
            raise MechanismError("joint-inertia: name at least one coordinate that it turns with", path=("coordinates",))
        if len(self.coordinates) != len(self.ratios or (1.0,)):
            raise MechanismError(
                f"{what}: {len(self.coordinates)} coordinate(s) but {len(self.ratios)} ratio(s); give one ratio for each",
                path=("ratios",),
            )


class JointInertia(Force):
    """Inertia of a rotor that turns with one joint coordinate, or with a sum of several, such as the drum of a winch.

    The rotor has a rate of the sum of ratios times rates of the coordinates, and no place: what it does to the bodies that
    carry its bearings is left out. A rotor with bearings that matter is a body with a gear closure.
    """

    name = "joint-inertia"
    Options = JointInertiaOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        known_coordinates("joint-inertia: coordinates", options.coordinates, kinematics.mechanism)
        inertia = kinematics.value(options.inertia)
        ratios = [kinematics.value(ratio) for ratio in options.ratios or (1.0,)]
        spin: Any = sum(
            (ratio * kinematics.rate(name) for ratio, name in zip(ratios, options.coordinates, strict=True)), ca.SX(0)
        )
        rotor = Rotor(inertia, dict(zip(options.coordinates, ratios, strict=True)))
        return Loads(rotors=(rotor,), kinetic=inertia * spin**2 / 2)


def known_coordinates(what: str, names: Sequence[str], mechanism: Mechanism) -> None:
    """Refuse names that are no joint coordinates with a rate of their own."""
    known = mechanism.rated_coordinates
    for name in names:
        if name not in known:
            raise MechanismError(f"{what}: '{name}' is not a joint coordinate{closest(name, known)} Known: {listed(known)}.")
