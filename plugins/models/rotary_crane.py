"""The rotary crane of document 000, section 2.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import three_phase

#: Moments of inertia of the trolley, and of the winch across its axle: of Table 2.1, about the slewing axis a part of Jb.
TROLLEY, WINCH_ACROSS = 2.08, 0.26
#: Where the trolley starts (m).
OUT = 1.5


@dataclass(frozen=True)
class RotaryCraneOptions:
    """``form``: how the load hangs.

    ``swing``: on a link without mass that swings about two axes and is reeled, the minimal form of document 000; ``rope``: a
    point, tied by a rope, as in section 2.4.2. With formulation ``directors:effort=angle,points=true`` that is the document's
    crane with 42 coordinates and 37 constraints.
    """

    form: Literal["swing", "rope"] = "swing"


class RotaryCrane(Model):
    """A girder that turns, a trolley on it, a winch on the trolley and a load on its rope; five degrees of freedom.

    Minimal form of document 000, eqs. (2.75)-(2.91): slewing angle, place of the trolley, length of the rope, its two angles.
    The winch turns with the length of the rope, eq. (2.76): a gear. The document gives the start with the trolley at 1.5 m and,
    for its other formulation, at 2.5 m; and the speed of slewing as 1 m/s, meant rad/s.
    """

    name = "rotary-crane"
    Options = RotaryCraneOptions
    t_end = 1.0
    step = 1e-4

    def build(self) -> Mechanism:
        # Tables 2.1, 2.2 and 4.1. Moments of inertia that no motion of this crane feels are left at what the tables say.
        m1 = Parameter("girder_mass", 100.0, "kg", "mass of girder and pillar")
        m2 = Parameter("trolley_mass", 50.0, "kg", "mass of the trolley")
        m3 = Parameter("winch_mass", 3.0, "kg", "mass of the winch")
        m4 = Parameter("load_mass", 10.0, "kg", "mass of the load, a point")
        radius = Parameter("winch_radius", 0.1, "m", "radius of the winch")
        length = Parameter("rope_length", 5.0, "m", "length of the rope at the angle 0 of the winch")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        # With those of trolley and winch, Jb of section 4.4.2 is 19.01.
        girder_inertia = Parameter("girder_inertia", 16.67, "kg.m2", "of girder and pillar about the slewing axis", minimum=0.0)
        across = Parameter("girder_inertia_across", 216.67, "kg.m2", "of girder and pillar across that axis", minimum=0.0)
        winch_inertia = Parameter("winch_inertia", 0.02, "kg.m2", "of the winch about its axle", minimum=0.0)
        slew = Input("slew_torque", "N.m", description="torque on the girder")
        travel = Input("trolley_force", "N", description="force on the trolley along the girder")
        hoist = Input("winch_torque", "N.m", description="torque on the winch; positive pays out rope")
        roped = self.options.form == "rope"
        # The load of the minimal form, at rest against the girder that slews at 1 rad/s, moves sideways.
        hanging: tuple[Joint, ...] = (
            Joint("hook", "translational", "world", "load", start=(OUT, 0, -length), start_rate=(0, OUT, 0)),
        )
        winding = Closure("winding", "rope", "trolley", "load", length=length, coordinates=("winch-axle.angle",), radius=radius)
        if not roped:
            hanging = (
                # Eq. (2.79): the first angle swings the rope across the girder, the second along it.
                Joint(
                    "swing", "universal", "trolley", "rope", axis=(-1, 0, 0), axis2=(0, -1, 0), coordinates=("across", "along")
                ),
                Joint("reel", "prismatic", "rope", "load", axis=(0, 0, -1), coordinates=("length",), start=length),
            )
            winding = Closure("winding", "gear", coordinates=("reel.length", "winch-axle.angle"), ratio=radius, offset=length)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(m1, m2, m3, m4, radius, length, gravity, girder_inertia, across, winch_inertia),
            inputs=(slew, travel, hoist),
            bodies=(
                Body("girder", mass=m1, inertia=(across, across, girder_inertia)),
                Body("trolley", mass=m2, inertia=(TROLLEY, TROLLEY, TROLLEY)),
                Body("winch", mass=m3, inertia=(WINCH_ACROSS, winch_inertia, WINCH_ACROSS)),
                *(() if roped else (Body("rope", mass=0.0),)),
                Body("load", mass=m4),
            ),
            joints=(
                Joint("slew", "revolute", "world", "girder", axis=(0, 0, 1), start_rate=1.0),
                Joint("travel", "prismatic", "girder", "trolley", axis=(1, 0, 0), start=OUT),
                Joint("winch-axle", "revolute", "trolley", "winch", axis=(0, 1, 0)),
                *hanging,
            ),
            closures=(winding,),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="slew-drive", coordinate="slew.angle", effort=slew),
                ForceElement("joint-effort", name="trolley-drive", coordinate="travel.displacement", effort=travel),
                ForceElement("joint-effort", name="winch-drive", coordinate="winch-axle.angle", effort=hoist),
            ),
            outputs=(Output("load", "load"),),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvres of document 000: the load from (5, 0, -5) to (-2, 2, -2) m along a straight line in 20 s."""
        path = three_phase({"load.x": (5.0, -2.0), "load.y": (0.0, 2.0), "load.z": (-5.0, -2.0)})
        drives = ("slew_torque", "trolley_force", "winch_torque")
        start = {"travel.displacement": 5.0, "slew.angle.rate": 0.0}
        if self.options.form == "rope":
            start |= {"hook.x": 5.0, "hook.y.rate": 0.0}
        # m = 100, mt = 10 (trolley and winch together), Jb = 480 (all three), Jw = 0.1.
        heavy = {
            "load_mass": 100.0,
            "trolley_mass": 7.0,
            "girder_inertia": 480.0 - TROLLEY - WINCH_ACROSS,
            "girder_inertia_across": 240.0,  # no body turns about an axis harder than about the two others together
            "winch_inertia": 0.1,
        }
        return {
            "000-4.4.2": ServoTask(
                path, drives, 20.0, settings=start, name="000-4.4.2", description="document 000, section 4.4.2"
            ),
            "000-5.3.2": ServoTask(
                path, drives, 20.0, settings=start | heavy, name="000-5.3.2", description="document 000, section 5.3.2"
            ),
        }
