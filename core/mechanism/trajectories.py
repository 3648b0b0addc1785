"""Set-points as functions of time, with exact derivatives, for numbers and for CasADi symbols alike.

Every trajectory is a row of polynomial pieces with a constant before and after, so that one source serves both: at a number
one piece is evaluated, at a symbol the pieces are joined by ``if_else``. Derivatives are those of the polynomials.

>>> RestToRest(0.0, 5.0, t_start=0.0, t_end=3.0).value(1.5)
2.5
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert, convert_fields, fill
from kingpost.base.formulas import Scalar, evaluate
from kingpost.base.sample_files import read_samples
from kingpost.mechanism.piecewise import Polynomials

#: Derivatives can be asked for up to this order.
HIGHEST_ORDER = 6
#: From 0 to 1 for s from 0 to 1, with vanishing derivatives 1-4 at both ends: document 000, eq. (4.87), by rising powers.
REST_TO_REST = (0.0, 0.0, 0.0, 0.0, 0.0, 126.0, -420.0, 540.0, -315.0, 70.0)
#: From rest to speed 1 in a time of 1, over a way of 1/2, with vanishing derivatives 1-4 at the start and 2-4 at the end.
#: Document 000, eq. (4.126), prints 14/2 and 7/2 for 14 and 7; that way would be 4 and c would jump at the end of the phase
#: (c_I(5) = 4/3 instead of 1/6). Only 14 and 7 meet eq. (4.127) in value and in derivatives 1-4.
SPEED_UP = (0.0, 0.0, 0.0, 0.0, 0.0, 7.0, -14.0, 10.0, -2.5)
PROFILES: dict[str, tuple[float, ...]] = {"rest-to-rest": REST_TO_REST, "linear": (0.0, 1.0), "hold": ()}
NO_NAMES: Mapping[str, Any] = MappingProxyType({})
Interpolation: TypeAlias = Literal["hold", "linear", "cubic", "quintic"]
_SYMBOLIC = (ca.SX, ca.MX)


@dataclass(frozen=True)
class Piece:
    """``offset + scale * p(s)`` with ``s = (t - origin) / length``; ``coefficients`` of p by rising powers."""

    offset: Any
    scale: Any = 0.0
    coefficients: tuple[float, ...] = ()
    origin: Any = 0.0
    length: Any = 1.0

    def value(self, t: Any, order: int) -> Any:
        """Return the derivative of this order; zero beyond the degree of the polynomial."""
        offset = self.offset if order == 0 else 0.0
        coefficients = differentiate(self.coefficients, order)
        if not coefficients:
            return offset
        return offset + self.scale / self.length**order * horner(coefficients, (t - self.origin) / self.length)


#: Where pieces begin, and the pieces: one more, since the first has no beginning.
Pieces: TypeAlias = tuple[Row[Any], Row[Piece]]


@dataclass(frozen=True)
class Trajectory(ABC):
    """A quantity prescribed over all times.

    A derivative that jumps has its right-hand value at the jump: a staircase has slope zero everywhere.
    """

    kind: ClassVar[str]

    @staticmethod
    def from_data(data: Any) -> Trajectory:
        """Return the trajectory that plain data describe; see :func:`read_trajectory`."""
        return read_trajectory(data)

    @property
    @abstractmethod
    def smoothness(self) -> int:
        """The highest derivative that is continuous; -1 for a trajectory that itself jumps."""

    @abstractmethod
    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        """Return the pieces with the formulas in them evaluated."""

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        """Return the derivative of this order (0 to 6) at ``t``.

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
        _check_order(order)
        t = _time(t)
        begins, pieces = self._pieces(scope)
        return _pick(t, begins, lambda i: pieces[i].value(t, order), 0, len(begins))

    def polynomials(self, scope: Mapping[str, Any] = NO_NAMES) -> Polynomials:
        """Return all pieces as numbers; ``scope`` must have a number for every name in formulas."""
        begins, pieces = self._pieces(scope)
        rows = [piece.coefficients or (0.0,) for piece in pieces]
        table = np.zeros((len(rows), max(map(len, rows))))
        for i, (piece, row) in enumerate(zip(pieces, rows, strict=True)):
            table[i, : len(row)] = np.array(row) * piece.scale / piece.length ** np.arange(len(row))
            table[i, 0] += piece.offset
        return Polynomials(np.array(begins, dtype=float), np.array([float(piece.origin) for piece in pieces]), table)


