"""A four-bar linkage: the smallest closed loop."""

from __future__ import annotations

from math import acos, atan2, cos, pi, sin, sqrt

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model

#: Axis of all pins: a positive angle turns x towards z, up.
AXIS = (0.0, -1.0, 0.0)


def rod(name: str, mass: Parameter, length: Parameter | float) -> Body:
    """Return a uniform rod along x from its origin."""
    moment = mass * length**2 / 12
    # Formulations with directors need some inertia about the rod's own axis; a plane motion never feels it.
    return Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(moment / 100, moment, moment))


def coupler_and_rocker(crank: float, a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return the angles of coupler and rocker against the ground at an angle of the crank, the coupler above the ground.

    ``a``, ``b``, ``c`` and ``d`` are the lengths of crank, coupler, rocker and ground.
    """
    x, z = d - a * cos(crank), -a * sin(crank)
    reach = sqrt(x * x + z * z)
    coupler = atan2(z, x) + acos((b * b + reach * reach - c * c) / (2 * b * reach))
    rocker = atan2(a * sin(crank) + b * sin(coupler), a * cos(crank) + b * cos(coupler) - d)
    return coupler, rocker


class FourBar(Model):
    """A crank turns, a rocker swings to and fro, and a coupler joins them by a pin that closes the loop."""

    name = "four-bar"

    def build(self) -> Mechanism:
        lengths = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5, "ground": 3.0}
        a, b, c, d = (Parameter(f"{name}_length", value, "m", f"length of the {name}") for name, value in lengths.items())
        m1, m2, m3 = (
            Parameter(f"{name}_mass", value, "kg", f"mass of the {name}, a uniform rod")
            for name, value in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.0))
        )
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        torque = Input("torque", "N.m", description="torque on the crank")
        start = pi / 3
        coupler, rocker = coupler_and_rocker(start, *lengths.values())
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(a, b, c, d, m1, m2, m3, gravity),
            inputs=(torque,),
            bodies=(rod("crank", m1, a), rod("coupler", m2, b), rod("rocker", m3, c)),
            joints=(
                Joint("crank-pivot", "revolute", "world", "crank", axis=AXIS, start=start, start_rate=2.0),
                Joint("crank-pin", "revolute", "crank", "coupler", axis=AXIS, position=(a, 0, 0), start=coupler - start),
                Joint("rocker-pivot", "revolute", "world", "rocker", axis=AXIS, position=(d, 0, 0), start=rocker),
            ),
            # The plane of the tree keeps the rods in it, so that the pin only has to hold them together in the plane.
            closures=(
                Closure(
                    "rocker-pin", "point-on-line", "rocker", "coupler", axis=AXIS, position=(c, 0, 0), child_position=(b, 0, 0)
                ),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="drive", coordinate="crank-pivot.angle", effort=torque),
            ),
            outputs=(Output("coupler-mid", "coupler", at=(b / 2, 0, 0)),),
        )
