"""Trajectories one after another."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass
from typing import Any, ClassVar

from kingpost.base.errors import MechanismError
from kingpost.base.fields import convert_fields
from kingpost.base.formulas import Scalar
from kingpost.mechanism.moves import check_rising
from kingpost.mechanism.pieces import SYMBOLIC, Part, Pieces, pick
from kingpost.mechanism.trajectory import NO_NAMES, Trajectory, as_time, check_order, evaluated


@dataclass(frozen=True)
class Joined(Trajectory):
    """The first of ``parts`` until the first of ``times``, then the second until the second of them, and so on.

    Each part keeps its own times; nothing is shifted. Whether they meet, and how smoothly, is measured.
    """

    kind: ClassVar[str] = "joined"
    parts: tuple[Trajectory, ...]
    times: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        what = f"{self.kind} trajectory"
        convert_fields(self, what)
        if len(self.parts) < 2:
            raise MechanismError(f"{what}: {len(self.parts)} part(s) given; at least 2 are needed", path=("parts",))
        if len(self.times) != len(self.parts) - 1:
            raise MechanismError(
                f"{what}: {len(self.times)} times for {len(self.parts)} parts; give the {len(self.parts) - 1} time(s) at which "
                "each part follows the one before",
                path=("times",),
            )
        check_rising(what, self.times)

    @property
    def smoothness(self) -> int:
        """The highest derivative that does not jump, by the numbers at the joints; -1 while formulas leave them open."""
        try:
            return self.smoothness_between(-math.inf, math.inf)
        except MechanismError:
            return -1

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        check_order(order)
        t = as_time(t)
        times = self._times(scope)
        return pick(t, times, lambda i: self.parts[i].value(t, scope, order), 0, len(times))

    def _times(self, scope: Mapping[str, Any]) -> Row[Any]:
        times = [evaluated(time, scope) for time in self.times]
        check_rising(f"{self.kind} trajectory", times)
        return times

    def _corners(self) -> tuple[int, ...]:
        return tuple(corner for part in self.parts for corner in part._corners())

    def _pieces(self, scope: Mapping[str, Any]) -> Pieces:
        begins, pieces, _ = self._merged(scope)
        return begins, pieces

    def _continuous(self, scope: Mapping[str, Any]) -> Row[int]:
        return self._merged(scope)[2]

    def _merged(self, scope: Mapping[str, Any]) -> tuple[Row[float], Row[Part], Row[int]]:
        """Return where pieces begin, the pieces, and the derivatives that are continuous by construction."""
        times = self._times(scope)
        if any(isinstance(time, SYMBOLIC) for time in times):
            raise MechanismError(
                f"the times of a {self.kind} trajectory are symbols; give numbers for the names in its formulas"
            )
        begins: list[float] = []
        pieces: list[Part] = []
        continuous: list[int] = []
        for part, since, until in zip(self.parts, (-math.inf, *times), (*times, math.inf), strict=True):
            own_begins, own_pieces = part._numbers(scope)
            first, last = bisect_right(own_begins, since), bisect_left(own_begins, until)
            if math.isfinite(since):
                begins.append(since)
                continuous.append(-1)
            begins.extend(own_begins[first:last])
            continuous.extend(part._continuous(scope)[first:last])
            pieces.extend(own_pieces[first : last + 1])
        return begins, pieces, continuous
