"""Solvers of SciPy."""

import dataclasses

import numpy as np
import pytest

from kingpost import ForceElement, PluginError, SolverError
from kingpost.equations.integrator import InitialValueProblem
from kingpost.registry.selection import select
from tests.core.symbols.python_forces import ANGLE, run


@pytest.mark.parametrize("integrator", ["dop853", "radau", "bdf"])
def test_a_rate_that_is_no_number_at_the_start_does_not_hang_a_solver(integrator, plugins):
    endless = ForceElement("joint-effort", coordinate=ANGLE, effort="1 / t")
    with pytest.raises(SolverError, match="the state at t = 0 s is such that its rate is not finite"):
        run(plugins, endless, integrator=integrator)


@pytest.mark.parametrize("integrator", ["dop853", "radau", "bdf", "lsoda"])
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("rtol=1e-30", r"rtol = 1e-30: the solvers work with 2.2e-14, .* or more"),
        ("rtol=0", "rtol = 0: the solvers work with"),
        ("rtol=-1", "rtol = -1: the solvers work with"),
        ("atol=-1e-9", "atol = -1e-09: it must be zero or more"),
        ("max_step=0", "max_step = 0: the longest step must be above zero"),
    ],
)
def test_tolerances_that_a_solver_cannot_hold_are_refused(integrator, option, message, plugins):
    with pytest.raises(PluginError, match=message):
        select(plugins.integrators, f"{integrator}:{option}")


@pytest.mark.parametrize("integrator", ["dop853", "lsoda"])
def test_a_solver_that_would_never_end_is_ended_and_says_what_it_would_take(integrator, plugins, monkeypatch):
    monkeypatch.setattr("kingpost.plugins.integrators.scipy_solvers.LOOK", 200)

    def rates(t, x):
        return np.cos(1e12 * t) * np.ones(1)

    problem = InitialValueProblem(np.array([0.0, 1e6]), np.zeros(1), rates, lambda t, x: np.zeros((1, 1)))
    # Tolerances far below the amplitude of 1e-12.
    solver = select(plugins.integrators, f"{integrator}:rtol=1e-12,atol=1e-18,max_step=1e-6")
    with pytest.raises(SolverError, match=rf"{integrator} goes on in steps of \S+ s at t = .*more than 1e\+09 are not taken"):
        list(solver.march(problem))


@pytest.mark.parametrize("integrator", ["dop853", "lsoda"])
def test_a_solver_with_much_to_do_goes_on(integrator, plugins, monkeypatch):
    monkeypatch.setattr("kingpost.plugins.integrators.scipy_solvers.LOOK", 20)
    problem = InitialValueProblem(np.array([0.0, 50.0]), np.zeros(1), lambda t, x: np.cos(20 * t) * np.ones(1), None)
    problem = dataclasses.replace(problem, jacobian=lambda t, x: np.zeros((1, 1)))
    *_, last = select(plugins.integrators, integrator).march(problem)
    assert last[0] == pytest.approx(np.sin(20 * 50.0) / 20, abs=1e-6)
