"""The plane five-bar linkage with DC motors: document 002, examples 2.7 and 4.3."""

from __future__ import annotations

from math import acos, atan2, cos, hypot, pi, sin

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.plugins.models.four_bar import AXIS, rod
from kingpost.plugins.models.paths import GRAVITY

SIDES = ("left", "right")
#: Lengths (m) and masses (kg): half the distance of the pivots, cranks, rods, payload.
HALF, CRANK, ROD = 0.1, 0.15, 0.25
CRANK_MASS, ROD_MASS, PAYLOAD = 0.2, 0.15, 0.5
#: Angle of the left crank at the start; the right one is its mirror image.
START = 2.2
RATIO, TORQUE_CONSTANT, RESISTANCE = 50.0, 0.03, 1.0


def rod_angles(left: float, right: float, crank: float = CRANK, length: float = ROD, half: float = HALF) -> tuple[float, float]:
    """Return the angles of both rods, from their cranks to the payload above, at angles of the cranks."""
    elbows = [(side * half + crank * cos(angle), crank * sin(angle)) for side, angle in ((-1, left), (1, right))]
    x, z = (elbows[1][k] - elbows[0][k] for k in (0, 1))
    lean, rise = atan2(z, x), acos(hypot(x, z) / (2 * length))
    return lean + rise, pi + lean - rise


def holding_torque() -> float:
    """Return the torque on the left crank that holds the machine at its start: the slope of its potential energy.

    With the complement C_R of example 2.7, which says how the payload and the rods follow the left crank.
    """
    g = float(GRAVITY.default)
    theta, (left, right) = START, rod_angles(START, pi - START)
    s = sin(right - left)
    payload = cos(right) * sin(theta - left) * CRANK / s
    turn_left, turn_right = sin(theta - right) * CRANK / (s * ROD), sin(theta - left) * CRANK / (s * ROD)
    rods = CRANK * cos(theta) + ROD / 2 * (cos(left) * turn_left + cos(right) * turn_right)
    return g * (PAYLOAD * payload + CRANK_MASS * CRANK / 2 * cos(theta) + ROD_MASS * rods)


class FiveBar(Model):
    """Two cranks with DC motors and gears carry a payload by two rods, in an upright plane.

    The document has no numbers; these are own ones. The voltages hold the machine at its start, where it is its own mirror
    image. Positive angles turn x, to the right, towards z, up.
    """

    name = "five-bar"
    t_end = 2.0

    def build(self) -> Mechanism:
        distance = Parameter("pivot_distance", 2 * HALF, "m", "distance of the two pivots")
        crank = Parameter("crank_length", CRANK, "m", "length of a crank")
        length = Parameter("rod_length", ROD, "m", "length of a rod")
        crank_mass = Parameter("crank_mass", CRANK_MASS, "kg", "mass of a crank, a uniform rod")
        rod_mass = Parameter("rod_mass", ROD_MASS, "kg", "mass of a rod, uniform")
        payload = Parameter("payload_mass", PAYLOAD, "kg", "mass of the payload, a point")
        damping = Parameter("crank_damping", 0.01, "N.m.s/rad", "damping in the pivot of a crank", minimum=0.0)
        ratio = Parameter("gear_ratio", RATIO, "1", "turns of a motor for one of its crank")
        constant = Parameter("torque_constant", TORQUE_CONSTANT, "N.m/A", "torque of a motor, for its current")
        back_emf = Parameter("back_emf", TORQUE_CONSTANT, "V.s/rad", "voltage that a turning motor induces, for its rate")
        resistance = Parameter("resistance", RESISTANCE, "Ohm", "resistance of an armature")
        inductance = Parameter("inductance", 5e-3, "H", "inductance of an armature")
        inertia = Parameter("rotor_inertia", 1e-5, "kg.m2", "moment of inertia of a rotor")
        friction = Parameter("rotor_damping", 1e-6, "N.m.s/rad", "damping of a rotor", minimum=0.0)
        holding = holding_torque() / (RATIO * TORQUE_CONSTANT)
        signs = {"left": 1, "right": -1}
        current = {
            side: Parameter(f"current_{side}", sign * holding, "A", f"current of the {side} motor at the start")
            for side, sign in signs.items()
        }
        voltages = {
            side: Input(f"voltage_{side}", "V", sign * RESISTANCE * holding, f"voltage of the {side} motor")
            for side, sign in signs.items()
        }
        cranks = dict(zip(SIDES, (START, pi - START), strict=True))
        rods = dict(zip(SIDES, rod_angles(START, pi - START), strict=True))
        bodies = [Body("payload", mass=payload)]
        joints = [
            Joint(
                "payload", "planar-translational", "world", "payload", axis=AXIS, axis2=(1, 0, 0), coordinates=("x", "z"),
                start=(-HALF + CRANK * cos(START) + ROD * cos(rods["left"]), CRANK * sin(START) + ROD * sin(rods["left"])),
            )
        ]  # fmt: skip
        closures, forces = [], [ForceElement("gravity", acceleration=(0, 0, -GRAVITY))]
        for side in SIDES:
            at = (-distance / 2 if side == "left" else distance / 2, 0, 0)
            angle = f"{side}-crank.angle"
            bodies += [rod(f"{side}-crank", crank_mass, crank), rod(f"{side}-rod", rod_mass, length)]
            joints += [
                Joint(f"{side}-crank", "revolute", "world", f"{side}-crank", axis=AXIS, position=at, start=cranks[side]),
                Joint(
                    f"{side}-elbow", "revolute", f"{side}-crank", f"{side}-rod", axis=AXIS, position=(crank, 0, 0),
                    start=rods[side] - cranks[side],
                ),
            ]  # fmt: skip
            closures.append(
                Closure(f"{side}-grip", "point-on-line", "payload", f"{side}-rod", axis=AXIS, child_position=(length, 0, 0))
            )
            forces += [
                ForceElement(
                    "dc-motor", name=f"{side}-motor", coordinate=angle, voltage=voltages[side], inductance=inductance,
                    resistance=resistance, torque_constant=constant, back_emf=back_emf, gear_ratio=ratio,
                    rotor_inertia=inertia, rotor_damping=friction, start_current=current[side],
                ),
                ForceElement("joint-spring", name=f"{side}-pivot", coordinate=angle, damping=damping),
            ]  # fmt: skip
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(
                distance, crank, length, crank_mass, rod_mass, payload, damping, ratio, constant, back_emf, resistance,
                inductance, inertia, friction, *current.values(), GRAVITY,
            ),
            inputs=tuple(voltages.values()),
            bodies=tuple(bodies),
            joints=tuple(joints),
            closures=tuple(closures),
            forces=tuple(forces),
        )  # fmt: skip
