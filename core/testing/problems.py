"""Machines with known answers, for the conformance kit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import Scalar, evaluate
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD, Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import assembled
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose


def oscillator() -> Mechanism:
    """A mass on a spring with angular frequency 2 rad/s, released at 1 m: x(t) = cos 2t. A linear problem."""
    return Mechanism(
        "oscillator",
        bodies=(Body("mass", mass=1.5),),
        joints=(Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0), start=1.0),),
        forces=(ForceElement("joint-spring", coordinate="rail.displacement", stiffness=6.0),),
    )


def oscillator_solution(t: FloatArray) -> FloatArray:
    """Return x and v of :func:`oscillator` as columns."""
    return np.column_stack([np.cos(2 * t), -2 * np.sin(2 * t)])


PENDULUM_START = 2.0
PENDULUM_LENGTH = 9.81 / 4.0  # small oscillations have 2 rad/s


def pendulum() -> Mechanism:
    """A point mass on a rod, released at 2 rad. A nonlinear problem with a closed form."""
    return Mechanism(
        "pendulum",
        bodies=(Body("bob", mass=1.0, com=(0, 0, -PENDULUM_LENGTH)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=PENDULUM_START),),
        forces=(ForceElement("gravity"),),
    )


def pendulum_solution(t: FloatArray, start: float = PENDULUM_START) -> FloatArray:
    """Return angle and rate of :func:`pendulum`, released at ``start``, as columns, from Jacobi's elliptic functions.

    With k = sin(start / 2) and w = 2 rad/s: sin(angle / 2) = k cd(w t, k^2).
    """
    from scipy.special import ellipj  # slow to import

    k, w = math.sin(start / 2), 2.0
    _, cn, dn, _ = ellipj(w * t, k**2)
    sn = ellipj(w * t, k**2)[0]
    angle = 2 * np.arcsin(k * cn / dn)
    # d cd / dz = -(1 - k^2) sn / dn^2, and cos(angle / 2) = sqrt(1 - k^2) / dn.
    rate = -2 * k * w * math.sqrt(1 - k**2) * sn / dn
    return np.column_stack([angle, rate])


ROD_MASS = 1.5
ROD_REACH = 0.6 * PENDULUM_LENGTH  # from the pivot to the centre of mass


def planar_pendulum() -> Mechanism:
    """A rod that could move freely in a plane, held by a pin: the motion of :func:`pendulum`, as an index-3 DAE."""
    # About the pivot I + m d^2 = m d L, so that L is the length of the mathematical pendulum that swings alike.
    inertia = ROD_MASS * ROD_REACH * (PENDULUM_LENGTH - ROD_REACH)
    x, y = _rod_centre(np.array(PENDULUM_START))
    return Mechanism(
        "planar-pendulum",
        bodies=(Body("rod", mass=ROD_MASS, inertia=(inertia, inertia, inertia)),),
        joints=(
            Joint(
                "plane", "planar", "world", "rod", axis=(0, 1, 0), axis2=(1, 0, 0), start=(float(x), float(y), PENDULUM_START)
            ),
        ),
        closures=(Closure("pin", "point-on-line", "world", "rod", axis=(0, 1, 0), child_position=(0, 0, ROD_REACH)),),
        forces=(ForceElement("gravity"),),
    )


def _rod_centre(angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of the centre of mass: x to the side, y downwards."""
    return -ROD_REACH * np.sin(angle), ROD_REACH * np.cos(angle)


def planar_pendulum_solution(t: FloatArray) -> FloatArray:
    """Return x, y, angle and their rates of :func:`planar_pendulum` as columns."""
    angle, rate = pendulum_solution(t).T
    x, y = _rod_centre(angle)
    return np.column_stack([x, y, angle, -y * rate, x * rate, rate])


def planar_pendulum_pin_force(t: FloatArray) -> FloatArray:
    """Return the magnitude of the force in the pin, by Newton's law for the centre of mass."""
    angle, rate = pendulum_solution(t).T
    along = ROD_REACH * rate**2 + 9.81 * np.cos(angle)
    across = 9.81 * np.sin(angle) * (1 - ROD_REACH / PENDULUM_LENGTH)
    force: FloatArray = ROD_MASS * np.hypot(along, across)
    return force


#: Kinds of closures that can close :func:`parallelogram`.
LOOP_CLOSURES = ("point-on-line", "spherical", "revolute", "distance")
PARALLELOGRAM_START = 0.9


