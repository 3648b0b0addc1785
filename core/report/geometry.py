"""The geometry that a run records, as arrays, and where its points are in the world at each frame of the animation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.mechanism.elements import WORLD
from kingpost.report.channels import POSE
from kingpost.results.history import History
from kingpost.results.joint_load_history import rotation_matrices


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed in a body: its origin and its axes, as columns, in the body frame."""

    position: FloatArray
    rotation: FloatArray


@dataclass(frozen=True, eq=False)
class JointGeometry:
    """A joint: frame F, fixed in the parent, and frame M, fixed in the child."""

    name: str
    kind: str
    parent: str
    child: str
    parent_frame: Frame
    child_frame: Frame
    axis: FloatArray | None


@dataclass(frozen=True, eq=False)
class LineGeometry:
    """A rope, spring or rod through points of bodies; a rope is ``length`` + ``radius`` * ``drum`` long when nothing pulls."""

    name: str
    kind: str
    points: tuple[tuple[str, FloatArray], ...]
    length: float | None
    drum: str
    radius: float


@dataclass(frozen=True, eq=False)
class Geometry:
    """Bodies (mass, centre of mass, shapes), joints, the points of outputs, closures between bodies, and lines."""

    masses: Mapping[str, float]
    centres: Mapping[str, FloatArray]
    joints: tuple[JointGeometry, ...]
    outputs: tuple[tuple[str, str, FloatArray], ...]
    #: What closes loops, in the words of joints.
    closures: tuple[JointGeometry, ...] = ()
    lines: tuple[LineGeometry, ...] = ()
    #: Shapes that the model gives to bodies.
    shapes: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    #: Bodies that water carries.
    floats: frozenset[str] = frozenset()

    @staticmethod
    def read(record: Mapping[str, Any], bodies: tuple[str, ...]) -> Geometry:
        """Return what ``record`` (provenance["geometry"]) says about ``bodies``, the ones whose poses are known.

        A record that does not have the form of one, in a file from somewhere, says nothing.
        """
        try:
            return Geometry._read(record, bodies)
        except (KeyError, TypeError, AttributeError, ValueError):
            return Geometry({}, {}, (), ())

    @staticmethod
    def _read(record: Mapping[str, Any], bodies: tuple[str, ...]) -> Geometry:
        there = {*bodies, WORLD}
        entries = {name: entry for name, entry in record.get("bodies", {}).items() if name in there}
        joints, closures = (
            tuple(
                JointGeometry(
                    name,
                    joint["kind"],
                    joint["parent"],
                    joint["child"],
                    _frame(joint["parent_frame"]),
                    _frame(joint["child_frame"]),
                    None if joint.get("axis") is None else np.array(joint["axis"], dtype=float),
                )
                for name, joint in record.get(kind, {}).items()
                if {joint["parent"], joint["child"]} <= there
            )
            for kind in ("joints", "closures")
        )
        outputs = [
            (output["name"], output["body"], np.array(output["at"], dtype=float))
            for output in record.get("outputs", [])
            if output["body"] in there
        ]
        return Geometry(
            {name: float(entry["mass"]) for name, entry in entries.items()},
            {name: np.array(entry["com"], dtype=float) for name, entry in entries.items()},
            joints,
            tuple(outputs),
            closures,
            tuple(_line(line) for line in record.get("lines", []) if {point["body"] for point in line["points"]} <= there),
            {name: entry["shapes"] for name, entry in entries.items() if entry.get("shapes")},
            frozenset(record.get("floats", ())),
        )

    def named(self, name: str) -> JointGeometry | None:
        """Return a joint or a closure by its name, if it is known."""
        return next((joint for joint in (*self.joints, *self.closures) if joint.name == name), None)

    def closed_at(self, body: str) -> list[FloatArray]:
        """Return the points of a body at which loops are closed."""
        places = [(closure.parent, closure.parent_frame) for closure in self.closures]
        places += [(closure.child, closure.child_frame) for closure in self.closures]
        return [frame.position for owner, frame in places if owner == body]

    def inbound(self, body: str) -> JointGeometry | None:
        """Return the joint that carries a body, if it is known."""
        return next((joint for joint in self.joints if joint.child == body), None)

    def outbound(self, body: str) -> list[JointGeometry]:
        """Return the joints in a body that carry others."""
        return [joint for joint in self.joints if joint.parent == body]

    def points(self, body: str) -> list[FloatArray]:
        """Return every point of a body that is known, in its frame."""
        carried = self.inbound(body)
        points = [carried.child_frame.position] if carried else []
        points += [joint.parent_frame.position for joint in self.outbound(body)]
        points += [at for _, owner, at in self.outputs if owner == body]
        points += self.closed_at(body)
        points += [at for line in self.lines for owner, at in line.points if owner == body]
        if body in self.centres:
            points.append(self.centres[body])
        return points or [np.zeros(3)]


def _line(entry: Mapping[str, Any]) -> LineGeometry:
    points = tuple((point["body"], np.array(point["at"], dtype=float)) for point in entry["points"])
    return LineGeometry(
        entry["name"], entry["kind"], points, entry.get("length"), entry.get("drum", ""), float(entry.get("radius", 0.0))
    )


def _frame(entry: Mapping[str, Any]) -> Frame:
    return Frame(np.array(entry["position"], dtype=float), np.array(entry["rotation"], dtype=float))


class Poses:
    """Where the bodies are in the world, at chosen samples of a history."""

    def __init__(self, history: History, bodies: tuple[str, ...], rows: Any) -> None:
        self.time = history.time[rows]
        self.positions: dict[str, FloatArray] = {WORLD: np.zeros((len(self.time), 3))}
        self.quaternions: dict[str, FloatArray] = {WORLD: np.tile([1.0, 0.0, 0.0, 0.0], (len(self.time), 1))}
        for body in bodies:
            columns = history.select([f"{body}.pose.{part}" for part in POSE])[rows]
            self.positions[body] = columns[:, :3]
            self.quaternions[body] = continuous(columns[:, 3:])
        self.rotations = {body: rotation_matrices(e) for body, e in self.quaternions.items()}

    def point(self, body: str, at: FloatArray) -> FloatArray:
        """Return the path in the world of a point of a body, one row per frame."""
        return self.positions[body] + self.rotations[body] @ at

    def axes(self, body: str, vectors: FloatArray) -> FloatArray:
        """Return vectors given in a body's axes, one row per frame, in the world's."""
        return np.einsum("nij,nj->ni", self.rotations[body], vectors)


def continuous(quaternions: FloatArray) -> FloatArray:
    """Return unit quaternions (w first) with signs such that neighbours are close; e and -e are the same rotation."""
    length = np.linalg.norm(quaternions, axis=1, keepdims=True)
    unit = np.where(length > 0, quaternions / np.where(length > 0, length, 1.0), [1.0, 0.0, 0.0, 0.0])
    signs = np.where(np.sum(unit[1:] * unit[:-1], axis=1) < 0, -1.0, 1.0)
    return unit * np.concatenate([[1.0], np.cumprod(signs)])[:, None]
