"""Two rods between a ball joint and a slider, in space: Ex. 2.2 to 2.4 of document 002."""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, atan2, sqrt
from typing import Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.modular.machine import as_mechanism
from kingpost.modular.subsystem import Subsystem

ANGLE = "x2**2 + y2**2 + z2**2 - l1**2 - l2**2 - 2 * l1 * l2 * cos(theta)"
DATA = {"l1": 1.0, "l2": 2.0, "line": 0.0, "m1": 1.0, "m2": 2.0, "ms": 0.5, "g": 9.81}
UNITS = {"l1": "m", "l2": "m", "line": "m", "m1": "kg", "m2": "kg", "ms": "kg", "g": "m/s2", "push": "N"}
POINTS = tuple(f"{axis}{end}" for end in "12" for axis in "xyz")
#: Where it starts: the height of the joint between the rods, and the slider.
HEIGHT, SLIDER = 0.3, 2.0


def in_points(
    with_angle: bool = True,
    *,
    start: dict[str, float] | None = None,
    independent: tuple[str, ...] | None = ("z1", "x2"),
    **data: float,
) -> Subsystem:
    """Return both rods by the places of their ends, with or without the angle theta between them.

    The slider is on y = line, z = 0. A thin uniform rod between points with the velocities v and w has the kinetic energy
    m (v.v + v.w + w.w) / 6; the document has no masses.
    """
    values = {**DATA, **data}
    forces = {
        **{f"{axis}1": f"-(m1 + m2) / 3 * {axis}1_ddot - m2 / 6 * {axis}2_ddot" for axis in "xyz"},
        **{f"{axis}2": f"-m2 / 3 * {axis}2_ddot - m2 / 6 * {axis}1_ddot" for axis in "xyz"},
    }
    forces["z1"] += " - (m1 + m2) / 2 * g"
    forces["z2"] += " - (m2 / 2 + ms) * g - ms * z2_ddot"
    forces["x2"] += " - ms * x2_ddot"
    forces["y2"] += " - ms * y2_ddot"
    return Subsystem(
        "P",
        variables={0: (*POINTS, *(("theta",) if with_angle else ()))},
        invariants={
            "rod1": "x1**2 + y1**2 + z1**2 - l1**2",
            "rod2": "(x1 - x2)**2 + (y1 - y2)**2 + (z1 - z2)**2 - l2**2",
            "line_y": "y2 - line",
            "line_z": "z2",
            **({"angle": ANGLE} if with_angle else {}),
        },
        forces=forces,
        inputs={"push": "x2"},
        parameters=values,
        start={"z1": HEIGHT, "x2": SLIDER} if start is None else start,
        guess={"x1": 0.3, "y1": 0.8, **({"theta": 1.0} if with_angle else {})} if start is None else {},
        units={
            **UNITS,
            **dict.fromkeys(POINTS, "m"),
            **{f"{label}_dot": "m/s" for label in POINTS},
            **({"theta": "rad", "theta_dot": "rad/s"} if with_angle else {}),
        },
        independent=independent,
    )


@dataclass(frozen=True)
class TwoRodSliderOptions:
    """``form``: bodies and joints, or the points (and the angle) of the document, assembled as a subsystem."""

    form: Literal["bodies", "points", "points-and-angle"] = "bodies"


class TwoRodSlider(Model):
    """Two thin rods in space, with ball joints between each other and to the ground, push a slider along x; own masses."""

    name = "two-rod-slider"
    Options = TwoRodSliderOptions

    def build(self) -> Mechanism:
        text = (self.__doc__ or "").strip()
        if self.options.form != "bodies":
            return as_mechanism(in_points(self.options.form == "points-and-angle"), name=self.name, description=text)
        l1, l2, m1, m2, ms, gravity = (
            Parameter(name, DATA[key], UNITS[key], what)
            for name, key, what in (
                ("length1", "l1", "length of the first rod"),
                ("length2", "l2", "length of the second rod"),
                ("mass1", "m1", "mass of the first rod"),
                ("mass2", "m2", "mass of the second rod"),
                ("slider_mass", "ms", "mass of the slider"),
                ("gravity", "g", "acceleration of free fall"),
            )
        )
        push = Input("push", "N", description="force on the slider along x")
        x = (DATA["l1"] ** 2 - DATA["l2"] ** 2 + SLIDER**2) / (2 * SLIDER)
        y = sqrt(DATA["l1"] ** 2 - x**2 - HEIGHT**2)
        # A universal joint about z, then y, lets a rod along x point anywhere without turning about itself.
        up, across = (0, 0, 1), (0, 1, 0)
        return Mechanism(
            name=self.name,
            description=text,
            parameters=(l1, l2, m1, m2, ms, gravity),
            inputs=(push,),
            bodies=(_thin("rod1", m1, l1), _thin("rod2", m2, l2), Body("slider", mass=ms)),
            joints=(
                Joint(
                    "ball", "universal", "world", "rod1", axis=up, axis2=across,
                    start=(atan2(y, x), -asin(HEIGHT / DATA["l1"])),
                ),
                Joint("guide", "prismatic", "world", "slider", axis=(1, 0, 0), start=SLIDER),
                Joint(
                    "pin", "universal", "slider", "rod2", axis=up, axis2=across,
                    start=(atan2(y, x - SLIDER), -asin(HEIGHT / DATA["l2"])),
                ),
            ),
            closures=(
                Closure("elbow", "spherical", "rod1", "rod2", position=(l1, 0, 0), child_position=(l2, 0, 0)),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="pushing", coordinate="guide.displacement", effort=push),
            ),
            outputs=(Output("elbow-place", "rod1", at=(l1, 0, 0)),),
        )  # fmt: skip


def _thin(name: str, mass: Parameter, length: Parameter) -> Body:
    moment = mass * length**2 / 12
    return Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0, moment, moment))
