"""A five-bar linkage with two direct-current motors."""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, atan2, cos, hypot, sin
from typing import Literal

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.modular.machine import as_mechanism
from kingpost.plugins.models.five_bar_parts import BASE, CRANK, CRANKS, GRAVITY, MOTOR, PAYLOAD, RATIO, ROD, five_bar
from kingpost.plugins.models.four_bar import AXIS

SIDES = {"L": "left", "R": "right"}


@dataclass(frozen=True)
class FiveBarOptions:
    """``form``: bodies and joints, or the subsystems of document 002."""

    form: Literal["bodies", "subsystems"] = "bodies"


class FiveBar(Model):
    """Two cranks, each with a motor and a gear, move a payload by two rods in the plane x-z; with data of our own."""

    name = "five-bar"
    Options = FiveBarOptions
    t_end = 2.0

    def build(self) -> Mechanism:
        text = (self.__doc__ or "").strip()
        if self.options.form == "subsystems":
            return as_mechanism(five_bar(), name=self.name, description=text)
        base = Parameter("base", BASE, "m", "half the distance of the shafts")
        lengths = {
            "crank": Parameter("crank_length", CRANK["a"], "m", "length of both cranks"),
            "rod": Parameter("rod_length", ROD["a"], "m", "length of both rods"),
        }
        masses = {
            "crank": Parameter("crank_mass", CRANK["m"], "kg", "mass of each crank"),
            "rod": Parameter("rod_mass", ROD["m"], "kg", "mass of each rod"),
        }
        payload = Parameter("payload_mass", PAYLOAD, "kg", "mass of the payload, a particle at the end of both rods")
        ratio = Parameter("ratio", RATIO, "1", "turns of the motors for one turn of the cranks")
        gravity = Parameter("gravity", GRAVITY, "m/s2", "acceleration of free fall")
        rods = rod_angles(CRANKS["L"], CRANKS["R"])
        joints, forces = [], [ForceElement("gravity", acceleration=(0, 0, -gravity))]
        for side, word in SIDES.items():
            place = (-base if side == "L" else base, 0, 0)
            joints += [
                Joint(f"shaft-{word}", "revolute", "world", f"crank-{word}", axis=AXIS, position=place, start=CRANKS[side]),
                Joint(
                    f"knee-{word}", "revolute", f"crank-{word}", f"rod-{word}", axis=AXIS, position=(lengths["crank"], 0, 0),
                    start=rods[side] - CRANKS[side],
                ),
            ]  # fmt: skip
            shaft = f"shaft-{word}.angle"
            forces += [
                ForceElement("joint-spring", name=f"bearing-{word}", coordinate=shaft, damping=CRANK["b"]),
                ForceElement(
                    "dc-motor", name=f"motor-{word}", coordinate=shaft, voltage=f"voltage_{word}", ratio=ratio,
                    resistance=MOTOR["res"], inductance=MOTOR["ind"], torque_constant=MOTOR["k"], back_emf=MOTOR["kappa"],
                    inertia=MOTOR["Jm"], damping=MOTOR["bm"],
                ),
            ]  # fmt: skip
        joints.append(Joint("grip", "weld", "rod-left", "payload", position=(lengths["rod"], 0, 0)))
        return Mechanism(
            name=self.name,
            description=text,
            parameters=(base, *lengths.values(), *masses.values(), payload, ratio, gravity),
            inputs=tuple(Input(f"voltage_{word}", "V", description=f"voltage of the {word} motor") for word in SIDES.values()),
            bodies=(
                *(_bar(f"crank-{word}", masses["crank"], lengths["crank"], CRANK) for word in SIDES.values()),
                *(_bar(f"rod-{word}", masses["rod"], lengths["rod"], ROD) for word in SIDES.values()),
                Body("payload", mass=payload),
            ),
            joints=tuple(joints),
            closures=(
                Closure(
                    "tip", "point-on-line", "rod-left", "rod-right", axis=AXIS, position=(lengths["rod"], 0, 0),
                    child_position=(lengths["rod"], 0, 0),
                ),
            ),
            forces=tuple(forces),
            outputs=(Output("load", "payload"),),
        )  # fmt: skip


def _bar(name: str, mass: Parameter, length: Parameter, data: dict[str, float]) -> Body:
    # Formulations with directors need some inertia about the bar's own axis; a plane motion never feels it.
    return Body(name, mass=mass, com=(data["gamma"] * length, 0, 0), inertia=(data["J"] / 100, data["J"], data["J"]))


def rod_angles(left: float, right: float) -> dict[str, float]:
    """Return the angles of the rods against x at angles of the cranks, with the payload above the knees."""
    a, b = CRANK["a"], ROD["a"]
    knees = {"L": (-BASE + a * cos(left), a * sin(left)), "R": (BASE + a * cos(right), a * sin(right))}
    dx, dz = knees["R"][0] - knees["L"][0], knees["R"][1] - knees["L"][1]
    reach = hypot(dx, dz)
    lift, slope = acos(reach / (2 * b)), atan2(dz, dx)
    x, z = knees["L"][0] + b * cos(slope + lift), knees["L"][1] + b * sin(slope + lift)
    return {side: atan2(z - knee[1], x - knee[0]) for side, knee in knees.items()}