@dataclass(frozen=True)
class Constant(Trajectory):
    """Always the same value, or what a formula in inputs says.

    ``rate`` is for a level that is an input: nobody else knows how fast it changes. By default the rate follows from the time
    in the formula.
    """

    kind: ClassVar[str] = "constant"
    level: Scalar
    rate: Scalar | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "constant trajectory")

    @property
    def smoothness(self) -> int:
        """Every derivative is continuous, so the highest that can be asked for."""
        return HIGHEST_ORDER

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        return (), (Piece(_evaluated(self.level, scope)),)


@dataclass(frozen=True)
class RestToRest(Trajectory):
    """From ``start`` to ``end`` between two times, with four vanishing derivatives at both; constant before and after.

    The polynomial of degree 9 of document 000, eqs. (4.84) and (4.87), in s = (t - t_start) / (t_end - t_start). Eq. (4.88)
    prints t / (t_end - t_start), which is the same only for t_start = 0.
    """

    kind: ClassVar[str] = "rest-to-rest"
    start: Scalar
    end: Scalar
    t_start: Scalar
    t_end: Scalar

    def __post_init__(self) -> None:
        convert_fields(self, f"{self.kind} trajectory")
        _check_span(self.kind, self.t_start, self.t_end)

    @property
    def smoothness(self) -> int:
        """Four: the fifth derivative jumps by 15120 (end - start) / (t_end - t_start)^5 at both times."""
        return 4

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        start, end, t_start, t_end = (_evaluated(v, scope) for v in (self.start, self.end, self.t_start, self.t_end))
        _check_span(self.kind, t_start, t_end)
        move = Piece(start, end - start, REST_TO_REST, t_start, t_end - t_start)
        return (t_start, t_end), (Piece(start), move, Piece(end))


@dataclass(frozen=True)
class ThreePhase(Trajectory):
    """From ``start`` to ``end`` by acceleration over ``t_blend``, constant speed, and deceleration over ``t_blend``.

    The reference function of document 000, eqs. (4.126)-(4.128), put right; constant before ``t_start`` and after ``t_end``.
    """

    kind: ClassVar[str] = "three-phase"
    start: Scalar
    end: Scalar
    t_start: Scalar
    t_end: Scalar
    t_blend: Scalar

    def __post_init__(self) -> None:
        convert_fields(self, f"{self.kind} trajectory")
        _check_span(self.kind, self.t_start, self.t_end)
        _check_blend(self.t_start, self.t_end, self.t_blend)

    @property
    def smoothness(self) -> int:
        """Four: the fifth derivative jumps by 840 (end - start) / ((t_end - t_start - t_blend) t_blend^4) at both ends."""
        return 4

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        start, end, t_start, t_end, t_blend = (
            _evaluated(v, scope) for v in (self.start, self.end, self.t_start, self.t_end, self.t_blend)
        )
        _check_span(self.kind, t_start, t_end)
        _check_blend(t_start, t_end, t_blend)
        cruise = t_end - t_start - t_blend  # tau - tau0: the time of the whole way at the constant speed
        way = (end - start) * (t_blend / cruise)
        phases = (
            # Eq. (4.126), with SPEED_UP.
            Piece(start, way, SPEED_UP, t_start, t_blend),
            # Eq. (4.127).
            Piece(start, end - start, (0.0, 1.0), t_start + t_blend / 2, cruise),
            # Eq. (4.128) prints 1 + c_I(tau - t), which comes down to 1 from above. It must be 1 - c_I(tau - t), the mirror
            # image of the acceleration: the same polynomial, run backwards from the end.
            Piece(end, -way, SPEED_UP, t_end, -t_blend),
        )
        return (t_start, t_start + t_blend, t_end - t_blend, t_end), (Piece(start), *phases, Piece(end))


