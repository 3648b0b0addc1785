"""The knife-edge disc of document 002, figure 2.2 and section 5.2.3; own data, since it has none."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any, Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape


@dataclass(frozen=True)
class KnifeEdgeDiscOptions:
    """``contact``: how its point of contact is known.

    ``edge``: as the lowest point of the disc (closure ``rolling-disc``); ``surface``: by coordinates of its own, on the plane
    z = slope x (closure ``rolling-surface``).
    """

    contact: Literal["edge", "surface"] = "edge"


class KnifeEdgeDisc(Model):
    """A thin disc rolls on its edge on a level plane, in a steady circle if nothing disturbs it.

    Named without data in document 002 (figure 2.2; the wheels of section 5.2.3), so the data are our own: a coin of 0.5 m. Yaw,
    lean and spin are the angles psi, phi and theta of eq. (5.7). At the start the disc leans by ``lean`` and turns with
    ``turn_rate`` about the vertical, and its spin is the one with which it goes on like that, plus ``extra_spin``.
    """

    name = "knife-edge-disc"
    Options = KnifeEdgeDiscOptions
    t_end = 5.0

    def build(self) -> Mechanism:
        r = Parameter("radius", 0.5, "m", "radius of the disc", minimum=0.0)
        mass = Parameter("mass", 2.0, "kg", "mass of the disc", minimum=0.0)
        share = Parameter("share", 0.5, "1", "moment of inertia about the axle over mass radius^2: 1/2 of a disc, 1 of a ring")
        # Of what is thin, half as much about a diameter.
        about = share * mass * r**2
        across = about / 2
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        lean = Parameter("lean", 0.35, "rad", "lean at the start, to the right")
        turn = Parameter("turn_rate", -1.5, "rad/s", "rate about the vertical at the start; negative to the right")
        extra = Parameter("extra_spin", 0.0, "rad/s", "rate about the axle beyond that of the steady circle")
        surface = self.options.contact == "surface"
        slope = Parameter("slope", 0.0, "1", "by how much the plane rises along x")
        # Newton and Euler in a steady circle, for the rate w = spin + W sin(lean) of the disc about its axle:
        # (C + m r^2) w W cos(lean) = sin(lean) (A W^2 cos(lean) - m g r).
        steady = "tan(lean) * (share * radius * turn_rate**2 * cos(lean) / 2 - gravity) / (turn_rate * radius * (share + 1))"
        spin, forward = f"{steady} - turn_rate * sin(lean) + extra_spin", f"radius * ({steady} + extra_spin)"
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(r, mass, share, gravity, lean, turn, extra, *((slope,) if surface else ())),
            bodies=(
                Body("carriage", mass=0.0),
                Body(
                    "disc", mass=mass, inertia=(across, about, across),
                    shape=(Shape("cylinder", radius=r, length=0.02, rotation=(pi / 2, 0, 0)),),
                ),
                *((Body("contact", mass=0.0),) if surface else ()),
            ),
            joints=(
                Joint(
                    "place", "translational", "world", "carriage", start=(0, "-radius * sin(lean)", "radius * cos(lean)"),
                    start_rate=(forward, 0, 0),
                ),
                Joint(
                    "attitude", "gimbal", "carriage", "disc", sequence="zxy", coordinates=("yaw", "lean", "spin"),
                    start=(0, "lean", 0), start_rate=("turn_rate", 0, spin),
                ),
                *((Joint("touch", "translational", "world", "contact"),) if surface else ()),
            ),
            closures=(self._closure(r),),
            forces=(ForceElement("gravity", acceleration=(0, 0, -gravity)),),
            outputs=(Output("centre", "disc"),),
        )  # fmt: skip

    def _closure(self, r: Parameter) -> Closure:
        options: dict[str, Any] = {"parent": "world", "child": "disc", "axis": (0, 1, 0), "radius": r}
        if self.options.contact == "edge":
            return Closure("edge", "rolling-disc", **options)
        return Closure(
            "edge", "rolling-surface", surface="z - slope * x", coordinates=("touch.x", "touch.y", "touch.z"), **options
        )
