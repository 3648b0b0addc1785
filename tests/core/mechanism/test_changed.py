"""Trajectories made from others."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost.base.errors import MechanismError
from kingpost.mechanism.changed import Bump, Slower, Sum
from kingpost.mechanism.trajectories import Constant, RestToRest

MOVE = RestToRest(1.0, 3.0, 2.0, 5.0, profile="smooth:6")


def test_a_slower_move_is_the_move_over_a_longer_time():
    slow = Slower(MOVE, 1.7, t_start=1.0)
    # From 1 + (2 - 1) 1.7 to 1 + (5 - 1) 1.7.
    want = RestToRest(1.0, 3.0, 2.7, 7.8, profile="smooth:6")
    for t in np.linspace(0.0, 9.0, 40):
        for order in range(9):
            assert slow.value(float(t), order=order) == pytest.approx(want.value(float(t), order=order), rel=1e-12, abs=1e-12)
            assert slow.jets_at([t], order)[0, order] == pytest.approx(want.value(float(t), order=order), rel=1e-12, abs=1e-12)
    assert slow.smoothness == 6
    assert [(b.time, b.order) for b in slow.breaks()] == [(b.time, b.order) for b in want.breaks()]
    with pytest.raises(MechanismError, match="factor is 0.0; it must be positive"):
        Slower(MOVE, 0.0)


def test_a_bump_is_smooth_and_vanishes_at_its_ends():
    bump = Bump((0.3, -0.2, 0.5), 1.0, 3.0, n=6)
    x = np.polynomial.Polynomial([-2.0, 1.0])
    shape = (1 - x**2) ** 7 * (0.3 - 0.2 * x + 0.5 * (2 * x**2 - 1))
    for order in range(9):
        want = shape.deriv(order) if order else shape
        # Terms of the expanded polynomial cancel to about 1e-16 of their sum.
        size = np.abs(want.coef).sum() * 3.0 ** want.degree() * 1e-16
        for t in (1.2, 1.9, 2.6):
            assert bump.value(t, order=order) == pytest.approx(want(t), rel=1e-9, abs=max(size, 1e-12))
    assert bump.value(0.5) == bump.value(3.5) == 0.0
    assert bump.smoothness == 6
    assert [found.order for found in bump.breaks()] == [7, 7]


def test_a_sum_is_the_sum_of_its_parts_and_as_smooth_as_the_least_of_them():
    total = Sum((MOVE, Bump((0.2, 0.1), 1.0, 4.0, n=5), Constant("2 * a")))
    for t in np.linspace(0.0, 6.0, 25):
        for order in range(6):
            want = sum(part.value(float(t), {"a": 0.5}, order) for part in total.parts)
            assert total.value(float(t), {"a": 0.5}, order) == pytest.approx(want, rel=1e-13, abs=1e-13)
            assert total.jets_at([t], order, {"a": 0.5})[0, order] == pytest.approx(want, rel=1e-12, abs=1e-12)
    assert total.smoothness == 5
    assert [(found.time, found.order) for found in total.breaks({"a": 0.5})] == [(1.0, 6), (2.0, 7), (4.0, 6), (5.0, 7)]


@pytest.mark.parametrize("path", [Slower(MOVE, 2.0), Bump((1.0, 0.5), 0.0, 2.0), Sum((MOVE, Bump((1.0,), 2.0, 4.0)))])
def test_symbols_give_what_numbers_give(path):
    t = ca.MX.sym("t")
    for order in (0, 1, 3):
        function = ca.Function("f", [t], [path.value(t, order=order)])
        for at in (0.7, 2.9, 3.3):
            assert math.isclose(float(function(at)), path.value(at, order=order), rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize(
    "path", [MOVE, Slower(MOVE, 2.0), Bump((1.0, 0.5), 0.0, 2.0, n=4), Sum((MOVE, Bump((1.0,), 2.0, 4.0), Constant(0.3)))]
)
def test_polynomials_are_the_same_numbers(path):
    polynomials = path.polynomials()
    times = np.linspace(-0.5, 7.0, 76)
    for order in (0, 1, 2):
        want = np.array([path.value(float(t), order=order) for t in times])
        # Power sums of degree 13 to 16 lose digits: their terms reach 1e6 where origins of parts are apart.
        assert polynomials.value(times, order) == pytest.approx(want, abs=1e-8)
