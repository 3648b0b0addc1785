"""The Runge-Kutta-Munthe-Kaas method of order four for joints with quaternions."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap
from kingpost.plugins.integrators.rotations import Rotations, dexpinv, exponential


class LieRK4(StepMap):
    """Runge-Kutta method of order 4 on rotations (Munthe-Kaas): unit quaternions by construction; fixed step.

    Within a step the rotation of a spherical or free joint is exp(theta) from that at its start, and theta is what the
    classical method advances: theta' = dexp^-1(theta) w with the angular velocity w in body axes. All else is advanced as by
    ``rk4``, and a machine without quaternions is advanced the same.
    """

    name = "lie-rk4"
    order = 4

    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        rotations = Rotations(equations)
        flat = rotations.flat(x)
        theta = ca.MX.zeros(rotations.size)

        def rates(time: ca.MX, moved: ca.MX, turned: ca.MX) -> tuple[ca.MX, ca.MX]:
            """Return the rates of everything but quaternions, and of theta, at a stage."""
            state = rotations.state(x, flat + moved, exponential(turned))
            return rotations.flat(equations.rhs(time, state, u, p)), dexpinv(turned, rotations.angular(state))

        stages = [rates(t, 0 * flat, theta)]
        for part in (0.5, 0.5, 1.0):
            moved, turned = stages[-1]
            stages.append(rates(t + part * h, part * h * moved, part * h * turned))
        moved, turned = (h / 6 * (one + 2 * two + 2 * three + four) for one, two, three, four in zip(*stages, strict=True))
        return rotations.state(x, flat + moved, exponential(turned))
