"""The semi-implicit Euler method."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap


class EulerSymplectic(StepMap):
    """Semi-implicit Euler method: speeds first, then coordinates with the new speeds; order 1, fixed step.

    It takes speeds for momenta, so it is symplectic only where the mass matrix is constant. On a machine whose mass
    matrix varies with the configuration the energy error stays of first order in the step, and over moderate times it
    oscillates rather than grows.
    """

    name = "euler-symplectic"
    order = 1
    symplectic = True

    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        q, v = equations.split(x)
        acting = equations.acting(u, x)
        v = v + h * equations.accelerations(t, q, v, acting, p)
        q = q + h * equations.kinematics(q, v, p)
        if not equations.nz:
            return ca.vertcat(q, v)
        return ca.vertcat(q, v, equations.states_of(x) + h * equations.state_rates(t, q, v, acting, p))
