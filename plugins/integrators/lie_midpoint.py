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
        nq, nv = equations.nq, equations.nv
        sizes = {"t": 1, "x": nq + nv, "u": equations.nu, "p": equations.np, "h": 1}
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        q, v = equations.split(x)
        size = 1 + ca.norm_inf(q)
        guess = ca.Function("kp_guess", known, [h * v / size, size])
        z, factor = ca.MX.sym("z", nv), ca.MX.sym("factor")
        v1 = z * factor / h
        mean = (v + v1) / 2
        turn = h * rotations.angular(ca.vertcat(q, mean))

        def moved(change: ca.MX, speeds: ca.MX, turns: ca.MX) -> ca.MX:
            return rotations.state(x, rotations.flat(ca.vertcat(q + change, speeds)), turns)

        # Of the coordinates only the place of a free joint has rates that depend on more than speeds: on its own rotation.
        ahead = moved(ca.MX.zeros(nq), v1, cayley(turn))
        change = h * (equations.kinematics(q, v, p) + equations.kinematics(ahead[:nq, :], v1, p)) / 2
        end = moved(change, v1, cayley(turn))
        place, speed = equations.split(moved(change / 2, mean, half_cayley(turn)))
        residual = (v1 - v - h * equations.accelerations(t + h / 2, place, speed, u, p)) * h / factor
        given = [z, *known, factor]
        names = [f"the balance of '{item.name}'" for item in equations.speed_quantities]
        return StepProblem(
            guess,
            straightened(ca.Function("kp_equations", given, [residual]), equations),
            ca.Function("kp_following", given, [end]),
            tuple(names),
        )
