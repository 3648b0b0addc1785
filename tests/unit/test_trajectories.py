"""Set-point trajectories: closed forms, and numbers against symbols."""

import math
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, make_interp_spline

from kingpost import FileError, MechanismError, Parameter
from kingpost.mechanism.trajectories import (
    HIGHEST_ORDER,
    NO_NAMES,
    REST_TO_REST,
    SPEED_UP,
    TRAJECTORY_KINDS,
    Constant,
    RestToRest,
    Sampled,
    Sequence,
    ThreePhase,
    differentiate,
    read_trajectory,
)

EPS = np.finfo(float).eps
ORDERS = range(HIGHEST_ORDER + 1)
UNIT = RestToRest(0.0, 1.0, 0.0, 1.0)
#: The reference function of document 000: tau = 20 s, tau0 = 5 s.
CRANE = ThreePhase(0.0, 1.0, 0.0, 20.0, 5.0)
SAMPLE_TIMES = (-0.5, 0.0, 0.4, 1.0, 1.3, 2.0, 2.2, 3.0)
SAMPLE_VALUES = (1.0, 0.0, 2.0, 2.5, -1.0, 0.5, 0.5, 3.0)
SAMPLED = [Sampled(SAMPLE_TIMES, SAMPLE_VALUES, kind) for kind in ("hold", "linear", "cubic", "quintic")]
SMOOTH = [
    Constant(1.25),
    RestToRest(-1.0, 2.0, 0.5, 2.0),
    ThreePhase(2.0, -1.0, -0.25, 3.0, 0.75),
    ThreePhase(2.0, -1.0, 0.1, 0.3, 0.1),
    Sequence((0.0, 1.0, 2.5), (0.0, 1.0, -1.0)),
    Sequence((0.0, 1.0, 2.5), (0.0, 1.0, -1.0), "linear"),
    Sequence((0.0, 1.0, 2.5), (0.0, 1.0, -1.0), "hold"),
]


def size(trajectory, order, scope=NO_NAMES, least=0.0):
    """The sum of the absolute terms of a derivative, for ways of at least ``least``: its rounding is a multiple of this."""
    begins, pieces = trajectory._pieces(scope)
    total = 0.0
    for i, piece in enumerate(pieces):
        span = abs(begins[i] - begins[i - 1]) / abs(piece.length) if 0 < i < len(begins) else 0.0
        terms = differentiate(piece.coefficients, order)
        sum_of_terms = sum(abs(c) * max(1.0, span) ** power for power, c in enumerate(terms))
        scale = max(abs(piece.scale), least) / abs(piece.length) ** order
        total = max(total, abs(piece.offset) * (order == 0) + scale * sum_of_terms)
    return total


def rounding(trajectory, order, scope=NO_NAMES, least=0.0):
    """A bound for the difference of two ways to compute a derivative.

    Horner's rule for degree n is off by 2 n eps of the sum of the absolute terms, and the rounding of s and of the factors
    costs a few n eps more. A joint computed from other times, up to 5 s, is off by 5 eps / 2; where spans are 0.1 s and more
    that moves s by 25 eps and the sum by 25 n eps. With n <= 9 and two computations, all this is below 1000 eps.
    """
    return 1000 * EPS * size(trajectory, order, scope, least)


@pytest.mark.parametrize(
    ("coefficients", "at_start", "at_end"),
    [
        (REST_TO_REST, (0, 0, 0, 0, 0), (1, 0, 0, 0, 0)),
        (SPEED_UP, (0, 0, 0, 0, 0), (None, 1, 0, 0, 0)),
    ],
)
def test_the_polynomials_are_the_only_ones_with_their_end_conditions(coefficients, at_start, at_end):
    # One row of a linear system for each condition; all numbers below 1e4 and the solution in halves.
    n = len(coefficients)
    rows, right = [], []
    for s, conditions in ((0.0, at_start), (1.0, at_end)):
        for order, value in enumerate(conditions):
            if value is not None:
                rows.append([math.perm(j, order) * s ** max(j - order, 0) for j in range(n)])
                right.append(value)
    assert len(rows) == n
    assert np.round(2 * np.linalg.solve(rows, right)) / 2 == pytest.approx(coefficients, abs=0)
    assert np.array(rows) @ coefficients == pytest.approx(right, abs=0)


