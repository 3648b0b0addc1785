"""Poses, twists and wrenches as column matrices: twist = [angular; linear], wrench = [moment; force].

Names follow monogram notation (docs/notation.md): ``R_AB`` turns components in B into components in A, ``p_AB`` is the
position of B's origin in A. Equation numbers are those of the Kane/screw-theory vessel-crane paper (docs/theory.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True)
class Pose:
    """Rotation and position of a frame B in a frame A, eq. (1)."""

    R: ca.SX
    p: ca.SX

    def __matmul__(self, other: Pose) -> Pose:
        """Compose: X_AC = X_AB @ X_BC."""
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        """Return X_BA."""
        return Pose(self.R.T, -(self.R.T @ self.p))


def hat(a: ca.SX) -> ca.SX:
    """Return the skew-symmetric form of a vector: ``hat(a) @ b`` is a x b."""
    return ca.skew(a)


def twist_to(X_BA: Pose) -> ca.SX:
    """Return the screw transformation of a twist referenced to A, in A, to one referenced to B, in B; eqs. (6), (23)."""
    return ca.sparsify(ca.blockcat(X_BA.R, ca.SX(3, 3), hat(X_BA.p) @ X_BA.R, X_BA.R))


def shift_twist(p: ca.SX) -> ca.SX:
    """Return U of eq. (20): moves the reference point of a twist by ``p``, from frame origin to p, coordinates unchanged."""
    return ca.sparsify(ca.blockcat(ca.SX.eye(3), ca.SX(3, 3), -hat(p), ca.SX.eye(3)))


def twist_cross(t: ca.SX) -> ca.SX:
    """Return the matrix of the twist bracket: the rate of a twist fixed in a frame moving with twist ``t``."""
    w, v = t[:3], t[3:]
    return ca.blockcat(hat(w), ca.SX(3, 3), hat(v), hat(w))


def rotation_about(axis: ca.SX, angle: ca.SX) -> ca.SX:
    """Return the rotation matrix of ``angle`` about a unit ``axis``."""
    c, s = ca.cos(angle), ca.sin(angle)
    if axis.is_constant():
        components = [float(component) for component in ca.DM(axis).full().ravel()]
        for i in range(3):
            if abs(components[i]) == 1.0:
                return _rotation_about_coordinate_axis(i, c, components[i] * s)
    return c * ca.SX.eye(3) + s * hat(axis) + (1 - c) * (axis @ axis.T)


def _rotation_about_coordinate_axis(i: int, c: ca.SX, s: ca.SX) -> ca.SX:
    """Return the sparse form, free of terms like 1 - (1 - c), which the compiler cannot cancel."""
    j, k = (i + 1) % 3, (i + 2) % 3
    R = ca.SX(3, 3)
    R[i, i] = 1
    R[j, j] = R[k, k] = c
    R[j, k], R[k, j] = -s, s
    return R


def rotation_rpy(roll: ca.SX, pitch: ca.SX, yaw: ca.SX) -> ca.SX:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll)."""
    R = ca.SX.eye(3)
    for i, angle in ((2, yaw), (1, pitch), (0, roll)):
        if not angle.is_zero():
            R = R @ _rotation_about_coordinate_axis(i, ca.cos(angle), ca.sin(angle))
    return R
