"""Ropes, springs and rods between bodies: where they go, and how much slack there is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.report.geometry import Geometry, LineGeometry, Poses
from kingpost.report.packing import packed
from kingpost.results.history import History


def describe_lines(geometry: Geometry, poses: Poses, history: History, rows: Any) -> list[dict[str, Any]]:
    """Return the lines as the page draws them, with the slack (m) of ropes at every frame."""
    return [_described(line, poses, history, rows) for line in geometry.lines]


def _described(line: LineGeometry, poses: Poses, history: History, rows: Any) -> dict[str, Any]:
    points = [{"body": body, "at": at.tolist()} for body, at in line.points]
    hanging = slack(line, poses, history, rows)
    return {
        "name": line.name,
        "kind": line.kind,
        "points": points,
        **({} if hanging is None or not (hanging > 0).any() else {"slack": packed(hanging)}),
    }


def slack(line: LineGeometry, poses: Poses, history: History, rows: Any) -> FloatArray | None:
    """Return by how much a rope is longer than its way, at every frame; None where its length is not known."""
    if line.length is None or (line.drum and line.drum not in history):
        return None
    places = [poses.point(body, at) for body, at in line.points]
    way = sum(np.linalg.norm(b - a, axis=1) for a, b in pairwise(places))
    length = line.length + (line.radius * history[line.drum][rows] if line.drum else 0.0)
    spare: FloatArray = np.maximum(length - way, 0.0)
    return np.where(np.isfinite(spare), spare, 0.0)
