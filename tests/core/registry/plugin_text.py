"""A plugin as somebody would write it."""

PLUGIN = """\
from kingpost import StepMap, hookimpl

class Mine(StepMap):
    \"\"\"My own Euler.\"\"\"

    name = "mine"
    order = 1

    def step(self, equations, t, x, u, p, h):
        return x + h * equations.rhs(t, x, u, p)

@hookimpl
def kingpost_register_integrators():
    return [Mine]
"""
