"""A crane on a deck that rolls and pitches, with torques to slew and to luff, and the load on a rope without stretch."""

from __future__ import annotations

from collections.abc import Mapping

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import CostPart, OptimalTask
from kingpost.plugins.models.offshore_crane import RAISING, beam
from kingpost.plugins.models.offshore_data import SMALL

#: From where to where the task slews (rad).
SLEWED = (-0.75, 0.75)


class RollingCrane(Model):
    """The small crane with a locked knuckle on a deck that rolls and pitches evenly, slewed and luffed by torques; own data.

    The deck turns about the middle of the waterline. ``rope.along`` and ``rope.across`` are the angles of the rope along and
    across the boom; the measures ``offlead`` and ``sidelead`` count them from the crane's own upright, as rated limits do. The
    pull of the rope is the force ``rope.Fz`` on the load, in its own axes.
    """

    name = "rolling-crane"
    t_end = 20.0

    def build(self) -> Mechanism:
        crane, foot = SMALL.crane, SMALL.vessel.foot
        _, luff, bend = crane.start
        m = {
            name: Parameter(f"{name}_mass", crane.masses[name], "kg", f"mass of the {name}", minimum=0.0)
            for name in ("king", "boom", "knuckle", "load")
        }
        height = Parameter("crane_height", crane.height, "m", "height of the boom's hinge above the slewing ring")
        boom = Parameter("boom_length", crane.boom, "m", "length of the boom")
        knuckle = Parameter("knuckle_length", crane.knuckle, "m", "length of the knuckle, which is locked")
        rope = Parameter("rope_length", crane.rope, "m", "distance from the tip to the load, a point")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        sea = [
            Parameter("roll_amplitude", 0.05, "rad", "amplitude of the deck's roll, positive to starboard"),
            Parameter("roll_period", 6.0, "s", "period of the roll"),
            Parameter("roll_phase", 0.0, "rad", "phase of the roll at the time 0"),
            Parameter("pitch_amplitude", 0.02, "rad", "amplitude of the deck's pitch, positive bow down"),
            Parameter("pitch_period", 5.0, "s", "period of the pitch"),
            Parameter("pitch_phase", 0.0, "rad", "phase of the pitch at the time 0"),
        ]
        slew = Input("slew_torque", "N.m", description="torque of the slewing drive")
        raising = Input("luff_torque", "N.m", description="torque of the luffing drive; positive raises the boom")
        turned = [f"{name}_amplitude * sin(2 * pi * t / {name}_period + {name}_phase)" for name in ("roll", "pitch")]
        across = m["king"] * height**2 / 12
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(*m.values(), height, boom, knuckle, rope, gravity, *sea),
            inputs=(slew, raising),
            bodies=(
                Body("deck", mass=0),
                Body("king", mass=m["king"], com=(0, 0, height / 2), inertia=(across, across, across / 5)),
                beam("boom", m["boom"], boom),
                beam("knuckle", m["knuckle"], knuckle),
                Body("load", mass=m["load"], com=(0, 0, -rope)),
            ),
            joints=(
                Joint("sea", "given", "world", "deck", pose=(0, 0, 0, *turned, 0)),
                Joint("slew", "revolute", "deck", "king", axis=(0, 0, 1), position=foot),
                Joint("luff", "revolute", "king", "boom", axis=RAISING, position=(0, 0, height), start=luff),
                Joint("knuckle", "weld", "boom", "knuckle", position=(boom, 0, 0), rotation=(0, -bend, 0)),
                # In axes parallel to the boom's, so that the rope is upright in the crane where 'along' is the luffing angle.
                Joint(
                    "rope", "universal", "knuckle", "load", axis=(0, 1, 0), axis2=(1, 0, 0), position=(knuckle, 0, 0),
                    rotation=(0, bend, 0), start=(luff, 0.0), coordinates=("along", "across"),
                ),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="slew-drive", coordinate="slew.angle", effort=slew),
                ForceElement("joint-effort", name="luff-drive", coordinate="luff.angle", effort=raising),
            ),
            measures=(
                Measure(
                    "offlead", "combination", terms={"rope.along": 1, "luff.angle": -1},
                    description="angle of the rope in the plane of the boom from the crane's upright",
                ),
                Measure("sidelead", "coordinate", coordinate="rope.across", description="angle of the rope out of that plane"),
            ),
            outputs=(Output("tip", "knuckle", at=(knuckle, 0, 0)), Output("hook", "load", at=(0, 0, -rope))),
        )  # fmt: skip

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the fastest way of a load from one cradle on deck to another, at rest on deck in both."""
        _, luff, _ = SMALL.crane.start
        first, last = SLEWED
        end = {"slew.angle": last, "luff.angle": luff, "rope.along": luff, "rope.across": 0.0}
        task = OptimalTask(
            ("slew_torque", "luff_torque"),
            (3.0, 20.0),
            end=end | {f"{name}.rate": 0.0 for name in end},
            bounds={
                "slew_torque": (-60e3, 60e3),
                "luff_torque": (300e3, 700e3),
                "luff.angle": (luff - 0.3, luff + 0.3),
                "offlead": (-0.1, 0.1),
                "sidelead": (-0.1, 0.1),
                "rope.Fz": (30e3, 46e3),
                "norm(slew.Mx, slew.My)": (0.0, 680e3),
            },
            costs=(CostPart("time"),),
            settings={"slew.angle": first},
            intervals=60,
            guess="line",
            description="a load from cradle to cradle on a rolling deck in the least time",
        )
        return {"minimum-time": task}
