"""Directional derivatives against differences of values that are rounded."""

from types import SimpleNamespace

import numpy as np
import pytest

from kingpost.cli.main import main
from kingpost.fmu.checks import check_fmu
from kingpost.fmu.checks.derivatives import DELTA, _best_difference, _compare, _noise

UNKNOWNS = [SimpleNamespace(name="y", reference=1, number=lambda what: None)]
KNOWN = SimpleNamespace(name="u", reference=0)


def compared(function, said, base=0.3, size=1.0):
    """What is found wrong in an FMU with one output, a function of one input, that says its derivative is ``said``."""
    instance = SimpleNamespace(
        directional_derivative=lambda unknowns, knowns, seed: np.array([said]),
        fmu=SimpleNamespace(description=SimpleNamespace(outputs=(), derivatives=())),
    )
    return _compare(instance, UNKNOWNS, KNOWN, lambda value: np.array([function(value)]), base, size)


def cancelling(large, slope):
    """A straight line that is computed as a small difference of large numbers."""
    return lambda u: (large + slope * u) - large


@pytest.mark.parametrize(
    ("large", "slope"), [(large, slope) for large in (0.0, 1.0, 1e3, 1e6) for slope in (0.0, 3e-5, 1.0)] + [(1e3, -2.5e-10)]
)
def test_a_right_derivative_agrees_however_its_value_is_rounded(large, slope):
    # Anywhere in the range of the input: rounding makes other steps of each.
    for base in np.linspace(-1.0, 1.0, 101):
        assert not compared(cancelling(large, slope), slope, float(base))


@pytest.mark.parametrize("large", [0.0, 1.0, 1e3, 1e6])
def test_a_wrong_derivative_disagrees(large):
    """Of values that are rounded to multiples of q, fourth differences are 8 q at most, which is taken for a scatter of q.

    So the widest difference, over 0.01, is thought to be known to 400 q by itself and to 100 q by comparison with the next; ten
    times that is let pass.
    """
    seen = 5000 * large * np.finfo(float).eps
    for slope in {1.0, 100.0 * seen} - {0.0}:
        for said in (1.5 * slope, -slope, 0.0, 1.02 * slope):
            assert compared(cancelling(large, slope), said)


def test_a_derivative_that_is_no_number_disagrees():
    assert compared(cancelling(1e6, 0.0), np.nan)


def test_the_scatter_of_values_is_found():
    rng = np.random.default_rng(1)
    noise = _noise(lambda u: np.sin(u) + 1e-9 * rng.normal(size=4000), 0.3, DELTA)
    # Four thousand means of 13 squares; neighbours have values in common, so that they count as 13 / 5 at least: 1 % is 1.4 s.
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(1e-9, rel=0.03)


def test_the_best_width_balances_rounding_and_curvature():
    """With values rounded to 1e-9, a difference of sin over w is off by w^2 / 6 + 1e-9 / w: by less than 1e-5 at best."""
    found, error = _best_difference(lambda u: np.array([np.round(np.sin(u), 9)]), 0.3, 1.0)
    assert abs(found[0] - np.cos(0.3)) <= error[0] <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("model", ["us-navy-crane-3d", "rotary-crane-two-winches"])
def test_cranes_at_rest_have_right_derivatives(model, tmp_path):
    """Where forces of ropes and weights cancel, loads that are zero are rounded as those are."""
    path = tmp_path / "crane.fmu"
    assert main(["export", model, "--out", str(path)]) == 0
    assert check_fmu(path, only=["derivatives"])["derivatives"].outcome == "pass"
