"""The mid-point rule on the rotation group."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.newton import ImplicitStepMap, StepProblem, straightened
from kingpost.plugins.integrators.rotations import Rotations, cayley, half_cayley


class LieMidpoint(ImplicitStepMap):
    """Implicit mid-point rule on rotations: order 2, fixed step; a free body keeps energy and momenta exactly.

    Rotations of spherical and free joints are turned by Cayley's map of h times the mean angular velocity in body axes. With it
    the balance of moments at the mean state, J (w1 - w0) + h wm x J wm = 0, says R1 J w1 = R0 J w0 (Lewis and Simo 1994). Other
    coordinates move with the mean of their rates at both ends. Closed loops are advanced in their accelerations and projected
    after each step.
    """

    name = "lie-midpoint"
    order = 2

    def problem(self, equations: Equations) -> StepProblem:
        rotations = Rotations(equations)
        nq, nv, nz = equations.nq, equations.nv, equations.nz
        sizes = {"t": 1, "x": equations.nx, "u": equations.nu, "p": equations.np, "h": 1}
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        q, v = equations.split(x)
        z = equations.states_of(x)
        size = 1 + ca.norm_inf(q) if nq else ca.MX(1)
        ahead = h * equations.state_rates(t, q, v, equations.acting(u, x), p)
        load = 1 + ca.fabs(z) + ca.fabs(ahead)
        first = ca.vertcat(h * v / size, ahead / load)
        guess = ca.Function("kp_guess", known, [ca.densify(first), ca.densify(ca.vertcat(size, load))])
        unknowns, factor = ca.MX.sym("unknowns", nv + nz), ca.MX.sym("factor", 1 + nz)
        v1, z1 = unknowns[:nv, :] * factor[0] / h, z + unknowns[nv:, :] * factor[1:, :]
        mean, between = (v + v1) / 2, (z + z1) / 2
        turn = h * rotations.angular(ca.vertcat(q, mean))

        def moved(change: ca.MX, speeds: ca.MX, states: ca.MX, turns: ca.MX) -> ca.MX:
            return rotations.state(x, rotations.flat(ca.vertcat(q + change, speeds, states)), turns)

        # Of the coordinates only the place of a free joint has rates that depend on more than speeds: on its own rotation.
        turned = moved(ca.MX.zeros(nq), v1, z1, cayley(turn))
        change = h * (equations.kinematics(q, v, p) + equations.kinematics(turned[:nq, :], v1, p)) / 2
        end = moved(change, v1, z1, cayley(turn))
        middle = moved(change / 2, mean, between, half_cayley(turn))
        place, speed = equations.split(middle)
        acting = equations.acting(u, middle)
        residual = [(v1 - v - h * equations.accelerations(t + h / 2, place, speed, acting, p)) * h / factor[0]]
        names = [f"the balance of '{item.name}'" for item in equations.speed_quantities]
        if nz:
            residual.append((z1 - z - h * equations.state_rates(t + h / 2, place, speed, acting, p)) / factor[1:, :])
            names += [f"the rate of '{item.name}'" for item in equations.states.quantities]
        given = [unknowns, *known, factor]
        return StepProblem(
            guess,
            straightened(ca.Function("kp_equations", given, [ca.densify(ca.vertcat(*residual))]), equations),
            ca.Function("kp_following", given, [end]),
            tuple(names),
        )
