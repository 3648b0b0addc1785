"""The pieces of trajectories: polynomials in time that hold from one time to the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence as Row
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.mechanism.polynomials import NOTHING, Polynomial

SYMBOLIC = (ca.SX, ca.MX)


class Part(Protocol):
    """What a trajectory is between two times."""

    def value(self, t: Any, order: int) -> Any:
        """Return the derivative of this order."""

    def size(self, t: float, order: int) -> float:
        """Return the size of the terms that a derivative is the sum of; its rounding is a few hundred eps of this."""

    def powers(self) -> tuple[float, Row[float]] | None:
        """Return a time, and the coefficients by rising powers of the time since then; nothing where it is no polynomial."""


@dataclass(frozen=True)
class Piece:
    """``offset + scale * p(s)`` with ``s = (t - origin) / length``."""

    offset: Any
    scale: Any = 0.0
    polynomial: Polynomial = NOTHING
    origin: Any = 0.0
    length: Any = 1.0

    def value(self, t: Any, order: int) -> Any:
        """Return the derivative of this order; zero beyond the degree of the polynomial."""
        offset = self.offset if order == 0 else 0.0
        derivative = self.polynomial.derivative((t - self.origin) / self.length, order)
        if derivative is None:
            return offset
        return offset + self._factor(order) * derivative

    def _factor(self, order: int) -> Any:
        try:
            factor = self.scale / self.length**order
        except (ZeroDivisionError, OverflowError):
            factor = math.inf
        if isinstance(factor, float) and not math.isfinite(factor):
            raise MechanismError(
                f"derivative {order} of a move by {self.scale:g} over {abs(self.length):g} s is beyond the range of numbers; "
                "check its times"
            )
        return factor

    def powers(self) -> tuple[float, Row[float]] | None:
        row = self.polynomial.coefficients or (0.0,)
        scaled = [float(self.scale * c / self.length**n) for n, c in enumerate(row)]
        scaled[0] += float(self.offset)
        return float(self.origin), scaled

    def size(self, t: float, order: int) -> float:
        offset = abs(self.offset) if order == 0 else 0.0
        s = (t - self.origin) / self.length
        # The rounding of the time moves s, too.
        moved = 1.0 + abs(t / self.length)
        return float(offset + abs(self._factor(order)) * self.polynomial.size(s, order) * moved)


@dataclass(frozen=True)
class FormulaPiece:
    """What a formula in the time says."""

    derivative: Callable[[Any, int], Any]

    def value(self, t: Any, order: int) -> Any:
        return self.derivative(t, order)

    def powers(self) -> tuple[float, Row[float]] | None:
        return None

    def size(self, t: float, order: int) -> float:
        return abs(float(self.derivative(t, order))) + abs(float(self.derivative(t, 0)))


#: Where pieces begin, and the pieces: one more, since the first has no beginning.
Pieces: TypeAlias = tuple[Row[Any], Row[Part]]


class Break(NamedTuple):
    """A time in s at which a derivative jumps: the lowest one that does (0 for the value itself), and by how much."""

    time: float
    order: int
    jump: float


def pick(t: Any, begins: Row[Any], branch: Callable[[int], Any], first: int, last: int) -> Any:
    """Return ``branch(i)`` for the piece from ``first`` to ``last`` that holds ``t``; piece i + 1 begins at ``begins[i]``."""
    if first == last:
        return branch(first)
    middle = (first + last) // 2
    is_before = t < begins[middle]
    if not isinstance(is_before, SYMBOLIC):
        return pick(t, begins, branch, *((first, middle) if is_before else (middle + 1, last)))
    before, after = pick(t, begins, branch, first, middle), pick(t, begins, branch, middle + 1, last)
    if not isinstance(before, SYMBOLIC) and not isinstance(after, SYMBOLIC) and before == after:
        return before
    return ca.if_else(is_before, before, after)
