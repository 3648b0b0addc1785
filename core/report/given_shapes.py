"""Shapes that a model gives to its bodies, in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray

#: The corners of a box in halves of its size, and its faces, counter-clockwise from outside.
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def drawn_shape(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shape of the record (its frame, its sizes) as one in the frame of its body."""
    at, rotation = (np.array(shape["frame"][key], dtype=float) for key in ("position", "rotation"))
    if shape["kind"] == "box":
        return {"kind": "mesh", "points": _placed(_CORNERS * np.array(shape["size"]), at, rotation), "faces": _FACES}
    if shape["kind"] == "cylinder":
        sizes = {"radius": shape["radius"], "length": shape["length"]}
        return {"kind": "drum", "at": at.tolist(), "axis": rotation[:, 2].tolist(), **sizes, "given": True}
    if shape["kind"] == "sphere":
        return {"kind": "ball", "at": at.tolist(), "radius": shape["radius"], "given": True}
    points = _placed(np.array(shape["points"], dtype=float), at, rotation)
    return {"kind": "mesh", "points": points, "faces": shape["triangles"]}


def _placed(points: FloatArray, at: FloatArray, rotation: FloatArray) -> list[list[float]]:
    return [[float(f"{x:.6g}") for x in point] for point in (points @ rotation.T + at).tolist()]
