"""The Radau IIA method with two stages."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.newton import ImplicitStepMap, StepProblem, straightened
from kingpost.plugins.integrators.implicit import Parts


class Radau2(ImplicitStepMap):
    """Implicit Runge-Kutta method with two stages (Radau IIA): order 3, fixed step; for stiff motion.

    It advances accelerations, those of closed loops with the constraints differentiated twice; errors of the constraints are
    projected away after each step. Coordinates whose rates are speeds are known with these, and no unknowns.

    Redundant coordinates are solved for as they are, not by motions of rigid bodies: those of a stage satisfy constraints only
    up to the error of the stage, so they are no rigid motion away from where the step began.
    """

    name = "radau2"
    order = 3
    A = ((5 / 12, -1 / 12), (3 / 4, 1 / 4))
    c = (1 / 3, 1.0)

    def problem(self, equations: Equations) -> StepProblem:
        n = equations.nx
        known_with = self._known_with_speeds(equations)
        sizes = {"t": 1, "x": n, "u": equations.nu, "p": equations.np, "h": 1}
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        q, v = equations.split(x)
        # In the first guess speeds are constant.
        moved = ca.vertcat(equations.kinematics(q, v, p), ca.MX.zeros(equations.nv + equations.nz))[known_with:, :]
        size = 1 + ca.norm_inf(q[: equations.nq - equations.coordinates.followers, :]) if equations.nq else ca.MX(1)
        led = equations.state_rates(t, q, v, equations.acting(u, x), p)
        sizes_of_states = 1 + ca.fabs(equations.states_of(x)) + h * ca.fabs(led)
        first = ca.vertcat(*(ci * h * moved / size for ci in self.c))
        guess = ca.Function("kp_guess", known, [first, ca.densify(ca.vertcat(size, sizes_of_states))])
        count, others = n - known_with, equations.nq - known_with
        unknowns, factor = ca.MX.sym("unknowns", 2 * count), ca.MX.sym("factor", 1 + equations.nz)
        scale = ca.vertcat(factor[0] * ca.vertcat(ca.MX.ones(others), ca.MX.ones(equations.nv) / h), factor[1:, :])
        found = [unknowns[:count, :] * scale, unknowns[count:, :] * scale]
        speeds = [v + change[others : others + equations.nv, :] for change in found]
        rates = self._moved(equations, h, q, speeds, p) if known_with else speeds
        changes = [
            ca.vertcat(h * (weights[0] * rates[0] + weights[1] * rates[1])[:known_with, :], change)
            for change, weights in zip(found, self.A, strict=True)
        ]
        rates = [
            equations.rhs(t + ci * h, x + change, u, p)[known_with:, :] for ci, change in zip(self.c, changes, strict=True)
        ]
        rows = [
            (change - h * (weights[0] * rates[0] + weights[1] * rates[1])) / scale
            for change, weights in zip(found, self.A, strict=True)
        ]
        given = [unknowns, *known, factor]
        residual = ca.Function("kp_equations", given, [ca.vertcat(*rows)])
        # The last stage is the end of the step.
        following = ca.Function("kp_following", given, [x + changes[1]])
        names = [item.name for item in equations.state_quantities[known_with:]]
        return StepProblem(
            guess,
            straightened(residual, equations),
            following,
            tuple(f"the rate of '{name}' in stage {stage}" for stage in (1, 2) for name in names),
            # A unit matrix, but for terms that go to zero with h: its pivots are there in any order.
            ordered=True,
        )

    def _known_with_speeds(self, equations: Equations) -> int:
        """Return how many coordinates, the first ones, need no unknowns."""
        if equations.treatment.solves or not Parts(equations).rates:
            return 0
        # Those that only count turns are set to what the others say after the step, where that is projected.
        followed = equations.coordinates.followers and equations.constraints.count and equations.treatment.projects
        return equations.nq if followed else equations.nv

    def _moved(self, equations: Equations, h: ca.MX, q: ca.MX, speeds: list[ca.MX], p: ca.MX) -> list[ca.MX]:
        """Return the rates of coordinates that are known with the speeds of both stages, and of those that count turns."""
        nv, followers = equations.nv, equations.coordinates.followers
        if not followers:
            return speeds
        places = [
            q + ca.vertcat(h * (weights[0] * speeds[0] + weights[1] * speeds[1]), ca.MX(followers, 1)) for weights in self.A
        ]
        rates = [equations.kinematics(place, speed, p)[nv:, :] for place, speed in zip(places, speeds, strict=True)]
        return [ca.vertcat(*both) for both in zip(speeds, rates, strict=True)]
