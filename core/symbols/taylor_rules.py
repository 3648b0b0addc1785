"""How Taylor series pass through the operations of CasADi: one rule for each, for symbols and for numbers.

A series is a sequence of coefficients, each of which holds many entries: a column of symbols, or an array of numbers. What is
not there is zero, so that the series of something that does not move has one coefficient. What symbols and numbers do in
different ways, they bring along as ``ops``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np

#: Coefficients, from that of s^0 on.
Series = Sequence[Any]
#: Whole powers up to this one are products, which are right where the base vanishes, too.
PRODUCTS = 16
ONE: Series = (1.0,)


class Arithmetic(Protocol):
    """What rules need of symbols or numbers: sums and products of series, and functions of coefficients by name."""

    def add(self, u: Series, v: Series) -> Series: ...

    def subtract(self, u: Series, v: Series) -> Series: ...

    def scaled(self, factor: Any, u: Series) -> Series: ...

    def multiply(self, u: Series, v: Series) -> Series: ...

    def over(self, a: Any, b: Any) -> Any: ...

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


def inner(us: Series, ws: Series) -> Any:
    """Return the sum of the products of coefficients, pair by pair."""
    total: Any = 0.0
    for k, (a, b) in enumerate(zip(us, ws, strict=False)):
        total = a * b if k == 0 else total + a * b
    return total


def _padded(u: Series, count: int) -> Series:
    return u if len(u) == count else [*u, *[0.0] * (count - len(u))]


def _negative(ops: Arithmetic, u: Series) -> Series:
    return ops.scaled(-1.0, u)


def _square(ops: Arithmetic, u: Series) -> Series:
    return ops.multiply(u, u)


def _divide(ops: Arithmetic, u: Series, v: Series) -> Series:
    if len(v) == 1:
        return [ops.over(a, v[0]) for a in u]
    u = _padded(u, len(v))
    w: list[Any] = []
    for n in range(len(v)):
        w.append(ops.over(u[n] - inner(v[1 : n + 1], w[::-1]), v[0]))
    return w


def _sqrt(ops: Arithmetic, u: Series) -> Series:
    w: list[Any] = [ops.sqrt(u[0])]
    for n in range(1, len(u)):
        w.append(ops.over(u[n] - inner(w[1:n], w[n - 1 : 0 : -1]), 2.0 * w[0]))
    return w


def _rates(u: Series) -> Series:
    """Return the series of the derivative, j u_j for j = 1, 2, ..."""
    return [float(j) * u[j] for j in range(1, len(u))]


def _integral(n: int, rates: Series, w: Series) -> Any:
    """Return the coefficient n of the integral of u' w: (1/n) sum of j u_j w_(n-j)."""
    return inner(rates[:n], w[n - 1 :: -1]) * (1.0 / n)


def _integrated(begin: Any, u: Series, slope: Series) -> list[Any]:
    """Return the function whose derivative with respect to u is ``slope``."""
    rates, slope = _rates(u), _padded(slope, len(u))
    return [begin, *(_integral(n, rates, slope) for n in range(1, len(u)))]


def _exp(ops: Arithmetic, u: Series) -> Series:
    w: list[Any] = [ops.exp(u[0])]
    rates = _rates(u)
    for n in range(1, len(u)):
        w.append(_integral(n, rates, w))
    return w


def _log(ops: Arithmetic, u: Series) -> Series:
    return _integrated(ops.log(u[0]), u, _divide(ops, ONE, u))


def _circular(u: Series, sign: float, sine: Callable[[Any], Any], cosine: Callable[[Any], Any]) -> tuple[Series, Series]:
    s: list[Any] = [sine(u[0])]
    c: list[Any] = [cosine(u[0])]
    rates = _rates(u)
    for n in range(1, len(u)):
        after_s, after_c = _integral(n, rates, c), sign * _integral(n, rates, s)
        s.append(after_s)
        c.append(after_c)
    return s, c


def _power(ops: Arithmetic, u: Series, v: Series) -> Series:
    if len(v) > 1:
        return _exp(ops, ops.multiply(v, _log(ops, u)))
    exponent = v[0]
    if isinstance(exponent, np.ndarray) and exponent.size and (exponent == exponent.flat[0]).all():
        exponent = float(exponent.flat[0])
    if isinstance(exponent, float) and exponent.is_integer() and 0 <= exponent <= PRODUCTS:
        result: Series = u if exponent else ONE
        for _ in range(int(exponent) - 1):
            result = ops.multiply(result, u)
        return result
    w: list[Any] = [ops.power(u[0], exponent)]
    for n in range(1, len(u)):
        factors = [(exponent * j - (n - j)) * u[j] for j in range(1, n + 1)]
        w.append(ops.over(inner(factors, w[::-1]), n * u[0]))
    return w


def _atan2(ops: Arithmetic, y: Series, x: Series) -> Series:
    # (x y' - y x') / (x^2 + y^2), integrated.
    count = max(len(x), len(y))
    square = ops.add(_square(ops, x), _square(ops, y))
    along, across = _divide(ops, x, square), _divide(ops, y, square)
    rest = zip(_integrated(0.0, _padded(y, count), along)[1:], _integrated(0.0, _padded(x, count), across)[1:], strict=True)
    return [ops.atan2(y[0], x[0]), *(a - b for a, b in rest)]


def _inverse(name: str, slope: Callable[[Arithmetic, Series], Series]) -> Callable[..., Series]:
    return lambda ops, u: _integrated(getattr(ops, name)(u[0]), u, slope(ops, u))