def test_rest_to_rest_rests_at_both_ends():
    for order in range(1, 5):
        assert UNIT.value(0.0, order=order) == 0.0
        # Just before the end, at 1 - eps / 2, the derivatives 1-4 are below 15120 eps, and rounded.
        assert UNIT.value(np.nextafter(1.0, 0.0), order=order) == pytest.approx(0.0, abs=rounding(UNIT, order))
    assert (UNIT.value(-3.0), UNIT.value(0.0), UNIT.value(1.0), UNIT.value(7.0)) == (0.0, 0.0, 1.0, 1.0)
    assert UNIT.value(0.0, order=5) == 15120.0
    assert UNIT.value(np.nextafter(1.0, 0.0), order=5) == pytest.approx(15120.0, abs=rounding(UNIT, 5))


def test_a_derivative_that_jumps_has_its_right_hand_value():
    assert UNIT.value(np.nextafter(0.0, -1.0), order=5) == 0.0
    assert UNIT.value(1.0, order=5) == 0.0
    stairs = Sequence((0.0, 1.0, 2.0), (3.0, 5.0, 4.0), "hold")
    assert [stairs.value(t) for t in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 9.0)] == [3.0, 3.0, 3.0, 5.0, 5.0, 4.0, 4.0]
    assert [stairs.value(t, order=1) for t in (0.0, 0.5, 1.0, 2.0)] == [0.0] * 4
    ramp = Sequence((0.0, 1.0, 3.0), (3.0, 5.0, 4.0), "linear")
    assert [ramp.value(t, order=1) for t in (-0.1, 0.0, 0.5, 1.0, 2.0, 3.0)] == [0.0, 2.0, 2.0, -0.5, -0.5, 0.0]
    assert ramp.value(0.5, order=2) == 0.0


def test_rest_to_rest_over_three_seconds_has_the_known_extremes():
    # Document 000, Sect. 4.4.1. With u = s (1 - s): c' = 630 u^4 / 3, c'' = 2520 u^3 (1 - 2 s) / 9 is greatest at u = 3/14.
    c = RestToRest(0.0, 1.0, 0.0, 3.0)
    assert c.value(1.5) == 0.5
    assert c.value(1.5, order=1) == pytest.approx(0.8203125, abs=rounding(c, 1))
    s = (1 - math.sqrt(1 / 7)) / 2
    assert 3 * s == pytest.approx(0.93305, abs=5e-6)
    greatest = 2520 * (3 / 14) ** 3 * math.sqrt(1 / 7) / 9
    assert greatest == pytest.approx(1.0413307, abs=5e-8)
    assert c.value(3 * s, order=2) == pytest.approx(greatest, abs=rounding(c, 2))
    assert c.value(3 - 3 * s, order=2) == pytest.approx(-greatest, abs=rounding(c, 2))
    assert c.value(1.5, order=3) == pytest.approx(-2520 / 32 / 27, abs=rounding(c, 3))


@given(s=st.floats(0.0, 0.999), start=st.floats(-10, 10), way=st.floats(0.1, 10), length=st.floats(0.1, 10))
def test_rest_to_rest_has_the_factored_derivative(s, start, way, length):
    c, back = RestToRest(start, start + way, 2.0, 2.0 + length), RestToRest(start + way, start, 2.0, 2.0 + length)
    t = 2.0 + s * length
    way, length = c.end - c.start, c.t_end - c.t_start
    s = (t - c.t_start) / length
    assert c.value(t, order=1) == pytest.approx(630 * way * (s * (1 - s)) ** 4 / length, abs=rounding(c, 1))
    assert c.value(t) + back.value(t) == pytest.approx(c.start + c.end, abs=rounding(c, 0))


