"""Gumbel's distribution against closed forms and another implementation."""

import math

import numpy as np
import pytest
from scipy import stats

from kingpost import KingpostError
from kingpost.studies.summary.gumbel import EULER, THREE_HOURS, Gumbel, fit_gumbel


def drawn(count, location=3.0, scale=0.5, seed=1):
    return location + scale * np.random.default_rng(seed).gumbel(size=count)


def test_maximum_likelihood_is_that_of_scipy():
    for count in (5, 40, 500):
        values = drawn(count)
        fit = fit_gumbel(values)
        location, scale = stats.gumbel_r.fit(values)
        # SciPy's search ends at a relative change of about 1e-8 of the likelihood's derivative.
        assert (fit.location, fit.scale) == pytest.approx((location, scale), rel=1e-6)


def test_the_likelihood_is_stationary():
    values = drawn(30)
    fit = fit_gumbel(values)
    z = (values - fit.location) / fit.scale
    assert np.exp(-z).mean() == pytest.approx(1.0, abs=1e-12)
    assert (z - z * np.exp(-z)).mean() == pytest.approx(1.0, abs=1e-12)


def test_fits_follow_units_and_places():
    values = drawn(20)
    fit, moved = fit_gumbel(values), fit_gumbel(1e6 * values - 4e6)
    assert (moved.location, moved.scale) == pytest.approx((1e6 * fit.location - 4e6, 1e6 * fit.scale), rel=1e-9)


def test_moments():
    values = drawn(40)
    fit = fit_gumbel(values, "moments")
    assert fit.location + EULER * fit.scale == pytest.approx(values.mean())
    assert (math.pi * fit.scale) ** 2 / 6 == pytest.approx(values.var(ddof=1))


def test_errors_of_many_values_are_those_of_fisher():
    """Var u = (1 + 6 (1 - gamma)^2 / pi^2) b^2 / n = 1.1087 b^2 / n: limits of 90 % are 1.645 of its root away."""
    count = 400
    low, high = Gumbel(0.0, 1.0, count).interval(0.0)
    expected = 1.6449 * math.sqrt((1 + 6 * (1 - EULER) ** 2 / math.pi**2) / count)
    # 2500 simulated fits give limits to about 3 %, and the limit of many values is off by 1 / sqrt(400) of itself at most.
    assert (-low, high) == pytest.approx((expected, expected), rel=0.09)


def test_limits_of_confidence_hold_for_few_values():
    """Of 300 samples of 8 values, 90 % of the limits hold the true mode in 3 h; the binomial error is 1.7 % (one sigma)."""
    true, ratio, inside = 3.0 + 0.5 * math.log(18.0), 18.0, 0
    for seed in range(300):
        low, high = fit_gumbel(drawn(8, seed=seed)).interval(0.0, ratio)
        inside += low <= true <= high
    assert 0.85 < inside / 300 < 0.95


def test_a_longer_time_moves_the_distribution():
    fit = Gumbel(2.0, 0.3, 10)
    longer = fit.moved(THREE_HOURS / 600.0)
    assert longer.mode == pytest.approx(2.0 + 0.3 * math.log(18.0))
    # The largest of 18 independent values has F^18.
    for x in (2.0, 2.5, 3.5):
        assert longer.cdf(x) == pytest.approx(fit.cdf(x) ** 18)
    assert longer.cdf(longer.quantile(0.9)) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("values", "message"), [([1.0, 2.0], "there are 2"), ([1, 2, math.nan], "3 finite values"), ([2.0] * 5, "are all 2")]
)
def test_what_has_no_distribution_is_refused(values, message):
    with pytest.raises(KingpostError, match=message):
        fit_gumbel(values)
