"""Set-point trajectories: closed forms, and numbers against symbols."""

import math
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kingpost import MechanismError, Parameter
from kingpost.mechanism.trajectories import (
    HIGHEST_ORDER,
    REST_TO_REST,
    SPEED_UP,
    Constant,
    RestToRest,
    Sampled,
    Sequence,
    ThreePhase,
)
from tests.core.mechanism.set_points import CRANE, EPS, ORDERS, SAMPLED, UNIT, rounding, size

SMOOTH = [
    Constant(1.25),
    RestToRest(-1.0, 2.0, 0.5, 2.0),
    ThreePhase(2.0, -1.0, -0.25, 3.0, 0.75),
    ThreePhase(2.0, -1.0, 0.1, 0.3, 0.1),
    Sequence((0.0, 1.0, 2.5), (0.0, 1.0, -1.0)),
    Sequence((0.0, 1.0, 2.5), (0.0, 1.0, -1.0), "linear"),
    Sequence((0.0, 1.0, 2.5), (0.0, 1.0, -1.0), "hold"),
]


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
    assert [Constant(2.0).value(0.0, order=order) for order in ORDERS[1:]] == [0.0] * 8


@pytest.mark.parametrize(
    ("trajectory", "smoothness"),
    [*zip(SMOOTH, [8, 4, 4, 4, 4, 0, -1], strict=True), *zip(SAMPLED, [-1, 0, 2, 4], strict=True)],
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


def test_trajectories_can_be_compared_and_hashed():
    assert Sampled([0, 1], [2, 3]) == Sampled((0.0, 1.0), (2.0, 3.0))
    assert len({RestToRest(0, 1, 0, 1), RestToRest(0.0, 1.0, 0.0, "2 - 1")}) == 1


@pytest.mark.parametrize("order", [-1, 9, 1.5, True])
@pytest.mark.parametrize("trajectory", [UNIT, SAMPLED[0]])
@pytest.mark.parametrize("t", [0.0, ca.MX.sym("t")])
def test_only_nine_orders_can_be_asked_for(trajectory, order, t):
    with pytest.raises(MechanismError, match=rf"derivative {order} of a trajectory was asked for; there are 0 .* to 8"):
        trajectory.value(t, order=order)


@pytest.mark.parametrize("t", [math.nan, math.inf, "1", None, np.zeros(2), ca.DM([1, 2]), ca.SX.sym("t", 2)])
def test_a_trajectory_is_evaluated_at_one_time(t):
    with pytest.raises(MechanismError, match="at one finite time or one scalar CasADi expression, not at"):
        UNIT.value(t)
