"""Profiles of any smoothness: their end conditions, closed forms of their derivatives, and how little they are rounded."""

import math
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.mechanism.polynomials import HIGHEST_ORDER, Powers, Smooth, SpeedUp
from kingpost.mechanism.profiles import PROFILES, read_profile
from kingpost.mechanism.trajectories import REST_TO_REST, SPEED_UP, RestToRest, Sequence, ThreePhase
from tests.core.mechanism.set_points import EPS, ORDERS

EVERY_N = range(1, 9)
BOTH = [Smooth(n) for n in EVERY_N] + [SpeedUp(n) for n in EVERY_N]


def exact(polynomial, s, order):
    """A derivative in fractions, from end conditions alone: the coefficients solve a linear system."""
    return sum(
        math.perm(power, order) * c * Fraction(s) ** (power - order)
        for power, c in enumerate(by_end_conditions(type(polynomial).__name__, polynomial.n))
        if power >= order
    )


_SOLVED = {}


def by_end_conditions(name, n):
    """The only polynomial with derivatives 0 to n given at both ends, or at the end all but the value, in fractions."""
    if (name, n) not in _SOLVED:
        at_end = {0: 1} if name == "Smooth" else {1: 1}
        orders = [k for k in range(n + 1) if name == "Smooth" or k > 0]
        # The conditions at s = 0 leave the powers above n; those at s = 1 are a system for them.
        powers = range(n + 1, n + 1 + len(orders))
        rows = [[Fraction(math.perm(p, k)) for p in powers] + [Fraction(at_end.get(k, 0))] for k in orders]
        _SOLVED[name, n] = [Fraction(0)] * (n + 1) + solved(rows)
    return _SOLVED[name, n]


def solved(rows):
    size = len(rows)
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def test_four_derivatives_are_those_of_the_document():
    assert REST_TO_REST == (0.0, 0.0, 0.0, 0.0, 0.0, 126.0, -420.0, 540.0, -315.0, 70.0)
    assert SPEED_UP == (0.0, 0.0, 0.0, 0.0, 0.0, 7.0, -14.0, 10.0, -2.5)
    assert set(PROFILES) == {"rest-to-rest", "linear", "hold"}


@pytest.mark.parametrize("polynomial", BOTH)
def test_coefficients_are_those_of_the_end_conditions(polynomial):
    expected = by_end_conditions(type(polynomial).__name__, polynomial.n)
    assert polynomial.coefficients == tuple(map(float, expected))
    degree = 2 * polynomial.n + (1 if isinstance(polynomial, Smooth) else 0)
    assert len(polynomial.coefficients) == degree + 1


@pytest.mark.parametrize("polynomial", BOTH)
def test_end_conditions_are_met_to_the_last_bit(polynomial):
    n, way = polynomial.n, 1.0 if isinstance(polynomial, Smooth) else 0.5
    assert (polynomial.derivative(0.0, 0), polynomial.derivative(1.0, 0)) == (0.0, way)
    first_at_end = 0.0 if isinstance(polynomial, Smooth) else 1.0
    for order in range(1, n + 1):
        assert polynomial.derivative(0.0, order) == 0.0
        assert polynomial.derivative(1.0, order) == (first_at_end if order == 1 else 0.0)
    if n < HIGHEST_ORDER:
        jump = math.factorial(2 * n + 1) // math.factorial(n) if isinstance(polynomial, Smooth) else None
        jump = jump or math.factorial(2 * n - 1) // math.factorial(n - 1)
        assert polynomial.derivative(0.0, n + 1) == jump
        assert abs(polynomial.derivative(1.0, n + 1)) == jump


@pytest.mark.parametrize("polynomial", BOTH)
@pytest.mark.parametrize("order", ORDERS)
def test_every_derivative_has_all_its_digits(polynomial, order):
    places = np.linspace(0.0, 1.0, 97).tolist()
    expected = [float(exact(polynomial, s, order)) for s in places]
    largest = max(map(abs, expected))
    for s, value in zip(places, expected, strict=True):
        # Measured below 4e-15 of the largest; powers of s sum up to n = 8 with 1e-9.
        ours = polynomial.derivative(s, order)
        assert (0.0 if ours is None else ours) == pytest.approx(value, abs=50 * EPS * largest)


