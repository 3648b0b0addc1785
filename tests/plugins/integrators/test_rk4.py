"""The classical Runge-Kutta method by its stability polynomial."""

from types import SimpleNamespace

import casadi as ca
import pytest

from kingpost.plugins.integrators.rk4 import RK4


@pytest.mark.parametrize("z", [-2.7, -0.5, 0.0, 0.3, 1.0])
def test_a_step_is_the_series_of_the_exponential_to_fourth_order(z):
    linear = SimpleNamespace(rhs=lambda t, x, u, p: z * x)
    assert float(RK4().step(linear, 0.0, ca.DM(1.0), None, None, 1.0)) == pytest.approx(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24)


def test_time_is_integrated_by_simpsons_rule():
    cubic = SimpleNamespace(rhs=lambda t, x, u, p: t**3)
    assert float(RK4().step(cubic, 1.0, ca.DM(0.0), None, None, 2.0)) == pytest.approx((3**4 - 1) / 4, rel=1e-15)
