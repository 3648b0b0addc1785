"""Whipple's bicycle with the parameters of the benchmark of Meijaard, Papadopoulos, Ruina and Schwab (2007)."""

from __future__ import annotations

from math import pi

from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.shapes import Shape

_AXLE = (0.0, 1.0, 0.0)


class WhippleBicycle(Model):
    """A bicycle with a rigid rider and two thin wheels that roll without slip, straight on at a parameter ``speed``.

    Data of J. P. Meijaard et al., "Linearized dynamics equations for the balance and steer of a bicycle: a benchmark and
    review", Proc. R. Soc. A 463 (2007). There x is forward and z down; here z is up, so y, z and the products of inertia change
    their signs, and lean and steer do not: both are positive to the right. The weave is stable above 4.2924 m/s, the capsize
    below 6.0243 m/s. The coordinates of the frame are those of the rear wheel's centre, and yaw, lean and pitch.
    """

    name = "whipple-bicycle"
    t_end = 5.0

    def build(self) -> Mechanism:
        w = Parameter("wheelbase", 1.02, "m", "distance of the two points of contact")
        c = Parameter("trail", 0.08, "m", "how far the front contact is behind where the steer axis meets the ground")
        tilt = Parameter("tilt", pi / 10, "rad", "tilt of the steer axis from the vertical, backwards", maximum=pi / 2)
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        speed = Parameter("speed", 4.6, "m/s", "forward speed at the start")
        lean_rate = Parameter("lean_rate", 0.0, "rad/s", "rate of the lean at the start")
        rear, front = _wheel("rear", 0.3, 2.0, 0.0603, 0.12), _wheel("front", 0.35, 3.0, 0.1405, 0.28)
        frame = _body("frame", "frame and rider", 85.0, (0.3, 0.9), (9.2, 11.0, 2.8, -2.4))
        fork = _body("fork", "handlebar and fork", 4.0, (0.9, 0.7), (0.05892, 0.06, 0.00708, 0.00756))
        radius, front_radius = rear[0], front[0]
        torque = Input("steer_torque", "N.m", description="torque of the rider on the handlebar")
        push = Input("lean_torque", "N.m", description="torque from outside that leans the frame")
        # The frame's origin is the centre of the rear wheel, the fork's that of the front wheel; the steer axis goes through
        # (w + c, 0, 0), seen from the rear contact.
        on_axis, from_front = (w + c, 0, -radius), (c, 0, -front_radius)
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0].replace("``", ""),
            parameters=(w, c, tilt, gravity, speed, lean_rate, *rear, *front, *frame, *fork),
            inputs=(torque, push),
            bodies=(
                Body("carriage", mass=0.0),
                _frame("frame", frame, (0.0, radius)),
                _disc("rear-wheel", rear),
                _frame("fork", fork, (w, front_radius)),
                _disc("front-wheel", front),
            ),
            joints=(
                Joint("place", "translational", "world", "carriage", start=(0, 0, radius), start_rate=(speed, 0, 0)),
                Joint(
                    "attitude", "gimbal", "carriage", "frame", sequence="zxy", coordinates=("yaw", "lean", "pitch"),
                    start_rate=(0, lean_rate, 0),
                ),
                Joint(
                    "steer", "revolute", "frame", "fork", axis=("sin(tilt)", 0, "-cos(tilt)"), position=on_axis,
                    child_position=from_front,
                ),
                Joint("rear-axle", "revolute", "frame", "rear-wheel", axis=_AXLE, start_rate=speed / radius),
                Joint("front-axle", "revolute", "fork", "front-wheel", axis=_AXLE, start_rate=speed / front_radius),
            ),
            closures=(
                Closure("rear-contact", "rolling-disc", "world", "rear-wheel", axis=_AXLE, radius=radius),
                Closure("front-contact", "rolling-disc", "world", "front-wheel", axis=_AXLE, radius=front_radius),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="rider", coordinate="steer.angle", effort=torque),
                ForceElement("joint-effort", name="wind", coordinate="attitude.lean", effort=push),
            ),
            outputs=(Output("rider", "frame", at=("frame_x", 0, frame[2] - radius)),),
        )  # fmt: skip


def _wheel(name: str, radius: float, mass: float, across: float, about: float) -> tuple[Parameter, ...]:
    return (
        Parameter(f"{name}_radius", radius, "m", f"radius of the {name} wheel", minimum=0.0),
        Parameter(f"{name}_mass", mass, "kg", f"mass of the {name} wheel"),
        Parameter(f"{name}_across", across, "kg.m2", f"moment of inertia of the {name} wheel about a diameter"),
        Parameter(f"{name}_about", about, "kg.m2", f"moment of inertia of the {name} wheel about its axle"),
    )


def _body(name: str, words: str, mass: float, com: tuple[float, float], inertia: tuple[float, ...]) -> tuple[Parameter, ...]:
    return (
        Parameter(f"{name}_mass", mass, "kg", f"mass of {words}"),
        *(
            Parameter(f"{name}_{axis}", value, "m", f"centre of mass of {words}, along {axis} from the rear contact")
            for axis, value in zip("xz", com, strict=True)
        ),
        *(
            Parameter(f"{name}_{axes}", value, "kg.m2", f"entry {axes} of the inertia of {words} about its centre of mass")
            for axes, value in zip(("Ixx", "Iyy", "Izz", "Ixz"), inertia, strict=True)
        ),
    )


def _frame(name: str, parameters: tuple[Parameter, ...], origin: tuple[Parameter | float, Parameter]) -> Body:
    mass, x, z, xx, yy, zz, xz = parameters
    return Body(name, mass=mass, com=(x - origin[0], 0, z - origin[1]), inertia=(xx, yy, zz, 0, xz, 0))


def _disc(name: str, parameters: tuple[Parameter, ...]) -> Body:
    radius, mass, across, about = parameters
    shape = Shape("cylinder", radius=radius, length=0.02, rotation=(pi / 2, 0, 0))
    return Body(name, mass=mass, inertia=(across, about, across), shape=(shape,))
