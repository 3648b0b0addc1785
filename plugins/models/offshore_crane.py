"""A knuckle-boom crane with winch, rope and load: on a floating vessel, or on a base whose motion is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import atan2, cos, hypot, pi, sin
from typing import Any

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter, Port
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.paths import Line
from kingpost.mechanism.port_names import TWIST
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import Constant
from kingpost.plugins.models.offshore_data import ALONG_KNUCKLE, LARGE, SMALL, Crane, Ship
from kingpost.plugins.models.offshore_vessel import (
    CARRIER,
    GRAVITY,
    Parts,
    vessel_parts,
)

#: Booms lie along the x axes of their frames and are raised by positive angles about this axis.
RAISING = (0, -1, 0)
DRIVES = ("slew", "luff", "knuckle", "winch")
#: The default of the time at which set-points were true: they stand still.
NEVER = 1e9
#: By how much the task 'move-in-world' moves the load, in parts of the boom's length, and when.
MOVED, MOVING = (0.15, 0.1, 0.1), (20.0, 60.0)


def crane_parts(ship: Ship, carrier: str, foot: tuple[float, float, float], at: tuple[float, ...] = (0, 0, 0)) -> Parts:
    """Return a crane with its foot at the point ``foot`` of ``carrier``, which is at ``at`` in the world at the start.

    The rope runs from the load over a sheave at the tip to the winch on the knuckle. The deck is level with the foot.
    """
    crane = ship.crane
    words = {"king": "king", "boom": "boom", "knuckle": "knuckle", "drum": "drum of the winch", "load": "load, an even box"}
    m = {
        name: Parameter(f"{name}_mass", crane.masses[name], "kg", f"mass of the {text}", minimum=0.0)
        for name, text in words.items()
    }
    height = Parameter("crane_height", crane.height, "m", "height of the boom's hinge above the slewing ring and the deck")
    boom = Parameter("boom_length", crane.boom, "m", "length of the boom")
    knuckle = Parameter("knuckle_length", crane.knuckle, "m", "length of the knuckle")
    radius = Parameter("drum_radius", crane.drum_radius, "m", "radius of the drum")
    rope = Parameter("rope_length", crane.rope, "m", "unstretched rope beyond the tip while the winch is at zero")
    tensile = Parameter("rope_EA", crane.rope_EA, "N", "axial stiffness of the rope, all falls together")
    slow = Parameter("rope_damping_time", 0.02, "s", "damping of the rope: this time times its stiffness")
    box = [
        Parameter(f"load_{axis}", size, "m", f"size of the load along its {axis} axis")
        for axis, size in zip("xyz", crane.load, strict=True)
    ]
    stiff = [
        Parameter(f"{name}_stiffness", value, "N.m/rad", f"stiffness of the {name} drive")
        for name, value in zip(DRIVES, crane.stiffness, strict=True)
    ]
    damp = [
        Parameter(f"{name}_damping", value, "N.m.s/rad", f"damping of the {name} drive")
        for name, value in zip(DRIVES, crane.damping, strict=True)
    ]
    deck = Parameter("deck_stiffness", crane.deck_stiffness, "N/m", "stiffness of the deck under each corner of the load")
    friction = Parameter("deck_friction", 0.3, "1", "coefficient of friction between load and deck")
    targets = [
        Input(f"{name}_target", "rad", default, f"set-point of the {name} drive")
        for name, default in zip(DRIVES, (*crane.start, 0.0), strict=True)
    ]
    rates = [Input(f"{name}_target_rate", "rad/s", 0.0, f"rate of the set-point of the {name} drive") for name in DRIVES]
    since = Input(
        "targets_t",
        "s",
        NEVER,
        "time at which set-points were true; they go on from there with their rates, and stand before it",
    )
    slew, luff, bend = crane.start
    lx, ly, lz = box
    whole = rope + ALONG_KNUCKLE * knuckle
    stretch = m["load"] * GRAVITY * whole / tensile
    x, y, z = (sum_of(at[i], foot[i], crane.tip[i]) for i in range(3))
    corners = tuple((sx * lx / 2, sy * ly / 2, sz * lz / 2) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1))
    coordinates = ("slew.angle", "luff.angle", "knuckle.angle", "winch.angle")
    return Parts(
        parameters=[
            *m.values(), height, boom, knuckle, radius, rope, tensile, slow, *box, *stiff, *damp, deck, friction,
        ],
        inputs=[*targets, *rates, since],
        bodies=[
            Body(
                "king", mass=m["king"], com=(0, 0, height / 2),
                inertia=(m["king"] * height**2 / 12, m["king"] * height**2 / 12, m["king"] * height**2 / 60),
            ),
            beam("boom", m["boom"], boom),
            beam("knuckle", m["knuckle"], knuckle),
            Body("drum", mass=m["drum"], inertia=(m["drum"] * radius**2 / 2,) * 3),
            Body(
                "load", mass=m["load"],
                inertia=tuple(m["load"] * (a**2 + b**2) / 12 for a, b in ((ly, lz), (lx, lz), (lx, ly))),
            ),
        ],
        joints=[
            Joint("slew", "revolute", carrier, "king", axis=(0, 0, 1), position=foot, start=slew),
            Joint("luff", "revolute", "king", "boom", axis=RAISING, position=(0, 0, height), start=luff),
            Joint("knuckle", "revolute", "boom", "knuckle", axis=RAISING, position=(boom, 0, 0), start=bend),
            Joint(
                "winch", "revolute", "knuckle", "drum", axis=(0, 1, 0), position=((1 - ALONG_KNUCKLE) * knuckle, 0, 0),
            ),
            Joint(
                "load", "free", "world", "load",
                start=(x, y, z - rope - stretch - lz / 2, cos(slew / 2), 0, 0, sin(slew / 2)),
            ),
        ],
        forces=[
            *(
                ForceElement(
                    "joint-actuator", name=f"{name}-drive", coordinate=coordinate, stiffness=k, damping=d,
                    target=going_on(target, rate),
                )
                for name, coordinate, k, d, target, rate in zip(
                    DRIVES, coordinates, stiff, damp, targets, rates, strict=True
                )
            ),
            ForceElement(
                "rope", body="load", at=(0, 0, lz / 2), other="knuckle", other_at=((1 - ALONG_KNUCKLE) * knuckle, 0, 0),
                via=((knuckle, 0, 0),), via_body="knuckle", length=whole, EA=tensile, damping_time=slow, drum="winch.angle",
                radius=radius,
            ),
            ForceElement(
                "plane-contact", name="deck", body="load", other=carrier, position=ship.deck_centre(foot), points=corners,
                stiffness=deck,
                damping=0.05 * deck, friction=friction, extent=(0.45 * ship.vessel.length, 0.5 * ship.vessel.beam),
            ),
        ],
        outputs=[
            Output("tip", "knuckle", at=(knuckle, 0, 0)), Output("hook", "load", at=(0, 0, lz / 2)),
            Output("hook-velocity", "load", at=(0, 0, lz / 2), quantity="velocity"),
        ],
    )  # fmt: skip


def going_on(target: Input, rate: Input) -> Constant:
    """Return a set-point that goes on with its rate from the time ``targets_t`` on."""
    return Constant(f"{target.name} + {rate.name} * max(t - targets_t, 0)", rate)


def sum_of(*terms: Any) -> Any:
    """Return a sum of numbers and formulas, zeros left out."""
    total: Any = 0
    for term in terms:
        total = term if isinstance(total, int) and total == 0 else total + term
    return total


def beam(name: str, mass: Parameter, length: Parameter) -> Body:
    """Return an even box girder along x, a tenth as wide and high as it is long."""
    across = mass * length**2 / 12
    return Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0.02 * across, 1.01 * across, 1.01 * across))


def cylinder_parts(crane: Crane) -> Parts:
    """Return the luffing cylinder that takes the place of the luff drive: barrel, rod, and the pin that closes the loop."""
    luff = crane.start[1]
    pin, foot = 0.3 * crane.boom, (0.06 * crane.boom, -0.2 * crane.boom)
    x, z = pin * cos(luff) - foot[0], pin * sin(luff) - foot[1]
    distance, angle = hypot(x, z), atan2(z, x)
    barrel = Parameter("barrel_mass", 0.04 * crane.masses["boom"], "kg", "mass of the cylinder's barrel")
    piston = Parameter("rod_mass", 0.025 * crane.masses["boom"], "kg", "mass of the cylinder's rod")
    # As stiff as the drive that it replaces: force times lever.
    lever = abs(pin * (cos(luff) * foot[1] - sin(luff) * foot[0])) / distance
    stiffness = Parameter("cylinder_stiffness", crane.stiffness[1] / lever**2, "N/m", "stiffness of the oil column")
    damping = Parameter("cylinder_damping", crane.damping[1] / lever**2, "N.s/m", "damping of the oil column")
    target = Input("cylinder_target", "m", distance, "set-point of the cylinder's length from eye to eye")
    rate = Input("cylinder_target_rate", "m/s", 0.0, "rate of that set-point")
    half = 0.45 * distance
    thin, thick = (mass * (2 * half) ** 2 / 12 for mass in (piston, barrel))
    return Parts(
        parameters=[barrel, piston, stiffness, damping],
        inputs=[target, rate],
        bodies=[
            Body("barrel", mass=barrel, com=(half, 0, 0), inertia=(0.02 * thick, thick, thick)),
            Body("piston-rod", mass=piston, com=(-half, 0, 0), inertia=(0.02 * thin, thin, thin)),
        ],
        joints=[
            Joint(
                "cylinder-foot", "revolute", "king", "barrel", axis=RAISING, position=(foot[0], 0, crane.height + foot[1]),
                start=angle,
            ),
            Joint(
                "stroke", "prismatic", "barrel", "piston-rod", axis=(1, 0, 0), start=distance, coordinates=("length",),
            ),
        ],
        closures=[Closure("cylinder-eye", "point-on-line", "boom", "piston-rod", axis=RAISING, position=(pin, 0, 0))],
        forces=[
            ForceElement(
                "joint-actuator", name="cylinder", coordinate="stroke.length", stiffness=stiffness, damping=damping,
                target=going_on(target, rate),
            )
        ],
    )  # fmt: skip


def without_luff_drive(parts: Parts) -> Parts:
    """Return a crane without its luff drive, for a cylinder to take its place."""
    gone = {"luff_stiffness", "luff_damping", "luff_target", "luff_target_rate", "luff-drive"}
    return Parts(**{name: [entry for entry in entries if entry.name not in gone] for name, entries in vars(parts).items()})


def parked(parts: Parts, crane: Crane) -> Parts:
    """Return a crane whose joints are locked at their start angles, with its load on a rope that does not stretch.

    Rope and load are one body on a universal joint at the tip: vessel and load still move, and nothing in it is stiff.
    """
    slew, luff, bend = crane.start
    locked = {"slew": (0, 0, slew), "luff": (0, -luff, 0), "knuckle": (0, -bend, 0), "winch": (0, 0, 0)}
    gone = {f"{name}_{word}" for name in DRIVES for word in ("stiffness", "damping", "target", "target_rate")}
    gone |= {"drum_radius", "rope_EA", "rope_damping_time", "deck_stiffness", "deck_friction", "deck", "rope"}
    gone |= {"load", "targets_t", *(f"{name}-drive" for name in DRIVES)}
    left = Parts(**{name: [entry for entry in entries if entry.name not in gone] for name, entries in vars(parts).items()})
    left.joints = [
        Joint(joint.name, "weld", joint.parent, joint.child, position=joint.position, rotation=locked[joint.name])
        for joint in left.joints
    ]
    drum = crane.masses["drum"] * crane.drum_radius**2 / 2
    left.bodies = [replace(body, inertia=(drum,) * 3) if body.name == "drum" else body for body in left.bodies]
    load = next(body for body in parts.bodies if body.name == "load")
    rope, knuckle, lz = (
        next(parameter for parameter in parts.parameters if parameter.name == name)
        for name in ("rope_length", "knuckle_length", "load_z")
    )
    left.bodies.append(replace(load, com=(0, 0, -(rope + lz / 2))))
    left.joints.append(
        Joint(
            "rope", "universal", "knuckle", "load", axis=(1, 0, 0), axis2=(0, 1, 0), position=(knuckle, 0, 0),
            start=(0.0, luff + bend), coordinates=("across", "along"),
        )
    )  # fmt: skip
    left.outputs = [replace(entry, at=(0, 0, -rope)) if entry.body == "load" else entry for entry in left.outputs]
    return left


class OffshoreCrane(Model):
    """A knuckle-boom crane of 100 t on a floating vessel of 100 m, with winch, elastic rope and a load; own data."""

    name = "offshore-crane"
    t_end = 60.0
    ship: Ship = LARGE
    #: Whether all joints of the crane are locked.
    parked = False

    def build(self) -> Mechanism:
        return (vessel_parts(self.ship) + self._crane(CARRIER, self.ship.vessel.foot)).mechanism(self)

    def _crane(self, carrier: str, foot: tuple[float, float, float], at: tuple[float, ...] = (0, 0, 0)) -> Parts:
        parts = crane_parts(self.ship, carrier, foot, at)
        return parked(parts, self.ship.crane) if self.parked else parts


class SmallCrane(OffshoreCrane):
    """A knuckle-boom crane of 10 t on a workboat of 24 m, with winch, elastic rope and a load; own data."""

    name = "small-crane"
    ship = SMALL


class SmallCraneParked(SmallCrane):
    """The small crane on its workboat, joints locked, rope without stretch; only vessel and load move."""

    name = "small-crane-parked"
    parked = True


class OffshoreCraneCylinder(OffshoreCrane):
    """The offshore crane with a boom that a hydraulic cylinder luffs: a closed loop on a floating vessel."""

    name = "offshore-crane-cylinder"

    def build(self) -> Mechanism:
        crane = without_luff_drive(crane_parts(self.ship, CARRIER, self.ship.vessel.foot)) + cylinder_parts(self.ship.crane)
        return (vessel_parts(self.ship) + crane).mechanism(self)


class OffshoreCraneOnBase(OffshoreCrane):
    """The offshore crane on a base whose motion is given, with wrench and interface inertia at its foot."""

    name = "offshore-crane-on-base"
    #: How the frames of the given motion are turned against ours (x forward, y to port, z up).
    turned: tuple[float, float, float] = (0, 0, 0)
    orientation: tuple[tuple[str, str, float], ...] = (
        ("qw", "1", 1.0), ("qx", "1", 0.0), ("qy", "1", 0.0), ("qz", "1", 0.0),
    )  # fmt: skip

    def build(self) -> Mechanism:
        foot = self.ship.vessel.foot
        flip = cos(self.turned[0])
        place = [
            Input(f"base_{axis}", "m", sign * value, f"place of the base along the given {axis} axis")
            for axis, value, sign in zip("xyz", foot, (1.0, flip, flip), strict=True)
        ]
        turn = [
            Input(f"base_{name}", unit, default, f"orientation of the base, {name}") for name, unit, default in self.orientation
        ]
        twist = [
            Input(f"base_{name}", "rad/s" if name[0] == "w" else "m/s", 0.0, f"twist of the base in its axes, {name}")
            for name in TWIST
        ]
        rates = [
            Input(f"base_{name}_rate", "rad/s2" if name[0] == "w" else "m/s2", 0.0, f"rate of the base's {name}")
            for name in TWIST
        ]
        since = Input("base_t", "s", 0.0, "time at which the motion of the base was true; it goes on from there")
        base = Parts(
            parameters=[GRAVITY],
            inputs=[since, *place, *turn, *twist, *rates],
            bodies=[Body("base", mass=0)],
            joints=[
                Joint(
                    "mount", "given", "world", "base", pose=(*place, *turn), twist=tuple(twist), twist_rate=tuple(rates),
                    since=since, rotation=self.turned, child_rotation=self.turned,
                )
            ],
            forces=[ForceElement("gravity", acceleration=(0, 0, -GRAVITY))],
            ports=[Port("foot", joint="mount")],
        )  # fmt: skip
        return (base + self._crane("base", (0, 0, 0), foot)).mechanism(self)

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the tasks to hold the load in the world where it is at the start, and to move it from there on a line."""
        if self.parked:
            return {}
        crane, foot = self.ship.crane, self.ship.vessel.foot
        x, y, z = (foot[i] + crane.tip[i] for i in range(3))
        along = f"(rope_length + {ALONG_KNUCKLE} * knuckle_length)"
        start = (x, y, f"{z} - rope_length - load_mass * gravity * {along} / rope_EA")
        end = tuple(f"{a} + {part * crane.boom}" for a, part in zip(start, MOVED, strict=True))
        measures, drives = tuple(f"hook.{axis}" for axis in "xyz"), tuple(f"{name}_target" for name in DRIVES)
        hold = ServoTask(
            dict(zip(measures, start, strict=True)), drives, 120.0, description="the load stays where it is in the world"
        )
        move = ServoTask(
            {measures: Line(start, end, *MOVING, profile="smooth:4")}, drives, 120.0, description="the load moves on a line"
        )
        return {"hold-in-world": hold.called("hold-in-world"), "move-in-world": move.called("move-in-world")}


class SmallCraneOnBase(OffshoreCraneOnBase):
    """The small crane on a base whose motion is given, with wrench and interface inertia at its foot."""

    name = "small-crane-on-base"
    ship = SMALL


class SmallCraneParkedOnBase(SmallCraneOnBase):
    """The parked small crane on a base whose motion is given, with wrench and interface inertia at its foot."""

    name = "small-crane-parked-on-base"
    parked = True


class OffshoreCraneOnBaseNED(OffshoreCraneOnBase):
    """The offshore crane on a base given in north, east, down and roll, pitch, yaw; wrench forward, starboard, down."""

    name = "offshore-crane-on-base-ned"
    turned = (pi, 0, 0)
    orientation = tuple((name, "rad", 0.0) for name in ("roll", "pitch", "yaw"))
