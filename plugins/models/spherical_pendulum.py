"""The spherical pendulum of document 002, examples 4.1 and 4.6."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any, Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model

#: Axes of document 002 in ours: its x is down.
DOWN, SIDE, ACROSS = (0.0, 0.0, -1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class SphericalPendulumOptions:
    """``joint``: what holds the bob, and with it the variables that describe it.

    ``angles``: spherical angles, phi about the vertical and theta from it, singular where the bob hangs straight down;
    ``universal``: two angles about horizontal axes, singular where it is level with the first of them; ``point``: the three
    coordinates of a point that is held on a sphere by a rod without mass; ``body``: a body with six degrees of freedom whose
    centre is held on the sphere, and which turns as it likes.
    """

    joint: Literal["angles", "universal", "point", "body"] = "universal"


class SphericalPendulum(Model):
    """A bob on a rod without mass that swings in all directions, in one of four sets of variables.

    Document 002, example 4.1: x is along gravity there, so here (x, y, z) = (down, y, x), and the measures ``x``, ``y``, ``z``
    are the document's. It starts at (3, 4, 0) / 5 with 1 m/s along z.
    """

    name = "spherical-pendulum"
    Options = SphericalPendulumOptions

    def build(self) -> Mechanism:
        length = Parameter("length", 1.0, "m", "length of the rod", minimum=0.0)
        mass = Parameter("mass", 1.0, "kg", "mass of the bob", minimum=0.0)
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        away = Parameter("angle", 0.9272952180016122, "rad", "angle of the rod from the vertical at the start", maximum=pi)
        speed = Parameter("speed", 1.0, "m/s", "horizontal speed of the bob at the start")
        moment = Parameter("bob_inertia", 0.01, "kg.m2", "moment of inertia of a bob that is a body; it never matters")
        form = getattr(self, f"_{self.options.joint}")()
        at = (0, 0, 0) if self.options.joint in ("point", "body") else (0, 0, -length)
        parameters = (length, mass, gravity, away, speed, *((moment,) if self.options.joint == "body" else ()))
        inertia = (moment,) * 3 if self.options.joint == "body" else (0.0,) * 3
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=parameters,
            bodies=(Body("bob", mass=mass, com=at, inertia=inertia),),
            forces=(ForceElement("gravity", acceleration=(0, 0, -gravity)),),
            outputs=(Output("bob", "bob", at=at),),
            measures=tuple(
                Measure(name, "position", body="bob", at=at, axis=axis, description=f"{name} of document 002")
                for name, axis in (("x", DOWN), ("y", SIDE), ("z", ACROSS))
            ),
            **form,
        )

    def _angles(self) -> dict[str, Any]:
        # Turned by phi about the vertical, the rod then swings about the body's x axis: towards y by theta.
        rate = ("-speed / (length * sin(angle))", 0)
        joint = Joint(
            "pivot", "universal", "world", "bob", axis=(0, 0, 1), axis2=(1, 0, 0), coordinates=("phi", "theta"),
            start=(0, "angle"), start_rate=rate,
        )  # fmt: skip
        return {"joints": (joint,)}

    def _universal(self) -> dict[str, Any]:
        # About x, towards y; then about the body's y axis, towards -x.
        joint = Joint(
            "pivot", "universal", "world", "bob", axis=(1, 0, 0), axis2=(0, 1, 0), coordinates=("first", "second"),
            start=("angle", 0), start_rate=(0, "-speed / length"),
        )  # fmt: skip
        return {"joints": (joint,)}

    def _point(self) -> dict[str, Any]:
        joint = Joint(
            "place", "translational", "world", "bob", start=(0, "length * sin(angle)", "-length * cos(angle)"),
            start_rate=("speed", 0, 0),
        )  # fmt: skip
        return {"joints": (joint,), "closures": (Closure("rod", "distance", "world", "bob", length="length"),)}

    def _body(self) -> dict[str, Any]:
        joint = Joint(
            "place", "free", "world", "bob", start=(0, "length * sin(angle)", "-length * cos(angle)", 1, 0, 0, 0),
            start_rate=(0.5, -0.3, 0.2, "speed", 0, 0),
        )  # fmt: skip
        return {"joints": (joint,), "closures": (Closure("rod", "distance", "world", "bob", length="length"),)}
