"""Index reduction by minimal extension: document 000, sections 5.1 and 5.4."""

from __future__ import annotations

import casadi as ca
import numpy as np
import scipy.linalg

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.building import SystemBuilder
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import InverseDynamics, ServoPoint, ServoSystem, SteppedInverse
from kingpost.plugins.inverse_dynamics.twice_extended import MinimalExtensionOptions, TwiceExtended

#: Pivots of the servo-constraints' Jacobian below this part of the largest are zero.
RANK = 1e-9


class MinimalExtension(SteppedInverse):
    """Servo-constraints at position, speed and acceleration level, with dummy derivatives: the index falls by two.

    Document 000, eqs. (5.14), (5.33) and (5.107) in one: of the speeds, as many as there are servo-constraints are no rates of
    coordinates any more, and their accelerations no rates of speeds; in Cartesian coordinates of the load these are the load's,
    in joint coordinates those that the servo-constraints feel most. (5.33) prints - B u for + B u.
    """

    name = "minimal-extension"
    load_dependent = True
    Options = MinimalExtensionOptions

    def chosen(self) -> InverseDynamics:
        return TwiceExtended(self.options) if self.options.twice else self

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        return extended(problem, dummy_columns(problem, at))


def extended(problem: ServoProblem, columns: list[int]) -> ServoSystem:
    """Return the system with dummy derivatives for the speeds in some columns."""
    builder, a = with_dummies(problem, columns)
    for level in range(3):
        builder.servo(level, a)
    return builder.system(a)


def with_dummies(problem: ServoProblem, columns: list[int]) -> tuple[SystemBuilder, ca.SX]:
    """Return all rows but the servo-constraints, and the accelerations, with dummies for the speeds in some columns."""
    s, names = problem.symbols, problem.row_names
    chosen = [names["v"][column] for column in columns]
    select = selection(problem, columns)
    builder = SystemBuilder(problem)
    beside = builder.unknown("difference of rate and speed", chosen)
    slower = builder.unknown("difference of acceleration and rate", chosen)
    a = s.a + select @ slower
    builder.kinematics(select @ beside)
    builder.forces()
    builder.motion(ca.substitute(problem.balance, s.a, a))
    builder.state_rates(a)
    builder.constraints()
    return builder, a


def selection(problem: ServoProblem, columns: list[int]) -> ca.SX:
    """Return the matrix whose columns are unit vectors along some speeds."""
    select = ca.SX(problem.equations.nv, len(columns))
    for k, column in enumerate(columns):
        select[column, k] = 1
    return select


def dummy_columns(problem: ServoProblem, at: ServoPoint) -> list[int]:
    """Return speeds, as many as servo-constraints, that these determine best when the others are known."""
    s = problem.symbols
    function = ca.Function("H", [s.t, s.q, ca.vertcat(*s.signals), s.p], [ca.densify(problem.H), ca.densify(problem.M)])
    H, M = (np.asarray(part) for part in function(at.t, at.q, at.signals.ravel(), problem.p))
    inertia = np.sqrt(np.abs(np.diag(M)))
    # In units in which every coordinate weighs the same; those without inertia as they are.
    _, R, order = scipy.linalg.qr(H / np.where(inertia > 0, inertia, 1.0), mode="economic", pivoting=True)
    pivots: FloatArray = np.abs(np.diag(R))
    if len(pivots) < problem.outputs or pivots[-1] <= RANK * pivots[0]:
        raise SolverError(
            f"the servo-constraints depend on each other at t = {at.t:g} s: the pivots of their Jacobian are "
            f"{', '.join(f'{pivot:.3g}' for pivot in pivots)}. Leave one of the measures out, or take another path"
        )
    return sorted(int(i) for i in order[: problem.outputs])
