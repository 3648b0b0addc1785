"""A spinning top in steady precession, which has a closed form."""

from __future__ import annotations

import math

from kingpost.base.formulas import Expression
from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model


class HeavyTop(Model):
    """A cone that spins on its tip and precesses steadily about the vertical (document 001, section 5.5)."""

    name = "heavy-top"

    def build(self) -> Mechanism:
        height = Parameter("height", 0.1, "m", "height of the cone")
        radius = Parameter("radius", 0.05, "m", "radius of the cone's base")
        density = Parameter("density", 2700.0, "kg/m3", "density of the cone")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        tilt = Parameter("tilt", math.pi / 3, "rad", "angle between the top's axis and the vertical at the start")
        precession = Parameter("precession", 10.0, "rad/s", "angular velocity of the axis about the vertical; not zero")
        mass = density * math.pi * radius**2 * height / 3
        across, along = 3 * mass / 80 * (4 * radius**2 + height**2), 3 * mass / 10 * radius**2
        arm = 3 * height / 4
        cosine, sine, half = Expression("cos(tilt)"), Expression("sin(tilt)"), tilt / 2
        # Eqs. (5.48), (5.51), (5.52); the inertia about a level axis through the tip is across + m arm^2. The angular velocity
        # of the precession is vertical, that of the spin along the axis; here both in the top's axes.
        spin = mass * gravity * arm / (along * precession) + (across + mass * arm**2 - along) / along * precession * cosine
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(height, radius, density, gravity, tilt, precession),
            bodies=(Body("top", mass=mass, com=(0, 0, arm), inertia=(across, across, along)),),
            joints=(
                Joint(
                    "tip",
                    "spherical",
                    "world",
                    "top",
                    start=(Expression(f"cos({half})"), Expression(f"sin({half})"), 0.0, 0.0),
                    start_rate=(0.0, precession * sine, precession * cosine + spin),
                ),
            ),
            forces=(ForceElement("gravity", acceleration=(0, 0, -gravity)),),
            outputs=(Output("centre", "top", at=(0, 0, arm)),),
        )
