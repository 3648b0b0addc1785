"""The US Navy cranes of document 000, chapter 6: a load under a pulley that hangs in two or three ropes of a pole.

The hoisting rope runs from a winch at P over the pulley B to the load C; a guide rope from a winch at A holds the pulley; a
pulley with mass is carried by a suspension rope from a winch at S. The document has as many coordinates as there are lengths
and places. Here each winch is a drum with an angle, by which its rope grows from its length at the start; and the part of the
hoisting rope before the pulley has a coordinate without inertia, `share.growth`, the document's L0 less that at the start.

A pulley without mass has motions that nothing resists: in the plane where the guide rope is slack, as at the start of the
document's manoeuvre, and in space always, across the plane of the ropes. Inverse dynamics does not mind; forward simulation
refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from kingpost.base.formulas import Expression, Scalar, Vector3
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import GRAVITY, rest_to_rest, three_phase

Place: TypeAlias = tuple[Scalar, Scalar, Scalar]
LOAD, DRUM, RADIUS = 100.0, 0.1, 0.1
#: Normal and first direction of the plane of the planar crane, so that its coordinates are x and z.
PLANE: dict[str, Any] = {"axis": (0, -1, 0), "axis2": (1, 0, 0), "coordinates": ("x", "z")}


@dataclass(frozen=True)
class NavyCraneOptions:
    """``pulley``: with ``mass``, held by three ropes, or ``massless``, held by two."""

    pulley: Literal["mass", "massless"] = "mass"


def _distance(one: Place, other: Place) -> Scalar:
    """Return the distance of two points, as a formula where one of them is."""
    numbers = [(a, b) for a, b in zip(one, other, strict=True) if isinstance(a, float) and isinstance(b, float)]
    if len(numbers) == len(one):
        return math.dist(*zip(*numbers, strict=True))
    squares = [f"({_text(a)} - ({_text(b)}))**2" for a, b in zip(one, other, strict=True)]
    return Expression(f"sqrt({' + '.join(squares)})")


def _text(value: Any) -> str:
    return value.text if isinstance(value, Expression) else repr(float(value))


class _Rigging:
    """Winches and ropes, which both cranes have, as they are added one by one."""

    def __init__(self, pole: str) -> None:
        self.pole = pole
        self.radius = Parameter("winch_radius", RADIUS, "m", "radius of each winch")
        self.inertia = Parameter("winch_inertia", DRUM, "kg.m2", "moment of inertia of each winch")
        self.inputs: list[Input] = []
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.closures: list[Closure] = []
        self.forces: list[ForceElement] = []

    def winch(self, name: str, holding: float, what: str) -> None:
        """Add a drum with a drive. Its bearings are on the ground: of the moments of inertia only that of the axle counts."""
        torque = Input(f"{name}_torque", "N.m", holding, f"torque of the winch of the {what}; positive pays out")
        self.inputs.append(torque)
        disc = (self.inertia / 2, self.inertia, self.inertia / 2)
        self.bodies.append(Body(f"{name}-drum", mass=0.0, inertia=disc))
        self.joints.append(Joint(name, "revolute", "world", f"{name}-drum", axis=(0, 1, 0)))
        self.forces.append(ForceElement("joint-effort", name=f"{name}-drive", coordinate=f"{name}.angle", effort=torque))

    def rope(self, name: str, at: Place, pulley: Place) -> None:
        """Add the rope of a winch from a point of the pole to the pulley."""
        tie: dict[str, Any] = {"coordinates": (f"{name}.angle",), "radius": self.radius, "length": _distance(at, pulley)}
        self.closures.append(Closure(f"{name}-rope", "rope", self.pole, "pulley", position=at, **tie))

    def hoist(self, at: Place, pulley: Place, load: Place) -> None:
        """Add the rope over the pulley."""
        self.bodies.append(Body("rope-share", mass=0.0))
        self.joints.append(Joint("share", "prismatic", "world", "rope-share", axis=(0, 0, 1), coordinates=("growth",)))
        before: dict[str, Any] = {"coordinates": ("share.growth",), "radius": 1.0, "length": _distance(at, pulley)}
        beyond: dict[str, Any] = {"coordinates": ("hoist.angle", "share.growth"), "radius": self.radius}
        self.closures += [
            Closure("upper-rope", "rope", self.pole, "pulley", position=at, **before),
            Closure("lower-rope", "sheave", "pulley", "load", length=_distance(pulley, load), **beyond),
        ]


def _pole_shape(angle: Parameter, length: Expression, sign: int) -> Shape:
    """Return a pole from the origin along its direction, or against it."""
    half = sign * length / 2
    at: Vector3 = (half * Expression("sin(pole_angle)"), 0.0, half * Expression("cos(pole_angle)"))
    return Shape("cylinder", radius=0.15, length=length, at=at, rotation=(0.0, angle, 0.0))


def _hanging(load: Parameter, pulley: Any) -> list[Body]:
    """Return the bodies of pulley and load."""
    turn = (math.pi / 2, 0.0, 0.0)
    return [
        Body("pulley", mass=pulley, shape=(Shape("cylinder", radius=0.35, length=0.2, rotation=turn),)),
        Body("load", mass=load, shape=(Shape("box", size=(0.8, 0.8, 0.8), at=(0, 0, -0.4)),)),
    ]


class USNavyCrane2D(Model):
    """A load under a pulley that hangs in the ropes of a leaning pole, in the plane of x and z.

    Document 000, section 6.1; ``pulley=massless`` is that of section 6.1.1, with one rope less.
    """

    name = "us-navy-crane-2d"
    Options = NavyCraneOptions
    t_end = 3.0

    def build(self) -> Mechanism:
        heavy = self.options.pulley == "mass"
        load = Parameter("load_mass", LOAD, "kg", "mass of the load, a point")
        angle = Parameter("pole_angle", math.pi / 3, "rad", "of the pole against the vertical")
        guide = Parameter("guide_distance", 10.0, "m", "along the pole from the hoisting winch P to the guide winch A")
        above = Parameter("suspension_distance", 5.0, "m", "along the pole from the suspension winch S to the hoisting winch P")
        mass = Parameter("pulley_mass", 150.0, "kg", "mass of the pulley", minimum=0.0)
        rigging = _Rigging("pole")

        def down(distance: Any) -> Place:
            """Return a point of the pole, that far below its top, which is the origin."""
            return -distance * Expression("sin(pole_angle)"), 0.0, -distance * Expression("cos(pole_angle)")

        side = -2.5 * math.sqrt(3.0)
        pulley, hook = ((side, -12.5), (side, -22.5)) if heavy else ((0.0, -5.0), (0.0, -15.0))
        B, C = ((x, 0.0, z) for x, z in (pulley, hook))
        P: Place = down(above + 0.0) if heavy else (0.0, 0.0, 0.0)
        A = down(above + guide) if heavy else down(guide + 0.0)
        rigging.winch("guide", -49.05 if heavy else 0.0, "guide rope")
        rigging.winch("hoist", -LOAD * GRAVITY.default * RADIUS, "hoisting rope")
        rigging.rope("guide", A, B)
        rigging.hoist(P, B, C)
        if heavy:
            rigging.winch("suspension", -GRAVITY.default * math.sqrt(175.0), "suspension rope")
            rigging.rope("suspension", (0.0, 0.0, 0.0), B)
        length = (above if heavy else 0.0) + guide + 5.0
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(load, *((mass, above) if heavy else ()), angle, guide, rigging.radius, rigging.inertia, GRAVITY),
            inputs=tuple(rigging.inputs),
            bodies=(
                Body("pole", mass=0.0, shape=(_pole_shape(angle, length, -1),)),
                *rigging.bodies,
                *_hanging(load, mass if heavy else 0.0),
            ),
            joints=(
                Joint("base", "weld", "world", "pole"),
                *rigging.joints,
                Joint("block", "planar-translational", "world", "pulley", start=pulley, **PLANE),
                Joint("hook", "planar-translational", "world", "load", start=hook, **PLANE),
            ),
            closures=tuple(rigging.closures),
            forces=(ForceElement("gravity", acceleration=(0, 0, -GRAVITY)), *rigging.forces),
            outputs=(Output("load", "load"), Output("pulley-centre", "pulley")),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvre of document 000, section 6.1.1 or 6.1.2: from rest to rest in 3 s."""
        if self.options.pulley == "massless":
            path = rest_to_rest({"load.x": (0.0, -5.0), "load.z": (-15.0, -12.0)}, 3.0)
            inputs: tuple[str, ...] = ("guide_torque", "hoist_torque")
            return {"000-6.1.1": ServoTask(path, inputs, 3.0, name="000-6.1.1", description="document 000, section 6.1.1")}
        start = -2.5 * math.sqrt(3.0)
        path = rest_to_rest({"load.x": (start, -1.0), "load.z": (-22.5, -17.5), "pulley-centre.z": (-12.5, -10.5)}, 3.0)
        inputs = ("guide_torque", "hoist_torque", "suspension_torque")
        return {"000-6.1.2": ServoTask(path, inputs, 3.0, name="000-6.1.2", description="document 000, section 6.1.2")}


