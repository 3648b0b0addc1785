"""Equations with inputs that move, against the same equations with the values that these inputs have at a time."""

import casadi as ca
import numpy as np
import pytest

from kingpost.equations.moving_inputs import MovingInputs
from kingpost.kernel.codegen import generated
from kingpost.modelfiles.opened import open_model
from kingpost.simulation.export_model import prepare_export


@pytest.fixture(scope="module")
def problem(plugins):
    return prepare_export(open_model("vessel-crane", plugins).mechanism, plugins=plugins).problem


def row_and_values(layout, t, rng):
    """Return a row of a layout, and the values of its polynomials at a time, summed power by power."""
    row, since = rng.normal(size=layout.size), 0.3
    row[len(layout.names)] = since
    degree = next(iter(layout.forms.values())).degree
    powers = (t - since) ** np.arange(1, degree + 1)
    places = [layout.rate_place(name) for name in layout.names]
    return row, np.array([row[i] + row[place : place + degree] @ powers for i, place in enumerate(places)])


def test_functions_are_those_at_the_values_of_the_inputs(problem):
    layout, stepper = problem.with_ramps(3)
    equations, held = stepper.equations, problem.equations
    assert isinstance(equations, MovingInputs)
    t, rng = 0.47, np.random.default_rng(1)
    row, values = row_and_values(layout, t, rng)
    x = problem.x0 + 0.1 * rng.normal(size=len(problem.x0))
    own = np.asarray(equations.rhs(t, ca.DM(x), ca.DM(row), ca.DM(problem.p)))
    theirs = np.asarray(held.rhs(t, ca.DM(x), ca.DM(values), ca.DM(problem.p)))
    # The polynomials are summed in another order, a rounding error of inputs of order one.
    np.testing.assert_allclose(own, theirs, rtol=1e-13, atol=1e-13 * np.abs(theirs).max())
    q, v = held.split(x)
    arguments = [t, ca.DM(q), ca.DM(v), ca.DM(row), ca.DM(problem.p)]
    np.testing.assert_array_equal(np.asarray(equations.accelerations(*arguments)), own[held.nq :])


def test_expressions_of_their_own_say_the_same(problem):
    layout, stepper = problem.with_ramps(3)
    equations = stepper.equations
    row, _ = row_and_values(layout, 0.47, np.random.default_rng(2))
    arguments = [0.47, *(ca.DM(part) for part in equations.split(problem.x0)), ca.DM(row), ca.DM(problem.p)]
    M, f = (np.asarray(part) for part in equations.function("parts", [ca.densify(equations.M), equations.f]).call(arguments))
    vdot = np.asarray(equations.accelerations(*arguments))
    np.testing.assert_allclose(M @ vdot, f, rtol=0, atol=1e-11 * np.abs(f).max())


def test_both_kinds_of_steps_have_the_accelerations_once(problem):
    moving = problem.with_ramps(3)[1].step
    symbols = moving.mx_in()
    code = generated("both", [problem.stepper.step, ca.Function("kp_ramp_step", symbols, moving.call(symbols))])
    found = [part for part in code.split("/* ")[1:] if part.startswith("kp_accelerations:")]
    assert len(found) == 1
