"""Trajectories made from others: slower ones, and sums with smooth corrections."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import chebyshev

from kingpost.base.errors import MechanismError
from kingpost.mechanism.pieces import Part, Pieces
from kingpost.mechanism.polynomials import HIGHEST_ORDER
from kingpost.mechanism.trajectory import NO_NAMES, Trajectory, as_time, check_order


@dataclass(frozen=True)
class _SlowPart:
    """A part that runs ``factor`` times slower from ``origin`` on."""

    part: Part
    origin: float
    factor: float

    def value(self, t: Any, order: int) -> Any:
        return self.part.value(self.origin + (t - self.origin) / self.factor, order) / self.factor**order

    def size(self, t: float, order: int) -> float:
        return self.part.size(self.origin + (t - self.origin) / self.factor, order) / self.factor**order

    def powers(self) -> tuple[float, Row[float]] | None:
        powers = self.part.powers()
        if powers is None:
            return None
        since, coefficients = powers
        later = self.origin + (since - self.origin) * self.factor
        return later, [c / self.factor**n for n, c in enumerate(coefficients)]


@dataclass(frozen=True)
class Slower(Trajectory):
    """Another trajectory, run ``factor`` times slower from ``t_start`` on; factors below one are faster."""

    kind: ClassVar[str] = "slower"
    part: Trajectory
    factor: float
    t_start: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise MechanismError(f"slower trajectory: the factor is {self.factor!r}; it must be positive", path=("factor",))

    @property
    def smoothness(self) -> int:
        """That of the trajectory that is slowed."""
        return self.part.smoothness

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        check_order(order)
        earlier = self.t_start + (as_time(t) - self.t_start) / self.factor
        return self.part.value(earlier, scope, order) / self.factor**order

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        begins, pieces = self.part._pieces(scope)
        later = [self.t_start + (begin - self.t_start) * self.factor for begin in begins]
        return later, [_SlowPart(piece, self.t_start, self.factor) for piece in pieces]

    def _continuous(self, scope: Mapping[str, Any]) -> Row[int]:
        return self.part._continuous(scope)

    def _corners(self) -> tuple[int, ...]:
        return self.part._corners()


@dataclass(frozen=True)
class _Nothing:
    """Zero."""

    def value(self, t: Any, order: int) -> Any:
        return 0.0

    def size(self, t: float, order: int) -> float:
        return 0.0

    def powers(self) -> tuple[float, Row[float]] | None:
        return 0.0, (0.0,)


@dataclass(frozen=True)
class _ChebyshevPart:
    """A sum of Chebyshev polynomials over an interval, evaluated by Clenshaw's rule: nothing cancels."""

    coefficients: tuple[float, ...]
    t_start: float
    t_end: float

    def value(self, t: Any, order: int) -> Any:
        half = (self.t_end - self.t_start) / 2
        x = (t - self.t_start) / half - 1
        series = chebyshev.chebder(np.array(self.coefficients), order) if order else np.array(self.coefficients)
        first: Any = 0.0
        second: Any = 0.0
        for coefficient in series[:0:-1].tolist():
            first, second = coefficient + 2 * x * first - second, first
        return (float(series[0]) + x * first - second) / half**order

    def size(self, t: float, order: int) -> float:
        half = (self.t_end - self.t_start) / 2
        series = chebyshev.chebder(np.array(self.coefficients), order) if order else np.array(self.coefficients)
        return float(np.abs(series).sum()) / half**order

    def powers(self) -> tuple[float, Row[float]] | None:
        half = (self.t_end - self.t_start) / 2
        return self.t_start + half, [c / half**n for n, c in enumerate(chebyshev.cheb2poly(self.coefficients).tolist())]


@dataclass(frozen=True)
class Bump(Trajectory):
    """Zero but between two times: (1 - x^2)^(n + 1) times a sum of Chebyshev polynomials in x from -1 to 1; C^n."""

    kind: ClassVar[str] = "bump"
    coefficients: tuple[float, ...]
    t_start: float
    t_end: float
    n: int = 6

    @property
    def smoothness(self) -> int:
        """The first n derivatives vanish at both ends."""
        return min(self.n, HIGHEST_ORDER)

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        window = chebyshev.poly2cheb(np.polynomial.polynomial.polypow([1.0, 0.0, -1.0], self.n + 1))
        series = chebyshev.chebmul(window, self.coefficients)
        inside = _ChebyshevPart(tuple(series.tolist()), self.t_start, self.t_end)
        return (self.t_start, self.t_end), (_Nothing(), inside, _Nothing())


@dataclass(frozen=True)
class _PartSum:
    """The sum of some parts."""

    parts: tuple[Part, ...]

    def value(self, t: Any, order: int) -> Any:
        return sum(part.value(t, order) for part in self.parts)

    def size(self, t: float, order: int) -> float:
        return sum(part.size(t, order) for part in self.parts)

    def powers(self) -> tuple[float, Row[float]] | None:
        every = [part.powers() for part in self.parts]
        known = [powers for powers in every if powers is not None]
        if len(known) < len(every):
            return None
        # That of the highest degree stays where it is: shifts of long polynomials cost digits.
        origin = max(known, key=lambda powers: len(powers[1]))[0]
        shifted = [np.polynomial.Polynomial(row)(np.polynomial.Polynomial([origin - since, 1.0])) for since, row in known]
        return origin, sum(shifted, start=np.polynomial.Polynomial([0.0])).coef.tolist()


@dataclass(frozen=True)
class Sum(Trajectory):
    """The sum of some trajectories."""

    kind: ClassVar[str] = "sum"
    parts: tuple[Trajectory, ...]

    @property
    def smoothness(self) -> int:
        """The least of all parts."""
        return min(part.smoothness for part in self.parts)

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        return sum(part.value(t, scope, order) for part in self.parts)

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        every = [part._numbers(scope) for part in self.parts]
        begins = sorted({begin for own, _ in every for begin in own})
        # The piece that holds from a time on is that after the last of its own beginnings.
        pieces = [
            _PartSum(tuple(pieces[0 if since is None else bisect_right(own, since)] for own, pieces in every))
            for since in (None, *begins)
        ]
        return begins, pieces

    def _continuous(self, scope: Mapping[str, Any]) -> Row[int]:
        begins, _ = self._pieces(scope)
        orders = []
        for begin in begins:
            owners = [part for part in self.parts if begin in part._numbers(scope)[0]]
            orders.append(min(part._continuous(scope)[list(part._numbers(scope)[0]).index(begin)] for part in owners))
        return orders

    def _corners(self) -> tuple[int, ...]:
        return tuple(corner for part in self.parts for corner in part._corners())
