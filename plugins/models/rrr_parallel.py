"""The plane parallel manipulator 3RRR: document 002, section 5.3.2."""

from __future__ import annotations

from collections.abc import Mapping
from math import atan2, cos, pi, sin, sqrt

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.whitworth import AXIS, flat

#: Directions of the three bases, and of the corners of the platform, from the middle.
DIRECTIONS = (0.0, 2 * pi / 3, -2 * pi / 3)
#: Distances of bases and corners from the middle, and the length of every bar (m).
BASE, CORNER, BAR = 3.0, 1.0, 2.0
#: Where the elbows are at the start (m).
ELBOWS = ((2.0, sqrt(3.0)), (-2.5, sqrt(3.0) / 2), (0.5, -1.5 * sqrt(3.0)))


class RRRParallel(Model):
    """A platform in a horizontal plane on three legs of two bars each, driven by torques on the bars at the base."""

    name = "rrr-parallel"
    t_end = 16.0

    def build(self) -> Mechanism:
        base = Parameter("base_radius", BASE, "m", "distance of the three bases from the middle")
        corner = Parameter("platform_radius", CORNER, "m", "distance of the platform's corners from its centre")
        upper = Parameter("proximal_length", BAR, "m", "length of the bars at the base")
        fore = Parameter("distal_length", BAR, "m", "length of the bars at the platform")
        m1 = Parameter("platform_mass", 1.0, "kg", "mass of the platform")
        J1 = Parameter("platform_inertia", 0.25, "kg.m2", "moment of inertia of the platform about its centre")
        m2 = Parameter("distal_mass", 0.5, "kg", "mass of a bar at the platform, its centre in the middle")
        J2 = Parameter("distal_inertia", 1 / 6, "kg.m2", "moment of inertia of a bar at the platform about its centre")
        m3 = Parameter("proximal_mass", 0.5, "kg", "mass of a bar at the base, its centre at the base")
        J3 = Parameter("proximal_inertia", 2 / 3, "kg.m2", "moment of inertia of a bar at the base about its pivot")
        torques = tuple(Input(f"torque{i}", "N.m", description=f"torque on bar {i} at the base") for i in (1, 2, 3))
        bodies = [Body("platform", mass=m1, inertia=flat(J1))]
        joints = [Joint("platform", "planar", "world", "platform", axis=AXIS, axis2=(1, 0, 0))]
        closures, forces = [], []
        for i, (direction, (x, y)) in enumerate(zip(DIRECTIONS, ELBOWS, strict=True), start=1):
            c, s = cos(direction), sin(direction)
            pivot = (base * c, base * s, 0)
            first = atan2(y - BASE * s, x - BASE * c)
            second = atan2(CORNER * s - y, CORNER * c - x)
            bodies += [
                Body(f"proximal{i}", mass=m3, inertia=flat(J3)),
                Body(f"distal{i}", mass=m2, com=(fore / 2, 0, 0), inertia=flat(J2)),
            ]
            joints += [
                Joint(f"base{i}", "revolute", "world", f"proximal{i}", axis=AXIS, position=pivot, start=first),
                Joint(
                    f"elbow{i}", "revolute", f"proximal{i}", f"distal{i}", axis=AXIS, position=(upper, 0, 0),
                    start=(second - first + pi) % (2 * pi) - pi,
                ),
            ]  # fmt: skip
            closures.append(
                Closure(
                    f"corner{i}", "point-on-line", "platform", f"distal{i}", axis=AXIS, position=(corner * c, corner * s, 0),
                    child_position=(fore, 0, 0),
                )
            )  # fmt: skip
            forces.append(ForceElement("joint-effort", name=f"drive{i}", coordinate=f"base{i}.angle", effort=torques[i - 1]))
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(base, corner, upper, fore, m1, J1, m2, J2, m3, J3),
            inputs=torques,
            bodies=tuple(bodies),
            joints=tuple(joints),
            closures=tuple(closures),
            forces=tuple(forces),
            outputs=(Output("corner1", "platform", at=(corner, 0, 0)),),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the motion of the document, of 8 s, twice; its text leaves out the fourth power, which its figures show."""
        path = {
            "platform.x": "-sin(pi * t / 2)",
            "platform.y": "sin(pi * t / 4)",
            "platform.angle": "pi / 6 * sin(pi * t / 4) ** 4",
        }
        inputs = ("torque1", "torque2", "torque3")
        return {"002": ServoTask(path, inputs, 16.0, name="002", description="document 002, section 5.3.2")}
