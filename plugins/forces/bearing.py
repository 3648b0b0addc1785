"""Friction that grows with the load of its own joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import JointName
from kingpost.base.formulas import Scalar, as_scalar
from kingpost.mechanism.elements import Joint
from kingpost.multibody.force import Force, Kinematics, Loads

#: Load (N) below which a norm is rounded off, so that an unloaded joint has a Jacobian, too.
NEGLIGIBLE_LOAD = 1e-15
KINDS = ("revolute", "prismatic")


@dataclass(frozen=True)
class BearingFrictionOptions:
    """``mu`` is the coefficient of friction, ``radius`` (m) that of a revolute joint's journal; a slide has none.

    ``thrust_radius`` (m) is the mean radius of a collar that takes the axial force of a revolute joint. With a ``span`` (m) the
    load is shared by two bearings, or two pads of a slide, at that distance along the axis, one on either side of the joint's
    origin. Friction is smoothed below the rate ``transition`` (rad/s or m/s).
    """

    joint: JointName
    mu: Scalar
    radius: Scalar | None = None
    thrust_radius: Scalar = 0.0
    span: Scalar | None = None
    transition: Scalar = 0.01

    def __post_init__(self) -> None:
        what = f"bearing-friction in '{self.joint}'"
        for name, least in (("mu", 0.0), ("radius", 0.0), ("thrust_radius", 0.0), ("span", None), ("transition", None)):
            given = getattr(self, name)
            number = None if given is None else as_scalar(given)
            if not isinstance(number, float):
                continue
            if least is None and not number > 0:
                why = "; friction cannot jump at rest" if name == "transition" else ""
                raise MechanismError(f"{what}: {name} is {number:g}; it must be positive{why}", path=(name,))
            if least is not None and not number >= least:
                raise MechanismError(f"{what}: {name} is {number:g}; it must not be negative", path=(name,))


class BearingFriction(Force):
    """Friction of a bearing by its own load: effort = -mu radius N tanh(rate / transition), of a slide without the radius.

    N is the force of the joint across its axis; of two bearings at a span, the sum of their forces. A collar adds mu
    thrust_radius times the axial force. Loads and friction depend on each other, and are solved for together. Below the
    transition rate friction is viscous, so a joint at rest creeps under load instead of sticking.
    """

    name = "bearing-friction"
    part = "friction"
    Options = BearingFrictionOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        joint = _checked_joint(options, kinematics)
        assert joint.axis is not None
        axis: Any = kinematics.vector(joint.axis)
        axis = axis / ca.norm_2(axis)
        load = kinematics.load(joint.name)
        moment, force = load[:3], load[3:]
        axial = ca.dot(axis, force)
        across = force - axis * axial
        if options.span is None:
            normal = _length(across)
        else:
            # On two bearings: half of the force each, and the pair of forces that makes up the moment across the axis.
            pair = ca.cross(moment, axis) / kinematics.value(options.span)
            normal = _length(across / 2 + pair) + _length(across / 2 - pair)
        lever = ca.SX(1) if options.radius is None else kinematics.value(options.radius)
        thrust = kinematics.value(options.thrust_radius) * _length(axial)
        coordinate = joint.positions[0].name
        slide = ca.tanh(kinematics.rate(coordinate) / kinematics.value(options.transition))
        effort = -kinematics.value(options.mu) * (lever * normal + thrust) * slide
        return Loads(efforts={coordinate: effort}, signals={"load": (normal, "N")})


def _length(vector: Any) -> Any:
    """Return the length of a vector, rounded off near zero, where a length has no slope."""
    return ca.sqrt(ca.sumsqr(vector) + NEGLIGIBLE_LOAD**2)


def _checked_joint(options: Any, kinematics: Kinematics) -> Joint:
    joint = next(joint for joint in kinematics.mechanism.joints if joint.name == options.joint)
    what = f"bearing-friction in '{joint.name}'"
    if joint.kind not in KINDS:
        raise MechanismError(
            f"{what}: the joint is {joint.kind}; only a revolute joint has a journal and only a prismatic one a slide. Use "
            "'joint-friction' on its coordinates"
        )
    if joint.kind == "revolute" and options.radius is None:
        raise MechanismError(f"{what}: the joint turns, so its journal needs a radius", path=("radius",))
    if joint.kind == "prismatic" and options.radius is not None:
        raise MechanismError(f"{what}: the joint slides, so that a radius means nothing to it; leave it out", path=("radius",))
    if joint.kind == "prismatic" and as_scalar(options.thrust_radius) != 0.0:
        raise MechanismError(
            f"{what}: the joint slides, and carries no load along its axis; leave thrust_radius out", path=("thrust_radius",)
        )
    return joint
