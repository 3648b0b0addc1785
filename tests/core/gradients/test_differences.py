"""The differences that gradients are compared with."""

import math

import pytest

from tests.core.gradients.conftest import ridders


@pytest.mark.parametrize(
    ("function", "slope"),
    [(lambda x: math.sin(3 * x), 3.0), (lambda x: math.exp(math.sin(5 * x)) + 1e-9 * x, 5.0 + 1e-9), (lambda x: 7 * x, 7.0)],
)
def test_extrapolated_differences_are_good_to_nine_digits_and_say_so(function, slope):
    found, error = ridders(function)
    assert found == pytest.approx(slope, rel=1e-9)
    assert abs(found - slope) <= max(error, 1e-12)