def test_the_three_phases_meet_the_known_values():
    # Document 000, eqs. (4.126)-(4.128) put right, at tau = 20, tau0 = 5.
    assert CRANE.value(5.0) == pytest.approx(1 / 6, rel=4 * EPS)
    assert CRANE.value(np.nextafter(5.0, 0.0)) == pytest.approx(1 / 6, abs=rounding(CRANE, 0))
    assert CRANE.value(np.nextafter(5.0, 0.0), order=1) == pytest.approx(1 / 15, abs=rounding(CRANE, 1))
    assert CRANE.value(7.0, order=1) == pytest.approx(1 / 15, rel=4 * EPS)
    assert CRANE.value(10.0) == pytest.approx(0.5, rel=4 * EPS)
    assert CRANE.value(2.5, order=2) == pytest.approx(140 / 64 / 75, abs=rounding(CRANE, 2))
    early = 5 * (1 - math.sqrt(1 / 5)) / 2
    assert early == pytest.approx(1.38197, abs=5e-6)
    assert CRANE.value(early, order=3) == pytest.approx(420 / 25 * math.sqrt(1 / 5) / 375, abs=rounding(CRANE, 3))
    assert CRANE.value(2.5, order=4) == pytest.approx(-0.028, abs=rounding(CRANE, 4))
    assert CRANE.value(17.5) == pytest.approx(0.97721354, abs=5e-9)
    assert (CRANE.value(-1.0), CRANE.value(0.0), CRANE.value(20.0), CRANE.value(21.0)) == (0.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize("joint", [0.0, 5.0, 15.0, 20.0])
def test_the_three_phases_join_with_four_derivatives_and_not_with_five(joint):
    for order in range(5):
        left, right = CRANE.value(np.nextafter(joint, -1.0), order=order), CRANE.value(joint, order=order)
        assert left == pytest.approx(right, abs=rounding(CRANE, order))
    jump = CRANE.value(joint, order=5) - CRANE.value(np.nextafter(joint, -1.0), order=5)
    assert abs(jump) == pytest.approx(0.0896, abs=rounding(CRANE, 5))


@given(t=st.floats(0.0, 20.0))
def test_deceleration_mirrors_acceleration(t):
    assert CRANE.value(20.0 - t) == pytest.approx(1 - CRANE.value(t), abs=rounding(CRANE, 0))
    if t < 5.0:
        s = t / 5.0
        assert CRANE.value(t, order=2) == pytest.approx(140 * (s * (1 - s)) ** 3 / 75, abs=rounding(CRANE, 2))


def test_two_phases_are_three_without_the_middle():
    # Half of 0.3 - 0.1 is rounded to less than 0.1.
    c = ThreePhase(0.0, 1.0, 0.1, 0.3, 0.1)
    assert c.value(0.2) == pytest.approx(0.5, abs=rounding(c, 0))
    assert c.value(0.2, order=1) == pytest.approx(10.0, abs=rounding(c, 1))


def test_a_sequence_passes_its_points_at_rest():
    times, values = (0.0, 10.0, 20.0), (-2.356, -0.785, 0.5)
    c = Sequence(times, values)
    for time, value in zip(times, values, strict=True):
        assert c.value(time) == value
        assert [c.value(time, order=order) for order in range(1, 5)] == [0.0] * 4
    for (t0, t1), (v0, v1) in zip(pairwise(times), pairwise(values), strict=True):
        single = RestToRest(v0, v1, t0, t1)
        assert all(c.value(t, order=k) == single.value(t, order=k) for t in np.linspace(t0, t1, 7)[:-1] for k in ORDERS)
    assert (c.value(-5.0), c.value(25.0)) == (values[0], values[-1])


def test_a_constant_is_constant():
    assert Constant(2).value(1.0) == 2.0
    assert Constant("pi / 2").value(ca.SX.sym("t")) == math.pi / 2
    assert [Constant(2.0).value(0.0, order=order) for order in range(1, 7)] == [0.0] * 6


@pytest.mark.parametrize(
    ("trajectory", "smoothness"),
    [*zip(SMOOTH, [6, 4, 4, 4, 4, 0, -1], strict=True), *zip(SAMPLED, [-1, 0, 2, 4], strict=True)],
)
def test_trajectories_are_as_smooth_as_they_say(trajectory, smoothness):
    def jump(order):
        inside = begins[1:-1] if isinstance(trajectory, Sampled) else begins
        sides = [(np.nextafter(t, -9.0), t) for t in inside]
        return max(abs(trajectory.value(left, order=order) - trajectory.value(right, order=order)) for left, right in sides)

    assert trajectory.smoothness == smoothness
    begins, _ = trajectory._pieces({})
    if begins:
        # The coefficients of the splines come from linear systems with condition numbers below 1e4.
        worse = 1e4 if isinstance(trajectory, Sampled) else 1.0
        assert all(jump(order) < worse * rounding(trajectory, order) for order in range(smoothness + 1))
        assert jump(smoothness + 1) > 1e-3 * size(trajectory, smoothness + 1)


@pytest.mark.parametrize("symbol", [ca.SX, ca.MX])
@pytest.mark.parametrize("trajectory", SMOOTH + SAMPLED)
def test_symbols_and_numbers_give_the_same(trajectory, symbol):
    t = symbol.sym("t")
    function = ca.Function("f", [t], [symbol(trajectory.value(t, order=order)) for order in ORDERS])
    bounds = [rounding(trajectory, order) for order in ORDERS]
    begins, _ = trajectory._pieces({})

    @given(time=st.floats(-1.0, 4.0) | st.sampled_from([*begins, 0.0]))
    @settings(deadline=None)
    def compare(time):
        for order, (symbolic, bound) in enumerate(zip(function(time), bounds, strict=True)):
            assert float(symbolic) == pytest.approx(trajectory.value(time, order=order), abs=bound)

    compare()


@pytest.mark.parametrize("symbol", [ca.SX, ca.MX])
@pytest.mark.parametrize("trajectory", SMOOTH + SAMPLED)
def test_derivatives_are_those_of_automatic_differentiation(trajectory, symbol):
    t = symbol.sym("t")
    derivatives = [symbol(trajectory.value(t))]
    for _ in range(HIGHEST_ORDER):
        derivatives.append(ca.jacobian(derivatives[-1], t))
    function = ca.Function("f", [t], derivatives)
    begins, _ = trajectory._pieces({})
    for time in [*np.linspace(-1.0, 4.0, 41), *begins]:
        for order, automatic in enumerate(function(time)):
            # The product rule splits each term, up to 720 times, into parts that add up to it: the
            # sum of terms is the same, and there are at most ten times as many roundings on the way to each.
            bound = 10 * rounding(trajectory, order)
            assert float(automatic) == pytest.approx(trajectory.value(float(time), order=order), abs=bound)


@given(
    t=st.floats(-1.0, 4.0),
    a=st.floats(-2.0, 2.0),
    b=st.floats(-2.0, 2.0),
    T=st.floats(1.0, 3.0),
    order=st.integers(0, HIGHEST_ORDER),
    which=st.integers(0, 3),
)
@settings(deadline=None)
def test_parameters_may_be_symbols(t, a, b, T, order, which):
    trajectory = PARAMETRIC[which]
    function = parametric_function(which, order)
    numbers = {"a": a, "b": b, "T": T}
    expected = trajectory.value(t, numbers, order)
    assert isinstance(expected, float)
    # CasADi simplifies (a + 2 b) - a, so a way is only as exact as values of up to 6 are.
    bound = rounding(trajectory, order, numbers, least=6.0)
    # Where a joint is rounded in another way, a fifth derivative jumps elsewhere.
    begins, _ = trajectory._pieces(numbers)
    if all(abs(t - begin) > 10 * EPS * T for begin in begins):
        assert float(function(t, a, b, T)) == pytest.approx(expected, abs=bound)


PARAMETRIC = [
    Constant("a * b"),
    RestToRest("a", Parameter("a", 0.0, "m") + 2 * Parameter("b", 0.0, "m"), 0.25, "T"),
    ThreePhase("a", "b", "T / 8", "T", "T / 4"),
    Sequence((0.0, "T / 2", "T"), ("a", 1.0, "b")),
]
_functions = {}


def parametric_function(which, order):
    if (which, order) not in _functions:
        t, a, b, T = (ca.SX.sym(name) for name in "tabT")
        expression = PARAMETRIC[which].value(t, {"a": a, "b": b, "T": T}, order)
        _functions[which, order] = ca.Function("f", [t, a, b, T], [ca.SX(expression)])
    return _functions[which, order]


def test_a_number_for_the_time_leaves_an_expression_in_the_parameters():
    a = ca.SX.sym("a")
    value = RestToRest(1.0, "a", 0.0, 2.0).value(1.0, {"a": a})
    assert float(ca.Function("f", [a], [ca.jacobian(value, a)])(0.0)) == 0.5


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


def test_trajectories_can_be_compared_and_hashed():
    assert Sampled([0, 1], [2, 3]) == Sampled((0.0, 1.0), (2.0, 3.0))
    assert len({RestToRest(0, 1, 0, 1), RestToRest(0.0, 1.0, 0.0, "2 - 1")}) == 1


@pytest.mark.parametrize("order", [-1, 7, 1.5, True])
@pytest.mark.parametrize("trajectory", [UNIT, SAMPLED[0]])
@pytest.mark.parametrize("t", [0.0, ca.MX.sym("t")])
def test_only_seven_orders_can_be_asked_for(trajectory, order, t):
    with pytest.raises(MechanismError, match=rf"derivative {order} of a trajectory was asked for; there are 0 .* to 6"):
        trajectory.value(t, order=order)


@pytest.mark.parametrize("t", [math.nan, math.inf, "1", None, np.zeros(2), ca.DM([1, 2]), ca.SX.sym("t", 2)])
def test_a_trajectory_is_evaluated_at_one_time(t):
    with pytest.raises(MechanismError, match="at one finite time or one scalar CasADi expression, not at"):
        UNIT.value(t)


@pytest.mark.parametrize(
    ("make", "message", "path"),
    [
        (lambda: Constant("a +"), "constant trajectory: level: 'a +' is not a formula", "level"),
        (lambda: RestToRest(math.inf, 1, 0, 1), "rest-to-rest trajectory: start: expected a finite number, got inf", "start"),
        (lambda: RestToRest(0, 1, 2, 2), "t_end is 2.0 s, t_start is 2.0 s; the end must come after the start", "t_end"),
        (lambda: ThreePhase(0, 1, 3, 2, 0.5), "three-phase trajectory: t_end is 2.0 s, t_start is 3.0 s", "t_end"),
        (lambda: ThreePhase(0, 1, 0, 2, 0), "t_blend is 0.0 s; it must be positive", "t_blend"),
        (lambda: ThreePhase(0, 1, "t0", 2, -1), "t_blend is -1.0 s; it must be positive", "t_blend"),
        (
            lambda: ThreePhase(0, 1, 1, 3, 1.5),
            "t_blend is 1.5 s, more than half of the 2.0 s from t_start = 1.0 s to t_end = 3.0 s; use at most 1.0 s",
            "t_blend",
        ),
        (lambda: Sequence((0, 1), (1, 2, 3)), "sequence trajectory: 2 times but 3 values; give one value for each", "values"),
        (lambda: Sequence((0,), (1,)), "sequence trajectory: 1 point(s) given; at least 2 are needed", "times"),
        (lambda: Sequence((0, 2, 1), (1, 2, 3)), "times must rise: times[2] is 1.0 s after 2.0 s; sort them", "times"),
        (lambda: Sequence((0, "T", 2, 2), (1, 2, 3, 4)), "times must rise: times[3] is 2.0 s after 2.0 s", "times"),
        (lambda: Sequence((0, 1), (1, 2), "cubic"), "profile: expected one of 'rest-to-rest', 'linear', 'hold'", "profile"),
        (lambda: Sampled((0, 0), (1, 2)), "sampled trajectory: times must rise: times[1] is 0.0 s after 0.0 s", "times"),
        (lambda: Sampled((0, "T"), (1, 2)), "sampled trajectory: times: expected a number, got the formula 'T'", "times"),
        (lambda: Sampled((0, 1), (1, math.nan)), "sampled trajectory: values: expected a finite number, got nan", "values"),
        (
            lambda: Sampled((0, 1, 2), (1, 2, 3), "quintic"),
            "quintic interpolation needs 6 samples, got 3; give more, or use 'cubic' or 'linear'",
            "interpolation",
        ),
        (
            lambda: Sampled((0, 1), (1, 2), "septic"),
            "interpolation: expected one of 'hold', 'linear', 'cubic'",
            "interpolation",
        ),
    ],
)
def test_what_is_no_trajectory_is_refused(make, message, path):
    with pytest.raises(MechanismError) as error:
        make()
    assert message in str(error.value)
    assert error.value.path == (path,)


@pytest.mark.parametrize(
    ("trajectory", "scope", "message"),
    [
        (RestToRest(0, 1, 0, "T"), {"T": -1.0}, "t_end is -1.0 s, t_start is 0.0 s"),
        (ThreePhase(0, 1, 0, 4, "T"), {"T": 3.0}, "t_blend is 3.0 s, more than half of the 4.0 s"),
        (Sequence((0, "T"), (0, 1)), {"T": 0.0}, "times must rise: times[1] is 0.0 s after 0.0 s"),
        (Constant("length"), {"lenght": 1.0}, "uses 'length', which is not declared; did you mean 'lenght'?"),
        (Constant("sqrt(a)"), {"a": -1.0}, "'sqrt(a)' is nan with a = -1.0; a trajectory needs finite numbers"),
        (Constant("a ** 0.5"), {"a": -1.0}, "with a = -1.0; a trajectory needs finite numbers"),
    ],
)
def test_what_formulas_break_is_found_when_their_numbers_are_known(trajectory, scope, message):
    with pytest.raises(MechanismError) as error:
        trajectory.value(0.0, scope)
    assert message in str(error.value)


def test_samples_come_from_a_csv_file(tmp_path):
    path = tmp_path / "heave.csv"
    path.write_text("\ufefftime, heave ,pitch\r\n0,1,0\n\n 0.1, 2.5e-1,0\n0.30000000000000004,-1,1\n", encoding="utf-8")
    c = Sampled.from_csv(path, "heave")
    assert c == Sampled((0.0, 0.1, 0.30000000000000004), (1.0, 0.25, -1.0), "linear")
    assert Sampled.from_csv(str(path), column="pitch", interpolation="cubic").interpolation == "cubic"
    (tmp_path / "one.csv").write_text("t,x\n0,1\n1,2", encoding="utf-8")
    assert Sampled.from_csv(tmp_path / "one.csv").values == (1.0, 2.0)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("t,x\n0,1\n0.4,1\n\n0.3,2\n", None, "times must rise: line 5 has 0.3 s after 0.4 s; sort the lines"),
        ("t,x\n0,1\n0.4,1\n0.4,2\n", None, "times must rise: line 4 has 0.4 s after 0.4 s"),
        ("t,x\n0,1\n1,inf\n", None, "line 3 has inf in column 'x'; it must be finite"),
        ("t,x\nnan,1\n1,2\n", None, "line 2 has nan in column 't'; it must be finite"),
        ("t,x\n0,1\n1,two\n", None, "line 3 has 'two' in column 'x', which is not a number"),
        ("t,x\n0,1\n1,\n", None, "line 3 has '' in column 'x', which is not a number"),
        ("t,x\n0,1\n1\n", None, "line 3 has 1 entries, but the header names 2 columns"),
        ("t,x\n0,1\n", None, "holds 1 sample(s) below its header line; at least 2 are needed"),
        ("t,heave,pitch\n0,1,2\n", "heaf", "has no column 'heaf'; did you mean 'heave'? Columns: heave, pitch."),
        ("t,heave,pitch\n0,1,2\n", None, "has 2 columns beside 't': heave, pitch; say which 'column' to take"),
        ("t,x,x\n0,1,2\n", "x", "has 2 columns called 'x'; give them different names"),
        ("0,1\n1,2\n", None, "line 1 holds numbers; put a header above them, e.g. 'time,value'"),
        ("t;x\n0;1\n", None, "line 1 must name a time column and at least one other, separated by commas; got ['t;x']"),
        ("", None, "line 1 must name a time column"),
        (f"t,x\n0,{'1' * 200_000}\n", None, "line 2 is not CSV: field larger than field limit"),
    ],
)
def test_a_csv_file_that_cannot_be_used_is_refused_with_its_line(tmp_path, text, column, message):
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as error:
        Sampled.from_csv(path, column)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_a_csv_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileError, match="there is no file '.*none.csv'"):
        Sampled.from_csv(tmp_path / "none.csv")
    with pytest.raises(FileError, match="cannot be read"):
        Sampled.from_csv(tmp_path)
    (tmp_path / "binary.csv").write_bytes(b"t,x\n\xff\xfe")
    with pytest.raises(FileError, match="binary.csv' cannot be read"):
        Sampled.from_csv(tmp_path / "binary.csv")
    (tmp_path / "short.csv").write_text("t,x\n0,1\n1,2\n", encoding="utf-8")
    with pytest.raises(MechanismError, match="short.csv: sampled trajectory: quintic interpolation needs 6 samples, got 2"):
        Sampled.from_csv(tmp_path / "short.csv", interpolation="quintic")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (2, Constant(2.0)),
        ("2*a", Constant("2 * a")),
        (UNIT, UNIT),
        ({"kind": "constant", "level": "a"}, Constant("a")),
        ({"kind": "rest-to-rest", "start": 0, "end": "a", "t_start": 0, "t_end": 1}, RestToRest(0, "a", 0, 1)),
        ({"kind": "three-phase", "start": 0, "end": 1, "t_start": 0, "t_end": 20, "t_blend": 5}, CRANE),
        ({"kind": "sequence", "times": [0, 1], "values": [0, "a"], "profile": "hold"}, Sequence((0, 1), (0, "a"), "hold")),
        ({"kind": "sampled", "times": [0, 1], "values": [0, 2]}, Sampled((0, 1), (0, 2))),
    ],
)
def test_plain_data_describe_trajectories(data, expected):
    assert read_trajectory(data) == expected


