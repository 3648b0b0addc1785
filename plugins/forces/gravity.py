"""Uniform gravity."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.formulas import Vector3
from kingpost.multibody.force import Force, Kinematics, Loads


@dataclass(frozen=True)
class GravityOptions:
    """``acceleration`` of free fall in world axes, m/s^2."""

    acceleration: Vector3 = (0.0, 0.0, -9.81)


class Gravity(Force):
    """Uniform gravity on every body."""

    name = "gravity"
    Options = GravityOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        g_W = kinematics.vector(self.options.acceleration)
        wrenches, potential = {}, ca.SX(0)
        for body in kinematics.mechanism.bodies:
            mass, com = kinematics.value(body.mass), kinematics.vector(body.com)
            X_WB = kinematics.pose(body.name)
            weight_B = mass * (X_WB.R.T @ g_W)
            wrenches[body.name] = ca.vertcat(ca.cross(com, weight_B), weight_B)
            potential -= mass * ca.dot(g_W, X_WB.p + X_WB.R @ com)
        return Loads(wrenches=wrenches, potential=potential, gravity=g_W)