@dataclass(frozen=True)
class Sequence(Trajectory):
    """Through ``values`` at ``times``, by the same profile from each to the next; constant before and after.

    With the profile ``"hold"`` a value stays until the next time.
    """

    kind: ClassVar[str] = "sequence"
    times: tuple[Scalar, ...]
    values: tuple[Scalar, ...]
    profile: Literal["rest-to-rest", "linear", "hold"] = "rest-to-rest"

    def __post_init__(self) -> None:
        convert_fields(self, f"{self.kind} trajectory")
        _check_points(self.kind, self.times, self.values)

    @property
    def smoothness(self) -> int:
        """Four for ``"rest-to-rest"``, 0 for ``"linear"``, -1 for ``"hold"``."""
        return {"rest-to-rest": 4, "linear": 0, "hold": -1}[self.profile]

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        times = [_evaluated(time, scope) for time in self.times]
        values = [_evaluated(value, scope) for value in self.values]
        _check_points(self.kind, times, values)
        moves = (
            Piece(values[i], values[i + 1] - values[i], PROFILES[self.profile], times[i], times[i + 1] - times[i])
            for i in range(len(times) - 1)
        )
        return times, (Piece(values[0]), *moves, Piece(values[-1]))


@dataclass(frozen=True)
class Sampled(Trajectory):
    """Samples and what joins them: a staircase, straight lines, or a spline with the not-a-knot end condition.

    Constant before the first and after the last sample. An SX expression grows with the number of samples (good for about a
    hundred); an MX expression looks its piece up in a table, whatever their number. SX cannot call :meth:`function`.
    """

    kind: ClassVar[str] = "sampled"
    times: tuple[float, ...]
    values: tuple[float, ...]
    interpolation: Interpolation = "linear"

    def __post_init__(self) -> None:
        convert_fields(self, f"{self.kind} trajectory")
        _check_points(self.kind, self.times, self.values)
        if self.interpolation == "quintic" and len(self.times) < 6:
            raise MechanismError(
                f"{self.kind} trajectory: quintic interpolation needs 6 samples, got {len(self.times)}; "
                "give more, or use 'cubic' or 'linear'",
                path=("interpolation",),
            )

    @classmethod
    def from_csv(cls, path: str | Path, column: str | None = None, interpolation: Interpolation = "linear") -> Sampled:
        """Return the samples in a CSV file with a header line, whose first column is time in s.

        ``column`` says which of the others to take; it may be left out when there is only one.

        Raises
        ------
        FileError
            When the file cannot be read or its numbers cannot be used; the message names the line.

        """
        times, values = read_samples(Path(path), column)
        try:
            return cls(times, values, interpolation)
        except MechanismError as error:
            raise MechanismError(f"{path}: {error}", path=error.path) from None

    @property
    def smoothness(self) -> int:
        """From the first to the last sample: -1 for ``"hold"``, 0 ``"linear"``, 2 ``"cubic"``, 4 ``"quintic"``.

        At the first and last sample itself a spline meets a constant, so its slope jumps there unless it is zero.
        """
        return {"hold": -1, "linear": 0, "cubic": 2, "quintic": 4}[self.interpolation]

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        return self._looked_up(t, order) if isinstance(t, ca.MX) else super().value(t, scope, order)

    def function(self, order: int = 0) -> ca.Function:
        """Return ``t -> value`` for this derivative as a CasADi function that finds its piece by bisection, also in C code."""
        t = ca.MX.sym("t")
        return ca.Function(f"trajectory_{order}", [t], [ca.MX(self._looked_up(t, order))], ["t"], ["value"])

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        return self._own_pieces

    @cached_property
    def _own_pieces(self) -> Pieces:
        times, values = np.array(self.times), np.array(self.values)
        match self.interpolation:
            case "hold":
                knots, columns = times, values[None, :-1]
            case "linear":
                knots, columns = times, np.array([values[:-1], np.diff(values) / np.diff(times)])
            case "cubic":
                from scipy.interpolate import CubicSpline  # slow to import, and seldom needed

                spline = CubicSpline(times, values)
                knots, columns = spline.x, spline.c[::-1]
            case "quintic":
                from scipy.interpolate import PPoly, make_interp_spline

                # Repeated knots at the ends make pieces without length; and there is none at the samples next to the ends.
                spline = PPoly.from_spline(make_interp_spline(times, values, k=5))
                whole = np.diff(spline.x) > 0
                knots, columns = np.unique(spline.x), spline.c[::-1, whole]
        pairs = zip(columns.T.tolist(), knots[:-1].tolist(), strict=True)
        inside = (Piece(0.0, 1.0, tuple(column), knot) for column, knot in pairs)
        return knots.tolist(), (Piece(self.values[0]), *inside, Piece(self.values[-1]))

    def _looked_up(self, t: ca.MX, order: int) -> Any:
        _check_order(order)
        t = _time(t)
        knots, (before, *inside, after) = self._own_pieces
        columns = [(before.offset,), *(piece.coefficients for piece in inside), (after.offset,)]
        rows = max(len(column) for column in columns)
        table = np.array([differentiate(column + (0.0,) * (rows - len(column)), order) for column in columns]).T
        if table.size == 0:
            return 0.0
        # low() gives k where grid[k] <= t < grid[k + 1], and the nearest where there is none.
        grid = [knots[0], *knots, knots[-1]]
        k = ca.low(ca.DM(grid), t, {"lookup_mode": "binary"})
        return horner(ca.vertsplit(ca.MX(ca.DM(table))[:, k]), t - ca.MX(ca.DM(grid[:-1]).T)[k])


