"""Samples, and what joins them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.base.fields import convert_fields
from kingpost.base.sample_files import read_samples
from kingpost.mechanism.moves import check_points
from kingpost.mechanism.pieces import Piece, Pieces
from kingpost.mechanism.polynomials import Powers, differentiate, horner
from kingpost.mechanism.trajectory import NO_NAMES, Trajectory, as_time, check_order

Interpolation: TypeAlias = Literal["hold", "linear", "cubic", "quintic"]


@dataclass(frozen=True)
class SplinePiece(Piece):
    """A piece whose coefficients come from rounded samples of this size, ``span`` s apart: ``noise``."""

    span: float = 1.0
    noise: float = 0.0

    def size(self, t: float, order: int) -> float:
        return super().size(t, order) + self.noise * math.factorial(order) / self.span**order


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
        check_points(self.kind, self.times, self.values)
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

    def _continuous(self, scope: Mapping[str, Any]) -> Row[int]:
        knots, _ = self._own_pieces
        at_ends = min(0, self.smoothness)
        return (at_ends, *(self.smoothness,) * (len(knots) - 2), at_ends)

    @cached_property
    def _own_pieces(self) -> tuple[Row[float], Row[Piece]]:
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
        noise = float(np.abs(values).max())
        spans = np.diff(knots).tolist()
        inside = (
            SplinePiece(0.0, 1.0, Powers(tuple(column)), knot, span=span, noise=noise)
            for (column, knot), span in zip(pairs, spans, strict=True)
        )
        return knots.tolist(), (Piece(self.values[0]), *inside, Piece(self.values[-1]))

    def _looked_up(self, t: ca.MX, order: int) -> Any:
        check_order(order)
        t = as_time(t)
        knots, (before, *inside, after) = self._own_pieces
        columns = [(before.offset,), *(piece.polynomial.coefficients for piece in inside), (after.offset,)]
        rows = max(len(column) for column in columns)
        table = np.array([differentiate(column + (0.0,) * (rows - len(column)), order) for column in columns]).T
        if table.size == 0:
            return 0.0
        # low() gives k where grid[k] <= t < grid[k + 1], and the nearest where there is none.
        grid = [knots[0], *knots, knots[-1]]
        k = ca.low(ca.DM(grid), t, {"lookup_mode": "binary"})
        return horner(ca.vertsplit(ca.MX(ca.DM(table))[:, k]), t - ca.MX(ca.DM(grid[:-1]).T)[k])
