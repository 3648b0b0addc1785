"""The machine of a session in three dimensions: its scene as the report draws it, and what moves in it from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fmu.live.subject import Subject
from kingpost.mechanism.elements import WORLD
from kingpost.report.channels import POSE, take_inventory
from kingpost.report.geometry import Geometry
from kingpost.report.scene import make_scene
from kingpost.results.history import History
from kingpost.results.joint_load_history import rotation_matrices

#: Positions and quaternions are told to so many digits after the point: micrometres.
DIGITS = 6


class LiveScene:
    """The scene of a subject; made anew when parameters change what it looks like.

    ``data`` is what :func:`kingpost.report.scene.make_scene` gives, with one frame: the present one.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        history = subject.present()
        inventory = take_inventory(history)
        bodies = inventory.posed
        self._record = history.provenance
        self.data = make_scene(history, inventory, inventory.loads)
        self._columns = {name: i for i, name in enumerate(history.names)}
        self._poses = np.array([[self._columns[f"{body}.pose.{part}"] for part in POSE] for body in bodies], dtype=np.intp)
        geometry = Geometry.read(history.provenance.get("geometry") or {}, bodies)
        self._lines = geometry.lines
        order = {WORLD: 0, **{body: i + 1 for i, body in enumerate(bodies)}}
        points = [point for line in self._lines for point in line.points]
        self._owners = np.array([order[body] for body, _ in points], dtype=np.intp)
        self._places = np.array([at for _, at in points], dtype=float).reshape(-1, 3)
        self._last: FloatArray | None = None

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return bool(len(self._poses))

    def frame(self) -> dict[str, Any]:
        """Return the poses of the bodies in the order of the scene, x, y, z and a quaternion w, x, y, z, and slack of ropes."""
        if not self.drawn:
            return {}
        row = self._subject.row
        poses = row[self._poses]
        turned = poses[:, 3:]
        # A quaternion and its negative are the same rotation; neighbours in time are the closer ones.
        if self._last is not None and len(self._last) == len(turned):
            turned = turned * np.where((turned * self._last).sum(axis=1) < 0, -1.0, 1.0)[:, None]
        self._last = turned
        shown = np.round(np.hstack([poses[:, :3], turned]), DIGITS)
        told: dict[str, Any] = {"poses": np.where(np.isfinite(shown), shown, 0.0).tolist()}
        if self._lines:
            told["slack"] = self._slack(poses)
        return told

    def _slack(self, poses: FloatArray) -> list[float]:
        """Return by how much each rope is longer than its way, 0 where that is not known."""
        row = self._subject.row
        origins = np.vstack([np.zeros(3), poses[:, :3]])
        rotations = np.concatenate([np.eye(3)[None], rotation_matrices(poses[:, 3:])])
        places = origins[self._owners] + np.einsum("nij,nj->ni", rotations[self._owners], self._places)
        found, first = [], 0
        for line in self._lines:
            own = places[first : first + len(line.points)]
            first += len(line.points)
            if line.length is None or (line.drum and line.drum not in self._columns):
                found.append(0.0)
                continue
            way = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(own))
            length = line.length + (line.radius * float(row[self._columns[line.drum]]) if line.drum else 0.0)
            spare = length - way
            found.append(round(spare, DIGITS) if spare > 0 and np.isfinite(spare) else 0.0)
        return found

    def loads(self, joints: Sequence[str]) -> dict[str, list[float]]:
        """Return moment and force of joints in world axes, as the arrows of the scene want them."""
        if not joints:
            return {}
        subject = self._subject
        history = History(np.array([subject.t]), subject.channels, subject.row[None, :], self._record)
        found = {}
        for joint in joints:
            try:
                total = history.loads(joint, frame="world", at=(0.0, 0.0, 0.0)).total[0]
            except KingpostError:  # what the arrow needs is not recorded
                continue
            found[joint] = [float(f"{value:.6g}") if np.isfinite(value) else 0.0 for value in total]
        return found

    @property
    def geometry(self) -> Any:
        """The record that it is drawn from; another one is another picture."""
        return self._record.get("geometry")

    @property
    def arrows(self) -> tuple[str, ...]:
        """The joints whose loads can be drawn."""
        return tuple(arrow["joint"] for arrow in self.data.get("arrows", ()))
