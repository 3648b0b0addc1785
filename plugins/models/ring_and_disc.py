"""A disc that rolls in a ring that rolls down a slope: document 002, examples 4.2, 4.7 and 5.1."""

from __future__ import annotations

from math import asin, pi

from kingpost.base.formulas import Expression
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Joint, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model

#: Normal of the plane of x, down the slope, and z, away from it: the document's positive turns are about it.
AXIS = (0.0, -1.0, 0.0)
X = (1.0, 0.0, 0.0)


class RingAndDisc(Model):
    """A disc rolls in a ring, and the ring rolls down a slope; the disc swings about where both speed up alike.

    x is down the slope and z away from it. The measure ``theta`` is the angle of the line from the ring's centre to the disc's,
    from the direction of gravity, positive up the slope. At the start everything is at rest, by default 30 degrees from the
    steady angle asin(3/5) that belongs to the slope asin(4/5) and the mass ratio 8/67.
    """

    name = "ring-and-disc"
    t_end = 5.0

    def build(self) -> Mechanism:
        slope = Parameter("slope", asin(0.8), "rad", "angle of the slope")
        ratio = Parameter("mass_ratio", 8 / 67, "1", "mass of the disc, for that of the ring", minimum=0.0)
        mass = Parameter("ring_mass", 0.67, "kg", "mass of the ring, all of it at its radius")
        r1 = Parameter("ring_radius", 1.0, "m", "radius of the ring")
        r2 = Parameter("disc_radius", 0.3, "m", "radius of the disc, which is uniform")
        gravity = Parameter("gravity", 9.8, "m/s2", "acceleration of free fall")
        start = Parameter("start_angle", asin(0.6) + pi / 6, "rad", "angle theta at the start")
        m2, m3 = mass * ratio, mass * r1**2
        m4 = mass * ratio * r2**2
        down, up = Expression("sin(slope)"), Expression("cos(slope)")
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(slope, ratio, mass, r1, r2, gravity, start),
            bodies=(
                # The centre of the ring, which does not turn: theta is seen from here.
                Body("centre", mass=0.0),
                Body("ring", mass=mass, inertia=(m3 / 2, m3, m3 / 2)),
                Body("disc", mass=m2, inertia=(m4 / 4, m4 / 2, m4 / 4)),
            ),
            joints=(
                Joint(
                    "centre", "planar-translational", "world", "centre", axis=AXIS, axis2=X, coordinates=("x", "z"),
                    start=(0.0, r1),
                ),
                Joint("ring", "revolute", "centre", "ring", axis=AXIS),
                Joint(
                    "disc", "planar", "world", "disc", axis=AXIS, axis2=X, coordinates=("x", "z", "angle"),
                    start=(
                        Expression("(ring_radius - disc_radius) * sin(slope - start_angle)"),
                        Expression("ring_radius - (ring_radius - disc_radius) * cos(slope - start_angle)"),
                        0.0,
                    ),
                ),
            ),
            closures=(
                Closure("ground", "rolling", "world", "ring", radius=r1),
                Closure("contact", "rolling-wheels", "ring", "disc", axis=AXIS, radius=-r1, child_radius=r2),
            ),
            forces=(ForceElement("gravity", acceleration=(gravity * down, 0, -gravity * up)),),
            measures=(
                Measure(
                    "theta", "azimuth", body="disc", of="centre", axis="y", zero=(down, 0, -up),
                    description="angle of the line from the ring's centre to the disc's, from the direction of gravity",
                ),
            ),
        )  # fmt: skip
