"""Rainflow counting of ranges by the ``rainflow`` library, at once or block by block.

The rule is that of ASTM E1049-85, section 5.4.4: what is left at the end, the residue, counts as half cycles. Everything here
is a *range* (peak to valley), never an amplitude.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, PluginError

IntArray = NDArray[np.int64]
#: Said with every result.
COUNTING_RULE = "rainflow, ASTM E1049-85 section 5.4.4"
RESIDUE_RULE = "residue as half cycles"
_NOTHING: FloatArray = np.zeros((0, 7))


def rainflow_library() -> ModuleType:
    """Return the ``rainflow`` module, or say how to install it."""
    try:
        import rainflow
    except ImportError:
        raise PluginError(
            "counting cycles needs the package 'rainflow'; install it with: pip install 'kingpost[fatigue]'"
        ) from None
    return rainflow


@dataclass(frozen=True, eq=False)
class Cycles:
    """The counted cycles of one signal; entry i of every array belongs to cycle i.

    ``start`` and ``end`` are sample numbers in the signal, ``start_value`` and ``end_value`` its values there. Half cycles have
    ``count`` 0.5, closed ones 1. The residue is the turning points that were still open at the end; the half cycles between
    them are among the counted ones.
    """

    range: FloatArray
    mean: FloatArray
    count: FloatArray
    start: IntArray
    end: IntArray
    start_value: FloatArray
    end_value: FloatArray
    residue_index: IntArray
    residue_value: FloatArray
    #: Number of samples that were counted.
    samples: int
    #: Excursions smaller than this, in the unit of the signal, were left out before counting.
    threshold: float = 0.0

    def __len__(self) -> int:
        return len(self.range)

    @property
    def total(self) -> float:
        """The number of cycles, a half cycle being half a one."""
        return float(self.count.sum())

    @property
    def largest_range(self) -> float:
        """The largest range, 0 where nothing was counted."""
        return float(self.range.max(initial=0.0))

    @cached_property
    def half_cycles(self) -> int:
        """How many of the entries are half cycles."""
        return int((self.count == 0.5).sum())

    @property
    def rule(self) -> str:
        """How these cycles were counted, in words."""
        return f"{COUNTING_RULE}, {RESIDUE_RULE}{threshold_words(self.threshold)}"


def threshold_words(threshold: float) -> str:
    """Return the end of a sentence that says what a hysteresis filter left out."""
    return f", excursions below {threshold:g} left out (hysteresis filter)" if threshold else ""


def count_cycles(values: ArrayLike, threshold: float = 0.0) -> Cycles:
    """Count the cycles of a signal.

    Parameters
    ----------
    values
        The signal, one number for each sample.
    threshold
        Excursions smaller than this (in the signal's unit) are left out first, see :func:`hysteresis`.

    """
    counter = CycleCounter(threshold)
    counter.add(values)
    return counter.result()


def turning_points(values: FloatArray) -> IntArray:
    """Return the sample numbers of the reversals, the first and the last sample included.

    Of a stretch of equal values the last sample is taken, as ``rainflow`` does. A signal that never changes has one reversal,
    its first sample.
    """
    moves = np.flatnonzero(values[1:] != values[:-1])
    if moves.size == 0:
        return np.zeros(min(len(values), 1), dtype=np.int64)
    rising = values[moves + 1] > values[moves]
    turns = moves[1:][rising[1:] != rising[:-1]]
    return np.concatenate([[0], turns, [len(values) - 1]]).astype(np.int64)


def hysteresis(values: FloatArray, threshold: float) -> tuple[IntArray, IntArray]:
    """Return which of ``values`` are turning points of excursions of at least ``threshold``.

    This is the racetrack filter: a peak stands once the signal has fallen by ``threshold`` below it, a valley once it has risen
    by as much above it. Two adjacent points that it keeps are never closer than ``threshold``, and the largest and smallest
    value stay if they are that far apart.

    Returns
    -------
    standing, open
        The points that stand whatever comes later, and those that depend on it: the latest extreme, or the smallest and the
        largest value of a signal that has not yet moved by ``threshold``.

    """
    points = values.tolist()
    if not points:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    low = high = first = 0
    for first, value in enumerate(points):
        if value <= points[low] and first:
            low = first
        elif value >= points[high]:
            high = first
        if points[high] - points[low] >= threshold:
            break
    else:
        return np.zeros(0, dtype=np.int64), np.unique([low, high]).astype(np.int64)
    standing, latest = [min(low, high)], max(low, high)
    rising = latest == high
    for i in range(first + 1, len(points)):
        ahead = points[i] - points[latest] if rising else points[latest] - points[i]
        if ahead >= 0.0:
            latest = i
        elif -ahead >= threshold:
            standing.append(latest)
            latest, rising = i, not rising
    return np.array(standing, dtype=np.int64), np.array([latest], dtype=np.int64)


@dataclass
class CycleCounter:
    """Counts a signal that comes in blocks; the result is, to the last bit, that of counting it at once.

    >>> counter = CycleCounter()
    >>> counter.add([-2, 1, -3, 5, -1])
    >>> counter.add([3, -4, 4, -2])
    >>> counter.result().total
    4.0
    """

    threshold: float = 0.0
    samples: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold < math.inf:
            raise KingpostError(f"the threshold of a hysteresis filter is {self.threshold}; give a finite number, 0 for none")
        self._library = rainflow_library()
        # What later samples are counted against: turning points that stand, and at the end those that may still move.
        self._index: IntArray = np.zeros(0, dtype=np.int64)
        self._value: FloatArray = np.zeros(0)
        self._closed: list[FloatArray] = []
        self._open: FloatArray = _NOTHING

    def add(self, values: ArrayLike) -> None:
        """Count the next block of samples."""
        block = np.asarray(values, dtype=float)
        if block.ndim != 1:
            raise KingpostError(f"cycles are counted in one signal at a time; got an array of shape {block.shape}")
        bad = np.flatnonzero(~np.isfinite(block))
        if bad.size:
            raise KingpostError(
                f"sample {self.samples + bad[0]} of the signal is {block[bad[0]]} ({bad.size} of {len(block)} samples are not "
                "finite). Leaving them out could hide a peak; repair the signal, or count the parts before and after on their "
                "own"
            )
        index = np.concatenate([self._index, np.arange(self.samples, self.samples + len(block))])
        value = np.concatenate([self._value, block])
        self.samples += len(block)
        turns = turning_points(value)
        index, value = index[turns], value[turns]
        if self.threshold:
            standing, moving = hysteresis(value, self.threshold)
            kept = np.concatenate([standing, moving])
            index, value = index[kept], value[kept]
            pending = len(moving)
        else:
            pending = 1
        self._count(index, value, pending)

    def _count(self, index: IntArray, value: FloatArray, pending: int) -> None:
        if len(index) <= pending:
            self._index, self._value, self._open = index, value, _NOTHING
            return
        ended = False

        def feed() -> Iterator[float]:
            nonlocal ended
            yield from value.tolist()
            ended = True
            yield float(value[-1])  # the library overlooks the last of two points; a repetition changes nothing else

        # The last point may still move, so what is counted before the points run out stands, and what comes after does not.
        closed: list[tuple[float, ...]] = []
        still_open: list[tuple[float, ...]] = []
        for cycle in self._library.extract_cycles(feed()):
            (still_open if ended else closed).append(cycle)
        numbers = np.append(index, index[-1])
        values = np.append(value, value[-1])
        done, self._open = (_located(part, numbers, values) for part in (closed, still_open))
        self._closed.append(done)
        # A closed cycle takes both its points away, a half cycle at the start of the signal its first.
        gone = np.concatenate([done[:, 3], done[done[:, 2] == 1.0, 4]]).astype(np.int64)
        left = ~np.isin(index, gone)
        self._index, self._value = index[left], value[left]

    def result(self) -> Cycles:
        """Return what has been counted so far, the residue as half cycles. More blocks may follow."""
        table = np.concatenate([*self._closed, self._open])
        return self._cycles(table, *_residue(self._index, self._value, self._open))

    def drained(self) -> Cycles:
        """Return the cycles that stand whatever comes later, and forget them: the next call, and the result, are without them.

        So a signal without end can be counted; the residue stays.
        """
        table = np.concatenate([_NOTHING, *self._closed])
        self._closed = []
        return self._cycles(table, np.zeros(0, dtype=np.int64), np.zeros(0))

    def copy(self) -> CycleCounter:
        """Return a counter that goes on from here by itself."""
        other = copy.copy(self)
        other._closed = list(self._closed)
        return other

    def _cycles(self, table: FloatArray, residue_index: IntArray, residue_value: FloatArray) -> Cycles:
        table.flags.writeable = False
        size, mean, count, start, end, start_value, end_value = table.T
        return Cycles(
            range=size,
            mean=mean,
            count=count,
            start=start.astype(np.int64),
            end=end.astype(np.int64),
            start_value=start_value,
            end_value=end_value,
            residue_index=residue_index,
            residue_value=residue_value,
            samples=self.samples,
            threshold=self.threshold,
        )


def _located(cycles: Iterable[tuple[float, ...]], numbers: IntArray, values: FloatArray) -> FloatArray:
    """Return the library's (range, mean, count, start, end) as rows: sample numbers for positions, and the values there."""
    table = np.fromiter((number for cycle in cycles for number in cycle), dtype=float).reshape(-1, 5)
    start, end = table[:, 3].astype(np.int64), table[:, 4].astype(np.int64)
    return np.column_stack([table[:, :3], numbers[start], numbers[end], values[start], values[end]])


def _residue(index: IntArray, value: FloatArray, still_open: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the turning points that are left once the last one, too, has been counted as if it stood.

    The ranges between them shrink strictly, or the rule would have counted more; a half cycle at the start of the signal, which
    the last point may have completed, is no larger than the one after it.
    """
    chain = still_open[still_open[:, 2] == 0.5]
    if len(chain) == 0:
        return index.copy(), value.copy()
    growing = np.flatnonzero(chain[1:, 0] >= chain[:-1, 0])
    chain = chain[growing[-1] + 1 :] if growing.size else chain
    numbers = np.append(chain[:, 3], chain[-1, 4]).astype(np.int64)
    return numbers, np.append(chain[:, 5], chain[-1, 6])