def test_every_kind_can_be_read():
    assert set(TRAJECTORY_KINDS) == {"constant", "rest-to-rest", "three-phase", "sequence", "sampled"}
    assert all(cls.kind == kind for kind, cls in TRAJECTORY_KINDS.items())


def test_a_table_may_name_a_file_beside_it(tmp_path):
    (tmp_path / "heave.csv").write_text("t,x,y\n0,1,3\n1,2,4\n", encoding="utf-8")
    table = {"kind": "sampled", "file": "heave.csv", "column": "y", "interpolation": "hold"}
    assert read_trajectory(table, tmp_path) == Sampled((0, 1), (3, 4), "hold")


@pytest.mark.parametrize(
    ("data", "message", "path"),
    [
        ({"kind": "three-fase"}, "no trajectory of kind 'three-fase'; did you mean 'three-phase'? Kinds: constant,", ("kind",)),
        ({"kind": ["x"]}, "there is no trajectory of kind ['x']", ("kind",)),
        ({"start": 0}, "the trajectory lacks 'kind'. Kinds: constant, rest-to-rest, three-phase, sequence, sampled.", ()),
        ({"kind": "constant", "levle": 1}, "a constant trajectory has no 'levle'; did you mean 'level'?", ("levle",)),
        ({"kind": "rest-to-rest", "start": 0}, "a rest-to-rest trajectory lacks 'end'. It takes: start (required), end", ()),
        ({"kind": "sequence", "times": 3, "values": [1]}, "a sequence trajectory: times: expected a list, got 3", ("times",)),
        (
            {"kind": "sampled", "file": "x.csv", "times": [0, 1]},
            "a sampled trajectory from a file has no 'times'. It takes: file (required), column = None, interpolation",
            ("times",),
        ),
        ([1, 2], "constant trajectory: level: expected a number or a formula, got [1, 2]", ("level",)),
    ],
)
def test_data_that_describe_no_trajectory_are_refused(data, message, path):
    with pytest.raises(MechanismError) as error:
        read_trajectory(data)
    assert message in str(error.value)
    assert error.value.path == path
