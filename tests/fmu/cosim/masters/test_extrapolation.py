"""Polynomials through past samples are exact for polynomials of their degree."""

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.fmu.cosim.masters.extrapolation import Samples, check_order

TIMES = (0.0, 0.3, 0.7, 1.2)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_slopes_of_a_polynomial_of_the_degree_are_its_own(order):
    polynomials = [np.polynomial.Polynomial(c[: order + 1]) for c in ([2.0, -1.0, 0.5], [0.0, 3.0, -2.0])]
    samples = Samples(order)
    for t in TIMES:
        samples.add(t, np.array([p(t) for p in polynomials]))
    for ahead in (None, (1.9, np.array([p(1.9) for p in polynomials]))) if order else (None,):
        found = samples.slopes(TIMES[-1], ahead)
        expected = [[p.deriv(k)(TIMES[-1]) for p in polynomials] for k in (1, 2)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_entries_that_hold_have_no_slope_and_the_first_sample_none_at_all():
    samples = Samples(1, np.array([False, True]))
    samples.add(0.0, np.array([1.0, 1.0]))
    assert not samples.slopes(0.0).any()
    samples.add(1.0, np.array([3.0, 5.0]))
    assert samples.slopes(1.0)[0].tolist() == [2.0, 0.0]


def test_degrees_that_are_not_offered():
    with pytest.raises(MechanismError, match="extrapolation is 3; it can be 0, 1 or 2"):
        check_order(3)
