"""A crane whose boom is luffed by a hydraulic cylinder."""

from __future__ import annotations

from math import atan2, cos, hypot, sin

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.trajectories import RestToRest
from kingpost.plugins.models.four_bar import AXIS, rod


class LuffingCrane(Model):
    """A slewing crane with a boom that a cylinder lifts from 20 degrees, and a load on a rope; own data, none published.

    Barrel and rod of the cylinder are bodies of their own. The pin of the rod in the boom closes the loop: its load is what the
    cylinder pushes with.
    """

    name = "luffing-crane"
    t_end = 20.0

    def build(self) -> Mechanism:
        boom_angle, reach, foot = 0.35, 4.0, (1.0, -2.0)
        length = Parameter("boom_length", 15.0, "m", "length of the boom")
        boom_mass = Parameter("boom_mass", 3000.0, "kg", "mass of the boom, a uniform beam")
        pin = Parameter("pin_distance", reach, "m", "distance of the cylinder's pin from the foot of the boom")
        pin_x, pin_z = (
            Parameter(f"cylinder_{axis}", value, "m", f"place of the cylinder's foot from that of the boom, along {axis}")
            for axis, value in zip("xz", foot, strict=True)
        )
        king_mass = Parameter("king_mass", 5000.0, "kg", "mass of the king")
        barrel_mass = Parameter("barrel_mass", 200.0, "kg", "mass of the cylinder's barrel")
        rod_mass = Parameter("rod_mass", 120.0, "kg", "mass of the cylinder's rod")
        load = Parameter("load_mass", 2000.0, "kg", "mass of the load, a point")
        rope = Parameter("rope_length", 6.0, "m", "length of the rope")
        stiffness = Parameter("cylinder_stiffness", 2e7, "N/m", "stiffness of the oil column")
        damping = Parameter("cylinder_damping", 1e6, "N.s/m", "damping of the oil column")
        stroke = Parameter("stroke", 1.2, "m", "by how much the cylinder is let out from 2 s to 12 s")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        slew = Input("slew_torque", "N.m", description="torque in the slewing bearing")
        x, z = reach * cos(boom_angle) - foot[0], reach * sin(boom_angle) - foot[1]
        angle, distance = atan2(z, x), hypot(x, z)
        barrel = 1.6
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(
                length, boom_mass, pin, pin_x, pin_z, king_mass, barrel_mass, rod_mass, load, rope, stiffness, damping, stroke,
                gravity,
            ),
            inputs=(slew,),
            bodies=(
                Body("king", mass=king_mass, com=(0, 0, 1.5), inertia=(4000.0, 4000.0, 2000.0)),
                rod("boom", boom_mass, length),
                rod("barrel", barrel_mass, barrel),
                Body("piston-rod", mass=rod_mass, com=(-0.8, 0, 0), inertia=(0, 25.6, 25.6)),
                Body("load", mass=load, com=(0, 0, -rope)),
            ),
            joints=(
                Joint("slew", "revolute", "world", "king", axis=(0, 0, 1), start_rate=0.05),
                Joint("boom-foot", "revolute", "king", "boom", axis=AXIS, position=(0, 0, 3), start=boom_angle),
                Joint("cylinder-foot", "revolute", "king", "barrel", axis=AXIS, position=(pin_x, 0, 3 + pin_z), start=angle),
                # The rod's origin is its eye; the displacement is the distance from eye to eye.
                Joint("stroke", "prismatic", "barrel", "piston-rod", axis=(1, 0, 0), start=distance, coordinates=("length",)),
                Joint(
                    "rope", "universal", "boom", "load", axis=(1, 0, 0), axis2=(0, 1, 0), position=(length, 0, 0),
                    start=(0.0, boom_angle), coordinates=("across", "along"),
                ),
            ),
            closures=(Closure("cylinder-eye", "point-on-line", "boom", "piston-rod", axis=AXIS, position=(pin, 0, 0)),),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="slew-drive", coordinate="slew.angle", effort=slew),
                ForceElement(
                    "joint-actuator", name="cylinder", coordinate="stroke.length", stiffness=stiffness, damping=damping,
                    target=RestToRest(distance, distance + stroke, 2.0, 12.0),
                ),
            ),
            outputs=(Output("tip", "boom", at=(length, 0, 0)), Output("hook", "load", at=(0, 0, -rope))),
        )  # fmt: skip