def parallelogram(kind: str) -> Mechanism:
    """A four-bar linkage with parallel cranks, hanging, closed by a closure of one of the kinds of :data:`LOOP_CLOSURES`.

    Its coupler never turns, so the machine swings as :func:`pendulum` does: with the inertia J of both cranks about their
    pivots and a coupler of mass m, J + m L^2 = S PENDULUM_LENGTH, S the sum of their first moments. A ``distance`` is a coupler
    without mass. Released at :data:`PARALLELOGRAM_START`, far from the angles of 90 degrees where it lies flat.
    """
    length, base, crank, coupler = 1.5, 2.0, 2.0, 0.0 if kind == "distance" else 3.0
    first_moment = 2 * crank * length / 2 + coupler * length
    about_pivot = (first_moment * PENDULUM_LENGTH - coupler * length**2) / 2
    moment = about_pivot - crank * (length / 2) ** 2
    inertia = (0.6 * moment, moment, 0.7 * moment)
    bar: dict[str, Any] = {"mass": crank, "com": (0, 0, -length / 2), "inertia": inertia}
    bodies = [Body("left", **bar), Body("right", **bar)]
    turning: dict[str, Any] = {"axis": (0, 1, 0)}
    joints = [
        Joint("a", "revolute", "world", "left", start=PARALLELOGRAM_START, **turning),
        Joint("d", "revolute", "world", "right", position=(base, 0, 0), start=PARALLELOGRAM_START, **turning),
    ]
    places: dict[str, Any] = {"position": (0, 0, -length), "child_position": (0, 0, -length), "length": base}
    tied = "left"
    if kind != "distance":
        bodies.append(Body("coupler", mass=coupler, com=(base / 2, 0, 0), inertia=(0.3, 1.0, 1.1)))
        joints.append(
            Joint("b", "revolute", "left", "coupler", position=(0, 0, -length), start=-PARALLELOGRAM_START, **turning)
        )
        places, tied = {"position": (base, 0, 0), "child_position": (0, 0, -length)}, "coupler"
        if kind != "spherical":
            places |= turning
    return Mechanism(
        f"parallelogram-{kind}",
        bodies=tuple(bodies),
        joints=tuple(joints),
        closures=(Closure("c", kind, tied, "right", **places),),
        forces=(ForceElement("gravity"),),
    )


def parallelogram_solution(t: FloatArray) -> FloatArray:
    """Return angle and rate of both cranks of :func:`parallelogram` as columns."""
    return pendulum_solution(t, PARALLELOGRAM_START)


#: Mass (kg), radius (m) and torque (N m) of :func:`bare_winch`.
BUCKET, DRUM_RADIUS, DRUM_TORQUE = 12.0, 0.25, 9.0


def bare_winch() -> Mechanism:
    """A bucket on a rope from a driven drum without inertia: z'' = torque / (m r) - g, though the mass matrix is singular."""
    return Mechanism(
        "bare-winch",
        bodies=(Body("drum", mass=5.0), Body("bucket", mass=BUCKET)),
        joints=(
            Joint("axle", "revolute", "world", "drum", axis=(0, 1, 0), position=(-DRUM_RADIUS, 0, 2)),
            Joint("shaft", "prismatic", "world", "bucket", axis=(0, 0, 1), start=-1.0),
        ),
        forces=(ForceElement("gravity"), ForceElement("joint-effort", coordinate="axle.angle", effort=-DRUM_TORQUE)),
        closures=(
            Closure(
                "rope",
                "rope",
                "world",
                "bucket",
                position=(0, 0, 2),
                length=3.0,
                coordinates=("axle.angle",),
                radius=DRUM_RADIUS,
            ),
        ),
    )


def pushed_mass() -> Mechanism:
    """A free mass of 2 kg on a rail, pushed by an input and by the force 2 cos(t)."""
    push = Input("push", "N")
    return Mechanism(
        "pushed-mass",
        inputs=(push,),
        parameters=(Parameter("amplitude", 2.0, "N"),),
        bodies=(Body("mass", mass=2.0),),
        joints=(Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0)),),
        forces=(ForceElement("joint-effort", coordinate="rail.displacement", effort="push + amplitude * cos(t)"),),
    )


#: Time constant (s) and effort (N) of :func:`lagging_cart`.
LAG, EFFORT = 0.5, 3.0


def lagging_cart() -> Mechanism:
    """A mass of 2 kg on a rail, pushed by a drive whose effort is a state: T e' + e = 3 N."""
    drive = {"stiffness": 0.0, "damping": 0.0, "effort": EFFORT, "time_constant": LAG}
    return Mechanism(
        "lagging-cart",
        bodies=(Body("cart", mass=2.0, inertia=(1.0, 1.0, 1.0)),),
        joints=(Joint("rail", "prismatic", "world", "cart", axis=(1, 0, 0)),),
        forces=(ForceElement("joint-actuator", name="drive", coordinate="rail.displacement", **drive),),
    )


