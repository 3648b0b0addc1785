"""A Delta robot: three arms, six rods with ball joints in three parallelograms, and a platform that never turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import acos, atan2, cos, hypot, pi, sin
from typing import Literal

from kingpost.base.formulas import Vector3
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import GRAVITY, rest_to_rest

#: Own data: radii of base and platform, arm and rod, half the width of a parallelogram (m).
BASE, PLATFORM, ARM, ROD, HALF = 0.2, 0.05, 0.3, 0.7, 0.06
#: Height of the platform at the start (m).
START = -0.6


@dataclass(frozen=True)
class DeltaOptions:
    """``rods``: ``massless`` ones that only hold a distance, or ``bodies`` on universal and ball joints.

    ``platform``: ``free``, so that the six rods alone keep it level, and every load is unique; ``level``, where its joint keeps
    it level as well: three of the rows then follow from the others, and how the loads are shared is left open.
    """

    rods: Literal["massless", "bodies"] = "massless"
    platform: Literal["free", "level"] = "free"


def arm_angle(x: float, y: float, z: float, number: int) -> float:
    """Return the angle of arm 1, 2 or 3 below the horizontal for a platform at (x, y, z), its elbow outwards.

    In the plane of the arm, with (u, v, z) from its axle to the axle on the platform,
    u^2 + v^2 + z^2 + arm^2 - rod^2 = 2 arm (u cos - z sin).
    """
    turn = 2 * pi * (number - 1) / 3
    u, v = cos(turn) * x + sin(turn) * y + PLATFORM - BASE, -sin(turn) * x + cos(turn) * y
    along = (u * u + v * v + z * z + ARM**2 - ROD**2) / (2 * ARM)
    return atan2(-z, u) - acos(along / hypot(u, z))


class Delta(Model):
    """Three driven arms carry a level platform by six rods, two side by side at each arm; own data, none published.

    Named in document 002 (figure 1.4) without data. Arms are uniform; an angle of zero is level, and grows downwards.
    """

    name = "delta"
    Options = DeltaOptions
    t_end = 1.0

    def build(self) -> Mechanism:
        base = Parameter("base_radius", BASE, "m", "distance of the arms' axles from the middle")
        platform = Parameter("platform_radius", PLATFORM, "m", "distance of the rods' ends on the platform from its middle")
        arm = Parameter("arm_length", ARM, "m", "length of the arms", minimum=0.0)
        rod = Parameter("rod_length", ROD, "m", "length of the rods", minimum=0.0)
        half = Parameter("half_width", HALF, "m", "half the distance of the two rods of an arm")
        arm_mass = Parameter("arm_mass", 1.0, "kg", "mass of an arm, uniform")
        rod_mass = Parameter("rod_mass", 0.1, "kg", "mass of a rod, uniform and slender")
        mass = Parameter("platform_mass", 2.0, "kg", "mass of the platform and its load")
        moment = Parameter("platform_inertia", 0.01, "kg.m2", "moments of inertia of the platform; it never turns")
        heavy = self.options.rods == "bodies"
        free = self.options.platform == "free"
        parts = [self._leg(number, base, platform, arm, rod, half, arm_mass, rod_mass) for number in (1, 2, 3)]
        start = (0.0, 0.0, START, 1.0, 0.0, 0.0, 0.0) if free else (0.0, 0.0, START)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(base, platform, arm, rod, half, arm_mass, *((rod_mass,) if heavy else ()), mass, moment, GRAVITY),
            inputs=tuple(Input(f"torque{number}", "N.m", description=f"torque on arm {number}") for number in (1, 2, 3)),
            bodies=(
                *(body for bodies, _, _ in parts for body in bodies),
                Body("platform", mass=mass, inertia=(moment, moment, moment)),
            ),
            joints=(
                *(joint for _, joints, _ in parts for joint in joints),
                Joint("place", "free" if free else "translational", "world", "platform", start=start),
            ),
            closures=tuple(closure for _, _, closures in parts for closure in closures),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                *(
                    ForceElement("joint-effort", name=f"drive{n}", coordinate=f"axle{n}.angle", effort=f"torque{n}")
                    for n in (1, 2, 3)
                ),
            ),
            outputs=(Output("platform", "platform"),),
        )

    def _leg(
        self,
        number: int,
        base: Parameter,
        platform: Parameter,
        arm: Parameter,
        rod: Parameter,
        half: Parameter,
        arm_mass: Parameter,
        rod_mass: Parameter,
    ) -> tuple[list[Body], list[Joint], list[Closure]]:
        turn = 2 * pi * (number - 1) / 3
        c, s, angle = cos(turn), sin(turn), arm_angle(0.0, 0.0, START, number)
        moment = arm_mass * arm**2 / 12
        bodies = [Body(f"arm{number}", mass=arm_mass, com=(arm / 2, 0, 0), inertia=(moment / 100, moment, moment))]
        joints = [
            Joint(
                f"axle{number}", "revolute", "world", f"arm{number}", axis=(0, 1, 0), position=(c * base, s * base, 0),
                rotation=(0, 0, turn), start=angle,
            )
        ]  # fmt: skip
        closures = []
        for side, sign in (("left", 1.0), ("right", -1.0)):
            name, beside = f"rod{number}-{side}", sign * half
            elbow: Vector3 = (arm, beside, 0)
            on_platform = (c * platform - s * beside, s * platform + c * beside, 0)
            if self.options.rods == "massless":
                tie = Closure(
                    name, "distance", f"arm{number}", "platform", length=rod, position=elbow, child_position=on_platform
                )
                closures.append(tie)
                continue
            across = rod_mass * rod**2 / 12
            bodies.append(Body(name, mass=rod_mass, com=(rod / 2, 0, 0), inertia=(0.0, across, across)))
            # Seen from the arm, which is turned by its angle about y: the rod from elbow to platform.
            x, z = PLATFORM - BASE - ARM * cos(angle), START + ARM * sin(angle)
            down = atan2(-z, x) - angle
            joints.append(
                Joint(
                    f"elbow{number}-{side}", "universal", f"arm{number}", name, axis=(0, 1, 0), axis2=(0, 0, 1),
                    start=(down, 0.0), position=elbow,
                )
            )  # fmt: skip
            closures.append(
                Closure(f"ball{number}-{side}", "spherical", name, "platform", position=(rod, 0, 0), child_position=on_platform)
            )
        return bodies, joints, closures

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return a move of our own: 0.2 m aside, and up by 0.1 m, in half a second."""
        path = rest_to_rest({"platform.x": (0.0, 0.2), "platform.y": (0.0, -0.1), "platform.z": (START, START + 0.1)}, 0.5)
        torques = ("torque1", "torque2", "torque3")
        return {"move": ServoTask(path, torques, 0.5, name="move", description="own: 0.2 m aside and 0.1 m up in 0.5 s")}
