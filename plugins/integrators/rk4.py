"""The classical Runge-Kutta method."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap


class RK4(StepMap):
    """Classical explicit Runge-Kutta method: four stages, order 4, fixed step."""

    name = "rk4"
    order = 4

    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        k1 = equations.rhs(t, x, u, p)
        k2 = equations.rhs(t + h / 2, x + h / 2 * k1, u, p)
        k3 = equations.rhs(t + h / 2, x + h / 2 * k2, u, p)
        k4 = equations.rhs(t + h, x + h * k3, u, p)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
