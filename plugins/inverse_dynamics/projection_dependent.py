"""Projection into directions that servo-constraints and constraints leave free, with both at acceleration level."""

from __future__ import annotations

import casadi as ca

from kingpost.control.servo.building import SystemBuilder, mass_blocks
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.system import ServoPoint, ServoSystem, SteppedInverse
from kingpost.plugins.inverse_dynamics.minimal_extension import dummy_columns, selection
from kingpost.plugins.inverse_dynamics.projection import check_inertia


class ProjectionDependent(SteppedInverse):
    """Balances of momentum in the directions that neither servo-constraints nor constraints hold: ALT of document 000.

    Eq. (4.50), for measures of any kind: what the servo-constraints determine has the place, speed and acceleration of the
    path, and constraints are met at position and acceleration level. With the basis D of what is left free, D'(M a - f - B u)
    = 0 says the same as M a = f + B u + H' kappa - A' rho with any kappa and rho. The document drops B u in (4.50c), for
    machines where inputs do not act on the load; here it stays. Its deviation of 0.1 for the rotary crane is not of the method.
    """

    name = "projection-dependent"
    load_dependent = True

    def refusal(self, problem: ServoProblem) -> str:
        held, outputs = problem.equations.constraints.count, problem.outputs
        if held >= outputs:
            return (
                f"method '{self.name}' needs fewer constraints than servo-constraints, document 000, section 4.2.3, and "
                f"'{problem.equations.mechanism.name}' has {held} constraints "
                f"({', '.join(dict.fromkeys(problem.row_names['lam']))}) for {outputs} measures; method 'projection' takes any "
                "number"
            )
        return super().refusal(problem)

    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        s, names = problem.symbols, problem.row_names
        held = problem.A.numel() > 0
        felt = ca.vertcat(problem.H, problem.A) if held else problem.H
        block = mass_blocks(problem, felt)
        check_inertia(self.name, problem, at, block)
        columns = dummy_columns(problem, at)
        chosen = [names["v"][column] for column in columns]
        select = selection(problem, columns)
        builder = SystemBuilder(problem)
        beside = builder.unknown("difference of rate and speed", chosen)
        slower = builder.unknown("difference of acceleration and rate", chosen)
        builder.kinematics(select @ beside)
        builder.forces()
        kappa = builder.unknown("kappa", names["y"])
        rho = builder.unknown("rho", names["lam"])
        stepped = s.a + select @ slower
        inner = builder.unknown("acceleration", (names["v"][i] for i in block), s.a[block])
        exact = ca.SX(stepped)
        exact[block] = inner
        free = problem.M @ stepped - problem.f
        builder.motion(free - problem.H.T @ kappa + (problem.A.T @ rho if held else 0))
        balance = ca.substitute(problem.balance, s.a, exact)[block]
        builder.row(balance, (f"the equation of motion of '{names['v'][i]}' in the constrained directions" for i in block))
        builder.state_rates(exact)
        builder.constraints()
        for level in range(3):
            builder.servo(level, stepped)
        builder.row(
            ca.substitute(problem.servo_accelerations, s.a, exact),
            (f"the balance of forces along the servo-constraint of '{name}'" for name in names["y"]),
        )
        if held:
            builder.row(
                ca.substitute(problem.constraint_accelerations, s.a, exact),
                (f"the constraint of '{owner}' at acceleration level" for owner in names["lam"]),
            )
        return builder.system(exact)
