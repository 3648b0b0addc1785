"""The quick-return mechanism of Whitworth: document 002, section 5.3.1."""

from __future__ import annotations

from collections.abc import Mapping
from math import atan2, hypot, pi

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.tasks import ServoTask

#: Normal of the plane; x is along the rail of the slider, y from the pivot of the lever to that of the crank.
AXIS = (0.0, 0.0, 1.0)
#: Where the crank's pin, the lever's tip and the slider are at the start (m), with the crank at 45 degrees.
PIN, TIP, SLIDER = (0.1, 0.4), (0.15, 0.6), (0.8, 0.8)
#: Pivot of the crank and height of the rail (m); the document prints 0.3 for the second point of the rail, where it is 0.8.
PIVOT, RAIL = 0.3, 0.8


def flat(moment: Parameter | float) -> tuple[Parameter | float, ...]:
    """Return principal moments of which a motion in the plane of x and y feels only ``moment``."""
    return moment, moment, moment


class Whitworth(Model):
    """A crank turns evenly and drives a lever by a pin in its slot; a rod takes a slider to and fro, back faster than forth.

    The plane is horizontal. The moment of inertia of the lever is that of the author's data, 0.2 kg (0.5 m)^2 / 12, though its
    mass is 0.4 kg and its length 0.618 m.
    """

    name = "whitworth"
    t_end = 16.0

    def build(self) -> Mechanism:
        pivot = Parameter("crank_pivot", PIVOT, "m", "height of the crank's pivot above that of the lever")
        rail = Parameter("rail_height", RAIL, "m", "height of the slider's rail above the pivot of the lever")
        crank = Parameter("crank_length", hypot(PIN[0], PIN[1] - PIVOT), "m", "from the crank's pivot to its pin")
        lever = Parameter("lever_length", hypot(*TIP), "m", "from the lever's pivot to its tip")
        rod = Parameter("rod_length", hypot(SLIDER[0] - TIP[0], SLIDER[1] - TIP[1]), "m", "from the lever's tip to the slider")
        m1 = Parameter("slider_mass", 1.0, "kg", "mass of the slider")
        m2 = Parameter("rod_mass", 0.2, "kg", "mass of the rod, its centre in the middle")
        m3 = Parameter("lever_mass", 0.4, "kg", "mass of the lever, its centre in the middle")
        m4 = Parameter("crank_mass", 0.2, "kg", "mass of the crank, its centre at the pivot")
        J2 = Parameter("rod_inertia", 0.2 * 0.1**2 / 12, "kg.m2", "moment of inertia of the rod about its centre")
        J3 = Parameter("lever_inertia", 0.2 * 0.5**2 / 12, "kg.m2", "moment of inertia of the lever about its centre")
        J4 = Parameter("crank_inertia", 0.2 * 0.1**2 / 3, "kg.m2", "moment of inertia of the crank about its pivot")
        torque = Input("torque", "N.m", description="torque on the crank")
        leaning = atan2(TIP[1], TIP[0])
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(pivot, rail, crank, lever, rod, m1, m2, m3, m4, J2, J3, J4),
            inputs=(torque,),
            bodies=(
                Body("crank", mass=m4, inertia=flat(J4)),
                Body("lever", mass=m3, com=(lever / 2, 0, 0), inertia=flat(J3)),
                Body("rod", mass=m2, com=(rod / 2, 0, 0), inertia=flat(J2)),
                # It never turns.
                Body("slider", mass=m1, inertia=(1e-3, 1e-3, 1e-3)),
            ),
            joints=(
                Joint(
                    "crank-pivot", "revolute", "world", "crank", axis=AXIS, position=(0, pivot, 0),
                    start=atan2(PIN[1] - PIVOT, PIN[0]), start_rate=pi / 2,
                ),
                Joint("lever-pivot", "revolute", "world", "lever", axis=AXIS, start=leaning),
                Joint(
                    "lever-tip", "revolute", "lever", "rod", axis=AXIS, position=(lever, 0, 0),
                    start=atan2(SLIDER[1] - TIP[1], SLIDER[0] - TIP[0]) - leaning,
                ),
                Joint("rail", "prismatic", "world", "slider", axis=(1, 0, 0), position=(0, rail, 0), start=SLIDER[0]),
            ),
            closures=(
                Closure("slot", "slot", "lever", "crank", axis=(1, 0, 0), axis2=AXIS, child_position=(crank, 0, 0)),
                Closure("slider-pin", "point-on-line", "slider", "rod", axis=AXIS, child_position=(rod, 0, 0)),
            ),
            forces=(ForceElement("joint-effort", name="drive", coordinate="crank-pivot.angle", effort=torque),),
            outputs=(Output("tip", "rod"),),
            measures=(
                Measure(
                    "pin_in_slot", "position", body="crank", at=(crank, 0, 0), of="lever", axis="x",
                    description="distance of the crank's pin from the lever's pivot, along the slot",
                ),
            ),
        )  # fmt: skip

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the motion of the document: the crank turns evenly, once in 4 s."""
        path = {"crank-pivot.angle": "pi / 4 + pi / 2 * t"}
        return {"002": ServoTask(path, ("torque",), 16.0, name="002", description="document 002, section 5.3.1")}
