"""Quadratic air drag on a body."""

from dataclasses import dataclass

import casadi as ca

from kingpost import BodyName, Force, Loads, Scalar


@dataclass(frozen=True)
class AirDragOptions:
    """``area`` is drag coefficient times frontal area (m^2), ``density`` that of the air (kg/m^3)."""

    body: BodyName
    area: Scalar
    density: Scalar = 1.225


class AirDrag(Force):
    """Air drag at a body's centre of mass, against its velocity and with its square."""

    name = "air-drag"
    Options = AirDragOptions

    def loads(self, kinematics):
        body = kinematics.mechanism.body(self.options.body)
        com = kinematics.vector(body.com)
        twist = kinematics.twist(body.name)
        velocity = twist[3:] + ca.cross(twist[:3], com)
        factor = kinematics.value(self.options.density) * kinematics.value(self.options.area) / 2
        # The small term keeps the derivative of the speed finite at rest.
        force = -factor * ca.sqrt(ca.dot(velocity, velocity) + 1e-12) * velocity
        return Loads(wrenches={body.name: ca.vertcat(ca.cross(com, force), force)})
