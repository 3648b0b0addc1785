"""What is said about integrators that cannot be used."""

import pytest

from kingpost import PluginError, Solver, StepMap, simulate
from kingpost.testing.problems import pendulum


def test_a_step_that_cannot_be_traced_is_explained():
    class Numeric(StepMap):
        """Needs numbers."""

        name = "numeric"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x + float(h)

    class Wrong(StepMap):
        """Returns half a state."""

        name = "wrong"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x[:1]

    with pytest.raises(PluginError, match=r"integrator 'numeric': step cannot be traced .* write a Solver"):
        simulate(pendulum(), 0.1, integrator=Numeric)
    with pytest.raises(PluginError, match="'wrong': step returned a 1 x 1 state, expected 2 x 1"):
        simulate(pendulum(), 0.1, integrator=Wrong)


def test_a_solver_that_stops_or_goes_too_far_is_named():
    class Short(Solver):
        """Gives up."""

        name = "short"
        order = 0

        def march(self, problem):
            yield problem.x0

    class Long(Solver):
        """Never stops."""

        name = "long"
        order = 0

        def march(self, problem):
            while True:
                yield problem.x0

    with pytest.raises(PluginError, match="'short' stopped after 1 of 10 output times without saying why"):
        simulate(pendulum(), 0.1, integrator=Short)
    with pytest.raises(PluginError, match="'long' gave more states than the 10 it was asked for"):
        simulate(pendulum(), 0.1, integrator=Long)


def test_a_wrong_pairing_names_those_that_work(plugins):
    class OnlyDae(StepMap):
        """For constrained problems."""

        name = "only-dae"
        order = 1
        problems = ("index-3 dae",)

        def step(self, equations, t, x, u, p, h):
            return x

    with pytest.raises(Exception, match="advances only INDEX-3 DAE. Integrators that work with it: backward-euler, bdf"):
        simulate(pendulum(), 0.1, integrator=OnlyDae, plugins=plugins)
