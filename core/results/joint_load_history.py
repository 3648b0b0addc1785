"""The load of one joint over time, and its conversion to other axes, to the other side and to another point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channel_roles import ORIENTATION, POSITION
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import COMPONENTS, HOW_TO_GET_LOADS, LOAD_PARTS, WORLD, Frame, Side, check_frame
from kingpost.base.open_loads import open_joints

if TYPE_CHECKING:
    from kingpost.results.history import History


@dataclass(frozen=True, eq=False)
class JointLoadHistory:
    """The wrench that a joint or closure transmits, sample by sample, in stated axes, on a stated side, about a stated point.

    All wrenches have columns Mx, My, Mz (N m), Fx, Fy, Fz (N); ``total`` is the sum of the parts. The motion is that of the
    body on which the load acts, in the same axes: with ``total``, the other loads on the body and these, a finite-element
    model of it is in balance (inertia relief).
    """

    joint: str
    body: str
    frame: Frame
    side: Side
    at: tuple[float, float, float]
    time: FloatArray
    total: FloatArray
    constraint: FloatArray
    actuator: FloatArray
    friction: FloatArray
    #: Efforts of gears and winches along the joint's coordinates.
    closure: FloatArray
    #: Of the body's material point at the reference point, m/s^2; of the body, rad/s^2 and rad/s; of free fall, m/s^2. NaN in
    #: results that do not hold the motion of the body.
    acceleration: FloatArray
    angular_acceleration: FloatArray
    angular_velocity: FloatArray
    gravity: FloatArray
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, component: str) -> FloatArray:
        """Return one component of the total, e.g. ``"Mx"``."""
        if component not in COMPONENTS:
            raise KingpostError(f"a load has no component '{component}'; choose from {listed(COMPONENTS)}")
        return self.total[:, COMPONENTS.index(component)]

    @property
    def unique(self) -> bool:
        """Whether the laws of motion decide it, or the stiffness of joints; else it is one of many that rigid bodies allow."""
        return self.joint not in open_joints(self.provenance)

    @property
    def point(self) -> str:
        """The reference point, in words."""
        origin = f"the origin of joint '{self.joint}' on its {self.side}"
        if not any(self.at):
            return origin
        return f"{origin}, shifted by ({', '.join(f'{x:g}' for x in self.at)}) m along {self.frame} axes"


def joint_load_history(
    history: History, joint: str, frame: Frame | None, side: Side | None, at: tuple[float, ...] | None
) -> JointLoadHistory:
    """Return the load of ``joint`` in the way asked for; what is None stays as it was stored."""
    known = history.provenance.get("loads", {}).get("joints", {})
    if joint not in known:
        advice = f"Joints with loads: {listed(known)}." if known else f"It holds no joint loads at all; {HOW_TO_GET_LOADS}."
        raise KingpostError(f"this history has no load of joint '{joint}'{closest(joint, known)} {advice}")
    stored = known[joint]
    unknown = [key for key in ("frame", "side", "at", "parts") if stored.get(key) is None]
    if unknown:
        raise KingpostError(f"the record of this history says nothing of {listed(unknown)} of the load of joint '{joint}'")
    wanted_frame: Frame = stored["frame"] if frame is None else frame
    wanted_side: Side = stored["side"] if side is None else side
    wanted_at = (stored["at"] if frame is None and side is None else (0.0, 0.0, 0.0)) if at is None else at
    point = check_frame(f"load of joint '{joint}'", wanted_frame, wanted_side, wanted_at)
    places = _Places(history, joint)
    before = places.view(stored["frame"], stored["side"], stored["at"])
    after = places.view(wanted_frame, wanted_side, point)
    parts = {
        part: _stored(history, f"{joint}.{part}") for part in LOAD_PARTS if part in stored["parts"] and len(stored["parts"]) > 1
    }
    total = _stored(history, joint)
    zero = np.zeros_like(total)
    parts = {"constraint": parts.get("constraint", total), **{part: parts.get(part, zero) for part in LOAD_PARTS[1:]}}
    wrenches = {name: _converted(wrench, before, after) for name, wrench in {"total": total, **parts}.items()}
    return JointLoadHistory(
        joint, places.body(wanted_side), wanted_frame, wanted_side, point, history.time, **wrenches,
        **places.motion(after), provenance=history.provenance,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _View:
    """Axes R_WA, the reference point in the world, and the sign of the side, sample by sample."""

    side: str
    R_WA: FloatArray
    point_W: FloatArray
    sign: float


class _Places:
    """Where the two bodies of a joint are, from the poses in a history and the geometry in its record."""

    def __init__(self, history: History, joint: str) -> None:
        self.history = history
        try:
            geometry = history.provenance["geometry"]
            kind = "joints" if joint in geometry["joints"] else "closures"
            self.record = geometry[kind][joint]
        except KeyError:
            raise KingpostError(
                f"the load of joint '{joint}' cannot be turned: this history has no record of the machine's geometry. Read it "
                "from its run folder, or keep the .json file that was written beside it"
            ) from None

    def body(self, side: str) -> str:
        return str(self.record[side])

    def pose(self, side: str) -> tuple[FloatArray, FloatArray]:
        """Return R_WB and p_WB of the body on a side."""
        body, samples = self.body(side), len(self.history)
        if body == WORLD:
            return np.broadcast_to(np.eye(3), (samples, 3, 3)), np.zeros((samples, 3))
        position, orientation = (
            self.history.select([f"{body}.pose.{name}" for name in names]) for names in (POSITION, ORIENTATION)
        )
        return rotation_matrices(orientation), position

    def joint_frame(self, side: str) -> tuple[FloatArray, FloatArray]:
        """Return rotation and origin of the joint frame on a side, in the world."""
        R_WB, p_WB = self.pose(side)
        place = self.record[f"{side}_frame"]
        return R_WB @ np.array(place["rotation"]), p_WB + R_WB @ np.array(place["position"])

    def view(self, frame: str, side: str, at: Any) -> _View:
        _, origin = self.joint_frame(side)
        if frame == "world":
            R_WA = np.broadcast_to(np.eye(3), (len(self.history), 3, 3))
        else:
            R_WA = self.pose(side)[0] if frame == "body" else self.joint_frame(frame)[0]
        return _View(side, R_WA, origin + R_WA @ np.array(at, dtype=float), 1.0 if side == "child" else -1.0)

    def motion(self, view: _View) -> dict[str, FloatArray]:
        """Return the motion of the body on the side of a view, and gravity, in its axes."""
        R_WB, p_WB = self.pose(view.side)
        R_AB = np.swapaxes(view.R_WA, 1, 2) @ R_WB
        w, alpha, a = np.zeros((3, len(self.history), 3))
        body = self.body(view.side)
        if body != WORLD:
            w, alpha, a = (self._vector(f"{body}.motion.{letter}") for letter in ("w", "alpha", "a"))
        arm = _turned(np.swapaxes(R_WB, 1, 2), view.point_W - p_WB)
        a = a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
        gravity_W = self._vector("loads.gravity.")
        return {
            "acceleration": _turned(R_AB, a),
            "angular_acceleration": _turned(R_AB, alpha),
            "angular_velocity": _turned(R_AB, w),
            "gravity": _turned(np.swapaxes(view.R_WA, 1, 2), gravity_W),
        }

    def _vector(self, stem: str) -> FloatArray:
        """Return three channels, or NaN where a result, such as that of an FMU, does not hold them."""
        names = [f"{stem}{axis}" for axis in "xyz"]
        if not all(name in self.history for name in names):
            return np.full((len(self.history), 3), np.nan)
        return self.history.select(names)


def _stored(history: History, prefix: str) -> FloatArray:
    return history.select([f"{prefix}.{component}" for component in COMPONENTS])


def _turned(R: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.einsum("nij,nj->ni", R, vectors)


def _converted(wrench: FloatArray, before: _View, after: _View) -> FloatArray:
    if before is after or (
        before.side == after.side and np.array_equal(before.R_WA, after.R_WA) and np.array_equal(before.point_W, after.point_W)
    ):
        return wrench
    sign = before.sign * after.sign
    moment_W, force_W = (sign * _turned(before.R_WA, part) for part in (wrench[:, :3], wrench[:, 3:]))
    moment_W = moment_W + np.cross(before.point_W - after.point_W, force_W)
    back = np.swapaxes(after.R_WA, 1, 2)
    return np.hstack([_turned(back, moment_W), _turned(back, force_W)])


def rotation_matrices(quaternions: FloatArray) -> FloatArray:
    """Return the rotation matrices of unit quaternions (w, x, y, z), one in each row."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    matrices = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(matrices), -1, 0)
