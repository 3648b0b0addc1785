"""Mechanisms and states handed to Pinocchio and MuJoCo, and what these make of them in Kingpost's coordinates and speeds.

Only numbers are taken from a mechanism. Rotations, joint chains and inertias are worked out here in NumPy or by the peers, so
that an error in Kingpost's kinematics cannot hide on both sides of a comparison.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio
from numpy.typing import NDArray

from kingpost import Mechanism
from kingpost.base.formulas import Scalar, evaluate

Array = NDArray[np.float64]

CHAINS = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "translational",
    "planar-translational",
    "gimbal",
    "cardan",
)
#: The joint kinds that each peer can express. MuJoCo has no screw: it couples coordinates by soft constraints only.
SUPPORTED = {
    "pinocchio": (*CHAINS, "screw", "spherical", "free", "weld"),
    "mujoco": (*CHAINS, "spherical", "free", "weld"),
}
UNIT = dict(zip("xyz", np.eye(3), strict=True))


@dataclass(frozen=True)
class Evaluation:
    """M vdot = f at a state; ``weight`` is f at the same place and at rest."""

    M: Array
    f: Array
    weight: Array
    vdot: Array


def rotation(axis: Array, angle: float) -> Array:
    """Return the rotation about a unit vector (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> Array:
    return rotation(UNIT["z"], yaw) @ rotation(UNIT["y"], pitch) @ rotation(UNIT["x"], roll)


def rotation_of(quaternion: Array) -> Array:
    """Return the rotation matrix of a unit quaternion w, x, y, z."""
    w, x, y, z = quaternion
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def quaternion_of(R: Array) -> Array:
    """Return the quaternion w, x, y, z of a rotation matrix.

    It is the eigenvector of the largest eigenvalue, 3, of a symmetric matrix whose others are -1 (Davenport, Bar-Itzhack): no
    angle is worse conditioned than another.
    """
    K = np.zeros((4, 4))
    K[0, 0] = np.trace(R)
    K[0, 1:] = K[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    return np.linalg.eigh(K)[1][:, -1]


def pose(position: Sequence[float], R: Array) -> Array:
    """Return a homogeneous transformation."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, position
    return X


@dataclass(frozen=True)
class Link:
    """A body and the joint that carries it, in numbers."""

    body: str
    parent: str
    kind: str
    #: Successive turns and slides along unit vectors, from the parent to the child, each with the coordinate it belongs to.
    motions: tuple[tuple[str, Array, int], ...]
    axis: Array | None
    pitch: float
    #: First rows in Kingpost's q and v.
    q: int
    v: int
    X_PF: Array
    X_BM: Array
    mass: float
    com: Array
    inertia: Array


def links(mechanism: Mechanism, parameters: Mapping[str, float]) -> list[Link]:
    """Return the bodies of a mechanism, each followed by all that it carries.

    Pinocchio's composite-rigid-body algorithm takes the speeds of a subtree to be contiguous, and is wrong otherwise.
    """

    def numbers(scalars: Sequence[Scalar]) -> Array:
        return np.array([float(evaluate(scalar, parameters)) for scalar in scalars])

    def direction(scalars: Sequence[Scalar] | None) -> Array | None:
        return None if scalars is None else numbers(scalars) / np.linalg.norm(numbers(scalars))

    rows, q, v = {}, 0, 0
    for joint in mechanism.joints:
        rows[joint.name] = q, v
        q, v = q + len(joint.positions), v + len(joint.speeds)

    found = []
    waiting = [joint for joint in mechanism.joints if joint.parent == "world"]
    while waiting:
        joint = waiting.pop()
        waiting += [carried for carried in mechanism.joints if carried.parent == joint.child]
        body = mechanism.body(joint.child)
        xx, yy, zz, xy, xz, yz = np.pad(numbers(body.inertia), (0, 6 - len(body.inertia)))
        axis, axis2 = direction(joint.axis), direction(joint.axis2)
        found.append(
            Link(
                body=body.name,
                parent=joint.parent,
                kind=joint.kind,
                motions=_motions(joint.kind, axis, axis2, joint.sequence),
                axis=axis,
                pitch=0.0 if joint.pitch is None else float(evaluate(joint.pitch, parameters)),
                q=rows[joint.name][0],
                v=rows[joint.name][1],
                X_PF=pose(numbers(joint.position), roll_pitch_yaw(*numbers(joint.rotation))),
                X_BM=pose(numbers(joint.child_position), roll_pitch_yaw(*numbers(joint.child_rotation))),
                mass=float(evaluate(body.mass, parameters)),
                com=numbers(body.com),
                inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
            )
        )
    return found


def _motions(kind: str, axis: Array | None, axis2: Array | None, sequence: str | None) -> tuple[tuple[str, Array, int], ...]:
    match kind:
        case "revolute":
            return (("turn", axis, 0),)
        case "prismatic":
            return (("slide", axis, 0),)
        case "cylindrical":
            return ("turn", axis, 0), ("slide", axis, 1)
        case "universal":
            return ("turn", axis, 0), ("turn", axis2, 1)
        case "planar":
            return ("slide", axis2, 0), ("slide", np.cross(axis, axis2), 1), ("turn", axis, 2)
        case "translational":
            return tuple(("slide", UNIT[letter], i) for i, letter in enumerate("xyz"))
        case "planar-translational":
            return ("slide", axis2, 0), ("slide", np.cross(axis, axis2), 1)
        case "gimbal":
            return tuple(("turn", UNIT[letter], i) for i, letter in enumerate(sequence))
        case "cardan":
            return ("turn", UNIT["z"], 2), ("turn", UNIT["y"], 1), ("turn", UNIT["x"], 0)
    return ()


def check_kinds(mechanism: Mechanism, peer: str) -> None:
    """Refuse joints that a peer would leave out without a word."""
    unknown = {joint.kind for joint in mechanism.joints} - set(SUPPORTED[peer])
    assert not unknown, f"{peer} has no {', '.join(sorted(unknown))} joint"


def gravity(mechanism: Mechanism, parameters: Mapping[str, float]) -> Array:
    """Return the acceleration of free fall; refuse a mechanism with forces that the peers are not told about."""
    assert all(force.kind == "gravity" for force in mechanism.forces), "the peers know no force but gravity"
    accelerations = [force.options.get("acceleration", (0.0, 0.0, -9.81)) for force in mechanism.forces]
    vectors = [np.array([float(evaluate(component, parameters)) for component in vector]) for vector in accelerations]
    return sum(vectors, np.zeros(3))


def _unit_quaternions(q: Sequence[float], starts: Sequence[int]) -> Array:
    q = np.array(q, dtype=float)
    for start in starts:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q


QUATERNION_ROW = {"spherical": 0, "free": 3}


@dataclass(frozen=True)
class PinocchioPeer:
    """A Pinocchio model whose coordinates and speeds are ``q[q_order]`` and ``v[v_order]`` of Kingpost's."""

    model: pinocchio.Model
    q_order: Sequence[int]
    v_order: Sequence[int]
    #: First rows of Kingpost's quaternions, which may have any length.
    quaternions: Sequence[int] = ()

    def evaluate(self, q: Sequence[float], v: Sequence[float]) -> Evaluation:
        q = _unit_quaternions(q, self.quaternions)[list(self.q_order)]
        v = np.asarray(v)[list(self.v_order)]
        model, data, rest = self.model, self.model.createData(), np.zeros(self.model.nv)
        upper = np.triu(pinocchio.crba(model, data, q))
        back = np.argsort(self.v_order)
        return Evaluation(
            M=(upper + np.triu(upper, 1).T)[np.ix_(back, back)],
            f=-pinocchio.nonLinearEffects(model, data, q, v)[back],
            weight=-pinocchio.computeGeneralizedGravity(model, data, q)[back],
            vdot=pinocchio.aba(model, data, q, v, rest)[back],
        )


def pinocchio_peer(mechanism: Mechanism, parameters: Mapping[str, float]) -> PinocchioPeer:
    """Return ``mechanism`` as a Pinocchio model, whose joint frames are the frames M."""
    check_kinds(mechanism, "pinocchio")
    model = pinocchio.Model()
    model.gravity.linear = gravity(mechanism, parameters)
    # What carries each body: a joint and the pose of the body in it. A welded body hangs on its parent's joint.
    carried = {"world": (0, np.eye(4))}
    q_order: list[int] = []
    v_order: list[int] = []
    quaternions = []
    for link in links(mechanism, parameters):
        joint, X_JP = carried[link.parent]
        X_JF, X_MB = X_JP @ link.X_PF, np.linalg.inv(link.X_BM)
        if link.kind == "weld":
            carried[link.body] = joint, X_JF @ X_MB
        else:
            joint = model.addJoint(joint, _pinocchio_joint(link), pinocchio.SE3(X_JF), link.body)
            carried[link.body] = joint, X_MB
            # Pinocchio: quaternions x, y, z, w; twists linear part first.
            q_rows, v_rows = {
                "spherical": ((1, 2, 3, 0), (0, 1, 2)),
                "free": ((0, 1, 2, 4, 5, 6, 3), (3, 4, 5, 0, 1, 2)),
                "screw": ((0,), (0,)),
            }.get(link.kind, [[row for _, _, row in link.motions]] * 2)
            q_order += [link.q + row for row in q_rows]
            v_order += [link.v + row for row in v_rows]
        if link.kind in QUATERNION_ROW:
            quaternions.append(link.q + QUATERNION_ROW[link.kind])
        joint, X_JB = carried[link.body]
        model.appendBodyToJoint(joint, pinocchio.Inertia(link.mass, link.com, link.inertia), pinocchio.SE3(X_JB))
    return PinocchioPeer(model, q_order, v_order, quaternions)


def _pinocchio_joint(link: Link) -> pinocchio.JointModel:
    match link.kind:
        case "spherical":
            return pinocchio.JointModelSpherical()
        case "free":
            return pinocchio.JointModelFreeFlyer()
        case "screw":
            return pinocchio.JointModelHelicalUnaligned(link.axis, link.pitch)
    models = {"turn": pinocchio.JointModelRevoluteUnaligned, "slide": pinocchio.JointModelPrismaticUnaligned}
    steps = [models[motion](axis) for motion, axis, _ in link.motions]
    if len(steps) == 1:
        return steps[0]
    chain = pinocchio.JointModelComposite()
    for step in steps:
        chain.addJoint(step)
    return chain


@dataclass(frozen=True)
class FreeRows:
    """A free joint: its first rows in MuJoCo's q and v, and the pose of F in the frame in which MuJoCo gives its pose."""

    q: int
    v: int
    X_AF: Array


@dataclass(frozen=True)
class MujocoPeer:
    """A MuJoCo model whose coordinates and speeds are ``q[q_order]`` and ``v[v_order]`` of Kingpost's, but for free joints.

    MuJoCo's linear velocity of a free joint is the rate of its position, Kingpost's is that of the frame M in M.
    """

    model: mujoco.MjModel
    q_order: Sequence[int]
    v_order: Sequence[int]
    quaternions: Sequence[int] = ()
    frees: Sequence[FreeRows] = ()

    def evaluate(self, q: Sequence[float], v: Sequence[float]) -> Evaluation:
        q = _unit_quaternions(q, self.quaternions)[list(self.q_order)]
        v = np.asarray(v)[list(self.v_order)]
        # MuJoCo's speeds are T v, with T orthogonal, and its accelerations T vdot + drift.
        T, drift = np.eye(len(v)), np.zeros(len(v))
        for free in self.frees:
            X_FM = pose(q[free.q : free.q + 3], rotation_of(q[free.q + 3 : free.q + 7]))
            X_AM = free.X_AF @ X_FM
            q[free.q : free.q + 7] = *X_AM[:3, 3], *quaternion_of(X_AM[:3, :3])
            linear, angular = slice(free.v, free.v + 3), slice(free.v + 3, free.v + 6)
            T[linear, linear] = X_AM[:3, :3]
            drift[linear] = X_AM[:3, :3] @ np.cross(v[angular], v[linear])
        data = mujoco.MjData(self.model)
        data.qpos, data.qvel = q, T @ v
        mujoco.mj_forward(self.model, data)
        M = np.zeros((len(v), len(v)))
        mujoco.mj_fullM(self.model, data, M)
        bias, vdot = data.qfrc_bias.copy(), data.qacc.copy()
        data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, data)
        back = np.argsort(self.v_order)
        return Evaluation(
            M=(T.T @ M @ T)[np.ix_(back, back)],
            f=(T.T @ (-bias - M @ drift))[back],
            weight=(T.T @ -data.qfrc_bias)[back],
            vdot=(T.T @ (vdot - drift))[back],
        )


def mujoco_peer(mechanism: Mechanism, parameters: Mapping[str, float]) -> MujocoPeer:
    """Return ``mechanism`` as a MuJoCo model, whose body frames are the frames M."""
    check_kinds(mechanism, "mujoco")
    spec = mujoco_spec(gravity(mechanism, parameters))
    bodies = {"world": spec.worldbody}
    X_MB = {"world": np.eye(4)}
    chain = links(mechanism, parameters)
    for link in chain:
        X_MF = X_MB[link.parent] @ link.X_PF
        body = bodies[link.body] = add_body(bodies[link.parent], link.body, X_MF)
        X_MB[link.body] = np.linalg.inv(link.X_BM)
        set_inertia(body, link.mass, link.com, link.inertia, X_MB[link.body])
        if link.kind == "free" and link.parent == "world":
            body.add_joint(type=mujoco.mjtJoint.mjJNT_FREE, align=0)
        elif link.kind == "free":  # allowed on the world only: elsewhere the same motion in steps
            for axis in np.eye(3):
                body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
        if link.kind == "spherical" or (link.kind == "free" and link.parent != "world"):
            body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
        for motion, axis, _ in link.motions:
            body.add_joint(type=MUJOCO_MOTIONS[motion], axis=axis)
    with warnings.catch_warnings():
        # Compiling evaluates the inertia at zero coordinates, where a gimbal such as zxz is locked; no result depends on it.
        warnings.filterwarnings("ignore", "Inertia matrix is too close to singular")
        model = spec.compile()

    q_order, v_order = np.zeros(model.nq, dtype=int), np.zeros(model.nv, dtype=int)
    quaternions, frees = [], []
    for link in chain:
        if link.kind == "weld":
            continue
        first = model.body(link.body).jntadr[0]
        q, v = model.jnt_qposadr[first], model.jnt_dofadr[first]
        q_rows, v_rows = {
            "spherical": (range(4), range(3)),
            "free": (range(7), (3, 4, 5, 0, 1, 2)),
        }.get(link.kind, [[row for _, _, row in link.motions]] * 2)
        q_order[q : q + len(q_rows)] = [link.q + row for row in q_rows]
        v_order[v : v + len(v_rows)] = [link.v + row for row in v_rows]
        if link.kind in QUATERNION_ROW:
            quaternions.append(link.q + QUATERNION_ROW[link.kind])
        if link.kind == "free":
            frees.append(FreeRows(q, v, link.X_PF if link.parent == "world" else np.eye(4)))
    return MujocoPeer(model, q_order.tolist(), v_order.tolist(), quaternions, frees)


MUJOCO_MOTIONS = {"turn": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}


def mujoco_spec(acceleration: Sequence[float]) -> mujoco.MjSpec:
    """Return an empty MuJoCo description that nothing but ``acceleration`` acts on, and whose inertias are left as they are."""
    spec = mujoco.MjSpec()
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    spec.compiler.balanceinertia = spec.compiler.fusestatic = spec.compiler.alignfree = False
    spec.option.gravity = acceleration
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return spec


def add_body(parent: mujoco.MjsBody, name: str, X: Array) -> mujoco.MjsBody:
    return parent.add_body(name=name, pos=X[:3, 3], quat=quaternion_of(X[:3, :3]))


def set_inertia(body: mujoco.MjsBody, mass: float, com: Array, inertia: Array, X: Array) -> None:
    """Give ``body`` what is known about the centre of mass in a frame with the pose ``X``, as principal moments and axes."""
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.linalg.det(axes)  # right-handed
    body.explicitinertial = True
    body.mass, body.inertia = mass, moments
    body.ipos = X[:3, :3] @ com + X[:3, 3]
    body.iquat = quaternion_of(X[:3, :3] @ axes)


PEERS: dict[str, Callable[[Mechanism, Mapping[str, float]], PinocchioPeer | MujocoPeer]] = {
    "pinocchio": pinocchio_peer,
    "mujoco": mujoco_peer,
}
