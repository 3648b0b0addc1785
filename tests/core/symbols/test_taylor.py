"""Taylor series through expressions, against derivatives that CasADi takes one after the other."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost.base.errors import KingpostError
from kingpost.symbols.taylor import TaylorSeries, scaled_powers, taylor

ORDER = 6
#: Coefficients of two arguments; the first stays within (0, 1) at s = 0, where all functions below are defined.
X = np.array([0.4, -0.7, 0.3, 0.25, -0.15, 0.2, 0.1])
Y = np.array([0.6, 0.5, -0.2, 0.35, 0.1, -0.3, 0.05])

UNARY = {
    "negative": lambda x: -x,
    "inverse": lambda x: 1 / x,
    "twice": lambda x: 2 * x,
    "square": ca.sumsqr,
    "sqrt": ca.sqrt,
    "exp": ca.exp,
    "expm1": ca.expm1,
    "log": ca.log,
    "log1p": ca.log1p,
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": ca.tan,
    "sinh": ca.sinh,
    "cosh": ca.cosh,
    "tanh": ca.tanh,
    "asin": ca.asin,
    "acos": ca.acos,
    "atan": ca.atan,
    "asinh": ca.asinh,
    "acosh": lambda x: ca.acosh(1 + x),
    "atanh": ca.atanh,
    "erf": ca.erf,
    "absolute": lambda x: ca.fabs(-x),
    "cube": lambda x: x**3,
    "power": lambda x: x**2.5,
    "power of no whole number below": lambda x: x**-1.5,
    "inverse square": lambda x: x**-2,
    "high power": lambda x: x**18,
    "power of zero": lambda x: x**0,
    "sign": lambda x: x * ca.sign(x - 1),
    "floor": lambda x: x * ca.floor(3 * x) + ca.ceil(3 * x) * x,
    "constant": lambda x: x + ca.SX(3.5),
    "nested": lambda x: ca.sin(ca.exp(x) / (1 + x**2)) * ca.sqrt(1 + ca.cos(x)),
}
BINARY = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "hypot": ca.hypot,
    "atan2": ca.atan2,
    "atan2 in the second quadrant": lambda x, y: ca.atan2(x, -y),
    "atan2 in the third quadrant": lambda x, y: ca.atan2(-x, -y),
    "atan2 at x = 0": lambda x, y: ca.atan2(y, x - 0.4),
    "least": ca.fmin,
    "largest": ca.fmax,
    "remainder": lambda x, y: ca.fmod(5 * y, x),
    "copysign": lambda x, y: ca.copysign(x, -y),
    "if_else": lambda x, y: ca.if_else(x < y, ca.sin(x), y**2),
    "if_else, other side": lambda x, y: ca.if_else(x > y, ca.sin(x), y**2),
    "logic": lambda x, y: ca.if_else(ca.logic_and(x < y, ca.logic_not(y < 0.5)), x * y, y),
    "equal": lambda x, y: ca.if_else(ca.logic_or(x == 0.4, y != 0.6), x * y, y),
}


def nested(function, order, *coefficients):
    """Return the Taylor coefficients of a function along polynomials, by differentiating again and again."""
    s = ca.SX.sym("s")
    value = function(*(sum(float(c) * s**k for k, c in enumerate(row)) for row in coefficients))
    found = []
    for k in range(order + 1):
        found.append(float(ca.Function("f", [s], [value])(0.0)) / math.factorial(k))
        value = ca.jacobian(value, s)
    return np.array(found)


def in_symbols(function, rows):
    return np.array(taylor(function, rows[0].shape[1] - 1)(*rows))


def in_numbers(function, rows):
    return TaylorSeries(function)(*rows)[0]


def in_arrays(function, rows):
    """Two series at once, of which the first is meant."""
    return TaylorSeries(function)(*(np.stack([row, row + 0.01], axis=2) for row in rows))[0][:, :, 0]


WAYS = {"symbols": in_symbols, "numbers": in_numbers, "arrays": in_arrays}


@pytest.fixture(params=WAYS)
def series(request):
    """Return the same by Taylor arithmetic."""

    def find(function, order, *coefficients):
        symbols = [ca.SX.sym("x") for _ in coefficients]
        rows = [np.pad(row, (0, max(0, order + 1 - len(row))))[None, : order + 1] for row in coefficients]
        return WAYS[request.param](ca.Function("f", symbols, [function(*symbols)]), rows).ravel()

    return find


def close(found, expected):
    # The nested derivatives cancel by up to 1e4 at order 6.
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name, series):
    close(series(UNARY[name], ORDER, X), nested(UNARY[name], ORDER, X))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments(name, series):
    close(series(BINARY[name], ORDER, X, Y), nested(BINARY[name], ORDER, X, Y))


@pytest.mark.parametrize("name", ["product", "quotient", "atan2"])
def test_order_8(name, series):
    close(series(BINARY[name], 8, X, Y), nested(BINARY[name], 8, X, Y))


def test_known_series(series):
    """exp, sine and the geometric series along x = s."""
    line = np.array([0.0, 1.0])
    close(series(ca.exp, 8, line), [1 / math.factorial(k) for k in range(9)])
    close(series(ca.sin, 8, line), [0, 1, 0, -1 / 6, 0, 1 / 120, 0, -1 / 5040, 0])
    close(series(lambda x: 1 / (1 - x), 8, line), np.ones(9))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 16])
def test_powers_of_zero(exponent, series):
    """A base that vanishes, where a recurrence would divide by it."""
    line = np.array([0.0, 1.0, 2.0])
    expected = np.zeros(9)
    product = np.array([1.0])
    for _ in range(exponent):
        product = np.convolve(product, line)
    expected[: min(9, len(product))] = product[:9]
    close(series(lambda x: x**exponent, 8, line), expected)


def test_arguments_that_stand_still(series):
    """Constants have no higher coefficients, whatever is done to them."""
    for name, function in UNARY.items():
        found = series(function, 4, X[:1])
        assert not found[1:].any(), name


def test_matrices_and_gaps_keep_their_places():
    """Sparse arguments and results are columns of all entries; what is not there is zero."""
    A = ca.SX.sym("A", ca.Sparsity.diag(3))
    x = ca.SX.sym("x", 3)
    result = ca.SX(2, 2)
    result[0, 0], result[1, 0] = A[1, 1] * x[2], ca.sin(x[0])
    f = ca.Function("f", [A, x], [result, x[1]])
    made = taylor(f, 2)
    assert [made.size_in(i) for i in range(2)] == [(9, 3), (3, 3)]
    assert [made.size_out(i) for i in range(2)] == [(4, 3), (1, 3)]
    entries, values = np.zeros((9, 3)), np.array([[0.3, 1.0, 0.0], [0.5, 0.0, 2.0], [2.0, -1.0, 0.5]])
    entries[4] = [2.0, 3.0, 0.0]
    first, second = (np.array(part) for part in made(entries, values))
    for part, same in zip((first, second), TaylorSeries(f)(entries, values), strict=True):
        np.testing.assert_allclose(part, same, rtol=1e-14)
    close(first[0], nested(lambda a, b: a * b, 2, entries[4], values[2]))
    close(first[1], nested(ca.sin, 2, values[0]))
    assert not first[2:].any()
    close(second[0], values[1])


def test_several_entries_share_what_they_have_in_common():
    x = ca.SX.sym("x", 2)
    f = ca.Function("f", [x], [ca.vertcat(ca.sin(x[0]) * x[1], ca.sin(x[0]) + x[1])])
    found = np.array(taylor(f, ORDER)(np.stack([X, Y])))
    np.testing.assert_allclose(TaylorSeries(f)(np.stack([X, Y]))[0], found, rtol=1e-13)
    close(found[0], nested(lambda a, b: ca.sin(a) * b, ORDER, X, Y))
    close(found[1], nested(lambda a, b: ca.sin(a) + b, ORDER, X, Y))


@pytest.fixture(scope="module")
def equations():
    """Return a function of all operations above, in chains that need each other, with a parameter and a constant exponent."""
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    rows = [function(x[0]) * p[0] for function in UNARY.values()] + [function(x[0], x[1]) for function in BINARY.values()]
    return ca.Function("equations", [x, p], [ca.vertcat(*rows), ca.vertcat(ca.sin(rows[0]) / p[1], (p[0] * x[1]) ** p[1], p)])


def many_series(count, orders):
    """Return series that begin near those above, and two parameters that do not move."""
    chance = np.random.default_rng(2)
    whole = np.stack([np.pad(row, (0, orders - len(row))) for row in (X, Y)])
    x = np.repeat(whole[:, :, None], count, axis=2)
    return x + chance.uniform(-0.05, 0.05, x.shape), np.array([1.3, 2.0])


@pytest.mark.parametrize("at_once", [2**20, 2000])
def test_many_series_are_those_one_after_the_other(equations, monkeypatch, at_once):
    """Up to order 8, all at once or some after others: the same operations, but for sums whose order NumPy chooses."""
    monkeypatch.setattr("kingpost.symbols.taylor.IN_CACHE", at_once)
    (x, p), series = many_series(7, 9), TaylorSeries(equations)
    found = series(x, p[:, None, None])
    for i in range(7):
        for part, alone in zip(found, series(x[:, :, i], p[:, None]), strict=True):
            np.testing.assert_allclose(part[:, :, i], alone, rtol=1e-13, atol=1e-13 * np.abs(alone).max())


def test_what_stands_still_may_have_one_coefficient(equations):
    """The same as one with zeros behind it; p itself is among the results."""
    x, p = many_series(3, 9)
    padded = np.zeros((2, 9, 3))
    padded[:, 0] = p[:, None]
    for part, same in zip(TaylorSeries(equations)(x, p[:, None, None]), TaylorSeries(equations)(x, padded), strict=True):
        np.testing.assert_allclose(part, same, rtol=1e-11, atol=1e-13 * np.abs(same).max())
    assert TaylorSeries(equations)(x, p[:, None, None])[1][2:, 0].tolist() == [[1.3] * 3, [2.0] * 3]


def test_coefficients_that_nobody_wants_are_zero(equations):
    """The others are what they are without this; -1 stands for nothing at all."""
    x, p = many_series(2, 7)
    chance = np.random.default_rng(3)
    orders = [tuple(chance.integers(-1, 7, equations.numel_out(i)).tolist()) for i in range(2)]
    whole = TaylorSeries(equations)(x, p[:, None, None])
    for part, all_of_it, wanted in zip(TaylorSeries(equations)(x, p[:, None, None], orders=orders), whole, orders, strict=True):
        for row, expected, order in zip(part, all_of_it, wanted, strict=True):
            np.testing.assert_allclose(row[: order + 1], expected[: order + 1], rtol=1e-13, atol=1e-15)
            assert not row[order + 1 :].any()


def test_a_parameter_as_exponent_of_a_negative_base():
    """(-2 + s)^3 and (-2 + s)^-1 with the exponent among the arguments: no logarithm of the base is taken."""
    x, p = ca.SX.sym("x"), ca.SX.sym("p")
    power = TaylorSeries(ca.Function("f", [x, p], [x**p]))
    line = np.array([[-2.0, 1.0, 0.0, 0.0]])
    assert power(line, np.array([[3.0]]))[0].tolist() == [[-8.0, 12.0, -6.0, 1.0]]
    np.testing.assert_allclose(power(line, np.array([[-1.0]]))[0], [[-0.5, -0.25, -0.125, -0.0625]], rtol=1e-15)


def test_a_series_that_has_no_value_harms_no_other():
    """The root of a negative number is NaN, in this series alone."""
    x = ca.SX.sym("x")
    rows = np.array([[4.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    (found,) = TaylorSeries(ca.Function("f", [x], [ca.sqrt(x)]))(rows.T[None])
    assert np.isfinite(found).all(axis=(0, 1)).tolist() == [True, False, True]
    np.testing.assert_allclose(found[0, :, 0], [2.0, 1 / 4, -1 / 64], rtol=1e-15)


def test_growth_is_below_cubic():
    """Twice the order is about four times the work, where nested derivatives multiply it each time."""
    x = ca.SX.sym("x", 3)
    value = ca.sin(x[0] * x[1]) / ca.sqrt(1 + x[2] ** 2) * ca.exp(ca.cos(x[0])) * ca.atan2(x[1], x[2])
    f = ca.Function("f", [x], [value])
    sizes = {order: taylor(f, order).n_instructions() for order in (4, 8, 16)}
    assert sizes[8] < 2**2.5 * sizes[4]
    assert sizes[16] < 2**2.5 * sizes[8]


def test_an_operation_without_a_series_is_refused():
    x = ca.SX.sym("x")
    odd = ca.Function("odd", [x], [ca.erfinv(x)])
    for build in (TaylorSeries, lambda function: taylor(function, 2)):
        with pytest.raises(KingpostError, match=r"operation number \d+ of CasADi in 'odd' has no Taylor series"):
            build(odd)


def test_scaled_powers():
    assert scaled_powers(2.0, 4) == [1.0, 2.0, 2.0, 8 / 6, 16 / 24]
