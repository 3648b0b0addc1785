"""Numbers of a run whose samples go by: extremes and moments, counted cycles, exceedances, stresses as mixes of loads.

Every accumulator gathers samples into lots of one fixed length before it looks at them, so that its numbers are the same bits
whatever the lengths of the blocks they came in, one sample or the whole run.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.fatigue.counting import CycleCounter, Cycles
from kingpost.fatigue.equivalent import EquivalentRange, check_slopes
from kingpost.fatigue.hotspots import check_matrix
from kingpost.fatigue.sn import SNCurve, miner_damage
from kingpost.studies.reducer import Accumulator, number_name

if TYPE_CHECKING:
    from typing_extensions import Self

#: Samples in a lot.
LOT = 2048


class Gathering(Accumulator):
    """Base of accumulators that take samples in lots of a fixed length; the last one may be shorter."""

    def __init__(self, columns: int) -> None:
        self.samples = 0
        self.first_time = self.last_time = math.nan
        self._time: FloatArray = np.empty(LOT)
        self._lot: FloatArray = np.empty((LOT, columns))
        self._filled = 0

    def add(self, time: FloatArray, values: FloatArray) -> None:
        """Take the next samples."""
        if values.shape != (len(time), self._lot.shape[1]):
            raise KingpostError(
                f"{len(time)} samples of {self._lot.shape[1]} channels came as an array of shape {values.shape}"
            )
        done = 0
        while done < len(time):
            count = min(len(time) - done, LOT - self._filled)
            rows = slice(self._filled, self._filled + count)
            self._time[rows], self._lot[rows] = time[done : done + count], values[done : done + count]
            self._filled, done = self._filled + count, done + count
            if self._filled == LOT:
                self._take_lot()
        if len(time):
            self.last_time = float(time[-1])
            self.first_time = float(time[0]) if self.samples == 0 else self.first_time
            self.samples += len(time)

    def _take_lot(self) -> None:
        if self._filled:
            self.take(self._time[: self._filled], self._lot[: self._filled])
        self._filled = 0

    def numbers(self) -> Mapping[str, float]:
        """Return the numbers; more samples may follow."""
        if not self.samples:
            raise KingpostError("there are no samples to make numbers of; leave less out at the start, or simulate longer")
        return self.settled().found()

    def settled(self) -> Self:
        """Return a copy that has looked at all that was added; this one can go on."""
        rest = copy.deepcopy(self)
        rest._take_lot()
        return rest

    @property
    def duration(self) -> float:
        """The time from the first to the last sample, s."""
        return self.last_time - self.first_time

    @abstractmethod
    def take(self, time: FloatArray, lot: FloatArray) -> None:
        """Look at a lot."""

    @abstractmethod
    def found(self) -> Mapping[str, float]:
        """Return the numbers, once all lots have been looked at."""


class Moments(Gathering):
    """Base of accumulators for extremes, mean values and spreads of columns, to which ``found`` gives names."""

    def __init__(self, columns: int) -> None:
        super().__init__(columns)
        self.largest, self.smallest = np.full(columns, -np.inf), np.full(columns, np.inf)
        self.last = np.full(columns, np.nan)
        self._shift, self._mean, self._squares = np.zeros(columns), np.zeros(columns), np.zeros(columns)
        self._count = 0

    def take(self, time: FloatArray, lot: FloatArray) -> None:
        """Merge the moments of a lot (Chan, Golub and LeVeque 1979), counted from the first sample, so that none are lost."""
        if not self._count:
            self._shift = lot[0].copy()
        np.maximum(self.largest, lot.max(axis=0), out=self.largest)
        np.minimum(self.smallest, lot.min(axis=0), out=self.smallest)
        self.last = lot[-1].copy()
        away = lot - self._shift
        count, mean = len(away), away.mean(axis=0)
        total, apart = self._count + count, mean - self._mean
        self._squares += ((away - mean) ** 2).sum(axis=0) + apart**2 * (self._count * count / total)
        self._mean = self._mean + apart * (count / total)
        self._count = total

    @property
    def mean(self) -> FloatArray:
        """The means."""
        return self._shift + self._mean

    @property
    def deviation(self) -> FloatArray:
        """The standard deviations about the means."""
        return np.sqrt(self._squares / max(self._count, 1))

    @property
    def root_mean_square(self) -> FloatArray:
        """The roots of the mean squares."""
        return np.sqrt(self.mean**2 + self._squares / max(self._count, 1))


@dataclass
class RangeSums:
    """Sums of n_i R_i^m over counted cycles for some slopes m, in parts of the largest range, so that no power overflows."""

    slopes: tuple[float, ...]
    largest: float = 0.0
    cycles: float = 0.0
    _sums: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        check_slopes(self.slopes)
        self._sums = np.zeros(len(self.slopes))

    def add(self, cycles: Cycles) -> None:
        """Add some cycles."""
        self.cycles += cycles.total
        here = cycles.largest_range
        if here == 0.0:
            return
        slopes: FloatArray = np.array(self.slopes)
        if here > self.largest:
            self._sums = self._sums * (self.largest / here) ** slopes
            self.largest = here
        parts = (cycles.range / self.largest)[:, None] ** slopes
        self._sums = self._sums + (cycles.count[:, None] * parts).sum(axis=0)

    def equivalent(self, slope: float, duration: float, f_ref: float) -> EquivalentRange:
        """Return the damage-equivalent range, as :func:`kingpost.fatigue.damage_equivalent_range` has it."""
        n_eq = duration * f_ref
        if not 0.0 < n_eq < math.inf:
            raise KingpostError(
                f"N_eq = T f_ref = {duration:g} s * {f_ref:g} Hz is not a number of cycles; simulate longer, or leave out less"
            )
        total = float(self._sums[self.slopes.index(slope)])
        return EquivalentRange(self.largest * (total / n_eq) ** (1.0 / slope), slope, n_eq)


class CountedColumns(Gathering):
    """Base of accumulators that count the cycles of columns; the residue is carried from lot to lot.

    The cycles are those of counting at once. Of those that stand, none are kept.
    """

    def __init__(self, columns: int, threshold: float = 0.0) -> None:
        super().__init__(columns)
        self._counters = [CycleCounter(threshold) for _ in range(columns)]

    def take(self, time: FloatArray, lot: FloatArray) -> None:
        """Count a lot, and let go of what stands."""
        for column, counter in enumerate(self._counters):
            counter.add(lot[:, column])
            self.count(column, counter.drained())

    def settled(self) -> Self:
        """Return a copy that has counted everything, the residue as half cycles."""
        rest = super().settled()
        for column, counter in enumerate(rest._counters):
            rest.count(column, counter.result())
        return rest

    @abstractmethod
    def count(self, column: int, cycles: Cycles) -> None:
        """Take cycles of a column."""

    def __deepcopy__(self, memo: dict[int, object]) -> CountedColumns:
        """Return a copy; the library that counts is a module, which none can be made of."""
        other = copy.copy(self)
        memo[id(self)] = other
        for name, value in vars(self).items():
            other.__dict__[name] = [item.copy() for item in value] if name == "_counters" else copy.deepcopy(value, memo)
        return other


class EquivalentRanges(CountedColumns):
    """Damage-equivalent ranges of columns."""

    def __init__(self, names: Sequence[str], slopes: Sequence[float], f_ref: float, threshold: float = 0.0) -> None:
        super().__init__(len(names), threshold)
        self.names, self.f_ref = tuple(names), f_ref
        self.sums = [RangeSums(tuple(slopes)) for _ in names]

    def count(self, column: int, cycles: Cycles) -> None:
        """Add cycles to the sums of a column."""
        self.sums[column].add(cycles)

    def found(self) -> Mapping[str, float]:
        """Return ``{"slew.Mx:del4": ...}``."""
        return {
            number_name(name, f"del{slope:g}"): sums.equivalent(slope, self.duration, self.f_ref).range
            for name, sums in zip(self.names, self.sums, strict=True)
            for slope in sums.slopes
        }


class RangeClasses(CountedColumns):
    """Base of accumulators for histograms of ranges: for each column the edges of its classes; what is beyond counts, too."""

    def __init__(self, edges: Sequence[ArrayLike], threshold: float = 0.0) -> None:
        super().__init__(len(edges), threshold)
        self.edges = [np.append(np.asarray(item, dtype=float), np.inf) for item in edges]
        self.counted = [np.zeros(len(item) - 1) for item in self.edges]

    def count(self, column: int, cycles: Cycles) -> None:
        """Sort cycles into classes; sums of halves and ones are exact."""
        self.counted[column] += np.histogram(cycles.range, self.edges[column], weights=cycles.count)[0]


class Damages(CountedColumns):
    """Base of accumulators for Miner's sums, largest ranges and cycles of stresses in Pa, with an S-N curve for each column."""

    def __init__(self, curves: Sequence[SNCurve], factors: Sequence[float], threshold: float = 0.0) -> None:
        super().__init__(len(curves), threshold)
        self.curves, self.factors = tuple(curves), tuple(factors)
        self.damage, self.cycles, self.largest = np.zeros(len(curves)), np.zeros(len(curves)), np.zeros(len(curves))

    def count(self, column: int, cycles: Cycles) -> None:
        """Add the damage of cycles."""
        self.damage[column] += miner_damage(cycles, self.curves[column], self.factors[column])
        self.cycles[column] += cycles.total
        self.largest[column] = max(self.largest[column], cycles.largest_range)


