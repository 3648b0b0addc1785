"""Steppers: the functions that advance a problem, by name."""

import numpy as np
import pytest

from kingpost import PluginSet, SolverError, pose, simulate
from kingpost.simulation.settings import RunSettings
from kingpost.testing.problems import pendulum

BUILT_IN = PluginSet(entry_points=False)


def stepper(integrator, model=None):
    machine = pendulum() if model is None else BUILT_IN.models.get(model)().build()
    return pose(machine, RunSettings(integrator=integrator), plugins=BUILT_IN)


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "bdf2", "generalized-alpha"])
def test_steps_taken_by_hand_are_those_of_a_run(integrator):
    problem = stepper(integrator)
    h, advance = 0.01, problem.stepper
    x = advance.begin(0.0, problem.x0, problem.u0, problem.p, h)
    assert len(x) == problem.equations.nx + advance.remembered
    for k in range(10):
        x = np.asarray(advance.step(k * h, x, problem.u0, problem.p, h)).ravel()
    run = simulate(pendulum(), 0.1, integrator=integrator, step=h, output_step=0.1, plugins=BUILT_IN, backend="vm")
    seen = np.asarray(advance.observe(0.1, x, problem.u0, problem.p)).ravel()
    np.testing.assert_allclose(seen, run.values[-1], rtol=1e-13, atol=1e-15)


def test_a_solver_has_rates_and_a_projection_but_no_step():
    problem = stepper("radau", "four-bar")
    names = [function.name() for function in problem.stepper.running]
    assert names == ["kp_rhs", "kp_jacobian", "kp_projected", "kp_observe"]
    with pytest.raises(SolverError, match="'radau' chooses its own steps; there is no step map of it"):
        _ = problem.stepper.step
    # Off the constraints the rates are those of the nearest state on them.
    x, u, p = problem.x0 + 1e-4, problem.u0, problem.p
    on_them = problem.stepper.projected(0.0, x, u, p)
    apart = np.asarray(problem.stepper.rhs(0.0, x, u, p) - problem.equations.rhs(0.0, on_them, u, p))
    assert np.abs(apart).max() < 1e-10


def test_explicit_solvers_compile_no_jacobian():
    assert [function.name() for function in stepper("dop853").stepper.running] == ["kp_rhs", "kp_observe"]
