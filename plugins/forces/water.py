"""Forces of the water around a floating body that moves: added mass and damping.

Matrices are in the marine order surge, sway, heave, roll, pitch, yaw, in body axes (x forward, y to port, z up); data for axes
with z down are turned by :mod:`kingpost.marine`. Velocities are those against the water, which may move as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Expression, Scalar, Vector3, as_scalar
from kingpost.mechanism.elements import TIME
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.horizontal import horizontal_motion
from kingpost.symbols.screws import shift_twist

Row = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Matrix6 = tuple[Row, Row, Row, Row, Row, Row]
NO_ROW: Row = (0.0,) * 6
MOTIONS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
#: Where each of angular x, y, z, linear x, y, z stands in the marine order.
SCREW_ORDER = [3, 4, 5, 0, 1, 2]
#: A matrix that is printed with six digits may miss being semi-definite by this much, relative to its diagonal.
PRINTED = 1e-6
#: Entries of a matrix that was computed may differ from their mirror images by this much.
SYMMETRY_ROUNDING = 1e-9


def ordered_matrix(kinematics: Kinematics, rows: Matrix6, order: Sequence[int]) -> ca.SX:
    """Return a matrix given in the marine order in another one."""
    return ca.sparsify(ca.blockcat([[kinematics.value(rows[i][j]) for j in order] for i in order]))


def screw_matrix(kinematics: Kinematics, rows: Matrix6) -> ca.SX:
    """Return a matrix given in the marine order in the order [angular; linear]."""
    return ordered_matrix(kinematics, rows, SCREW_ORDER)


def check_symmetric(rows: Matrix6, what: str) -> None:
    """Refuse a matrix, of numbers or formulas, that is not symmetric; numbers may differ by rounding."""
    for i in range(6):
        for j in range(i):
            one, other = as_scalar(rows[i][j]), as_scalar(rows[j][i])
            if isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=SYMMETRY_ROUNDING):
                continue
            if one != other:
                raise MechanismError(
                    f"{what}: the matrix is not symmetric: entry ({i + 1}, {j + 1}) is {one}, "
                    f"entry ({j + 1}, {i + 1}) is {other}; computed ones may be replaced by their mean",
                    path=("matrix",),
                )


def check_semidefinite(rows: Matrix6, what: str, reason: str) -> None:
    """Refuse a matrix of numbers whose symmetric part has a negative eigenvalue; formulas cannot be judged.

    Rows and columns are scaled to a unit diagonal first, which changes no sign, so that metres and radians weigh the same.
    """
    entries = [[as_scalar(entry) for entry in row] for row in rows]
    if any(isinstance(entry, Expression) for row in entries for entry in row):
        return
    matrix = np.array(entries, dtype=float)
    symmetric = (matrix + matrix.T) / 2
    diagonal = np.diag(symmetric)
    if diagonal.min() < 0:
        i = int(diagonal.argmin())
        raise MechanismError(
            f"{what}: entry ({i + 1}, {i + 1}) of the matrix, {MOTIONS[i]}, is {diagonal[i]:g}, which is negative: {reason}",
            path=("matrix",),
        )
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    smallest = float(np.linalg.eigvalsh(symmetric / np.outer(scale, scale))[0])
    if smallest < -PRINTED:
        raise MechanismError(
            f"{what}: the matrix is indefinite: the smallest eigenvalue of its symmetric part, scaled to a unit diagonal, is "
            f"{smallest:.6g}: {reason}",
            path=("matrix",),
        )


def relative_twist(kinematics: Kinematics, body: str, current: Vector3) -> tuple[ca.SX, ca.SX]:
    """Return the twist of a body against water that moves with ``current``, and the current, in body axes."""
    current_B = kinematics.pose(body).R.T @ kinematics.vector(current)
    twist = kinematics.twist(body)
    return ca.vertcat(twist[:3], twist[3:] - current_B), current_B


@dataclass(frozen=True)
class AddedMassOptions:
    """Symmetric 6 x 6 ``matrix`` of added mass in the order surge, sway, heave, roll, pitch, yaw (kg, kg m, kg m^2).

    It is taken at the point ``at`` of the body frame (m), in body axes, and constant: numbers or formulas in parameters.
    ``current`` is the velocity of the water as a whole, in world axes (m/s).
    """

    body: BodyName
    matrix: Matrix6
    at: Vector3 = ZERO_VECTOR
    current: Vector3 = ZERO_VECTOR

    def __post_init__(self) -> None:
        what = f"added-mass on '{self.body}'"
        check_symmetric(self.matrix, what)
        check_semidefinite(self.matrix, what, "the water would give energy away; check its signs and units")


class AddedMass(Force):
    """Added mass of a body in water, with the velocity terms of Kirchhoff's equations (Coriolis, Munk moment).

    The water's impulse h = A n, with the body's twist n = [w; v] against the water, changes at the rate of the wrench on the
    water: in body axes d/dt h_linear = f - w x h_linear and d/dt h_angular = m - w x h_angular - v x h_linear. The energy is
    n' A n / 2. A steady current adds no term of its own: only n, and its rate, are those against the water.
    """

    name = "added-mass"
    Options = AddedMassOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        _check_constant(options, kinematics)
        U = shift_twist(kinematics.vector(options.at))
        A = screw_matrix(kinematics, options.matrix)
        A = ca.sparsify(U.T @ ca.triu2symm(ca.triu(A)) @ U)
        n, current_B = relative_twist(kinematics, options.body, options.current)
        w, v = n[:3], n[3:]
        impulse = A @ n
        angular, linear = impulse[:3], impulse[3:]
        # The current, constant in world axes, changes at the rate -w x current in body axes, and n by the opposite.
        turning = A @ ca.vertcat(ca.SX(3, 1), ca.cross(w, current_B))
        gyroscopic = ca.vertcat(ca.cross(w, angular) + ca.cross(v, linear), ca.cross(w, linear))
        return Loads(
            inertias={options.body: A},
            wrenches={options.body: ca.densify(-turning - gyroscopic)},
            kinetic=ca.dot(n, impulse) / 2,
        )


def _check_constant(options: AddedMassOptions, kinematics: Kinematics) -> None:
    varying = {TIME, *(signal.name for signal in kinematics.mechanism.inputs)}
    for row in options.matrix:
        for entry in map(as_scalar, row):
            if isinstance(entry, Expression) and entry.names & varying:
                raise MechanismError(
                    f"added-mass on '{options.body}': matrix entry '{entry}' uses '{min(entry.names & varying)}', which "
                    "changes with time; an added mass is constant: use numbers and parameters"
                )


@dataclass(frozen=True)
class BodyDampingOptions:
    """Linear 6 x 6 ``matrix`` (N s/m, N s, N m s) and ``quadratic`` coefficients (N s^2/m^2, N m s^2), surge to yaw.

    They act on the velocity of the point ``at`` of the body frame (m), against water that moves with ``current`` (m/s, world
    axes), in ``axes`` of the ``body``, or ``horizontal`` ones that turn with its yaw, as the linear theory of motions in waves
    has it. Below the speed ``transition`` (m/s and rad/s) the quadratic part fades out smoothly.
    """

    body: BodyName
    matrix: Matrix6 = (NO_ROW,) * 6
    quadratic: Row = NO_ROW
    at: Vector3 = ZERO_VECTOR
    current: Vector3 = ZERO_VECTOR
    transition: float = 0.01
    axes: Literal["body", "horizontal"] = "body"

    def __post_init__(self) -> None:
        what = f"body-damping on '{self.body}'"
        check_semidefinite(self.matrix, what, "it would drive the body instead of slowing it; check its signs")
        for i, entry in enumerate(map(as_scalar, self.quadratic)):
            if isinstance(entry, float) and entry < 0:
                raise MechanismError(
                    f"{what}: the quadratic coefficient of {MOTIONS[i]} is {entry:g}; it must not be negative, since it would "
                    "drive the body",
                    path=("quadratic",),
                )
        if not self.transition > 0:
            raise MechanismError(f"{what}: transition is {self.transition:g}; it must be positive", path=("transition",))


class BodyDamping(Force):
    """Linear and quadratic damping of a body in water.

    The wrench at the point is -(D n + q n |n|), component by component for the quadratic part. There n |n| is smoothed to
    n^2 tanh(n / transition): the same to 1e-8 beyond ten times the transition speed, smaller below, and smooth at rest.
    """

    name = "body-damping"
    Options = BodyDampingOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        if options.axes == "horizontal":
            U, velocity, _, R_HW = horizontal_motion(kinematics, options.body, options.at, None)
            n = velocity - ca.vertcat(R_HW @ kinematics.vector(options.current), ca.SX(3, 1))
            order: Sequence[int] = range(6)
        else:
            U = shift_twist(kinematics.vector(options.at))
            n = U @ relative_twist(kinematics, options.body, options.current)[0]
            order = SCREW_ORDER
        quadratic = kinematics.vector(tuple(options.quadratic[i] for i in order))
        drag = ordered_matrix(kinematics, options.matrix, order) @ n + quadratic * n**2 * ca.tanh(n / options.transition)
        return Loads(wrenches={options.body: ca.densify(-(U.T @ drag))})
