"""A slider-crank: turning into stroke."""

from __future__ import annotations

from math import asin, cos, pi, sin, sqrt

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.plugins.models.four_bar import AXIS, rod


class SliderCrank(Model):
    """A crank drives a piston along x through a connecting rod, whose pin in the piston closes the loop."""

    name = "slider-crank"

    def build(self) -> Mechanism:
        radius, length = 0.1, 0.3
        r = Parameter("crank_radius", radius, "m", "distance of the crank pin from the axis")
        l = Parameter("rod_length", length, "m", "length of the connecting rod")
        m1 = Parameter("crank_mass", 2.0, "kg", "mass of the crank, a uniform rod")
        m2 = Parameter("rod_mass", 1.0, "kg", "mass of the connecting rod, uniform")
        m3 = Parameter("piston_mass", 0.8, "kg", "mass of the piston")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        torque = Input("torque", "N.m", description="torque on the crank")
        force = Input("gas_force", "N", description="force on the piston along x")
        start = pi / 4
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(r, l, m1, m2, m3, gravity),
            inputs=(torque, force),
            bodies=(rod("crank", m1, r), rod("rod", m2, l), Body("piston", mass=m3, inertia=(1e-3, 1e-3, 1e-3))),
            joints=(
                Joint("shaft", "revolute", "world", "crank", axis=AXIS, start=start, start_rate=20.0),
                Joint(
                    "crank-pin", "revolute", "crank", "rod", axis=AXIS, position=(r, 0, 0),
                    start=-asin(radius / length * sin(start)) - start,
                ),
                Joint(
                    "bore", "prismatic", "world", "piston", axis=(1, 0, 0),
                    start=radius * cos(start) + sqrt(length**2 - (radius * sin(start)) ** 2),
                ),
            ),
            closures=(Closure("piston-pin", "point-on-line", "piston", "rod", axis=AXIS, child_position=(l, 0, 0)),),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="drive", coordinate="shaft.angle", effort=torque),
                ForceElement("joint-effort", name="gas", coordinate="bore.displacement", effort=force),
            ),
            outputs=(Output("pin", "rod"),),
        )  # fmt: skip