class Exceedances(Gathering):
    """Base of accumulators for samples beyond levels, and for how often columns go there; a sign of -1 is for what is below."""

    def __init__(self, columns: Sequence[int], levels: ArrayLike, signs: ArrayLike, width: int) -> None:
        super().__init__(width)
        self._columns = list(columns)
        self._signs = np.asarray(signs, dtype=float)
        self._levels = np.asarray(levels, dtype=float) * self._signs
        self.beyond, self.times = (np.zeros(len(self._columns), dtype=np.int64) for _ in range(2))
        self._last = np.zeros(len(self._columns), dtype=bool)

    def take(self, time: FloatArray, lot: FloatArray) -> None:
        """Count a lot; who is beyond at the first sample has gone there once."""
        beyond = lot[:, self._columns] * self._signs > self._levels
        before = np.vstack([self._last, beyond[:-1]])
        self.beyond += beyond.sum(axis=0)
        self.times += (beyond & ~before).sum(axis=0)
        self._last = beyond[-1]


class Mixed(Gathering):
    """Linear mixes of columns, such as stresses of joint loads, sigma = K loads, passed on to another accumulator."""

    def __init__(self, K: ArrayLike, channels: Sequence[str], inner: Gathering) -> None:
        super().__init__(len(channels))
        self.matrix, self.inner = check_matrix(K, channels), inner

    def take(self, time: FloatArray, lot: FloatArray) -> None:
        """Mix a lot; products of matrices depend on their shapes in the last bit, and those of lots are always the same."""
        self.inner.add(time, lot @ self.matrix.T)

    def found(self) -> Mapping[str, float]:
        """Return what the other one finds."""
        return self.inner.numbers()
