"""Solvers of SciPy."""

import pytest

from kingpost import ForceElement, SolverError
from tests.core.symbols.python_forces import ANGLE, run


@pytest.mark.parametrize("integrator", ["dop853", "radau", "bdf"])
def test_a_rate_that_is_no_number_at_the_start_does_not_hang_a_solver(integrator, plugins):
    endless = ForceElement("joint-effort", coordinate=ANGLE, effort="1 / t")
    with pytest.raises(SolverError, match="the state at t = 0 s is such that its rate is not finite"):
        run(plugins, endless, integrator=integrator)
