"""Poses, twists and wrenches as column matrices: twist = [angular; linear], wrench = [moment; force].

Every function works on CasADi symbols and, given arrays, on numbers: one source for both. Names follow monogram notation
(docs/notation.md): ``R_AB`` turns components in B into components in A, ``p_AB`` is the position of B's origin in A.
Equation numbers are those of the Kane/screw-theory vessel-crane paper (document 004).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

#: A CasADi matrix, symbolic or numeric (SX, MX, DM), or an array.
Matrix: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Pose:
    """Rotation and position of a frame B in a frame A, the parts of the homogeneous transformation of eq. (1)."""

    R: Matrix
    p: Matrix

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame in itself."""
        return Pose(ca.SX.eye(3), ca.SX(3, 1))

    def __matmul__(self, other: Pose) -> Pose:
        """Compose: X_AC = X_AB @ X_BC."""
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        """Return X_BA."""
        return Pose(self.R.T, -(self.R.T @ self.p))

    def matrix(self) -> Matrix:
        """Return the homogeneous transformation matrix T of eq. (1)."""
        return ca.blockcat(self.R, self.p, ca.DM(1, 3), ca.DM.ones(1, 1))


def hat(a: Matrix) -> Matrix:
    """Return the skew-symmetric form of a vector: ``hat(a) @ b`` is a x b."""
    return ca.skew(a)


def twist_matrix(t: Matrix) -> Matrix:
    """Return the 4 x 4 matrix form of a twist, eq. (4)."""
    return ca.blockcat(hat(t[:3]), t[3:], ca.DM(1, 3), ca.DM(1, 1))


def twist_to(X_BA: Pose) -> Matrix:
    """Return the screw transformation of a twist about A's origin, in A, to about B's origin, in B; eqs. (6), (23)."""
    return ca.sparsify(ca.blockcat(X_BA.R, ca.DM(3, 3), hat(X_BA.p) @ X_BA.R, X_BA.R))


def wrench_to(X_BA: Pose) -> Matrix:
    """Return the transformation of a wrench about A's origin, in A, to about B's origin, in B; the dual of a twist's."""
    return ca.sparsify(ca.blockcat(X_BA.R, hat(X_BA.p) @ X_BA.R, ca.DM(3, 3), X_BA.R))


def shift_twist(p: Matrix) -> Matrix:
    """Return U of eq. (20): moves the reference point of a twist from the frame origin to the point ``p``.

    The paper's p_mk,k goes from the point to the origin, so it is the negative of ``p``.
    """
    return ca.sparsify(ca.blockcat(ca.DM.eye(3), ca.DM(3, 3), -hat(p), ca.DM.eye(3)))


def shift_wrench(p: Matrix) -> Matrix:
    """Return U-bar of eq. (46): moves the reference point of a wrench that acts at the point ``p`` to the frame origin."""
    return ca.sparsify(ca.blockcat(ca.DM.eye(3), hat(p), ca.DM(3, 3), ca.DM.eye(3)))


def twist_to_point(X_BA: Pose, m_B: Matrix) -> Matrix:
    """Return V of eqs. (24)-(26): from about A's origin, in A, to about the point ``m_B`` of B, in B."""
    return shift_twist(m_B) @ twist_to(X_BA)


def twist_cross(t: Matrix) -> Matrix:
    """Return the matrix of the twist bracket: the rate of a twist fixed in a frame that moves with twist ``t``."""
    w, v = t[:3], t[3:]
    return ca.blockcat(hat(w), ca.DM(3, 3), hat(v), hat(w))


def rotation_about(axis: Matrix, angle: Matrix) -> Matrix:
    """Return the rotation matrix of ``angle`` about a unit ``axis``."""
    c, s = ca.cos(angle), ca.sin(angle)
    axis = ca.SX(axis)
    if axis.is_constant():
        components = ca.DM(axis).full().ravel()
        for i in range(3):
            # One of 1e-8 beside it leaves the largest component at 1.0 to the last bit.
            if abs(components[i]) == 1.0 and np.count_nonzero(components) == 1:
                return _rotation_about_coordinate_axis(i, c, float(components[i]) * s)
    return c * ca.SX.eye(3) + s * hat(axis) + (1 - c) * (axis @ axis.T)


