"""Triangles from STL and OBJ files, as few as a picture needs."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError

#: A picture of a machine stays quick up to about this many triangles for a body; finer meshes are made coarser.
MOST_TRIANGLES = 1500
#: Files beyond this are no shapes for a picture.
MOST_BYTES = 200_000_000
_STL_HEADER = 84
_STL_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])

Triangles = NDArray[np.int64]


def read_mesh(path: str | Path, most: int = MOST_TRIANGLES) -> tuple[FloatArray, Triangles]:
    """Return corners (one row each) and triangles (rows of corners) of an STL or OBJ file, made coarser if there are many."""
    path = Path(path)
    readers = {".stl": _stl, ".obj": _obj}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"'{path}' is no mesh that can be read: its name must end in .stl or .obj")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FileError(f"'{path}' has {path.stat().st_size} bytes; a shape for a picture may have {MOST_BYTES}")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise FileError(f"the mesh '{path}' cannot be read: {error}") from None
    try:
        corners, triangles = reader(data)
    except (ValueError, IndexError, struct.error) as error:
        raise FileError(f"'{path}' is not a whole {path.suffix[1:].upper()} file: {error}") from None
    if len(corners) and not np.abs(corners).max() <= 1e30:
        raise FileError(f"'{path}' has corners that are not finite numbers")
    corners, triangles = _merged(corners, triangles)
    if not len(triangles):
        raise FileError(f"'{path}' holds no triangles with an area")
    return coarser(corners, triangles, most)


def coarser(corners: FloatArray, triangles: Triangles, most: int) -> tuple[FloatArray, Triangles]:
    """Return a mesh with at most ``most`` triangles: corners in one cell of an ever wider grid become one, their mean."""
    extent = float(np.ptp(corners, axis=0).max())
    cell = extent / math.sqrt(most)
    while len(triangles) > most and cell <= extent:
        grid = np.floor((corners - corners.min(axis=0)) / cell).astype(np.int64)
        _, owner = np.unique(grid, axis=0, return_inverse=True)
        owner = owner.reshape(-1)
        counts = np.bincount(owner)
        means = np.stack([np.bincount(owner, corners[:, k]) / counts for k in range(3)], axis=1)
        joined = _proper(owner[triangles])
        if len(joined) <= most:
            return means, joined
        cell *= 1.25
    return corners, triangles


def _stl(data: bytes) -> tuple[FloatArray, Triangles]:
    count = struct.unpack_from("<I", data, _STL_HEADER - 4)[0] if len(data) >= _STL_HEADER else -1
    if len(data) == _STL_HEADER + count * _STL_RECORD.itemsize:
        records = np.frombuffer(data, dtype=_STL_RECORD, offset=_STL_HEADER)
        corners = records["corners"].reshape(-1, 3).astype(float)
    elif data.lstrip().startswith(b"solid"):
        words = [line.split() for line in data.decode("ascii", "replace").splitlines()]
        corners = np.array([[float(x) for x in line[1:4]] for line in words if line and line[0] == "vertex"], dtype=float)
        if corners.size % 9:
            raise ValueError(f"it has {len(corners)} corners, which are no triangles")
        corners = corners.reshape(-1, 3)
    else:
        raise ValueError(f"it says {max(count, 0)} triangles and has {len(data)} bytes")
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _obj(data: bytes) -> tuple[FloatArray, Triangles]:
    corners: list[list[float]] = []
    triangles: list[list[int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            corners.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            # Numbered from 1, or backwards from the latest; a face with more corners is a fan of triangles.
            numbers = [int(word.partition("/")[0]) for word in words[1:]]
            face = [number - 1 if number > 0 else len(corners) + number for number in numbers]
            if min(face) < 0 or max(face) >= len(corners):
                raise ValueError(f"a face names corner {numbers}, of {len(corners)} so far")
            triangles += [[face[0], face[k], face[k + 1]] for k in range(1, len(face) - 1)]
    return np.array(corners, dtype=float).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _merged(corners: FloatArray, triangles: Triangles) -> tuple[FloatArray, Triangles]:
    """Return a mesh in which corners at one place are one corner, and triangles without area are gone."""
    unique, owner = np.unique(corners, axis=0, return_inverse=True)
    return unique, _proper(owner.reshape(-1)[triangles])


def _proper(triangles: Triangles) -> Triangles:
    """Return the triangles whose three corners differ, each once."""
    a, b, c = triangles.T
    proper = triangles[(a != b) & (b != c) & (c != a)]
    # The same triangle may begin at any of its corners.
    first = proper.argmin(axis=1)[:, None]
    return np.unique(np.take_along_axis(proper, (first + np.arange(3)) % 3, axis=1), axis=0)
