"""The motion of a floating body as linear theory sees it: in horizontal axes of a heading, or that turn with the body's yaw.

Coefficients that are constant in these axes give no mean moment about the vertical in periodic motions; in body axes, which
tilt, they would: a part of the second-order moments only, and one that turns a hull away.
"""

from __future__ import annotations

import casadi as ca

from kingpost.base.formulas import Scalar, Vector3
from kingpost.multibody.force import Kinematics

#: Below this part of its length the projection of a body's x axis on the horizontal has no direction.
UPRIGHT = 1e-9


def horizontal_motion(
    kinematics: Kinematics, body: str, at: Vector3, heading: Scalar | None
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return what makes of a body's twist the velocity of a point in horizontal axes, surge to yaw; that; its rate; the axes.

    The axes are the world's turned by ``heading`` about the vertical, or, without one, by the body's yaw. The rate is that
    without acceleration of the body: what the turning of axes makes of the velocity. The axes are R_HW.
    """
    X_WB, twist = kinematics.pose(body), kinematics.twist(body)
    point, w = kinematics.vector(at), twist[:3]
    (c, s), turning = _heading(kinematics, X_WB.R, w, heading)
    R_HW = ca.sparsify(ca.blockcat([[c, s, 0], [-s, c, 0], [0, 0, 1]]))
    R_HB = R_HW @ X_WB.R
    to_H = ca.blockcat([[-R_HB @ ca.skew(point), R_HB], [R_HB, ca.SX(3, 3)]])
    velocity = ca.densify(to_H @ twist)
    # In body axes v changes by w x v more than its components do; axes that turn take their own part off.
    along = R_HB @ ca.cross(w, twist[3:] + ca.cross(w, point))
    up = ca.vertcat(0, 0, turning)
    bias = ca.vertcat(along - ca.cross(up, velocity[:3]), -ca.cross(up, velocity[3:]))
    return to_H, velocity, bias, R_HW


def yaw_axes(R: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return cosine and sine of the yaw of a body with the orientation R_WB: the direction of its x axis seen from above."""
    length = ca.sqrt(R[0, 0] ** 2 + R[1, 0] ** 2 + UPRIGHT**2)
    return R[0, 0] / length, R[1, 0] / length


def _heading(kinematics: Kinematics, R: ca.SX, w: ca.SX, heading: Scalar | None) -> tuple[tuple[ca.SX, ca.SX], ca.SX]:
    """Return cosine and sine of the heading of the horizontal axes, and how fast they turn."""
    if heading is not None:
        angle = kinematics.value(heading)
        return (ca.cos(angle), ca.sin(angle)), ca.SX(0)
    square = R[0, 0] ** 2 + R[1, 0] ** 2 + UPRIGHT**2
    swept = R @ ca.cross(w, ca.SX([1, 0, 0]))  # how the body's x axis moves
    return yaw_axes(R), (R[0, 0] * swept[1] - R[1, 0] * swept[0]) / square
