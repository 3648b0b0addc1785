"""The charged sphere of document 002, examples 2.5 and 4.4."""

from __future__ import annotations

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape


class RollingSphere(Model):
    """A sphere with a charge on its skin rolls in a trough z = curvature y^2 / 2 while a field along x swings to and fro.

    Document 002, examples 2.5 and 4.4: the coordinates of the point of contact are its own, so the machine has three speeds
    left, and its five positions go wherever rolling leads them. Beyond some 25 s the figures of x depend on every digit.
    """

    name = "rolling-sphere"
    t_end = 20.0

    def build(self) -> Mechanism:
        radius = Parameter("radius", 0.01, "m", "radius of the sphere", minimum=0.0)
        mass = Parameter("mass", 0.05, "kg", "mass of the sphere, solid and uniform", minimum=0.0)
        curvature = Parameter("curvature", 1.0, "1/m", "curvature of the trough at its bottom")
        charge = Parameter("charge", 5e-6, "C", "charge, at the point where the sphere touches first")
        field = Parameter("field", 1e4, "V/m", "amplitude of the field along x")
        period = Parameter("field_period", 4.0, "s", "period of the field")
        start = Parameter("start_y", 0.1, "m", "where the sphere touches first, across the trough")
        gravity = Parameter("gravity", 9.8, "m/s2", "acceleration of free fall")
        moment = 2 * mass * radius**2 / 5
        slope = f"({(curvature * start).text})"
        touching = (0.0, start, curvature * start**2 / 2)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(radius, mass, curvature, charge, field, period, start, gravity),
            bodies=(
                Body("sphere", mass=mass, inertia=(moment, moment, moment), shape=(Shape("sphere", radius=radius),)),
                Body("contact", mass=0.0),
            ),
            joints=(
                Joint(
                    "motion",
                    "free",
                    "world",
                    "sphere",
                    start=(
                        0.0,
                        f"start_y - radius * {slope} / sqrt(1 + {slope}**2)",
                        f"curvature * start_y**2 / 2 + radius / sqrt(1 + {slope}**2)",
                        *(1.0, 0.0, 0.0, 0.0),
                    ),
                ),
                Joint("touch", "translational", "world", "contact", start=touching),
            ),
            closures=(
                Closure(
                    "rolling",
                    "rolling-surface",
                    "world",
                    "sphere",
                    radius=radius,
                    surface="z - curvature * y**2 / 2",
                    coordinates=("touch.x", "touch.y", "touch.z"),
                ),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement(
                    "uniform-field",
                    body="sphere",
                    at=(0, 0, -radius),
                    charge=charge,
                    field=("field * sin(2 * pi * t / field_period)", 0, 0),
                ),
            ),
            outputs=(Output("centre", "sphere"), Output("contact", "contact")),
        )
