"""Forces on bodies: between two points, prescribed, and from buoyancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import AnchorName, BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Scalars, Vector3, as_scalar
from kingpost.mechanism.drawings import Drawing, Line
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.laws import damping_law, spring_law
from kingpost.symbols.screws import Pose

#: Distances below this (m) have no direction; two points that meet feel no force.
MEETING = 1e-9


@dataclass(frozen=True)
class PointSpringOptions:
    """Two points (``at`` in the body frame, m), the unstretched ``length`` (m), stiffness and damping as in joint-spring."""

    body: BodyName
    other: AnchorName
    at: Vector3 = ZERO_VECTOR
    other_at: Vector3 = ZERO_VECTOR
    length: Scalar = 0.0
    stiffness: Scalars = 0.0
    damping: Scalars = 0.0


class PointSpring(Force):
    """Spring and damper between a point of a body and a point of another body or of the world, linear or polynomial."""

    name = "point-spring"
    Options = PointSpringOptions

    def drawing(self) -> Drawing:
        options = self.options
        return Drawing(Line(((options.body, options.at), (options.other, options.other_at)), "spring"))

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        ends = [(options.body, kinematics.vector(options.at)), (options.other, kinematics.vector(options.other_at))]
        points, velocities = [], []
        for body, at in ends:
            X_WB, twist = kinematics.pose(body), kinematics.twist(body)
            points.append(X_WB.p + X_WB.R @ at)
            velocities.append(X_WB.R @ (twist[3:] + ca.cross(twist[:3], at)))
        apart = points[1] - points[0]
        distance = ca.sqrt(ca.dot(apart, apart) + MEETING**2)
        direction = apart / distance
        pull, potential = spring_law(kinematics, options.stiffness, distance - kinematics.value(options.length))
        pull += damping_law(kinematics, options.damping, ca.dot(direction, velocities[1] - velocities[0]))
        wrenches: dict[str, ca.SX] = {}
        for (body, at), sign in zip(ends, (1, -1), strict=True):
            if body != "world":
                force_B = kinematics.pose(body).R.T @ (sign * pull * direction)
                wrench = ca.vertcat(ca.cross(at, force_B), force_B)
                wrenches[body] = wrenches.get(body, 0) + wrench
        return Loads(wrenches=wrenches, potential=potential)


@dataclass(frozen=True)
class BodyWrenchOptions:
    """Moment (N m) and force (N) at the point ``at`` of the body frame, in body or world axes; numbers, formulas or inputs."""

    body: BodyName
    moment: Vector3 = ZERO_VECTOR
    force: Vector3 = ZERO_VECTOR
    at: Vector3 = ZERO_VECTOR
    frame: Literal["body", "world"] = "body"


class BodyWrench(Force):
    """Prescribed moment and force on a body, e.g. from inputs."""

    name = "body-wrench"
    Options = BodyWrenchOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        moment, force = kinematics.vector(options.moment), kinematics.vector(options.force)
        if options.frame == "world":
            R_BW = kinematics.pose(options.body).R.T
            moment, force = R_BW @ moment, R_BW @ force
        at = kinematics.vector(options.at)
        return Loads(wrenches={options.body: ca.vertcat(moment + ca.cross(at, force), force)})


Row = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]


@dataclass(frozen=True)
class HydrostaticOptions:
    """Symmetric 6 x 6 restoring matrix in the order surge, sway, heave, roll, pitch, yaw (N/m, N, N m/rad).

    It acts at the body's origin, in world axes, on the displacement from the pose in which the body is at rest there:
    ``position`` (m), axes along the world's. ``buoyancy`` (N) is a constant force upwards at the point ``centre`` of the body
    frame (m), the centre of buoyancy: with it the matrix holds the terms of the waterplane alone, and weight and buoyancy
    make the rest. With ``follows_yaw`` the matrix, of heave, roll and pitch alone, belongs to the hull and turns with its yaw:
    then no restoring moment acts about the vertical, as none does in still water.
    """

    body: BodyName
    matrix: tuple[Row, Row, Row, Row, Row, Row]
    position: Vector3 = ZERO_VECTOR
    buoyancy: Scalar = 0.0
    centre: Vector3 = ZERO_VECTOR
    follows_yaw: bool = False

    def __post_init__(self) -> None:
        rows = self.matrix
        for i, j in ((i, j) for i in range(6) for j in range(6) if not {i, j} <= {2, 3, 4}):
            if self.follows_yaw and as_scalar(rows[i][j]) != 0.0:
                raise MechanismError(
                    f"hydrostatic on '{self.body}': entry ({i + 1}, {j + 1}) is {rows[i][j]}; a matrix that follows the yaw "
                    "holds heave, roll and pitch alone; give springs of surge, sway and yaw as a force of their own",
                    path=("matrix",),
                )
        for i in range(6):
            for j in range(i):
                if as_scalar(rows[i][j]) != as_scalar(rows[j][i]):
                    raise MechanismError(
                        f"hydrostatic on '{self.body}': the matrix is not symmetric: entry ({i + 1}, {j + 1}) is "
                        f"{rows[i][j]}, entry ({j + 1}, {i + 1}) is {rows[j][i]}",
                        path=("matrix",),
                    )


class Hydrostatic(Force):
    """Linear hydrostatic restoring of a floating body, from a potential, so that it does no net work.

    Rotations enter as the axial part of the rotation matrix: sin(angle) about an axis, which is the angle where the linear
    theory holds (some 10 degrees).
    """

    name = "hydrostatic"
    Options = HydrostaticOptions

    def drawing(self) -> Drawing:
        return Drawing(floats=(self.options.body,))

    def loads(self, kinematics: Kinematics) -> Loads:
        X_WB = kinematics.pose(self.options.body)
        V, moment_B, force_B = (self._of_hull if self.options.follows_yaw else self._in_world)(kinematics, X_WB)
        lift, centre = kinematics.value(self.options.buoyancy), kinematics.vector(self.options.centre)
        lift_B = X_WB.R.T @ ca.vertcat(ca.SX(2, 1), lift)
        wrench = ca.vertcat(moment_B + ca.cross(centre, lift_B), force_B + lift_B)
        return Loads(wrenches={self.options.body: wrench}, potential=V - lift * (X_WB.p + X_WB.R @ centre)[2])

    def _of_hull(self, kinematics: Kinematics, X_WB: Pose) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return potential, moment and force of a matrix that turns with the hull's yaw.

        With the vertical n in body axes, roll is n_y and pitch -n_x where they are small. A turn d changes n by -d x n, so the
        moment is n x dV/dn, which has no part along n.
        """
        C = ca.blockcat([[kinematics.value(entry) for entry in row[2:5]] for row in self.options.matrix[2:5]])
        n = ca.densify(X_WB.R[2, :].T)
        heave = (X_WB.p - kinematics.vector(self.options.position))[2]
        displacement = ca.vertcat(heave, n[1], -n[0])
        force = C @ displacement
        slope = ca.vertcat(-force[2], force[1], 0)
        return ca.dot(displacement, force) / 2, ca.cross(n, slope), -force[0] * n

    def _in_world(self, kinematics: Kinematics, X_WB: Pose) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return potential, moment and force of a matrix in world axes."""
        C = ca.blockcat([[kinematics.value(entry) for entry in row] for row in self.options.matrix])
        R, p, stiffness = ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3), ca.SX.sym("C", 6, 6)
        displacement = ca.vertcat(p, ca.inv_skew(R - R.T) / 2)
        potential = ca.dot(displacement, stiffness @ displacement) / 2
        # A small turn d about world axes changes R by hat(d) R, so the moment is the negative derivative of V along it.
        turn = ca.SX.sym("turn", 3)
        moment = -ca.jtimes(potential, R, ca.skew(turn) @ R)
        moment_W = ca.jacobian(moment, turn).T
        evaluate = ca.Function("hydrostatic", [R, p, stiffness], [potential, moment_W, -ca.gradient(potential, p)])
        away = X_WB.p - kinematics.vector(self.options.position)
        V, moment_W, force_W = evaluate(ca.densify(X_WB.R), ca.densify(away), ca.densify(C))
        return V, X_WB.R.T @ moment_W, X_WB.R.T @ force_W
