"""Radau's method: coordinates that are known with the speeds are no unknowns, and the step is the same."""

import numpy as np
import pytest

from kingpost import prepare
from kingpost.equations.newton import newton_of
from kingpost.equations.newton_records import iterated, solved_for
from kingpost.plugins.integrators.radau2 import Radau2
from kingpost.plugins.models.double_pendulum import DoublePendulum
from kingpost.plugins.models.heavy_top import HeavyTop

MACHINES = {
    "double pendulum": (lambda: DoublePendulum().build(), "kane", 4),
    "top with quaternions": (lambda: HeavyTop().build(), "kane", None),
    "top in directors": (lambda: HeavyTop().build(), "directors", 24),
}


def by_all_stages(equations, x, u, p, h):
    """Return the state after one step by Newton's method for all coordinates and speeds of both stages."""
    n, A, c = len(x), np.array(Radau2.A), np.array(Radau2.c)
    change = np.zeros(2 * n)
    for _ in range(30):
        stages = [x + change[:n], x + change[n:]]
        rates = [np.asarray(equations.rhs(ci * h, stage, u, p)).ravel() for ci, stage in zip(c, stages, strict=True)]
        slopes = [np.asarray(equations.rhs_jacobian(ci * h, stage, u, p)) for ci, stage in zip(c, stages, strict=True)]
        left = change - h * np.concatenate([a[0] * rates[0] + a[1] * rates[1] for a in A])
        matrix = np.eye(2 * n) - h * np.block([[a[0] * slopes[0], a[1] * slopes[1]] for a in A])
        moved = np.linalg.solve(matrix, left)
        change = change - moved
        if np.abs(moved).max() <= 1e-14 * (1 + np.abs(x).max()):
            break
    return x + change[n:]


@pytest.mark.parametrize("name", list(MACHINES))
def test_a_step_is_that_of_both_stages_in_all_unknowns(name):
    build, formulation, unknowns = MACHINES[name]
    run = prepare(build(), 1.0, formulation=formulation, integrator="radau2", step=2e-3, backend="vm")
    newton, e = newton_of(run.integrator, run.equations), run.equations
    assert newton.ordered
    assert solved_for(run.integrator, e).endswith("of the method, in a fixed order, or by sparse QR where that finds nothing")
    if unknowns is not None:
        assert newton.problem.guess.numel_out(0) == unknowns
    x, u = np.asarray(run.x0), run.inputs[0]
    record, found = iterated(newton, 0.0, x, u, run.p, 2e-3)
    assert record.converged
    expected = by_all_stages(e, x, u, run.p, 2e-3)
    if e.coordinates.followers:
        # What only counts turns is set to what the others say after the step, in both.
        found, expected = (np.asarray(e.projected(0.0, state, u, run.p)).ravel() for state in (found, expected))
    size = 1 + np.abs(x[: e.nq]).max()
    # Newton's iteration ends at movements of 1e-10 and is quadratic; speeds are differences of coordinates over h.
    assert np.abs(found - expected)[: e.nq].max() <= 1e-13 * size
    assert np.abs(found - expected)[e.nq :].max() <= 1e-13 * size / 2e-3


@pytest.mark.parametrize("name", ["double pendulum", pytest.param("top in directors", marks=pytest.mark.slow)])
def test_compiled_steps_are_eliminated_in_their_order_and_are_the_same(name):
    build, formulation, _ = MACHINES[name]
    ends = []
    for backend in ("vm", "c"):
        run = prepare(build(), 0.2, formulation=formulation, integrator="radau2", step=2e-3, output_step=0.2, backend=backend)
        y = np.empty((1, len(run.equations.channels)))
        stop = run.kernel.march(y, 100, 0.0, 2e-3, run.x0, run.inputs, run.p)
        assert not stop.status
        ends.append(stop.x)
    # A hundred steps, each of them found to rounding of its scaled unknowns.
    assert np.abs(ends[1] - ends[0]).max() <= 100 * 1e-13 * np.abs(ends[0]).max() / 2e-3
