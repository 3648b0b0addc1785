"""Samples joined by steps, lines and splines: the numbers of NumPy and SciPy, and their order."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, make_interp_spline

from kingpost.mechanism.trajectories import (
    Sampled,
)
from tests.core.mechanism.set_points import EPS, ORDERS, SAMPLE_TIMES, SAMPLE_VALUES, SAMPLED, rounding

SPACED = st.lists(st.floats(0.5, 1.0), min_size=6, max_size=12).map(np.cumsum)


@given(times=SPACED, data=st.data())
def test_staircases_and_lines_are_those_of_numpy(times, data):
    values = data.draw(st.lists(st.floats(-10, 10), min_size=len(times), max_size=len(times)))
    t = data.draw(st.floats(0.0, 13.0))
    held = values[max(0, np.searchsorted(times, t, side="right") - 1)]
    assert Sampled(times, values, "hold").value(t) == held
    # A few roundings each of a slope of up to 40, a time of up to 1 s and a sum of up to 50.
    assert Sampled(times, values).value(t) == pytest.approx(np.interp(t, times, values), abs=10 * EPS * 50)


@pytest.mark.parametrize("order", ORDERS)
def test_splines_are_those_of_scipy(order):
    cubic, quintic = (Sampled(SAMPLE_TIMES, SAMPLE_VALUES, kind) for kind in ("cubic", "quintic"))
    references = [CubicSpline(SAMPLE_TIMES, SAMPLE_VALUES), make_interp_spline(SAMPLE_TIMES, SAMPLE_VALUES, k=5)]
    for ours, theirs in zip((cubic, quintic), references, strict=True):
        for t in np.linspace(-0.5, 2.999, 50):
            # scipy evaluates the quintic from B-splines; both go back to the same coefficients.
            expected = 0.0 if order > 5 else float(theirs(t, nu=order))
            assert ours.value(t, order=order) == pytest.approx(expected, abs=rounding(ours, order))


@given(times=SPACED, coefficients=st.lists(st.floats(-1, 1), min_size=6, max_size=6), where=st.floats(0.0, 0.999))
def test_splines_reproduce_polynomials_of_their_degree(times, coefficients, where):
    t = times[0] + where * (times[-1] - times[0])
    # Six terms of at most 1 in powers of numbers in [0, 1]: values are below 6, rounded some ten times. Splines through points
    # whose distances differ by up to 2 enlarge errors (the sum of the absolute cardinal splines) by up to 5 and 25; the same
    # again allows for the linear system they come from.
    for kind, degree, enlarged in (("cubic", 3, 5.0), ("quintic", 5, 25.0)):
        polynomial = np.polynomial.Polynomial(coefficients[: degree + 1], domain=(0.0, times[-1]), window=(0.0, 1.0))
        assert Sampled(times, polynomial(times), kind).value(t) == pytest.approx(polynomial(t), abs=2 * 60 * EPS * enlarged)


@pytest.mark.parametrize(("kind", "expected"), [("hold", 1), ("linear", 2), ("cubic", 4), ("quintic", 6)])
def test_interpolation_converges_with_its_order(kind, expected):
    def error(n):
        times = np.linspace(0.0, 2.0, n + 1)
        c = Sampled(times, np.exp(times), kind)
        return max(abs(c.value(t) - math.exp(t)) for t in np.linspace(0.0, 2.0, 4003))

    # No derivative of the exponential vanishes. The error is C h^p (1 + D h) with D of order 1; h = 0.1 and 0.05 show the order
    # p with an error of D (0.1 - 0.05) / ln 2; D up to 4 is allowed for.
    assert math.log2(error(20) / error(40)) == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize("trajectory", SAMPLED)
@pytest.mark.parametrize("order", ORDERS)
def test_the_function_looks_up_the_same_numbers(trajectory, order):
    function = trajectory.function(order)
    for t in [-9.0, *SAMPLE_TIMES, *np.linspace(-0.7, 3.2, 40), 9.0]:
        assert float(function(t)) == pytest.approx(trajectory.value(t, order=order), abs=rounding(trajectory, order))


def test_the_function_serves_long_data_and_becomes_c_code():
    times = np.linspace(0.0, 100.0, 20_001)
    c = Sampled(times, np.sin(times), "cubic")
    function = c.function(1)
    # A cubic spline with h = 0.005 has a slope that is right to about h^3 = 1e-7.
    assert float(function(33.3333)) == pytest.approx(math.cos(33.3333), abs=1e-7)
    code = ca.CodeGenerator("trajectory.c")
    code.add(Sampled(SAMPLE_TIMES, SAMPLE_VALUES, "cubic").function())
    assert "casadi_low" in code.dump()


def test_samples_come_from_a_csv_file(tmp_path):
    path = tmp_path / "heave.csv"
    path.write_text("\ufefftime, heave ,pitch\r\n0,1,0\n\n 0.1, 2.5e-1,0\n0.30000000000000004,-1,1\n", encoding="utf-8")
    c = Sampled.from_csv(path, "heave")
    assert c == Sampled((0.0, 0.1, 0.30000000000000004), (1.0, 0.25, -1.0), "linear")
    assert Sampled.from_csv(str(path), column="pitch", interpolation="cubic").interpolation == "cubic"
    (tmp_path / "one.csv").write_text("t,x\n0,1\n1,2", encoding="utf-8")
    assert Sampled.from_csv(tmp_path / "one.csv").values == (1.0, 2.0)