def test_a_sum_of_powers_would_lose_half_of_the_digits():
    s, order = 1.0 - 1.0 / 64.0, 2
    expected = float(exact(Smooth(8), s, order))
    by_powers = Powers(Smooth(8).coefficients).derivative(s, order)
    assert abs(by_powers - expected) > 1e5 * EPS
    assert abs(Smooth(8).derivative(s, order) - expected) < 1e2 * EPS


@pytest.mark.parametrize("n", EVERY_N)
def test_extreme_speeds_and_accelerations_are_the_closed_ones(n):
    # c' = C (s (1-s))^n is greatest in the middle; c'' = n C (s (1-s))^(n-1) (1-2s) where (1-2s)^2 = 1 / (2n-1).
    C = math.factorial(2 * n + 1) / math.factorial(n) ** 2
    c = RestToRest(1.0, 3.0, 2.0, 6.0, f"smooth:{n}")
    assert c.value(4.0) == 2.0
    assert c.value(4.0, order=1) == pytest.approx(2 / 4 * C / 4**n, rel=20 * EPS)
    y = math.sqrt(1 / (2 * n - 1))
    greatest = n * C * ((1 - y**2) / 4) ** (n - 1) * y
    times = np.linspace(2.0, 6.0, 4001)[:-1]
    assert c.value(4.0 - 2 * y, order=2) == pytest.approx(2 / 16 * greatest, rel=1e-12)
    assert max(c.value(t, order=2) for t in times) <= 2 / 16 * greatest * (1 + 1e-12)


def test_the_usual_profile_is_smooth_four():
    for t in np.linspace(0.5, 3.5, 25):
        for order in ORDERS:
            assert RestToRest(0, 1, 1, 3).value(t, order=order) == RestToRest(0, 1, 1, 3, "smooth:4").value(t, order=order)
            usual, four = ThreePhase(0, 1, 1, 3, 0.5), ThreePhase(0, 1, 1, 3, 0.5, "smooth:4")
            assert usual.value(t, order=order) == four.value(t, order=order)
            assert Sequence((1, 3), (0, 1)).value(t, order=order) == RestToRest(0, 1, 1, 3).value(t, order=order)


@pytest.mark.parametrize("n", EVERY_N)
def test_a_profile_is_as_smooth_as_its_name_says(n):
    three = ThreePhase(0, 2, 0, 20, 5, f"smooth:{n}")
    sequence = Sequence((0, 20), (0, 2), f"three-phase:blend=5,smooth={n}")
    for trajectory in (RestToRest(0, 2, 0, 20, f"smooth:{n}"), Sequence((0, 5, 20), (0, 1, 2), f"smooth:{n}"), three, sequence):
        assert trajectory.smoothness == n
        assert trajectory.smoothness_between(-1, 21) == n
        assert all(found.order == n + 1 for found in trajectory.breaks())
    for t in np.linspace(-1, 21, 45):
        assert all(three.value(t, order=order) == sequence.value(t, order=order) for order in ORDERS)
    if n < HIGHEST_ORDER:
        jump = math.factorial(2 * n - 1) / math.factorial(n - 1) * 2 / (15 * 5**n)
        assert [abs(found.jump) for found in three.breaks()] == pytest.approx([jump] * 4, rel=1e-12)
        assert [found.time for found in three.breaks()] == [0.0, 5.0, 15.0, 20.0]


@pytest.mark.parametrize("n", EVERY_N)
def test_phases_of_any_smoothness_meet(n):
    c = ThreePhase(0.0, 1.0, 0.0, 20.0, 5.0, f"smooth:{n}")
    assert c.value(5.0) == pytest.approx(1 / 6, rel=4 * EPS)
    assert c.value(10.0, order=1) == pytest.approx(1 / 15, rel=4 * EPS)
    for joint in (0.0, 5.0, 15.0, 20.0):
        left, right = (c.jets(joint, min(n, 8), side=side) for side in ("left", "right"))
        assert left == pytest.approx(right, abs=20 * EPS)
    for t in (1.0, 2.5, 4.9):
        assert c.value(20.0 - t) == pytest.approx(1 - c.value(t), abs=4 * EPS)


