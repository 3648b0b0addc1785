"""The rotary crane with two winches on its girder of document 000, section 5.4.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import GRAVITY, three_phase

LOAD, RADIUS = 100.0, 0.1
#: Start of the trolley and of the load below it (m).
OUT, DOWN = 5.0, 5.0


class RotaryCraneTwoWinches(Model):
    """A girder that turns, with two winches behind its axis: one pulls the trolley, the other hoists over its pulley.

    The document has ten coordinates: the place (x2, y2) of the hoisting winch, which stays on a circle, the place of the
    trolley, the lengths L1, L2 and L0 of ropes, and the place of the load. Here the slewing angle stands for (x2, y2) and the
    circle, drums have angles by which their ropes grow, and `share.growth` is L0 less that at the start. The radii of the two
    winches, which the document does not give, matter only for the torques.
    """

    name = "rotary-crane-two-winches"
    t_end = 20.0
    step = 0.002

    def build(self) -> Mechanism:
        load = Parameter("load_mass", LOAD, "kg", "mass of the load, a point")
        trolley = Parameter("trolley_mass", 10.0, "kg", "mass of the trolley")
        girder = Parameter("girder_inertia", 480.0, "kg.m2", "of girder and pillar about the slewing axis", minimum=0.0)
        back = Parameter("winch_distance", 4.0, "m", "from the slewing axis to the hoisting winch, at the end of the girder")
        part = Parameter("winch_part", 0.5, "1", "where the trolley's winch is: this part of that distance behind the axis")
        pulley = Parameter("pulley_inertia", 0.1, "kg.m2", "of the pulley on the trolley, which turns with both ropes")
        pulley_radius = Parameter("pulley_radius", 0.1, "m", "radius of the pulley on the trolley")
        inertias = [
            Parameter(f"winch{i}_inertia", 0.0, "kg.m2", f"moment of inertia of winch {i}", minimum=0.0) for i in (1, 2)
        ]
        radii = [Parameter(f"winch{i}_radius", RADIUS, "m", f"radius of winch {i}") for i in (1, 2)]
        # At rest the hoisting rope pulls the trolley back to its winch with the weight of the load, and the other one holds it.
        holding = LOAD * GRAVITY.default * RADIUS
        pull = Input("winch1_torque", "N.m", holding, "torque of the trolley's winch; positive pays out")
        hoist = Input("winch2_torque", "N.m", -holding, "torque of the hoisting winch; positive pays out")
        slew = Input("slew_torque", "N.m", description="torque on the girder")
        place: dict[str, Any] = {"axis": (0, 0, 1), "axis2": (1, 0, 0)}

        def rope(name: str, behind: Any, coordinate: str, radius: Any) -> Closure:
            """Return a rope from a point of the girder behind its axis to the trolley."""
            tie: dict[str, Any] = {"length": OUT + behind, "coordinates": (coordinate,), "radius": radius}
            return Closure(name, "rope", "girder", "trolley", position=(-behind, 0, 0), **tie)

        beam = Shape("box", size=(12.0, 0.3, 0.3), at=(2.0, 0, 0.4))
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(load, trolley, girder, back, part, pulley, pulley_radius, *inertias, *radii, GRAVITY),
            inputs=(pull, hoist, slew),
            bodies=(
                Body("girder", mass=0.0, inertia=(girder, girder, girder), shape=(beam,)),
                Body("trolley", mass=trolley, shape=(Shape("box", size=(0.6, 0.5, 0.3)),)),
                # Discs on the ground: of their moments of inertia only that about the axle counts.
                *(Body(f"drum{i}", mass=0.0, inertia=(J / 2, J, J / 2)) for i, J in enumerate(inertias, 1)),
                Body("rope-share", mass=0.0),
                Body("load", mass=load, shape=(Shape("box", size=(0.6, 0.6, 0.6), at=(0, 0, -0.3)),)),
            ),
            joints=(
                Joint("slew", "revolute", "world", "girder", axis=(0, 0, 1)),
                Joint("carriage", "planar-translational", "world", "trolley", start=(OUT, 0.0), **place),
                *(Joint(f"winch{i}", "revolute", "world", f"drum{i}", axis=(0, 1, 0)) for i in (1, 2)),
                Joint("share", "prismatic", "world", "rope-share", axis=(0, 0, 1), coordinates=("growth",)),
                Joint("hook", "translational", "world", "load", start=(OUT, 0.0, -DOWN)),
            ),
            closures=(
                Closure("rail", "point-on-plane", "girder", "trolley", axis=(0, 1, 0)),
                rope("trolley-rope", part * back, "winch1.angle", radii[0]),
                rope("upper-rope", back + 0.0, "share.growth", 1.0),
                Closure(
                    "lower-rope",
                    "sheave",
                    "trolley",
                    "load",
                    length=DOWN,
                    coordinates=("winch2.angle", "share.growth"),
                    radius=radii[1],
                ),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
                # Eq. (5.125): the pulley turns with what the two ropes move past each other, (L2 - L1) / rw.
                ForceElement(
                    "joint-inertia",
                    name="pulley",
                    coordinates=("winch1.angle", "winch2.angle"),
                    ratios=(-radii[0] / pulley_radius, radii[1] / pulley_radius),
                    inertia=pulley,
                ),
                ForceElement("joint-effort", name="trolley-drive", coordinate="winch1.angle", effort=pull),
                ForceElement("joint-effort", name="hoist-drive", coordinate="winch2.angle", effort=hoist),
                ForceElement("joint-effort", name="slew-drive", coordinate="slew.angle", effort=slew),
            ),
            outputs=(Output("load", "load"), Output("trolley-place", "trolley")),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvre of document 000, section 5.4.4: that of the rotary crane in section 5.3.2."""
        path = three_phase({"load.x": (5.0, -2.0), "load.y": (0.0, 2.0), "load.z": (-5.0, -2.0)})
        inputs = ("winch1_torque", "winch2_torque", "slew_torque")
        return {"000-5.4.4": ServoTask(path, inputs, 20.0, name="000-5.4.4", description="document 000, section 5.4.4")}