def _rotation_about_coordinate_axis(i: int, c: Matrix, s: Matrix) -> Matrix:
    """Return the sparse form, free of terms like 1 - (1 - c), which the compiler cannot cancel."""
    j, k = (i + 1) % 3, (i + 2) % 3
    R = ca.SX(3, 3)
    R[i, i] = 1
    R[j, j] = R[k, k] = c
    R[j, k], R[k, j] = -s, s
    return R


def rotation_rpy(roll: Matrix, pitch: Matrix, yaw: Matrix) -> Matrix:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), eq. (53)."""
    R = ca.SX.eye(3)
    for i, angle in ((2, yaw), (1, pitch), (0, roll)):
        angle = ca.SX(angle)
        if not angle.is_zero():
            R = R @ _rotation_about_coordinate_axis(i, *_cosine_and_sine(angle))
    return ca.sparsify(R)


#: Leaves all digits of what it is added to, and keeps slopes finite where an angle has none: 1 / x and 1 / x^2 are numbers.
TINY = 1e-150


def angles_rpy(R: Matrix) -> Matrix:
    """Return roll, pitch, yaw of R = Rz(yaw) Ry(pitch) Rx(roll): the first and the last in (-pi, pi], pitch in [-pi/2, pi/2].

    At a pitch of a right angle roll and yaw turn about one axis, and only their sum or difference is known: any yaw will do,
    and the others are found from what is left of R without it, so that the three always make R again.
    """
    R = ca.densify(R)
    yaw = ca.atan2(R[1, 0], R[0, 0] + TINY)
    c, s = ca.cos(yaw), ca.sin(yaw)
    pitch = ca.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    return ca.vertcat(ca.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw)


def _cosine_and_sine(angle: Matrix) -> tuple[Matrix, Matrix]:
    """Return both; for a number within rounding of a multiple of 90 degrees exactly 0 and 1, which keeps matrices sparse."""
    if not angle.is_constant():
        return ca.cos(angle), ca.sin(angle)
    c, s = math.cos(float(angle)), math.sin(float(angle))
    rounding = 4 * np.finfo(float).eps
    return (round(c), round(s)) if min(abs(c), abs(s)) < rounding else (c, s)


def rotation_of_quaternion(e: Matrix) -> Matrix:
    """Return the rotation matrix of the quaternion (w, x, y, z), whatever its length: that of e / |e|."""
    w, n = e[0], e[1:4]
    square = ca.dot(e, e)
    return ca.DM.eye(3) + (2 / square) * (w * hat(n) + hat(n) @ hat(n))


#: The quaternion of no rotation, exact zeros as structural ones.
NO_ROTATION = ca.sparsify(ca.SX(ca.DM([1.0, 0.0, 0.0, 0.0])))


def quaternion_about(axis: Matrix, angle: Matrix) -> Matrix:
    """Return the unit quaternion (w, x, y, z) of a rotation by ``angle`` about a unit ``axis``."""
    return ca.vertcat(ca.cos(angle / 2), ca.sin(angle / 2) * axis)


def quaternion_of_vector(turn: Matrix) -> Matrix:
    """Return the unit quaternion of a rotation vector: its length is the angle, its direction the axis."""
    # The small number leaves all digits as they are and makes the limit of no rotation the right one.
    angle = ca.sqrt(ca.dot(turn, turn) + 1e-300)
    return ca.vertcat(ca.cos(angle / 2), ca.sin(angle / 2) / angle * turn)


def quaternion_of_rotation(R: Matrix) -> Matrix:
    """Return the unit quaternion (w, x, y, z), w >= 0, of a rotation matrix, by its largest component (Shepperd 1978)."""
    trace = ca.trace(R)
    # Four times the products of each component with all four.
    rows = [ca.vertcat(1 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])]
    for i in range(3):
        row = ca.SX(4, 1)
        row[0] = rows[0][1 + i]
        for j in range(3):
            row[1 + j] = 1 + 2 * R[i, i] - trace if i == j else R[i, j] + R[j, i]
        rows.append(row)
    best = rows[0]
    largest = rows[0][0]
    for i in range(3):
        larger = rows[1 + i][1 + i] > largest
        best = ca.if_else(larger, rows[1 + i], best)
        largest = ca.if_else(larger, rows[1 + i][1 + i], largest)
    unit = best / ca.norm_2(best)
    return unit * ca.if_else(unit[0] < 0, -1.0, 1.0)


#: How often :func:`rotation_vector` halves an angle, and how many terms of atan(x) / x = 1 - x^2/3 + x^4/5 ... it takes then.
#: At the largest angle, tan(pi / 32)^2 = 0.0097, the first one left out is 3e-26, and its eighth derivative 1e-18.
HALVINGS, ARC_TERMS = 3, 12


def rotation_vector(R: Matrix) -> Matrix:
    """Return the rotation vector of a rotation matrix: angle (at most half a turn) times axis, the logarithm of R.

    Without a branch at no rotation, where formulas with the angle's sine are 0 / 0: the vector e tan(angle / 4) is analytic up
    to beyond half a turn, tan(a / 2) = tan(a) / (1 + sqrt(1 + tan(a)^2)) makes it short, and a short series does the rest. So
    derivatives of every order that anybody asks for are as good as the value. At half a turn it jumps to the other side.
    """
    e = quaternion_of_rotation(R)
    quarter = e[1:4] / (1 + e[0])
    square, factor = ca.dot(quarter, quarter), 4.0
    for _ in range(HALVINGS):
        divisor = 1 + ca.sqrt(1 + square)
        square, factor = square / divisor**2, 2 * factor / divisor
    series = 0.0
    for n in reversed(range(ARC_TERMS)):
        series = (-1) ** n / (2 * n + 1) + square * series
    return factor * series * quarter


def quaternion_product(a: Matrix, b: Matrix) -> Matrix:
    """Return the quaternion of the rotation ``a`` followed, in the rotated frame, by ``b``: R(ab) = R(a) R(b)."""
    v, w = a[1:4], b[1:4]
    return ca.vertcat(a[0] * b[0] - ca.dot(v, w), a[0] * w + b[0] * v + ca.cross(v, w))


def quaternion_conjugate(e: Matrix) -> Matrix:
    """Return the quaternion of the inverse rotation."""
    return ca.vertcat(e[0], -e[1:4])


def quaternion_rpy(roll: Matrix, pitch: Matrix, yaw: Matrix) -> Matrix:
    """Return the unit quaternion of :func:`rotation_rpy`."""
    e = NO_ROTATION
    for i, angle in ((2, yaw), (1, pitch), (0, roll)):
        angle = ca.SX(angle)
        if not angle.is_zero():
            axis = ca.SX(3, 1)
            axis[i] = 1
            e = quaternion_product(e, quaternion_about(axis, angle))
    return e


def quaternion_rate(e: Matrix) -> Matrix:
    """Return the 4 x 3 matrix E with edot = E w for the angular velocity ``w`` in the rotated frame; |e| stays as it is."""
    w, n = e[0], e[1:4]
    return ca.vertcat(-n.T, w * ca.DM.eye(3) + hat(n)) / 2


def perpendicular(axis: Matrix) -> Matrix:
    """Return two unit vectors, as columns, that make a right-handed frame with the unit vector ``axis``.

    Duff et al., "Building an orthonormal basis, revisited", J. Comput. Graph. Tech. 6 (2017): free of branches but a sign.
    For the axis (0, 0, 1) they are the x and y axes.
    """
    axis = ca.SX(axis)
    x, y, z = axis[0], axis[1], axis[2]
    s = ca.if_else(z >= 0, 1.0, -1.0)
    a = -1 / (s + z)
    b = x * y * a
    first = ca.vertcat(1 + s * x**2 * a, s * b, -s * x)
    second = ca.vertcat(b, s + y**2 * a, -y)
    return ca.horzcat(first, second)


def numeric(matrix: Matrix) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a constant CasADi matrix as an array."""
    return np.asarray(ca.DM(ca.evalf(matrix)).full())


def unpack_pose(X: ca.SX) -> Pose:
    """Return the pose in twelve numbers: the rotation matrix by columns, then the position."""
    return Pose(ca.reshape(X[:9], 3, 3), X[9:12])


def pack_pose(X: Pose) -> Matrix:
    """Return a pose as twelve numbers."""
    return ca.vertcat(ca.vec(ca.densify(X.R)), ca.densify(X.p))
