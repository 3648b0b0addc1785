"""Projection of the equations of motion into directions that servo-constraints hold and directions that they leave free."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.base.errors import SolverError, listed
from kingpost.control.servo.building import SystemBuilder, mass_blocks
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import ServoPoint, ServoSystem, SteppedInverse


class Projection(SteppedInverse):
    """Servo-constraints at position and acceleration level, balances of momentum in the directions that they leave free.

    Document 003, eqs. (15) and (19); document 000, eq. (4.23) in joint coordinates (GEN) and eq. (4.33) in dependent ones
    (RED). With a basis D of the directions that they leave free, D'(M vdot - f) = 0 says the same as M vdot = f + H' kappa with
    any kappa, which needs no basis. The speeds of the measures are those of the path up to the error of a step.
    """

    name = "projection"
    load_dependent = True

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        s, names = problem.symbols, problem.row_names
        block = mass_blocks(problem, problem.H)
        check_inertia(self.name, problem, at, block)
        builder = SystemBuilder(problem)
        builder.kinematics()
        builder.forces()
        kappa = builder.unknown("kappa", names["y"])
        # Accelerations that meet the equations of motion at a time alone; elsewhere the rates of the speeds do.
        inner = builder.unknown("acceleration", (names["v"][i] for i in block), s.a[block])
        a = ca.SX(s.a)
        a[block] = inner
        builder.motion(problem.balance - problem.H.T @ kappa)
        exact = ca.substitute(problem.balance, s.a, a)[block]
        builder.row(exact, (f"the equation of motion of '{names['v'][i]}' in the constrained directions" for i in block))
        builder.state_rates(a)
        builder.constraints()
        builder.servo(0)
        builder.servo(2, a)
        return builder.system(a)


def check_inertia(method: str, problem: ServoProblem, at: ServoPoint, block: list[int]) -> None:
    """Refuse a mass matrix that cannot be inverted in some of its rows."""
    s = problem.symbols
    mass = ca.Function("M", [s.t, s.q, s.p], [ca.densify(problem.M[block, block])])
    M = np.asarray(mass(at.t, at.q, problem.p))
    scale = np.sqrt(np.abs(np.diag(M)))
    named = [problem.row_names["v"][i] for i in block]
    lost = [name for name, size in zip(named, scale, strict=True) if size == 0.0]
    values = np.zeros(1)
    if not lost:
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] <= len(M) * np.finfo(float).eps:
            lost = [named[int(np.abs(vectors[:, 0]).argmax())]]
    if lost:
        raise SolverError(
            f"method '{method}' divides by the inertia of what the servo-constraints feel, and nothing resists an acceleration "
            f"along {listed(lost)} (smallest scaled eigenvalue of the mass matrix {values[0]:.1e}). Method 'minimal-extension' "
            "needs no inertia there"
        )