TRAJECTORY_KINDS: dict[str, type[Trajectory]] = {cls.kind: cls for cls in (Constant, RestToRest, ThreePhase, Sequence, Sampled)}


@dataclass(frozen=True)
class _SampledFile:
    """What a table may say about samples in a file."""

    file: str
    column: str | None = None
    interpolation: Interpolation = "linear"


def read_trajectory(data: Any, base: Path = Path()) -> Trajectory:
    """Return the trajectory that plain data describe, as in a TOML file.

    A number or a formula is a constant. A table holds ``kind`` and the fields of that trajectory; a ``sampled`` one may
    name a CSV ``file``, relative to ``base``, and the ``column`` in it.
    """
    if isinstance(data, Trajectory):
        return data
    if not isinstance(data, Mapping):
        return Constant(data)
    if "kind" not in data:
        raise MechanismError(f"the trajectory lacks 'kind'. Kinds: {listed(TRAJECTORY_KINDS)}.")
    kind, rest = data["kind"], {key: value for key, value in data.items() if key != "kind"}
    if not isinstance(kind, str) or kind not in TRAJECTORY_KINDS:
        raise MechanismError(
            f"there is no trajectory of kind {kind!r}{closest(str(kind), TRAJECTORY_KINDS)} Kinds: {listed(TRAJECTORY_KINDS)}.",
            path=("kind",),
        )
    if kind == Sampled.kind and "file" in rest:
        source = fill(_SampledFile, rest, "a sampled trajectory from a file")
        return Sampled.from_csv(base / source.file, source.column, source.interpolation)
    return fill(TRAJECTORY_KINDS[kind], rest, f"a {kind} trajectory")


def differentiate(coefficients: tuple[float, ...], order: int) -> tuple[float, ...]:
    """Return the derivative of a polynomial, by rising powers; nothing beyond its degree."""
    return tuple(math.perm(power, order) * c for power, c in enumerate(coefficients))[order:]


