"""What every trajectory offers: its value and derivatives over all times, and where these jump."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.base.fields import convert, convert_fields
from kingpost.base.formulas import Expression, Scalar, evaluate
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.pieces import SYMBOLIC, Break, FormulaPiece, Part, Piece, Pieces, pick
from kingpost.mechanism.piecewise import Polynomials
from kingpost.mechanism.polynomials import HIGHEST_ORDER

NO_NAMES: Mapping[str, Any] = MappingProxyType({})
#: Functions in formulas whose slope jumps.
_CORNERED = ("abs(", "min(", "max(")


@dataclass(frozen=True)
class Trajectory(ABC):
    """A quantity prescribed over all times.

    A derivative that jumps has its right-hand value at the jump: a staircase has slope zero everywhere.
    """

    kind: ClassVar[str]

    @staticmethod
    def from_data(data: Any) -> Trajectory:
        """Return the trajectory that plain data describe; see :func:`kingpost.mechanism.trajectories.read_trajectory`."""
        from kingpost.mechanism.trajectories import read_trajectory  # which knows all kinds

        return read_trajectory(data)

    @property
    @abstractmethod
    def smoothness(self) -> int:
        """The highest derivative that is continuous; -1 for a trajectory that itself jumps."""

    @abstractmethod
    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        """Return the pieces with the formulas in them evaluated."""

    def _continuous(self, scope: Mapping[str, Any]) -> Row[int]:
        """Return the highest derivative that is continuous by construction, for each time at which a piece begins."""
        begins, _ = self._pieces(scope)
        return (self.smoothness,) * len(begins)

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        """Return the derivative of this order (0 to 8) at ``t``.

        Parameters
        ----------
        t
            Time in s: a number, or a scalar CasADi expression.
        scope
            What the names in formulas stand for: numbers or CasADi symbols.
        order
            0 for the value itself, 1 for its rate per s, and so on.

        Returns
        -------
        float or CasADi expression
            A float unless something symbolic enters: a constant has a float as value at any ``t``.

        """
        check_order(order)
        t = as_time(t)
        begins, pieces = self._pieces(scope)
        return pick(t, begins, lambda i: pieces[i].value(t, order), 0, len(begins))

    def jets(
        self,
        t: float,
        order: int = HIGHEST_ORDER,
        scope: Mapping[str, Any] = NO_NAMES,
        side: Literal["left", "right"] = "right",
    ) -> FloatArray:
        """Return the value and the derivatives up to ``order`` at a time, as an array of order + 1 numbers.

        ``side`` says which values are taken where one jumps.
        """
        check_order(order)
        t = convert(float, t)
        begins, pieces = self._numbers(scope)
        piece = pieces[bisect_right(begins, t) if side == "right" else bisect_left(begins, t)]
        return np.array([float(piece.value(t, k)) for k in range(order + 1)])

    def polynomials(self, scope: Mapping[str, Any] = NO_NAMES) -> Polynomials:
        """Return all pieces as numbers; ``scope`` must have a number for every name in formulas.

        Raises
        ------
        MechanismError
            When a piece is no polynomial, but a formula in the time.

        """
        begins, pieces = self._numbers(scope)
        rows = []
        for piece in pieces:
            powers = piece.powers()
            if powers is None:
                raise MechanismError(f"a {self.kind} trajectory with a formula in the time is no polynomial")
            rows.append(powers)
        table = np.zeros((len(rows), max(len(coefficients) for _, coefficients in rows)))
        for i, (_, coefficients) in enumerate(rows):
            table[i, : len(coefficients)] = coefficients
        return Polynomials(np.array(begins, dtype=float), np.array([origin for origin, _ in rows]), table)

    def jets_at(self, times: Row[float] | FloatArray, order: int, scope: Mapping[str, Any] = NO_NAMES) -> FloatArray:
        """Return :meth:`jets` at many times: an array (times, orders); formulas are evaluated once, pieces at once."""
        check_order(order)
        begins, pieces = self._numbers(scope)
        moments = np.asarray(times, dtype=float)
        held = np.searchsorted(np.asarray(begins, dtype=float), moments, side="right")
        result = np.empty((len(moments), order + 1))
        for i in np.unique(held).tolist():
            piece, here = pieces[i], held == i
            own = moments[here]
            for k in range(order + 1):
                result[here, k] = piece.value(own, k) if piece.powers() is not None else _along(piece, own, k)
        return result

    def breaks(self, scope: Mapping[str, Any] = NO_NAMES) -> tuple[Break, ...]:
        """Return the times at which some derivative up to order 8 jumps, with the lowest one that does.

        A jump is one beyond the rounding of both sides. What is continuous by construction is not looked at.
        """
        begins, pieces = self._numbers(scope)
        return tuple(_jumps(begins, pieces, self._continuous(scope)))

    def smoothness_between(self, t_start: float, t_end: float, scope: Mapping[str, Any] = NO_NAMES) -> int:
        """Return the highest derivative (up to 8) that is continuous from ``t_start`` to ``t_end``, both times included."""
        inside = [found.order for found in self.breaks(scope) if t_start <= found.time <= t_end]
        return min([*inside, HIGHEST_ORDER + 1, *self._corners()]) - 1

    def _corners(self) -> tuple[int, ...]:
        """Return orders of derivatives that may jump at times nobody knows."""
        return ()

    def _numbers(self, scope: Mapping[str, Any]) -> tuple[Row[float], Row[Part]]:
        begins, pieces = self._pieces(scope)
        if any(isinstance(begin, SYMBOLIC) for begin in begins):
            raise MechanismError(
                f"the times of a {self.kind} trajectory are symbols; give numbers for the names in its formulas"
            )
        return begins, pieces


@dataclass(frozen=True)
class Constant(Trajectory):
    """Always the same value, or what a formula in inputs and the time says.

    ``rate`` is for a level that is an input: nobody else knows how fast it changes. By default the rate, and every further
    derivative, follows from the time ``t`` in the formula.
    """

    kind: ClassVar[str] = "constant"
    level: Scalar
    rate: Scalar | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "constant trajectory")

    @property
    def smoothness(self) -> int:
        """Every derivative is continuous, so the highest that can be asked for; 0 if ``abs``, ``min``, ``max`` act on time."""
        return min([HIGHEST_ORDER + 1, *self._corners()]) - 1

    def _corners(self) -> tuple[int, ...]:
        cornered = uses_time(self.level) and any(word in str(self.level) for word in _CORNERED)
        return (1,) if cornered else ()

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        if not uses_time(self.level) and self.rate is None:
            return (), (Piece(evaluated(self.level, scope)),)
        return (), (FormulaPiece(lambda t, order: self._derivative(t, order, scope)),)

    def _derivative(self, t: Any, order: int, scope: Mapping[str, Any]) -> Any:
        if order > 0 and self.rate is not None:
            return time_derivative(self.rate, t, scope, order - 1)
        return time_derivative(self.level, t, scope, order)


def _along(piece: Part, times: FloatArray, order: int) -> FloatArray:
    """Return a derivative of a formula at many times: it is differentiated once."""
    t = ca.SX.sym(TIME)
    value = piece.value(t, order)
    if not isinstance(value, ca.SX):
        return np.full(len(times), float(value))
    numbers = np.asarray(ca.Function("along", [t], [value])(times.reshape(1, -1))).ravel()
    for k in np.flatnonzero(~np.isfinite(numbers)).tolist():
        numbers[k] = float(piece.value(float(times[k]), order))  # which says what is wrong there
    return numbers


def uses_time(value: Scalar | None) -> bool:
    """Say whether a number is a formula in the time."""
    return isinstance(value, Expression) and TIME in value.names


def time_derivative(value: Scalar, t: Any, scope: Mapping[str, Any], order: int) -> Any:
    """Return the derivative of a formula with respect to the time in it; its other names do not change."""
    if not uses_time(value):
        return evaluated(value, scope) if order == 0 else 0.0
    kind: Any = ca.MX if any(isinstance(item, ca.MX) for item in (t, *scope.values())) else ca.SX
    time = kind.sym(TIME)
    expression = kind(evaluated(value, {**scope, TIME: time}))
    for _ in range(order):
        expression = ca.jacobian(expression, time)
    there = ca.substitute(ca.densify(expression), time, kind(t))
    if ca.symvar(there):
        return there
    number = float(ca.evalf(there))
    if not math.isfinite(number):
        what = f"derivative {order} of '{value}'" if order else f"'{value}'"
        raise MechanismError(f"{what} is {number} at t = {t} s; a trajectory needs finite numbers")
    return number


def as_time(t: Any) -> Any:
    """Return a time as a float or a scalar expression."""
    if isinstance(t, SYMBOLIC):
        if t.is_scalar():
            return t
    elif not isinstance(t, str):
        try:
            return convert(float, t)
        except (MechanismError, TypeError, RuntimeError):
            pass
    raise MechanismError(f"a trajectory is evaluated at one finite time or one scalar CasADi expression, not at {t!r}")


def evaluated(value: Scalar, scope: Mapping[str, Any]) -> Any:
    """Return a float or a CasADi expression."""
    result = evaluate(value, scope)
    if isinstance(result, SYMBOLIC):
        return result
    if not math.isfinite(result):
        numbers = {name: scope[name] for name in sorted(scope) if name in getattr(value, "names", ())}
        known = listed(f"{name} = {number!r}" for name, number in numbers.items())
        raise MechanismError(f"'{value}' is {result} with {known}; a trajectory needs finite numbers")
    return float(result)


def check_order(order: Any) -> None:
    """Refuse a derivative that is not there."""
    if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= HIGHEST_ORDER:
        raise MechanismError(f"derivative {order!r} of a trajectory was asked for; there are 0 (the value) to {HIGHEST_ORDER}")


def _jumps(begins: Row[float], pieces: Row[Part], continuous: Row[int]) -> Iterator[Break]:
    eps = float(np.finfo(float).eps)
    first = 0
    while first < len(begins):
        last, t = first, begins[first]
        # A piece without length, or with less, is left by rounding: two phases are three without the middle.
        while last + 1 < len(begins) and begins[last + 1] - t <= 4 * eps * abs(t):
            last += 1
        before, after = pieces[first], pieces[last + 1]
        for order in range(min(continuous[first : last + 1]) + 1, HIGHEST_ORDER + 1):
            jump = float(after.value(t, order)) - float(before.value(t, order))
            # Horner's rule for degree n rounds by 2 n eps of the terms, and the rounding of s costs as much again.
            if abs(jump) > 100 * eps * (before.size(t, order) + after.size(t, order)):
                yield Break(t, order, jump)
                break
        first = last + 1
