"""Formulas in fields."""

import math

import casadi as ca
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingpost import Expression, MechanismError, Parameter
from kingpost.base.formulas import as_scalar, evaluate


def test_a_formula_is_kept_in_one_normal_form():
    assert Expression(" a+  b*2 ") == Expression("a + (b * 2)")
    assert Expression("a + b * 2").names == {"a", "b"}


def test_parameters_build_formulas():
    length, mass = Parameter("length", 1.0, "m"), Parameter("mass", 1.0, "kg")
    formula = -mass * length**2 / 12 + 1 - 2 * length
    values = {"length": 3.0, "mass": 2.0}
    assert evaluate(formula, values) == pytest.approx(-2.0 * 9.0 / 12 + 1 - 6.0, rel=1e-15)


@given(a=st.floats(-1e3, 1e3), b=st.floats(0.1, 1e3))
def test_a_formula_means_what_python_means(a, b):
    formula = Expression("a - b * (a + 2) / b ** 2 + sin(a) * sqrt(b) - atan2(a, b) + max(a, b)")
    expected = a - b * (a + 2) / b**2 + math.sin(a) * math.sqrt(b) - math.atan2(a, b) + max(a, b)
    assert evaluate(formula, {"a": a, "b": b}) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(a=st.floats(-10, 10), b=st.floats(-10, 10), c=st.floats(-10, 10))
def test_operators_keep_their_precedence(a, b, c):
    pa, pb, pc = (Parameter(name, 0.0, "1") for name in "abc")
    values = {"a": a, "b": b, "c": c}
    assert evaluate((pa - pb) * pc - (pa - (pb - pc)), values) == pytest.approx(
        (a - b) * c - (a - (b - c)), rel=1e-12, abs=1e-12
    )


def test_symbols_and_numbers_give_the_same():
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [evaluate(Expression("x**2 + cos(x) * pi"), {"x": x})])
    assert float(function(0.7)) == pytest.approx(evaluate(Expression("x**2 + cos(x) * pi"), {"x": 0.7}), rel=1e-15)


def test_a_formula_without_names_is_a_number():
    assert as_scalar("pi / 2") == pytest.approx(math.pi / 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "'a +' is not a formula"),
        ("__import__('os')", "calls '__import__', which is not a known function"),
        ("a.b", "only numbers, names, + - * / **"),
        ("sine(a)", "did you mean 'sin'?"),
        ("sin", "'sin' is a function; write sin(...)"),
        ("atan2(a)", "atan2 takes 2 argument(s), got 1"),
        ("1e999", "which is not finite"),
        ("'a'", "only numbers"),
        ("True", "only numbers"),
    ],
)
def test_what_is_not_a_formula_is_refused(text, message):
    with pytest.raises(MechanismError) as error:
        Expression(text)
    assert message in str(error.value)


def test_an_unknown_name_is_answered_with_the_closest():
    with pytest.raises(MechanismError, match=r"uses 'lenght', which is not declared; did you mean 'length'\?"):
        evaluate(Expression("2 * lenght"), {"length": 1.0, "mass": 2.0})


def test_division_by_zero_names_the_numbers():
    with pytest.raises(MechanismError, match=r"'1 / a' divides by zero with a = 0.0"):
        evaluate(Expression("1 / a"), {"a": 0.0})


@pytest.mark.parametrize("value", [True, None, [1.0], float("nan"), float("inf")])
def test_only_finite_numbers_and_formulas_are_scalars(value):
    with pytest.raises(MechanismError, match="expected a"):
        as_scalar(value)


@pytest.mark.parametrize(
    ("text", "scope", "message"),
    [
        ("a**400", {"a": 10.0}, "is too large for a number with a = 10.0"),
        ("a**0.5", {"a": -1.0}, "has no real value with a = -1.0"),
    ],
)
def test_what_has_no_value_names_the_numbers(text, scope, message):
    with pytest.raises(MechanismError, match=message):
        evaluate(Expression(text), scope)


@pytest.mark.parametrize("term", ["a + ", "-", "a ** ", "sin("])
def test_formulas_may_be_long_but_not_without_end(term):
    def formula(count):
        return term * count + "a" + ")" * (count if "(" in term else 0)

    # 180 nested parentheses are within what Python's own parser takes (200).
    assert evaluate(formula(180), {"a": 1.0}) is not None
    with pytest.raises(MechanismError, match="nested too deep|is not a formula"):
        Expression(formula(260))