def lagging_cart_solution(t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the speed and the effort of :func:`lagging_cart`."""
    settled = 1 - np.exp(-t / LAG)
    return EFFORT / 2.0 * (t - LAG * settled), EFFORT * settled


@dataclass(frozen=True)
class DrivenPendulum:
    """Numbers and closed form of :func:`driven_pendulum`, in SI units."""

    mass: float = 2.0
    length: float = 1.5
    inertia: float = 0.3
    stiffness: float = 4.0
    damping: float = 0.7
    rotor: float = 0.05
    ratio: float = 9.0

    def resistance(self, rotor: float) -> float:
        """Return the inertia about the pivot, that of the rotor by the square of its ratio included."""
        return self.inertia + self.mass * self.length**2 + self.ratio**2 * rotor

    def acceleration(self, angle: float, rate: float, torque: float, rotor: float) -> float:
        """Return the angular acceleration."""
        weight = self.mass * 9.81 * self.length * math.sin(angle)
        return (torque - weight - self.stiffness * angle - self.damping * rate) / self.resistance(rotor)

    def kinetic(self, rate: float, rotor: float) -> float:
        """Return the kinetic energy."""
        return self.resistance(rotor) * rate**2 / 2


DRIVEN = DrivenPendulum()


def driven_pendulum(rotor: float) -> Mechanism:
    """Return a pendulum with a spring, a damper, a torque from outside, and a rotor behind a gear if it has inertia."""
    spin = ForceElement("joint-inertia", coordinates=("pivot.angle",), inertia=rotor, ratios=(DRIVEN.ratio,))
    return Mechanism(
        "pendulum-with-rotor" if rotor else "driven-pendulum",
        inputs=(Input("torque", "N.m"),),
        bodies=(Body("bob", mass=DRIVEN.mass, com=(0, 0, -DRIVEN.length), inertia=(0.2, DRIVEN.inertia, 0.25)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0)),),
        forces=(
            ForceElement("gravity"),
            ForceElement("joint-spring", coordinate="pivot.angle", stiffness=DRIVEN.stiffness, damping=DRIVEN.damping),
            ForceElement("joint-effort", coordinate="pivot.angle", effort="torque"),
            *((spin,) if rotor else ()),
        ),
    )


def welded() -> Mechanism:
    """A body welded to the world: nothing can move."""
    return Mechanism(
        "welded",
        bodies=(Body("block", mass=1.0, inertia=(0.1, 0.1, 0.1)),),
        joints=(Joint("weld", "weld", "world", "block", position=(0, 0, 3)),),
        forces=(ForceElement("gravity"),),
        outputs=(Output("block-origin", "block"),),
    )


#: Joint kinds with coordinates of their own, or none.
FREE_KINDS = tuple(kind for kind in JOINT_KINDS if kind != "given")


def random_tree(seed: int, bodies: int = 5, kinds: Sequence[str] = FREE_KINDS) -> Mechanism:
    """Return a tree of rigid bodies with random shape, joints, inertias and springs, and gravity in a random direction.

    Conservative by construction; its joints are of the given ``kinds``. The parameter ``scale`` multiplies all masses and
    inertias, so that a test can see a parameter at work; everything else is a number.
    """
    rng = np.random.default_rng(seed)
    scale = Parameter("scale", 1.0, "1", "factor on all masses and inertias")

    def vector(size: float = 1.0) -> tuple[float, float, float]:
        x, y, z = (rng.uniform(-size, size, 3)).tolist()
        return x, y, z

    def inertia() -> tuple[Scalar, ...]:
        # The inertia of a cloud of points is always possible.
        points = rng.normal(size=(6, 3)) * rng.uniform(0.1, 0.5, 3)
        second = points.T @ points
        matrix = np.trace(second) * np.eye(3) - second
        return tuple(scale * float(matrix[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))

    names = [f"body{i}" for i in range(bodies)]
    joints = []
    for i, name in enumerate(names):
        # The first joint moves, so that there is something to test; the others may also weld.
        kind = str(rng.choice([kind for kind in kinds if i or kind != "weld"]))
        axis, axis2 = vector(), vector()
        if JOINT_KINDS[kind].right_angle:
            axis2 = tuple(np.cross(axis, axis2).tolist())
        needs = JOINT_KINDS[kind].needs
        joints.append(
            Joint(
                f"joint{i}",
                kind,
                parent="world" if i == 0 else names[int(rng.integers(0, i))],
                child=name,
                axis=axis if "axis" in needs else None,
                axis2=axis2 if "axis2" in needs else None,
                pitch=float(rng.uniform(0.1, 0.5)) if "pitch" in needs else None,
                sequence=str(rng.choice(["zyx", "xyz", "zxz", "yxy", "yzx"])) if "sequence" in needs else None,
                position=vector(),
                rotation=vector(math.pi),
                child_position=vector(),
                child_rotation=vector(math.pi),
                start=tuple(rng.uniform(0.3, 1.2, len(JOINT_KINDS[kind].coordinates)).tolist()),
                start_rate=tuple(rng.uniform(-1, 1, JOINT_KINDS[kind].freedom).tolist()),
            )
        )
    springs = tuple(
        ForceElement(
            "joint-spring",
            name=f"spring-{coordinate.name.replace('.', '-')}",
            coordinate=coordinate.name,
            stiffness=float(rng.uniform(1, 20)),
            rest=float(rng.uniform(-1, 1)),
        )
        for joint in joints
        if JOINT_KINDS[joint.kind].speeds is None
        for coordinate in joint.positions
    )
    return Mechanism(
        f"random-tree-{seed}",
        parameters=(scale,),
        bodies=tuple(Body(name, mass=scale * float(rng.uniform(0.5, 3.0)), com=vector(), inertia=inertia()) for name in names),
        joints=tuple(joints),
        forces=(ForceElement("gravity", acceleration=vector(9.81)), *springs),
        outputs=(
            Output("point", names[-1], at=vector()),
            Output("point-velocity", names[-1], at=(0.1, 0.2, 0.3), quantity="velocity"),
            Output("point-position", names[-1], at=(0.1, 0.2, 0.3)),
        ),
    )


#: Kinds of closures that :func:`random_loop` closes loops by, with the rows that each has; rolling cannot be integrated.
RANDOM_CLOSURES = {
    "point-on-plane": 1,
    "distance": 1,
    "point-on-line": 2,
    "spherical": 3,
    "rolling": 3,
    "rolling-disc": 3,
    "universal": 4,
}


def random_loop(seed: int, bodies: int = 5, kind: str = "") -> Mechanism:
    """Return a :func:`random_tree` whose last body a closure ties to the world, or to another body; closed at its start.

    The closure is of a ``kind`` of :data:`RANDOM_CLOSURES`, by default a random one of those that leave freedom. Start rates
    need not satisfy it.
    """
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, bodies)
    child = tree.bodies[-1].name
    freedom = {WORLD: 0}
    for joint in tree.tree:
        freedom[joint.child] = freedom[joint.parent] + len(joint.speeds)
    kind = kind or str(rng.choice([name for name, rows in RANDOM_CLOSURES.items() if rows < freedom[child]]))
    child_position = tuple(rng.uniform(-0.5, 0.5, 3).tolist())
    X_WM = _start_pose(tree, child) @ Pose(np.eye(3), np.array(child_position))
    offset = {"distance": (0.0, 0.0, -0.8), "rolling": (0.0, 0.0, -0.4), "rolling-disc": (0.0, 0.0, -0.4)}.get(kind, (0.0,) * 3)
    place = X_WM @ Pose(np.eye(3), np.array(offset))
    fields: dict[str, Any] = {"length": 0.8, "radius": 0.4, "axis": (0.0, 1.0, 0.0), "axis2": (1.0, 0.0, 0.0)}
    needs = CLOSURE_KINDS[kind].needs
    closure = Closure(
        "tie",
        kind,
        WORLD,
        child,
        position=tuple(np.ravel(place.p).tolist()),
        rotation=_roll_pitch_yaw(np.asarray(place.R)),
        child_position=child_position,
        **{name: value for name, value in fields.items() if name in needs},
    )
    return replace(tree, name=f"random-loop-{seed}", closures=(closure,))


def _start_pose(mechanism: Mechanism, body: str) -> Pose:
    """Return the pose of a body in the world at the start."""
    tree = TreeKinematics(assembled(mechanism, {}, ()))
    values = [float(evaluate(value, {})) for joint in mechanism.joints for value in joint.start_values[: len(joint.positions)]]
    X = tree.pose(body)
    found = ca.Function("pose", [tree.q], [ca.densify(X.R), ca.densify(X.p)])(values)
    R, p = (np.asarray(part) for part in found)
    return Pose(R, p.ravel())


def _roll_pitch_yaw(R: FloatArray) -> tuple[float, float, float]:
    """Return the angles of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return (
        math.atan2(R[2, 1], R[2, 2]),
        math.atan2(-R[2, 0], math.hypot(R[2, 1], R[2, 2])),
        math.atan2(R[1, 0], R[0, 0]),
    )
