"""The method of Shu and Osher, J. Comput. Phys. 77 (1988), eq. (2.18)."""

from kingpost import StepMap


class SSPRK3(StepMap):
    """Strong-stability-preserving Runge-Kutta method of Shu and Osher: three stages, order 3."""

    name = "ssprk3"
    order = 3

    def step(self, equations, t, x, u, p, h):
        x1 = x + h * equations.rhs(t, x, u, p)
        x2 = 3 / 4 * x + 1 / 4 * (x1 + h * equations.rhs(t + h, x1, u, p))
        return 1 / 3 * x + 2 / 3 * (x2 + h * equations.rhs(t + h / 2, x2, u, p))
