"""Orientations in numbers: from angles, quaternions and matrices, and back to angles and rotation vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert
from kingpost.base.numbers import shown
from kingpost.symbols.screws import numeric, rotation_rpy

#: What an orientation can be given by, and how many numbers that takes.
FORMS = {"rpy": 3, "bryant": 3, "quaternion": 4, "matrix": 3}
#: A matrix may be off an orthonormal one by what is written to six digits leaves.
ORTHONORMAL = 1e-5


def orientation(data: Any) -> FloatArray:
    """Return the rotation matrix R_WB of an orientation.

    Three numbers are roll, pitch, yaw in rad (R = Rz Ry Rx, as everywhere in a model), four are a quaternion (w, x, y, z) of
    any length, three rows of three are the matrix itself. A table says which: ``{"bryant": [...]}`` are Bryant angles.
    """
    form, numbers = _form(data)
    try:
        rows = convert(tuple[tuple[float, ...], ...] if form == "matrix" else tuple[float, ...], numbers)
    except MechanismError as error:
        raise MechanismError(f"{form}: {error}") from None
    if len(rows) != FORMS[form] or (form == "matrix" and any(len(row) != 3 for row in rows)):
        words = "three rows of three numbers" if form == "matrix" else f"{FORMS[form]} numbers"
        raise MechanismError(f"{form}: expected {words}, got {shown(numbers)}")
    if form == "rpy":
        return numeric(rotation_rpy(*rows))
    if form == "bryant":
        return rotation_bryant(*rows)
    return _of_quaternion(np.array(rows)) if form == "quaternion" else _orthonormal(np.array(rows))


def _form(data: Any) -> tuple[str, Any]:
    if isinstance(data, Mapping):
        if len(data) != 1:
            raise MechanismError(f"an orientation is given by one of {listed(FORMS)}, got {listed(map(str, data))}")
        form, numbers = next(iter(data.items()))
        if form not in FORMS:
            raise MechanismError(f"an orientation is not given by '{form}'{closest(str(form), FORMS)} Known: {listed(FORMS)}.")
        return str(form), numbers
    numbers = data.tolist() if isinstance(data, np.ndarray) else data
    if not isinstance(numbers, list | tuple):
        raise MechanismError(f"expected roll, pitch, yaw, a quaternion, or a matrix, got {shown(data)}")
    if numbers and isinstance(numbers[0], list | tuple | np.ndarray):
        return "matrix", numbers
    return "quaternion" if len(numbers) == 4 else "rpy", numbers


def _of_quaternion(e: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(e))
    if not 1e-150 < length < 1e150:
        raise MechanismError(f"quaternion: {e.tolist()} has the length {length}; it says no orientation")
    w, n = e[0] / length, e[1:] / length
    return np.eye(3) + 2.0 * (w * _hat(n) + _hat(n) @ _hat(n))


def _orthonormal(R: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        off = float(np.abs(R.T @ R - np.eye(3)).max())
    # Not 'off > ...': products of large numbers may be no numbers.
    if not off <= ORTHONORMAL or np.linalg.det(R) < 0:
        what = f"R'R is off the unit matrix by {off:.3g}" if not off <= ORTHONORMAL else "it mirrors (determinant -1)"
        raise MechanismError(f"matrix: {R.tolist()} is not a rotation: {what}")
    u, _, v = np.linalg.svd(R)  # the nearest rotation
    return np.asarray(u @ v)


def _hat(a: FloatArray) -> FloatArray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation_bryant(phi1: float, phi2: float, phi3: float) -> FloatArray:
    """Return R = R1(phi1) R2(phi2) R3(phi3) of Bryant (Cardan) angles in rad: about x, then the new y, then the new z."""
    # The transpose of Rz(-phi3) Ry(-phi2) Rx(-phi1).
    return numeric(rotation_rpy(-phi1, -phi2, -phi3)).T


def bryant_angles(R: FloatArray) -> tuple[float, float, float]:
    """Return the Bryant angles of a rotation matrix, the second within a quarter turn.

    Document 000, eq. (6.99), takes arccos of R33 / cos phi2, of sqrt(1 - R13^2) and of R11 / cos phi2, which gives every
    negative angle without its sign. Where x and the last z axis meet (phi2 = +-90 degrees), only phi1 +- phi3 matters; phi3 is
    zero then.
    """
    across = math.hypot(R[0, 0], R[0, 1])
    phi2 = math.atan2(R[0, 2], across)
    if across < 1e-12:
        return math.atan2(R[2, 1], R[1, 1]), phi2, 0.0
    return math.atan2(-R[1, 2], R[2, 2]), phi2, math.atan2(-R[0, 1], R[0, 0])


def rpy_angles(R: FloatArray) -> tuple[float, float, float]:
    """Return roll, pitch, yaw of a rotation matrix, R = Rz(yaw) Ry(pitch) Rx(roll)."""
    phi1, phi2, phi3 = bryant_angles(R.T)
    return -phi1, -phi2, -phi3


def rotation_vector(R: FloatArray) -> FloatArray:
    """Return axis times angle of a rotation matrix, the angle from 0 to pi.

    By way of the unit quaternion: its parts are known to the last digits for every angle, while arccos of the trace, document
    000, eq. (6.96), loses half of them near 0 and pi.
    """
    e = quaternion(R)
    sine = float(np.linalg.norm(e[1:]))
    if sine == 0.0:
        return np.zeros(3)
    return e[1:] * (2.0 * math.atan2(sine, e[0]) / sine)


def quaternion(R: FloatArray) -> FloatArray:
    """Return the unit quaternion (w, x, y, z) of a rotation matrix with w >= 0, from the largest of its four parts."""
    trace = float(np.trace(R))
    squares = np.array([trace, *np.diag(R)])
    i = int(np.argmax(squares))
    e = np.empty(4)
    e[0] = 1.0 + trace
    e[1:] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    if i:
        j = i - 1
        e[0] = e[i]
        e[1:] = R[j] + R[:, j]
        e[i] = 1.0 - trace + 2.0 * R[j, j]
    e /= np.linalg.norm(e)
    return -e if e[0] < 0 else e


def rotation_of_vector(v: FloatArray) -> FloatArray:
    """Return the rotation matrix of a rotation vector: Rodrigues' formula, document 000, eq. (6.95)."""
    angle = float(np.linalg.norm(v))
    if angle == 0.0:
        return np.eye(3)
    e = _hat(v / angle)
    return np.asarray(np.eye(3) + math.sin(angle) * e + 2.0 * math.sin(angle / 2.0) ** 2 * (e @ e))