class USNavyCrane3D(Model):
    """A load under a pulley that hangs in the ropes of a pole on a platform that slews.

    Document 000, section 6.2. The document describes the platform by two coordinates of the winch P and a circle that they stay
    on; here its slewing angle does. ``pulley=massless`` is that of section 6.2.1, with one rope less. To follow a path with a
    pulley that has mass takes derivatives up to the sixth: index 7, where the document says 5.
    """

    name = "us-navy-crane-3d"
    Options = NavyCraneOptions
    t_end = 20.0
    step = 0.002

    def build(self) -> Mechanism:
        heavy = self.options.pulley == "mass"
        load = Parameter("load_mass", LOAD, "kg", "mass of the load, a point")
        # M = 6.4 kg at the distance of 5 sqrt(3) m.
        platform = Parameter("platform_inertia", 480.0, "kg.m2", "of platform and pole about the slewing axis", minimum=0.0)
        angle = Parameter("pole_angle", math.pi / 3, "rad", "of the pole against the slewing axis")
        foot = Parameter("guide_distance", 5.0, "m", "along the pole from its foot to the guide winch A")
        further = Parameter("hoist_distance", 5.0, "m", "along the pole from the guide winch to the hoisting winch P")
        above = Parameter("suspension_distance", 5.0, "m", "along the pole from the hoisting winch to the suspension winch S")
        mass = Parameter("pulley_mass", 5.0, "kg", "mass of the pulley", minimum=0.0)
        rigging = _Rigging("platform")

        def up(distance: Any) -> Place:
            """Return a point of the pole that far from its foot."""
            return distance * Expression("sin(pole_angle)"), 0.0, distance * Expression("cos(pole_angle)")

        out = 5.0 * math.sqrt(3.0)
        B, C = (out, 0.0, 2.5), (out, 0.0, -15.0)
        slew = Input("slew_torque", "N.m", description="torque on the platform")
        rigging.inputs.append(slew)
        g = GRAVITY.default
        rigging.winch("guide", -2.5 * math.sqrt(3.0) * RADIUS * g if heavy else 0.0, "guide rope")
        rigging.winch("hoist", -LOAD * g * RADIUS, "hoisting rope")
        rigging.rope("guide", up(foot + 0.0), B)
        rigging.hoist(up(foot + further), B, C)
        length = foot + further
        if heavy:
            rigging.winch("suspension", -math.sqrt(43.75) * RADIUS * g, "suspension rope")
            rigging.rope("suspension", up(foot + further + above), B)
            length = length + above
        shapes = (_pole_shape(angle, length, 1), Shape("cylinder", radius=1.2, length=0.4, at=(0, 0, -0.2)))
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(
                *(load, platform, *((mass, above) if heavy else ())),
                *(angle, foot, further, rigging.radius, rigging.inertia, GRAVITY),
            ),
            inputs=tuple(rigging.inputs),
            bodies=(
                # Across its axis as much as about it: nothing feels it, but no body has less than half of that there.
                Body("platform", mass=0.0, inertia=(platform, platform, platform), shape=shapes),
                *rigging.bodies,
                *_hanging(load, mass if heavy else 0.0),
            ),
            joints=(
                Joint("slew", "revolute", "world", "platform", axis=(0, 0, 1)),
                *rigging.joints,
                Joint("block", "translational", "world", "pulley", start=B),
                Joint("hook", "translational", "world", "load", start=C),
            ),
            closures=tuple(rigging.closures),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                ForceElement("joint-effort", name="slew-drive", coordinate="slew.angle", effort=slew),
                *rigging.forces,
            ),
            outputs=(Output("load", "load"), Output("pulley-centre", "pulley")),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvre of document 000, section 6.2.1 or 6.2.2: a straight line in 20 s."""
        ends = {"load.x": (5 * math.sqrt(3.0), -2.0), "load.y": (0.0, 4 * math.sqrt(3.0)), "load.z": (-15.0, -13.0)}
        inputs: tuple[str, ...] = ("slew_torque", "guide_torque", "hoist_torque")
        if self.options.pulley == "massless":
            text = "document 000, section 6.2.1"
            return {"000-6.2.1": ServoTask(three_phase(ends), inputs, 20.0, name="000-6.2.1", description=text)}
        ends |= {"pulley-centre.z": (2.5, 1.5)}
        inputs = (*inputs, "suspension_torque")
        smooth = "the same with six continuous derivatives, which bounded inputs need"
        return {
            "000-6.2.2": ServoTask(
                three_phase(ends), inputs, 20.0, name="000-6.2.2", description="document 000, section 6.2.2, as it is printed"
            ),
            "000-6.2.2-smooth": ServoTask(
                three_phase(ends, profile="smooth:6"), inputs, 20.0, name="000-6.2.2-smooth", description=smooth
            ),
        }
