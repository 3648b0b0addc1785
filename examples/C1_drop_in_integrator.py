"""A drop-in integrator in one file: Heun's method.

Use it without installing anything:

    kingpost run double-pendulum --plugin examples/C1_drop_in_integrator.py --integrator heun
"""

from kingpost import StepMap, hookimpl


class Heun(StepMap):
    """Heun's method: explicit trapezoidal rule, two stages, order 2."""

    name = "heun"
    order = 2

    def step(self, equations, t, x, u, p, h):
        slope = equations.rhs(t, x, u, p)
        return x + h / 2 * (slope + equations.rhs(t + h, x + h * slope, u, p))


@hookimpl
def kingpost_register_integrators():
    return [Heun]
