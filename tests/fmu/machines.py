"""Small machines for the tests of exported FMUs."""

from __future__ import annotations

import casadi as ca

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Output, Parameter, StepMap
from kingpost.mechanism.trajectories import Sampled

LENGTH = Parameter("length", 1.0, "m", "of the rod", minimum=0.1, maximum=10.0)
MASS = Parameter("mass", 2.0, "kg", "at its end")
TILT = Parameter("tilt", 0.3, "rad", "half of the start angle")
GRAVITY = Parameter("gravity", 9.81, "m/s2")


def rig(name: str = "rig", description: str = "A point mass on a rod, with a motor.") -> Mechanism:
    """A pendulum with a torque on it, whose start angle is a formula."""
    return Mechanism(
        name=name,
        description=description,
        parameters=(LENGTH, MASS, TILT, GRAVITY),
        inputs=(Input("torque", "N.m", 0.0, "at the pivot"),),
        bodies=(Body("bob", mass=MASS, com=(0, 0, -LENGTH)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=2 * TILT, start_rate=0.1),),
        forces=(
            ForceElement("gravity", acceleration=(0, 0, -GRAVITY)),
            ForceElement("joint-actuator", name="motor", coordinate="pivot.angle", effort="torque", stiffness=0, damping=0),
        ),
        outputs=(Output("tip", "bob", at=(0, 0, -LENGTH)),),
    )


def flywheel() -> Mechanism:
    """A wheel of 2 kg m^2 that nothing turns but a torque: its motion is known in closed form."""
    return Mechanism(
        name="flywheel",
        inputs=(Input("torque", "N.m"),),
        bodies=(Body("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1)),),
        forces=(
            ForceElement("joint-actuator", name="motor", coordinate="axle.angle", effort="torque", stiffness=0, damping=0),
        ),
    )


def carried() -> Mechanism:
    """A pendulum on a base whose place is given by seven inputs, the quaternion among them as it is."""
    names = ("x", "y", "z", "qw", "qx", "qy", "qz")
    return Mechanism(
        name="carried",
        inputs=tuple(Input(f"base_{name}", "1" if "q" in name else "m", float(name == "qw")) for name in names),
        bodies=(Body("base", mass=1.0, inertia=(1, 1, 1)), Body("load", mass=2.0, com=(0, 0, -1), inertia=(1, 1, 1))),
        joints=(
            Joint(
                "seat",
                "given",
                "world",
                "base",
                pose=tuple(f"base_{name}" for name in names),
                twist=(0,) * 6,
                twist_rate=(0,) * 6,
            ),
            Joint("pivot", "revolute", "base", "load", axis=(0, 1, 0), start=0.3),
        ),
        forces=(ForceElement("gravity", acceleration=(0, 0, -9.81)),),
        outputs=(Output("load", "load"),),
    )


def welded() -> Mechanism:
    """A body that cannot move: no degree of freedom, no input, no parameter."""
    return Mechanism(
        name="welded",
        bodies=(Body("block", mass=3.0, com=(0.5, 0, 0), inertia=(1, 1, 1)),),
        joints=(Joint("foot", "weld", "world", "block", position=(0, 0, 1)),),
        forces=(ForceElement("gravity", acceleration=(0, 0, -10)),),
        outputs=(Output("corner", "block", at=(1, 0, 0)),),
    )


def locking() -> Mechanism:
    """A body on a cardan joint that turns straight towards its lock: pitch 1.4 rad, at 1 rad/s, with nothing to stop it."""
    return Mechanism(
        name="locking",
        bodies=(Body("top", mass=1.0, inertia=(1.0, 1.0, 1.0)),),
        joints=(Joint("hinge", "cardan", "world", "top", start=(0, 1.4, 0), start_rate=(0, 1, 0)),),
    )


def follower(interpolation: str = "cubic") -> Mechanism:
    """An arm whose drive follows a table of samples."""
    times = tuple(0.1 * i for i in range(21))
    values = tuple(0.5 * ((i * 7) % 5 - 2) for i in range(21))
    return Mechanism(
        name="follower",
        inputs=(Input("torque", "N.m"),),
        bodies=(Body("arm", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1)),),
        joints=(Joint("pivot", "revolute", "world", "arm", axis=(0, 1, 0)),),
        forces=(
            ForceElement("gravity", acceleration=(0, 0, -9.81)),
            ForceElement(
                "joint-actuator", name="drive", coordinate="pivot.angle", effort="torque", stiffness=200.0, damping=20.0,
                target=Sampled(times, values, interpolation),
            ),
        ),
    )  # fmt: skip


def tumbling() -> Mechanism:
    """A free body with a quaternion, turning about an axis that is not principal."""
    return Mechanism(
        name="tumbling",
        parameters=(Parameter("spin", 1.0, "rad/s", "about y"),),
        inputs=(Input("push", "N"),),
        bodies=(Body("brick", mass=2.0, inertia=(1.0, 2.0, 3.0)),),
        joints=(Joint("flight", "free", "world", "brick", start_rate=(0.1, "spin", 0.2, 0, 0, 0)),),
        forces=(ForceElement("body-wrench", name="jet", body="brick", force=("push", 0, 0), moment=(0, 0, 0)),),
    )


class ImplicitMidpoint(StepMap):
    """Implicit midpoint rule, order 2, by Newton's method in generated code."""

    name = "implicit-midpoint"
    order = 2
    symplectic = True

    def step(self, equations, t, x, u, p, h):
        symbols = [ca.MX.sym(name, known.numel()) for name, known in zip("txuph", (t, x, u, p, h), strict=True)]
        new, (time, old, signals, values, length) = ca.MX.sym("new", x.numel()), symbols
        residual = new - old - length * equations.rhs(time + length / 2, (old + new) / 2, signals, values)
        problem = ca.Function("residual", [new, *symbols], [residual])
        return ca.rootfinder("newton", "fast_newton", problem, {"abstol": 1e-13, "max_iter": 50})(x, t, x, u, p, h)
