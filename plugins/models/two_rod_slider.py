"""The spatial two-rod slider of document 002, examples 2.2 to 2.4; own masses, since it has none."""

from __future__ import annotations

from math import acos, atan2, cos, pi, sin, sqrt

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape

FIRST, SECOND = 1.0, 2.0
#: Where the slider starts along its line, and the height of the point between the rods.
PLACE, HEIGHT = 2.2, 0.3


def elbow(x2: float, z1: float, line: float = 0.0, first: float = FIRST, second: float = SECOND) -> tuple[float, float, float]:
    """Return the point between the rods with the height ``z1`` for a slider at (x2, line, 0), on the side of positive y.

    It is on both spheres: about the origin, and about the slider. Their circle lies in a plane across the line of the centres.
    """
    reach = sqrt(x2**2 + line**2)
    along = (reach**2 + first**2 - second**2) / (2 * reach)
    beside = sqrt(first**2 - along**2 - z1**2)
    ux, uy = x2 / reach, line / reach
    return along * ux - beside * uy, along * uy + beside * ux, z1


def towards(x: float, y: float, z: float) -> tuple[float, float]:
    """Return the angles about x and then y that turn the x axis into a direction: singular along it alone."""
    return atan2(y, -z), acos(x / sqrt(x * x + y * y + z * z))


class TwoRodSlider(Model):
    """Two slender rods in a row, on ball joints, lead a slider along a line parallel to the x axis.

    Document 002, examples 2.2 (the line is the x axis) and 2.3 (``line`` = 1 m). Its ball joints at the first rod are universal
    joints here: slender rods have no inertia about themselves, so that it makes no difference. Their angles are singular where
    the first rod is along x, or both are in line. Two degrees of freedom are left. Masses are our own.
    """

    name = "two-rod-slider"

    def build(self) -> Mechanism:
        l1 = Parameter("length1", FIRST, "m", "length of the first rod", minimum=0.0)
        l2 = Parameter("length2", SECOND, "m", "length of the second rod", minimum=0.0)
        line = Parameter("line", 0.0, "m", "distance of the slider's line from the x axis")
        m1 = Parameter("mass1", 1.0, "kg", "mass of the first rod, uniform")
        m2 = Parameter("mass2", 2.0, "kg", "mass of the second rod, uniform")
        m3 = Parameter("slider_mass", 3.0, "kg", "mass of the slider, a point")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        force = Input("force", "N", description="force on the slider along its line")
        x1, y1, z1 = elbow(PLACE, HEIGHT)
        first = towards(x1, y1, z1)
        # The second rod as the first one sees it, turned by its angles about x and y.
        x, y, z = PLACE - x1, -y1, -z1
        c, s = cos(first[0]), sin(first[0])
        y, z = c * y + s * z, -s * y + c * z
        d, e = cos(first[1]), sin(first[1])
        second = towards(d * x - e * z, y, e * x + d * z)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(l1, l2, line, m1, m2, m3, gravity),
            inputs=(force,),
            bodies=(_slender("rod1", m1, l1), _slender("rod2", m2, l2), Body("slider", mass=m3)),
            joints=(
                Joint("ball0", "universal", "world", "rod1", axis=(1, 0, 0), axis2=(0, 1, 0), start=first),
                Joint("ball1", "universal", "rod1", "rod2", axis=(1, 0, 0), axis2=(0, 1, 0), position=(l1, 0, 0), start=second),
                Joint("guide", "prismatic", "world", "slider", axis=(1, 0, 0), position=(0, line, 0), start=PLACE),
            ),
            closures=(Closure("ball2", "spherical", "slider", "rod2", child_position=(l2, 0, 0)),),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="push", coordinate="guide.displacement", effort=force),
            ),
            outputs=(Output("elbow", "rod2"), Output("slider", "slider")),
        )


def _slender(name: str, mass: Parameter, length: Parameter) -> Body:
    moment = mass * length**2 / 12
    shape = Shape("cylinder", radius=0.02, length=length, at=(length / 2, 0, 0), rotation=(0, pi / 2, 0))
    return Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0.0, moment, moment), shape=(shape,))
