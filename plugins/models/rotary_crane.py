"""The rotary crane of document 000, section 2.4."""

from __future__ import annotations

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model


class RotaryCrane(Model):
    """A girder that turns, a trolley on it, a winch on the trolley and a load on its rope; five degrees of freedom.

    Minimal form of document 000, eqs. (2.75)-(2.91): slewing angle, place of the trolley, length of the rope, its two angles.
    The winch turns with the length of the rope, eq. (2.76): a gear. The document gives the start with the trolley at 1.5 m and,
    for its other formulation, at 2.5 m; and the speed of slewing as 1 m/s, meant rad/s.
    """

    name = "rotary-crane"
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
        slew = Input("slew_torque", "N.m", description="torque on the girder")
        travel = Input("trolley_force", "N", description="force on the trolley along the girder")
        hoist = Input("winch_torque", "N.m", description="torque on the winch; positive pays out rope")
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(m1, m2, m3, m4, radius, length, gravity),
            inputs=(slew, travel, hoist),
            bodies=(
                Body("girder", mass=m1, inertia=(216.67, 216.67, 16.67)),
                Body("trolley", mass=m2, inertia=(2.08, 2.08, 2.08)),
                Body("winch", mass=m3, inertia=(0.26, 0.02, 0.26)),
                Body("rope", mass=0.0),
                Body("load", mass=m4),
            ),
            joints=(
                Joint("slew", "revolute", "world", "girder", axis=(0, 0, 1), start_rate=1.0),
                Joint("travel", "prismatic", "girder", "trolley", axis=(1, 0, 0), start=1.5),
                Joint("winch-axle", "revolute", "trolley", "winch", axis=(0, 1, 0)),
                # Eq. (2.79): the first angle swings the rope across the girder, the second along it.
                Joint(
                    "swing", "universal", "trolley", "rope", axis=(-1, 0, 0), axis2=(0, -1, 0), coordinates=("across", "along")
                ),
                Joint("reel", "prismatic", "rope", "load", axis=(0, 0, -1), coordinates=("length",), start=length),
            ),
            closures=(
                Closure("winding", "gear", coordinates=("reel.length", "winch-axle.angle"), ratio=radius, offset=length),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="slew-drive", coordinate="slew.angle", effort=slew),
                ForceElement("joint-effort", name="trolley-drive", coordinate="travel.displacement", effort=travel),
                ForceElement("joint-effort", name="winch-drive", coordinate="winch-axle.angle", effort=hoist),
            ),
            outputs=(Output("load", "load"),),
        )
