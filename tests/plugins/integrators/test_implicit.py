"""What the implicit integrators share."""

import casadi as ca
import numpy as np
import pytest

from kingpost import PluginSet, prepare
from kingpost.plugins.models.satellite import Satellite

TORQUES = {"torque1": 2.0, "torque2": -1.5, "torque3": 1.0}


def ready(integrator, formulation="kane", **choices):
    return prepare(
        Satellite().build(), 0.1, settings=TORQUES, formulation=formulation, integrator=integrator, step=0.01, backend="vm",
        plugins=PluginSet(), **choices,
    )  # fmt: skip


@pytest.mark.parametrize("integrator", ["generalized-alpha", "bdf2"])
def test_inputs_that_stay_the_same_make_no_jump_but_slopes_know_that_one_alone_may_change(integrator):
    """Where no input has changed, the accelerations for the old and the new ones are not computed, only their slopes."""
    run = ready(integrator)
    step, h = run.problem.stepper.step, run.grid.step
    x, u, p = np.array(run.x0), np.array(run.rows.values[0]), run.p
    x = np.asarray(step(0.0, x, u, p, h)).ravel()
    symbols = [ca.MX.sym(f"i{k}", step.numel_in(k)) for k in range(step.n_in())]
    slopes = ca.Function("slopes", symbols, [ca.jacobian(step(*symbols), symbols[2])])
    same = np.asarray(slopes(h, x, u, p, h))
    other = np.asarray(slopes(h, x, u + 1e-9, p, h))
    # The step is smooth in the inputs: its slopes at two of them 1e-9 apart, of which one is what it was before, agree so far.
    np.testing.assert_allclose(same, other, rtol=1e-6, atol=1e-9 * np.abs(other).max())
    d = 1e-3
    for k in range(len(u)):
        forth, back = (np.asarray(step(h, x, u + sign * d * np.eye(len(u))[k], p, h)).ravel() for sign in (1, -1))
        # Central differences: d^2 times third derivatives, and rounding of accelerations over d.
        np.testing.assert_allclose(same[:, k], (forth - back) / (2 * d), atol=1e-8 * max(1.0, np.abs(same).max()))
