"""Index reduction by minimal extension: document 000, sections 5.1 and 5.4."""

from __future__ import annotations

import casadi as ca
import numpy as np
import scipy.linalg

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import ServoPoint, ServoSystem, SteppedInverse

#: Pivots of the servo-constraints' Jacobian below this part of the largest are zero.
RANK = 1e-9


class MinimalExtension(SteppedInverse):
    """Servo-constraints at position, speed and acceleration level, with dummy derivatives: the index falls by two.

    Document 000, eqs. (5.14), (5.33) and (5.107) in one: of the coordinates, as many as there are servo-constraints become
    algebraic, and so do their speeds and accelerations; in Cartesian coordinates of the load these are the load's, in joint
    coordinates those that the servo-constraints feel most. (5.33) prints - B u for + B u.
    """

    name = "minimal-extension"

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        e, s = problem.equations, problem.symbols
        names = problem.row_names
        rated = rated_columns(problem)
        columns = dummy_columns(problem, at, rated)
        coordinates = [rated[column] for column in columns]
        stepped_q = [i for i in range(e.nq) if i not in coordinates]
        stepped_v = [i for i in range(e.nv) if i not in columns]
        x = ca.vertcat(s.q[stepped_q], s.v[stepped_v], s.z)
        q_rate = ca.SX.sym("qdot", len(stepped_q))
        xdot = ca.vertcat(q_rate, s.a[stepped_v], s.zdot)
        w = ca.vertcat(s.q[coordinates], s.v[columns], s.a[columns], s.lam, s.u)
        followers = e.coordinates.followers
        kinematics = q_rate - (problem.N @ s.v)[stepped_q]
        if followers:
            free = len(stepped_q) - followers
            kinematics = ca.vertcat(kinematics[:free], (s.q - e.coordinates.followed(s.q, s.p))[stepped_q][free:])
        residual = ca.vertcat(
            kinematics,
            problem.balance,
            s.zdot - problem.state_rates,
            problem.phi,
            problem.constraint_speeds[e.constraints.holonomic :, :],
            problem.servo_positions,
            problem.servo_speeds,
            problem.servo_accelerations,
        )
        rows = (
            *(f"the rate of '{names['q'][i]}'" for i in stepped_q),
            *(f"the equation of motion of '{name}'" for name in names["v"]),
            *(f"the rate of '{name}'" for name in names["z"]),
            *(f"the constraint of '{owner}'" for owner in names["lam"]),
            *(
                f"the servo-constraint of '{name}' at {level} level"
                for level in ("position", "speed", "acceleration")
                for name in names["y"]
            ),
        )
        return ServoSystem(
            problem=problem,
            x=x,
            xdot=xdot,
            w=w,
            signals=s.signals,
            residual=residual,
            solution={"q": s.q, "v": s.v, "a": s.a, "z": s.z, "lam": s.lam, "u": s.u},
            start=(x, ca.vertcat((problem.N @ s.v)[stepped_q], s.a[stepped_v], s.zdot), w),
            x_names=(*(names["q"][i] for i in stepped_q), *(names["v"][i] for i in stepped_v), *names["z"]),
            w_names=(
                *(names["q"][i] for i in coordinates),
                *(names["v"][i] for i in columns),
                *(f"rate of {names['v'][i]}" for i in columns),
                *(f"multiplier of {owner}" for owner in names["lam"]),
                *names["u"],
            ),
            rows=rows,
        )


def rated_columns(problem: ServoProblem) -> dict[int, int]:
    """Return the speeds that are the rate of one coordinate, and the coordinates: column of v to row of q."""
    N = problem.N
    rated = {}
    free = problem.equations.nq - problem.equations.coordinates.followers
    for column in range(problem.equations.nv):
        rows = [row for row in range(free) if not N[row, column].is_zero()]
        if len(rows) == 1:
            row = rows[0]
            alone = all(N[row, other].is_zero() for other in range(problem.equations.nv) if other != column)
            if alone and N[row, column].is_one():
                rated[column] = row
    return rated


def dummy_columns(problem: ServoProblem, at: ServoPoint, rated: dict[int, int]) -> list[int]:
    """Return speeds, as many as servo-constraints, that these determine best when the others are known."""
    s = problem.symbols
    function = ca.Function("H", [s.t, s.q, ca.vertcat(*s.signals), s.p], [ca.densify(problem.H), ca.densify(problem.M)])
    H, M = (np.asarray(part) for part in function(at.t, at.q, at.signals.ravel(), problem.p))
    inertia = np.sqrt(np.abs(np.diag(M)))
    # In units in which every coordinate weighs the same; those without inertia as they are.
    H = H / np.where(inertia > 0, inertia, 1.0)
    candidates = sorted(rated)
    _, R, order = scipy.linalg.qr(H[:, candidates], mode="economic", pivoting=True)
    pivots: FloatArray = np.abs(np.diag(R))
    if len(pivots) < problem.outputs or pivots[-1] <= RANK * pivots[0]:
        raise SolverError(
            f"the servo-constraints depend on each other at t = {at.t:g} s: the pivots of their Jacobian are "
            f"{', '.join(f'{pivot:.3g}' for pivot in pivots)}. Leave one of the measures out, or take another path"
        )
    return sorted(candidates[i] for i in order[: problem.outputs])