@pytest.mark.parametrize("symbol", [ca.SX, ca.MX])
@pytest.mark.parametrize("trajectory", [RestToRest(-1, 2, 0.5, 2, "smooth:8"), ThreePhase(-1, 2, 0.5, 2, 0.5, "smooth:7")])
def test_symbols_give_the_numbers_at_all_orders(trajectory, symbol):
    t = symbol.sym("t")
    function = ca.Function("f", [t], [symbol(trajectory.value(t, order=order)) for order in ORDERS])
    for time in np.linspace(0.0, 2.5, 101):
        jets = trajectory.jets(time)
        for order, value in enumerate(function(time)):
            # The same operations in the same order, but for products that CasADi puts together.
            assert float(value) == pytest.approx(jets[order], rel=50 * EPS, abs=50 * EPS)


@pytest.mark.parametrize("symbol", [ca.SX, ca.MX])
def test_automatic_derivatives_are_numbers_at_the_ends_too(symbol):
    # A power of CasADi's own has the derivative 0 * (1 / 0) there.
    c = RestToRest(0, 1, 0, 1, "smooth:3")
    t = symbol.sym("t")
    derivatives = [c.value(t)]
    for _ in range(HIGHEST_ORDER):
        derivatives.append(ca.jacobian(derivatives[-1], t))
    for time in (0.0, 0.25, 1.0):
        for order, value in enumerate(ca.Function("f", [t], derivatives)(time)):
            size = sum(abs(a) * math.perm(power, order) for power, a in enumerate(Smooth(3).coefficients))
            assert float(value) == pytest.approx(c.value(time, order=order), abs=100 * EPS * size)


@pytest.mark.parametrize("length", [1e-300, 1e-60, 1e300])
def test_derivatives_beyond_the_range_of_numbers_are_refused(length):
    c = RestToRest(0, 1, 0, length)
    assert c.value(length / 2) == 0.5
    with pytest.raises(
        MechanismError, match=r"derivative 8 of a move by 1 over .* s is beyond the range of numbers; check its"
    ):
        c.value(length / 3, order=8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cubic", "expected one of 'rest-to-rest', 'linear', 'hold', 'smooth:n' with n continuous derivatives, 'three-phase:"),
        ("smooth:0", "'smooth:0' asks for '0' continuous derivatives; there are 1 to 8"),
        ("smooth:9", "'smooth:9' asks for '9' continuous derivatives; there are 1 to 8"),
        ("smooth:four", "expected one of 'rest-to-rest'"),
        ("three-phase:", "'three-phase:' has no ''; write 'three-phase:blend=SECONDS,smooth=n'"),
        ("three-phase:smooth=4", "'three-phase:smooth=4' lacks the time of speeding up; write 'three-phase:blend=SECONDS'"),
        ("three-phase:blend=-1", "blend = '-1' is not a positive number of seconds"),
        ("three-phase:blend=nan", "blend = 'nan' is not a positive number of seconds"),
        ("three-phase:blend=1,smooth=12", "asks for '12' continuous derivatives; there are 1 to 8"),
        (4, "expected the name of a profile, got 4"),
    ],
)
def test_other_profiles_are_refused(text, message):
    with pytest.raises(MechanismError) as error:
        read_profile(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RestToRest(0, 1, 0, 1, "linear"), "expected 'rest-to-rest' or 'smooth:n' with n from 1 to 8, got 'linear'"),
        (lambda: ThreePhase(0, 1, 0, 4, 1, "hold"), "three-phase trajectory: profile: expected 'rest-to-rest' or 'smooth:n'"),
        (lambda: Sequence((0, 2, 3), (0, 1, 2), "three-phase:blend=0.9"), "profile is 0.9 s, more than half of the 1.0 s from"),
    ],
)
def test_a_trajectory_says_which_profiles_it_takes(make, message):
    with pytest.raises(MechanismError) as error:
        make()
    assert message in str(error.value)
    assert error.value.path == ("profile",)