def horner(coefficients: Row[Any], s: Any) -> Any:
    """Return the value of a polynomial, given by rising powers."""
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * s + coefficient
    return result


def _pick(t: Any, begins: Row[Any], branch: Callable[[int], Any], first: int, last: int) -> Any:
    """Return ``branch(i)`` for the piece from ``first`` to ``last`` that holds ``t``; piece i + 1 begins at ``begins[i]``."""
    if first == last:
        return branch(first)
    middle = (first + last) // 2
    is_before = t < begins[middle]
    if not isinstance(is_before, _SYMBOLIC):
        return _pick(t, begins, branch, *((first, middle) if is_before else (middle + 1, last)))
    before, after = _pick(t, begins, branch, first, middle), _pick(t, begins, branch, middle + 1, last)
    if not isinstance(before, _SYMBOLIC) and not isinstance(after, _SYMBOLIC) and before == after:
        return before
    return ca.if_else(is_before, before, after)


def _time(t: Any) -> Any:
    if isinstance(t, _SYMBOLIC):
        if t.is_scalar():
            return t
    elif not isinstance(t, str):
        try:
            return convert(float, t)
        except (MechanismError, TypeError, RuntimeError):
            pass
    raise MechanismError(f"a trajectory is evaluated at one finite time or one scalar CasADi expression, not at {t!r}")


def _evaluated(value: Scalar, scope: Mapping[str, Any]) -> Any:
    """Return a float or a CasADi expression."""
    result = evaluate(value, scope)
    if isinstance(result, _SYMBOLIC):
        return result
    if not math.isfinite(result):
        numbers = {name: scope[name] for name in sorted(scope) if name in getattr(value, "names", ())}
        known = listed(f"{name} = {number!r}" for name, number in numbers.items())
        raise MechanismError(f"'{value}' is {result} with {known}; a trajectory needs finite numbers")
    return float(result)


def _check_order(order: Any) -> None:
    if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= HIGHEST_ORDER:
        raise MechanismError(f"derivative {order!r} of a trajectory was asked for; there are 0 (the value) to {HIGHEST_ORDER}")


def _check_span(kind: str, t_start: Any, t_end: Any) -> None:
    if isinstance(t_start, float) and isinstance(t_end, float) and not t_end > t_start:
        raise MechanismError(
            f"{kind} trajectory: t_end is {t_end} s, t_start is {t_start} s; the end must come after the start",
            path=("t_end",),
        )


def _check_blend(t_start: Any, t_end: Any, t_blend: Any) -> None:
    if isinstance(t_blend, float) and not t_blend > 0:
        raise MechanismError(f"three-phase trajectory: t_blend is {t_blend} s; it must be positive", path=("t_blend",))
    if all(isinstance(time, float) for time in (t_start, t_end, t_blend)):
        half = (t_end - t_start) / 2
        # Half of 0.3 - 0.1 is below 0.1: the times are rounded, and so is their difference.
        rounding = 4 * sys.float_info.epsilon * max(abs(t_start), abs(t_end))
        if t_blend > half + rounding:
            raise MechanismError(
                f"three-phase trajectory: t_blend is {t_blend} s, more than half of the {t_end - t_start} s from t_start = "
                f"{t_start} s to t_end = {t_end} s; use at most {half} s",
                path=("t_blend",),
            )


def _check_points(kind: str, times: Row[Any], values: Row[Any]) -> None:
    if len(times) != len(values):
        raise MechanismError(
            f"{kind} trajectory: {len(times)} times but {len(values)} values; give one value for each time", path=("values",)
        )
    if len(times) < 2:
        raise MechanismError(f"{kind} trajectory: {len(times)} point(s) given; at least 2 are needed", path=("times",))
    for i in range(1, len(times)):
        early, late = times[i - 1], times[i]
        if isinstance(early, float) and isinstance(late, float) and not late > early:
            raise MechanismError(
                f"{kind} trajectory: times must rise: times[{i}] is {late} s after {early} s; sort them and drop repeated ones",
                path=("times",),
            )
