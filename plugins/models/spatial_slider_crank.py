"""The spatial slider-crank of document 002, example 4.5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import acos, asin, atan2, cos, sin, sqrt
from typing import Any, Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.tasks import ServoTask

CRANK, ROD, SHARE = 0.5, sqrt(2.0), sqrt(2.0) / 2
#: Where the path of document 002 starts: a tenth of the stroke.
START = -(1 - SHARE) * ROD / 10


def loop(s: float, crank: float = CRANK, rod: float = ROD) -> tuple[float, float, float]:
    """Return the crank's angle chi, between 0 and pi, and psi and phi of the rod at a place ``s`` of the slider.

    cos(chi) = 1 - (l2^2 - (l2 + s)^2) / (2 l1^2), and the rod from the pin to the slider has the direction
    (cos psi cos phi, sin psi cos phi, -sin phi): the three configuration invariants of example 4.5.
    """
    chi = acos(1 - (rod**2 - (rod + s) ** 2) / (2 * crank**2))
    phi = asin(-crank * sin(chi) / rod)
    return chi, atan2(-crank * (1 - cos(chi)), rod + s), phi


@dataclass(frozen=True)
class SpatialSliderCrankOptions:
    """``pin``: what joins crank and rod. ``friction``: that of the slider in its guide.

    ``universal``: a rod that cannot spin, so that the machine has one degree of freedom; ``ball``: the document's rod, free to
    spin about itself, which takes a ``rod_axial_inertia`` above zero.

    ``none``, as inverse dynamics wants it; ``bearing``: the document's, by the force of the guide across it, with the
    coefficient ``friction``. It is smooth below a speed of the slider, ``transition``.
    """

    pin: Literal["universal", "ball"] = "universal"
    friction: Literal["none", "bearing"] = "none"


class SpatialSliderCrank(Model):
    """A crank that turns about x moves a slider along x, by a rod whose ends are a universal and a ball joint.

    Document 002, example 4.5, without gravity. The pin is at (0, -l1 cos(chi), -l1 sin(chi)), the slider at (l2 + s, -l1, 0).
    The document's rod has ball joints at both ends and spins about itself as it likes; here its first end is a universal joint,
    which makes no difference to a rod without inertia about its axis. Its centre of mass is at a share gamma2 = 1/sqrt(2) of
    its length, from the pin.
    """

    name = "spatial-slider-crank"
    Options = SpatialSliderCrankOptions
    t_end = 2.0

    def build(self) -> Mechanism:
        l1 = Parameter("crank_length", CRANK, "m", "distance of the pin, and of the slider's line, from the crank's axis")
        l2 = Parameter("rod_length", ROD, "m", "length of the rod")
        share = Parameter("rod_share", SHARE, "1", "place of the rod's centre of mass from the pin, as a share of its length")
        i1 = Parameter("crank_inertia", 0.20, "kg.m2", "moment of inertia of the crank about its axis")
        i2 = Parameter("rod_inertia", 0.10, "kg.m2", "moment of inertia of the rod about an axis across it, through its centre")
        axial = Parameter("rod_axial_inertia", 0.0, "kg.m2", "moment of inertia of the rod about its own axis")
        m2 = Parameter("rod_mass", 0.50, "kg", "mass of the rod")
        m3 = Parameter("slider_mass", 2.0, "kg", "mass of the slider")
        friction = Parameter("friction", 0.50, "1", "coefficient of friction of the slider in its guide", minimum=0.0)
        transition = Parameter("transition", 1e-3, "m/s", "speed of the slider below which friction is viscous", minimum=0.0)
        torque = Input("torque", "N.m", description="torque on the crank")
        rubs = self.options.friction == "bearing"
        rub = ForceElement("bearing-friction", name="rub", joint="guide", mu=friction, transition=transition)
        chi, psi, phi = loop(START)
        # Rx(chi) carries the crank, whose pin is on its -y axis; the rod's own direction is x.
        first, second = rod_angles(chi, psi, phi)
        place: dict[str, Any] = {"parent": "crank", "child": "rod", "position": (0, -l1, 0)}
        if self.options.pin == "universal":
            pin = Joint("pin", "universal", axis=(0, 0, 1), axis2=(0, 1, 0), start=(first, second), **place)
        else:
            pin = Joint("pin", "spherical", start=turned(first, second), **place)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(l1, l2, share, i1, i2, axial, m2, m3, *((friction, transition) if rubs else ())),
            inputs=(torque,),
            bodies=(
                Body("crank", mass=0.0, inertia=(i1, i1, i1)),
                Body("rod", mass=m2, com=(share * l2, 0, 0), inertia=(axial, i2, i2)),
                Body("slider", mass=m3),
            ),
            joints=(
                Joint("shaft", "revolute", "world", "crank", axis=(1, 0, 0), start=chi),
                pin,
                Joint("guide", "prismatic", "world", "slider", axis=(1, 0, 0), position=(l2, -l1, 0), start=START),
            ),
            closures=(Closure("ball", "spherical", "slider", "rod", child_position=(l2, 0, 0)),),
            forces=(
                ForceElement("joint-effort", name="drive", coordinate="shaft.angle", effort=torque),
                *((rub,) if rubs else ()),
            ),
            outputs=(Output("slider", "slider"), Output("rod-centre", "rod", at=(share * l2, 0, 0))),
        )  # fmt: skip

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the path of document 002: 10 to 90 % of the stroke and back, twice in a second."""
        path = {"guide.displacement": "-(1 - rod_share) * rod_length * (1 + 8 * sin(2 * pi * t)**2) / 10"}
        return {
            "002": ServoTask(path, ("torque",), 0.5, name="002", description="document 002, example 4.5: one stroke to and fro")
        }


def rod_angles(chi: float, psi: float, phi: float) -> tuple[float, float]:
    """Return the angles of the universal joint, about z and then y of the crank, at which the rod points as psi and phi say."""
    x, y, z = cos(psi) * cos(phi), sin(psi) * cos(phi), -sin(phi)
    y, z = cos(chi) * y + sin(chi) * z, -sin(chi) * y + cos(chi) * z
    return atan2(y, x), asin(-z)


def turned(first: float, second: float) -> tuple[float, float, float, float]:
    """Return the quaternion of a turn about z and then about y."""
    c, s, d, e = cos(first / 2), sin(first / 2), cos(second / 2), sin(second / 2)
    return c * d, -s * e, c * e, s * d
