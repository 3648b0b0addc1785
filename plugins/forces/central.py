"""Gravity of a body that stays where it is."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3, as_scalar
from kingpost.multibody.force import Force, Kinematics, Loads


@dataclass(frozen=True)
class CentralGravityOptions:
    """``strength``: the constant of gravity times the mass in the ``centre`` (m^3/s^2); the centre is a point of the world.

    The field pulls at the centre of mass of the ``body``; how it varies over the body is left out.
    """

    body: BodyName
    strength: Scalar
    centre: Vector3 = ZERO_VECTOR

    def __post_init__(self) -> None:
        if as_scalar(self.strength) == 0.0:
            raise MechanismError(
                f"central-gravity on '{self.body}': strength is 0 m^3/s^2 and never acts; give one that does, or "
                "remove the force",
                path=("strength",),
            )


class CentralGravity(Force):
    """Gravity towards a point of the world, falling with the square of the distance (document 001, eq. 8.57)."""

    name = "central-gravity"
    Options = CentralGravityOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        body = kinematics.mechanism.body(options.body)
        mass, com = kinematics.value(body.mass), kinematics.vector(body.com)
        X_WB = kinematics.pose(options.body)
        away = X_WB.p + X_WB.R @ com - kinematics.vector(options.centre)
        distance = ca.norm_2(away)
        strength = mass * kinematics.value(options.strength)
        force_B = X_WB.R.T @ (-strength * away / distance**3)
        wrench = ca.vertcat(ca.cross(com, force_B), force_B)
        return Loads(wrenches={options.body: wrench}, potential=-strength / distance)
