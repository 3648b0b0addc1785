"""Marine data: between axes with z up and axes with z down, and between the two orders of six components.

Kingpost's axes have z up: the world's x north (or ahead), y west, z up (NWU), and a vessel's x forward, y to port, z up. Much
marine data and software has z down: north, east, down (NED), and forward, starboard, down. Between them lies half a turn about
x, T = diag(1, -1, -1), for the world's axes and the vessel's at once. T is its own inverse, so every function here goes both
ways, and it is a rotation, so forces and moments, velocities and angular velocities turn alike.

>>> lamp = [30.0, 5.0, -2.0]  # 30 m forward, 5 m to starboard, 2 m above the origin, with z down
>>> flip_vectors(lamp).tolist()
[30.0, -5.0, 2.0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError

#: Half a turn about x: vectors in NED axes from those in NWU axes, and back.
FLIP: FloatArray = np.diag([1.0, -1.0, -1.0])
FLIP.setflags(write=False)
_SIGNS = np.diag(FLIP)
_SIX = np.tile(_SIGNS, 2)


def flip_vectors(vectors: ArrayLike) -> FloatArray:
    """Turn positions, velocities, angular velocities, forces or moments (..., 3) between z up and z down."""
    return _given(vectors, 3) * _SIGNS


def flip_screws(screws: ArrayLike) -> FloatArray:
    """Turn twists, wrenches, or surge to yaw (..., 6) between z up and z down, in either order of the halves."""
    return _given(screws, 6) * _SIX


def flip_angles(angles: ArrayLike) -> FloatArray:
    """Turn roll, pitch, yaw (..., 3), with R = Rz(yaw) Ry(pitch) Rx(roll) in both, between z up and z down.

    Roll is to starboard in both. Pitch is bow down with z up and bow up with z down; yaw to port with z up, to starboard with
    z down.
    """
    return _given(angles, 3) * _SIGNS


def flip_rotations(rotations: ArrayLike) -> FloatArray:
    """Turn rotation matrices (..., 3, 3) of a vessel's axes in the world's between z up and z down: T R T."""
    return _given(rotations, 3, 3) * np.outer(_SIGNS, _SIGNS)


def flip_quaternions(quaternions: ArrayLike) -> FloatArray:
    """Turn quaternions (w, x, y, z), (..., 4), of a vessel's axes in the world's between z up and z down."""
    return _given(quaternions, 4) * np.array([1.0, *_SIGNS])


def flip_matrices(matrices: ArrayLike) -> FloatArray:
    """Turn matrices of added mass, damping, restoring or inertia (..., 6, 6) between z up and z down, in either order."""
    return _given(matrices, 6, 6) * np.outer(_SIX, _SIX)


def reorder_screws(screws: ArrayLike) -> FloatArray:
    """Change six components (..., 6) from [linear; angular] (surge to yaw) to [angular; linear] (twist, wrench), and back."""
    return np.roll(_given(screws, 6), 3, axis=-1)


def reorder_matrices(matrices: ArrayLike) -> FloatArray:
    """Change matrices (..., 6, 6) from the order surge to yaw to that of twists and wrenches, and back."""
    return np.roll(_given(matrices, 6, 6), (3, 3), axis=(-2, -1))


def _given(values: ArrayLike, *shape: int) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.shape[array.ndim - len(shape) :] != shape:
        expected = ", ".join(["...", *map(str, shape)])
        raise KingpostError(f"expected an array with shape ({expected}), got {array.shape}")
    return array
