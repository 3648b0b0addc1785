"""The pieces of trajectories: polynomials in time that hold from one time to the next."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Row
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import casadi as ca

from kingpost.mechanism.polynomials import NOTHING, Polynomial

SYMBOLIC = (ca.SX, ca.MX)


class Part(Protocol):
    """What a trajectory is between two times."""

    def value(self, t: Any, order: int) -> Any:
        """Return the derivative of this order."""

    def size(self, t: float, order: int) -> float:
        """Return the size of the terms that a derivative is the sum of; its rounding is a few hundred eps of this."""


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
        return offset + self.scale / self.length**order * derivative

    def size(self, t: float, order: int) -> float:
        offset = abs(self.offset) if order == 0 else 0.0
        s = (t - self.origin) / self.length
        # The rounding of the time moves s, too.
        moved = 1.0 + abs(t / self.length)
        return float(offset + abs(self.scale) / abs(self.length) ** order * self.polynomial.size(s, order) * moved)


@dataclass(frozen=True)
class FormulaPiece:
    """What a formula in the time says."""

    derivative: Callable[[Any, int], Any]

    def value(self, t: Any, order: int) -> Any:
        return self.derivative(t, order)

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
