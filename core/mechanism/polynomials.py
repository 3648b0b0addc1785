"""Polynomials of one variable and their derivatives, for numbers and CasADi symbols, with as few roundings as they can have."""

from __future__ import annotations

import math
from collections.abc import Sequence as Row
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Protocol

#: Derivatives can be asked for up to this order.
HIGHEST_ORDER = 8
#: How smooth a polynomial from rest to rest, or to a speed, can be.
SMOOTHEST = 8


class Polynomial(Protocol):
    """A polynomial in s, made for s from 0 to 1."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Return the coefficients by rising powers."""

    def derivative(self, s: Any, order: int) -> Any:
        """Return the derivative of this order, 0 for the value; None beyond the degree."""

    def size(self, s: float, order: int) -> float:
        """Return the sum of the absolute terms of a derivative: its rounding is a few eps of this."""


@dataclass(frozen=True)
class Powers:
    """A polynomial as it is written: coefficients by rising powers."""

    coefficients: tuple[float, ...] = ()

    def derivative(self, s: Any, order: int) -> Any:
        left = differentiate(self.coefficients, order)
        return horner(left, s) if left else None

    def size(self, s: float, order: int) -> float:
        left = differentiate(self.coefficients, order)
        return float(horner([abs(c) for c in left], abs(s))) if left else 0.0


@dataclass(frozen=True)
class Factored:
    """``s^a (1 - s)^b p(v)`` with v = 1 - s or v = (1 - s) - s; ``p`` by rising powers."""

    a: int
    b: int
    p: tuple[float, ...]
    variable: Literal["rest", "difference"]

    def value(self, s: Any) -> Any:
        r = 1.0 - s
        return power(s, self.a) * power(r, self.b) * horner(self.p, r if self.variable == "rest" else r - s)

    def size(self, s: float) -> float:
        s, r = abs(s), abs(1.0 - s)
        v = r if self.variable == "rest" else abs(r - s)
        return float(s**self.a * r**self.b * horner([abs(c) for c in self.p], v))


@dataclass(frozen=True)
class Smooth:
    """From 0 to 1 with ``n`` vanishing derivatives at both ends, of degree 2 n + 1: for n = 4 document 000, eq. (4.87).

    Its coefficients reach a million for n = 8, and their sum near s = 1 would be off by 1e-10 of the largest value. Factored
    forms are off by 4e-15 at most, in every derivative, and vanish at both ends exactly: the value is
    s^(n+1) sum_k C(n+k, k) (1-s)^k, the slope (2n+1)!/n!^2 (s (1-s))^n, and each derivative of (s (1-s))^m g(1-2s) has this
    form again.
    """

    n: int

    @property
    def coefficients(self) -> tuple[float, ...]:
        return _smooth_powers(self.n)

    def derivative(self, s: Any, order: int) -> Any:
        form = _smooth_form(self.n, order)
        return form.value(s) if form else None

    def size(self, s: float, order: int) -> float:
        form = _smooth_form(self.n, order)
        return form.size(s) if form else 0.0


@dataclass(frozen=True)
class SpeedUp:
    """From rest to speed 1 in a time of 1, over a way of 1/2: the integral of ``Smooth(n - 1)``.

    Derivatives 1 to n vanish at the start and 2 to n at the end. For n = 4 document 000, eq. (4.126), which prints 14/2 and 7/2
    for 14 and 7; that way would be 4 and c would jump at the end of the phase (c_I(5) = 4/3 instead of 1/6). Only 14 and 7
    meet eq. (4.127) in value and in derivatives 1-4.
    """

    n: int

    @property
    def coefficients(self) -> tuple[float, ...]:
        return (0.0, *(c / (power + 1) for power, c in enumerate(_smooth_powers(self.n - 1))))

    def derivative(self, s: Any, order: int) -> Any:
        form = _speed_up_form(self.n, order)
        return form.value(s) if form else None

    def size(self, s: float, order: int) -> float:
        form = _speed_up_form(self.n, order)
        return form.size(s) if form else 0.0


#: A polynomial that is zero.
NOTHING = Powers()
#: From 0 to 1 for s from 0 to 1.
STRAIGHT = Powers((0.0, 1.0))


def differentiate(coefficients: tuple[float, ...], order: int) -> tuple[float, ...]:
    """Return the derivative of a polynomial, by rising powers; nothing beyond its degree."""
    return tuple(math.perm(power, order) * c for power, c in enumerate(coefficients))[order:]


def horner(coefficients: Row[Any], s: Any) -> Any:
    """Return the value of a polynomial, given by rising powers."""
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * s + coefficient
    return result


def power(s: Any, exponent: int) -> Any:
    """Return a whole power by products alone: CasADi's own has derivatives at zero that are no numbers."""
    result: Any = None
    while exponent:
        if exponent % 2:
            result = s if result is None else result * s
        exponent //= 2
        s = s * s if exponent else s
    return 1.0 if result is None else result


@cache
def _smooth_powers(n: int) -> tuple[float, ...]:
    upper = ((-1) ** k * math.comb(n + k, k) * math.comb(2 * n + 1, n - k) for k in range(n + 1))
    return (0.0,) * (n + 1) + tuple(map(float, upper))


@cache
def _smooth_form(n: int, order: int) -> Factored | None:
    if order == 0:
        return Factored(n + 1, 0, tuple(float(math.comb(n + k, k)) for k in range(n + 1)), "rest")
    g = [Fraction(math.factorial(2 * n + 1), math.factorial(n) ** 2)]
    for j in range(order - 1):
        slope = [i * c for i, c in enumerate(g)][1:]
        if j >= n:
            g = [-2 * c for c in slope]
            continue
        # With m = n - j, y = 1 - 2 s, s (1-s) = (1 - y^2) / 4: the derivative of (s (1-s))^m g(y) is
        # (s (1-s))^(m-1) (m y g - (1 - y^2) / 2 g').
        longer = [Fraction(0), *((n - j) * c for c in g)]
        for i, c in enumerate(slope):
            longer[i] -= c / 2
            longer[i + 2] += c / 2
        g = longer
    left = max(0, n + 1 - order)
    return Factored(left, left, tuple(map(float, g)), "difference") if g else None


@cache
def _speed_up_form(n: int, order: int) -> Factored | None:
    if order > 0:
        return _smooth_form(n - 1, order - 1)
    # s^(n+1) G(1-s): the integral by powers of s, divided by s^(n+1), in powers of r = 1 - s. All of them are positive.
    by_s = [Fraction((-1) ** k * math.comb(n - 1 + k, k) * math.comb(2 * n - 1, n - 1 - k), n + 1 + k) for k in range(n)]
    by_r = [sum((c * math.comb(k, i) * (-1) ** i for k, c in enumerate(by_s)), Fraction(0)) for i in range(n)]
    return Factored(n + 1, 0, tuple(map(float, by_r)), "rest")