def _step(name: str) -> Callable[..., Series]:
    """Return the rule of a function that is constant beside its jumps."""
    return lambda ops, *u: [getattr(ops, name)(*(a[0] for a in u))]


def _chosen(ops: Arithmetic, condition: Any, u: Series, v: Series) -> Series:
    count = max(len(u), len(v))
    return [ops.if_else(condition, a, b) for a, b in zip(_padded(u, count), _padded(v, count), strict=True)]


def _remainder(ops: Arithmetic, u: Series, v: Series) -> Series:
    quotient = (u[0] - ops.fmod(u[0], v[0])) / v[0]
    return ops.subtract(u, ops.scaled(quotient, v))


def _copysign(ops: Arithmetic, u: Series, v: Series) -> Series:
    return _chosen(ops, ops.eq(ops.copysign(u[0], v[0]), u[0]), u, _negative(ops, u))


def _circle(ops: Arithmetic, u: Series) -> Series:
    """Return 1 / sqrt(1 - u^2)."""
    return _divide(ops, ONE, _sqrt(ops, ops.subtract(ONE, _square(ops, u))))


def _gauss(ops: Arithmetic, u: Series) -> Series:
    """Return 2 exp(-u^2) / sqrt(pi)."""
    return ops.scaled(2 / math.sqrt(math.pi), _exp(ops, _negative(ops, _square(ops, u))))


RULES: dict[int, Callable[..., Series]] = {
    ca.OP_ASSIGN: lambda ops, u: u,
    ca.OP_LIFT: lambda ops, u, guess: u,
    ca.OP_ADD: lambda ops, u, v: ops.add(u, v),
    ca.OP_SUB: lambda ops, u, v: ops.subtract(u, v),
    ca.OP_NEG: _negative,
    ca.OP_MUL: lambda ops, u, v: ops.multiply(u, v),
    ca.OP_DIV: _divide,
    ca.OP_INV: lambda ops, u: _divide(ops, ONE, u),
    ca.OP_TWICE: lambda ops, u: ops.scaled(2.0, u),
    ca.OP_SQ: _square,
    ca.OP_SQRT: _sqrt,
    ca.OP_EXP: _exp,
    ca.OP_EXPM1: lambda ops, u: [ops.expm1(u[0]), *_exp(ops, u)[1:]],
    ca.OP_LOG: _log,
    ca.OP_LOG1P: lambda ops, u: [ops.log1p(u[0]), *_log(ops, ops.add(ONE, u))[1:]],
    ca.OP_SIN: lambda ops, u: _circular(u, -1.0, ops.sin, ops.cos)[0],
    ca.OP_COS: lambda ops, u: _circular(u, -1.0, ops.sin, ops.cos)[1],
    ca.OP_TAN: lambda ops, u: _divide(ops, *_circular(u, -1.0, ops.sin, ops.cos)),
    ca.OP_SINH: lambda ops, u: _circular(u, 1.0, ops.sinh, ops.cosh)[0],
    ca.OP_COSH: lambda ops, u: _circular(u, 1.0, ops.sinh, ops.cosh)[1],
    ca.OP_TANH: lambda ops, u: _divide(ops, *_circular(u, 1.0, ops.sinh, ops.cosh)),
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_HYPOT: lambda ops, u, v: _sqrt(ops, ops.add(_square(ops, u), _square(ops, v))),
    ca.OP_ATAN2: _atan2,
    ca.OP_ATAN: _inverse("atan", lambda ops, u: _divide(ops, ONE, ops.add(ONE, _square(ops, u)))),
    ca.OP_ASIN: _inverse("asin", _circle),
    ca.OP_ACOS: _inverse("acos", lambda ops, u: _negative(ops, _circle(ops, u))),
    ca.OP_ATANH: _inverse("atanh", lambda ops, u: _divide(ops, ONE, ops.subtract(ONE, _square(ops, u)))),
    ca.OP_ASINH: _inverse("asinh", lambda ops, u: _divide(ops, ONE, _sqrt(ops, ops.add(ONE, _square(ops, u))))),
    ca.OP_ACOSH: _inverse("acosh", lambda ops, u: _divide(ops, ONE, _sqrt(ops, ops.subtract(_square(ops, u), ONE)))),
    ca.OP_ERF: _inverse("erf", _gauss),
    ca.OP_FABS: lambda ops, u: _chosen(ops, ops.lt(u[0], 0.0), _negative(ops, u), u),
    ca.OP_FMIN: lambda ops, u, v: _chosen(ops, ops.le(u[0], v[0]), u, v),
    ca.OP_FMAX: lambda ops, u, v: _chosen(ops, ops.le(v[0], u[0]), u, v),
    ca.OP_COPYSIGN: _copysign,
    ca.OP_FMOD: _remainder,
    ca.OP_IF_ELSE_ZERO: lambda ops, condition, u: [ops.if_else(condition[0], a, 0.0) for a in u],
    ca.OP_SIGN: _step("sign"),
    ca.OP_FLOOR: _step("floor"),
    ca.OP_CEIL: _step("ceil"),
    ca.OP_NOT: _step("logic_not"),
    ca.OP_AND: _step("logic_and"),
    ca.OP_OR: _step("logic_or"),
    ca.OP_LT: _step("lt"),
    ca.OP_LE: _step("le"),
    ca.OP_EQ: _step("eq"),
    ca.OP_NE: _step("ne"),
}
