"""The overhead crane of documents 000 (sections 4.4.1 and 5.3.1), 001 (section 7.2) and 003 (section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import GRAVITY, rest_to_rest

#: Data of all three documents.
TROLLEY, LOAD, DRUM, RADIUS, START = 10.0, 100.0, 0.1, 0.1, 4.0
#: Stiffness of the elastic rope (N, per unstretched length), of no document.
ROPE_EA = 1e6
#: Normal and first direction of the plane, so that its coordinates are x and z.
PLANE: dict[str, Any] = {"axis": (0, -1, 0), "axis2": (1, 0, 0)}


@dataclass(frozen=True)
class OverheadCraneOptions:
    """``form``: which coordinates, and which rope.

    ``minimal`` has trolley, swing and length of the rope as coordinates; ``dependent`` the winch and the place of the load,
    tied by a rope that does not stretch; ``elastic`` the same with a rope that does.
    """

    form: Literal["minimal", "dependent", "elastic"] = "minimal"


class OverheadCrane(Model):
    """A trolley on a straight rail with a winch, and a load on its rope; the crane moves in the plane of x and z.

    Inputs are the force on the trolley and the torque of the winch; positive torque pays out rope, so holding the load takes a
    negative one. In the documents z points down, here up.
    """

    name = "overhead-crane"
    Options = OverheadCraneOptions
    t_end = 3.0

    def build(self) -> Mechanism:
        form = self.options.form
        trolley = Parameter("trolley_mass", TROLLEY, "kg", "mass of the trolley")
        load = Parameter("load_mass", LOAD, "kg", "mass of the load, a point")
        drum = Parameter("winch_inertia", DRUM, "kg.m2", "moment of inertia of the winch")
        radius = Parameter("winch_radius", RADIUS, "m", "radius of the winch")
        length = Parameter("rope_length", START, "m", "length of the rope at the start")
        trolley_damping = Parameter("trolley_damping", 0.0, "N.s/m", "friction of the trolley, for its speed", minimum=0.0)
        winch_damping = Parameter(
            "winch_damping", 0.0, "N.s/m", "friction of the winch, for the speed of the rope", minimum=0.0
        )
        parameters = [trolley, load, drum, radius, length, trolley_damping, winch_damping, GRAVITY]
        holding = -LOAD * GRAVITY.default * RADIUS
        if form == "elastic":
            # The drum holds rope that is not stretched yet: half the strain more (see the force `rope`).
            holding *= 1 + LOAD * GRAVITY.default / (2 * ROPE_EA)
        drive = Input("trolley_force", "N", description="force on the trolley along the rail")
        hoist = Input("winch_torque", "N.m", holding, "torque of the winch; positive pays out rope")
        rail = Joint("travel", "prismatic", "world", "trolley", axis=(1, 0, 0))
        forces = [
            ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
            ForceElement("joint-effort", name="trolley-drive", coordinate="travel.displacement", effort=drive),
            ForceElement("joint-spring", name="rail-friction", coordinate="travel.displacement", damping=trolley_damping),
        ]
        bodies = [
            Body("trolley", mass=trolley, shape=(Shape("box", size=(0.6, 0.5, 0.25)),)),
            Body("load", mass=load, shape=(Shape("box", size=(0.4, 0.4, 0.4), at=(0, 0, -0.2)),)),
        ]
        if form == "minimal":
            forces += [
                ForceElement("joint-inertia", name="winch", coordinates=("reel.length",), inertia=drum / radius**2),
                ForceElement("joint-effort", name="winch-drive", coordinate="reel.length", effort=hoist / radius),
                ForceElement("joint-spring", name="winch-friction", coordinate="reel.length", damping=winch_damping),
            ]
            bodies.insert(1, Body("rope", mass=0.0))
            joints: tuple[Joint, ...] = (
                rail,
                # Positive angles swing the load towards positive x: x = s + l sin(angle).
                Joint("swing", "revolute", "trolley", "rope", axis=(0, -1, 0)),
                Joint("reel", "prismatic", "rope", "load", axis=(0, 0, -1), coordinates=("length",), start=length),
            )
        else:
            # Twice the moment about its axle as about the others: a disc.
            bodies.append(Body("winch", mass=0.0, inertia=(drum / 2, drum, drum / 2)))
            forces += [
                ForceElement("joint-effort", name="winch-drive", coordinate="drum.angle", effort=hoist),
                ForceElement("joint-spring", name="winch-friction", coordinate="drum.angle", damping=winch_damping * radius**2),
            ]
            height: Any = -length
            if form == "elastic":
                stiffness = Parameter("rope_EA", ROPE_EA, "N", "stiffness of the rope per unstretched length", minimum=0.0)
                damping = Parameter(
                    "rope_damping_time", 0.0, "s", "damping of the rope as a time, for its stiffness", minimum=0.0
                )
                parameters += [stiffness, damping]
                height = -length * (1 + load * GRAVITY / stiffness)
                rope: dict[str, Any] = {
                    "body": "load",
                    "other": "trolley",
                    "length": length,
                    "EA": stiffness,
                    "damping_time": damping,
                }
                # The stretch at rest, 4 mm, must be outside of what rounds the law off.
                forces.append(ForceElement("rope", drum="drum.angle", radius=radius, transition=1e-4, **rope))
            joints = (
                rail,
                Joint("drum", "revolute", "trolley", "winch", axis=(0, 1, 0)),
                Joint("hook", "planar-translational", "world", "load", coordinates=("x", "z"), start=(0.0, height), **PLANE),
            )
        tie = {"length": length, "coordinates": ("drum.angle",), "radius": radius}
        ropes = (Closure("rope", "rope", "trolley", "load", **tie),) if form == "dependent" else ()  # type: ignore[arg-type]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=tuple(parameters),
            inputs=(drive, hoist),
            bodies=tuple(bodies),
            joints=joints,
            closures=ropes,
            forces=tuple(forces),
            outputs=(Output("load", "load"),),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvres of the documents: the load along a straight line in 3 s, from rest to rest."""

        def lift(where: str, end: float, description: str) -> ServoTask:
            path = rest_to_rest({"load.x": (0.0, 5.0), "load.z": (-START, -end)}, 3.0)
            return ServoTask(path, ("trolley_force", "winch_torque"), 3.0, name=where, description=description)

        return {
            "003": lift("003", 1.5, "document 003, section 4.2; damping 0 or 50 N s/m is trolley_damping and winch_damping"),
            "000-4.4.1": lift("000-4.4.1", 1.0, "document 000, section 4.4.1, with z up"),
            "000-5.3.1": lift("000-5.3.1", 1.0, "document 000, section 5.3.1"),
            "001-7.2": lift("001-7.2", 1.0, "document 001, section 7.2: its start and end, along the line of document 000"),
        }

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the manoeuvre of document 001: trolley by 5 m and load up by 3 m in 3 s, from rest to rest."""
        if self.options.form == "minimal":
            end = {"travel.displacement": 5.0, "swing.angle": 0.0, "reel.length": 1.0}
        else:
            end = {"travel.displacement": 5.0, "hook.x": 5.0, "hook.z": -1.0}
        end |= {f"{name}.rate": 0.0 for name in tuple(end)}
        about = "document 001, section 7.2"
        inputs = ("trolley_force", "winch_torque")
        return {"001": OptimalTask(inputs, 3.0, end=end, intervals=40, guess="line", description=about)}
