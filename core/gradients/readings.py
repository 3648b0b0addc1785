"""What is read from the samples of a run: single numbers, extremes, means and combinations, with their slopes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, listed
from kingpost.gradients.settling import settling_time
from kingpost.mechanism.load_request import LoadRequest
from kingpost.results.history import History

#: Derivatives of a number with respect to the samples of channels, by their names.
Slopes: TypeAlias = dict[str, FloatArray]
#: A time is that of a sample to this part of the time between two.
ON_SAMPLE = 1e-6
#: Two extremes that are not neighbours and are closer than this part of their size compete: which of them counts may change.
RIVALS = 1e-6


@dataclass(frozen=True, eq=False)
class Record:
    """The samples of a run, as far as a functional looks at them."""

    time: FloatArray
    columns: Mapping[str, FloatArray]


@dataclass
class Reading:
    """A number read from a record: its value, its slopes, and what to know of them."""

    value: float
    slopes: Slopes = field(default_factory=dict)
    #: Where extremes were found, by what was looked for, in s.
    places: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def combined(self, other: Reading, value: float, own: float, others: float) -> Reading:
        """Return the number ``value`` whose derivatives with respect to this and another reading are given."""
        slopes = {name: own * slope for name, slope in self.slopes.items()}
        for name, slope in other.slopes.items():
            slopes[name] = slopes[name] + others * slope if name in slopes else others * slope
        return Reading(value, slopes, {**self.places, **other.places}, [*self.warnings, *other.warnings])


@dataclass(frozen=True)
class Watched:
    """One channel, or the length of a vector of some; its absolute value, if that is wanted."""

    channels: tuple[str, ...]
    vector: bool = False
    absolute: bool = False

    @property
    def text(self) -> str:
        name = f"norm({', '.join(self.channels)})" if self.vector else self.channels[0]
        return f"abs {name}" if self.absolute else name

    def values(self, record: Record) -> FloatArray:
        """Return its samples."""
        if self.vector:
            return np.asarray(np.sqrt(sum(record.columns[name] ** 2 for name in self.channels)))
        values = record.columns[self.channels[0]]
        return np.abs(values) if self.absolute else values

    def slopes(self, record: Record, weights: FloatArray) -> Slopes:
        """Return the slopes of a number whose derivatives with respect to the samples of this signal are ``weights``."""
        if self.vector:
            length = self.values(record)
            shares = np.divide(weights, length, out=np.zeros_like(length), where=length > 0)
            return {name: shares * record.columns[name] for name in self.channels}
        name = self.channels[0]
        return {name: weights * np.sign(record.columns[name]) if self.absolute else weights.copy()}


class Functional(ABC):
    """What is asked for: a number read from a history."""

    @property
    @abstractmethod
    def channels(self) -> Iterator[str]:
        """The channels that are looked at; some may come twice."""

    @property
    def parts(self) -> Iterator[Functional]:
        """What it is made of, where that is something else than itself."""
        yield self

    @property
    def requests(self) -> Iterator[LoadRequest]:
        """The axes and points in which loads are wanted, where these are not the usual ones."""
        yield from ()

    def check(self, time: FloatArray) -> None:  # noqa: B027  # not everything looks at times
        """Refuse times that samples at ``time`` do not have, before there are any."""

    @abstractmethod
    def read(self, record: Record) -> Reading:
        """Return the number and its slopes."""

    def doubts(self, history: History) -> list[str]:
        """Return what to know of a run before this number of it is believed."""
        return []


@dataclass(frozen=True)
class Number(Functional):
    """A number."""

    value: float

    @property
    def channels(self) -> Iterator[str]:
        yield from ()

    def read(self, record: Record) -> Reading:
        return Reading(self.value)


@dataclass(frozen=True)
class Combination(Functional):
    """Two numbers, added, subtracted, multiplied or divided."""

    operator: str
    left: Functional
    right: Functional

    @property
    def channels(self) -> Iterator[str]:
        yield from self.left.channels
        yield from self.right.channels

    @property
    def parts(self) -> Iterator[Functional]:
        yield from self.left.parts
        yield from self.right.parts

    def check(self, time: FloatArray) -> None:
        self.left.check(time)
        self.right.check(time)

    def read(self, record: Record) -> Reading:
        left, right = self.left.read(record), self.right.read(record)
        a, b = left.value, right.value
        if self.operator == "/" and b == 0.0:
            raise KingpostError("the functional divides by a number that is 0 in this run")
        value, by_left, by_right = {
            "+": lambda: (a + b, 1.0, 1.0),
            "-": lambda: (a - b, 1.0, -1.0),
            "*": lambda: (a * b, b, a),
            "/": lambda: (a / b, 1.0 / b, -a / b**2),
        }[self.operator]()
        return left.combined(right, value, by_left, by_right)

    def doubts(self, history: History) -> list[str]:
        return [*self.left.doubts(history), *self.right.doubts(history)]


@dataclass(frozen=True)
class Measured(Functional):
    """A signal at one time, or what is made of its samples between two."""

    reading: str
    signal: Watched
    at: float | None = None
    begin: float | None = None
    end: float | None = None
    #: Inverse slope of a damage-equivalent range.
    slope: float | None = None
    #: Value and half width of the band of a settling time.
    near: float | None = None
    within: float | None = None

    @property
    def text(self) -> str:
        words = [*([] if self.at is not None else [self.reading]), self.signal.text]
        numbers = {"near": self.near, "within": self.within, "slope": self.slope, "at": self.at}
        for word, number in (*numbers.items(), ("from", self.begin), ("to", self.end)):
            words += [] if number is None else [word, f"{number:g}"]
        return " ".join(words)

    @property
    def channels(self) -> Iterator[str]:
        yield from self.signal.channels

    def check(self, time: FloatArray) -> None:
        rows = self._rows(time)
        if self.at is None and self.reading in (*_AVERAGES, "equivalent") and rows.stop - rows.start < 2:
            raise KingpostError(f"'{self.text}': one sample makes no {self.reading}; take a longer stretch")

    def read(self, record: Record) -> Reading:
        values, rows = self.signal.values(record), self._rows(record.time)
        weights = np.zeros(len(values))
        inside, time = values[rows], record.time[rows]
        if self.at is not None or self.reading in ("end", "start"):
            row = rows.start if self.at is not None or self.reading == "start" else rows.stop - 1
            weights[row] = 1.0
            return Reading(float(values[row]), self.signal.slopes(record, weights))
        if self.reading in ("max", "min", "range"):
            return self._extremes(record, rows, inside, weights)
        if self.reading == "equivalent":
            from kingpost.gradients.damage import equivalent_range

            value, weights[rows], warnings = equivalent_range(self.text, time, inside, self.slope or 0.0)
            return Reading(value, self.signal.slopes(record, weights), warnings=warnings)
        if self.reading == "settling":
            found = settling_time(self.text, time, inside, self.near or 0.0, self.within or 0.0)
            value, weights[rows], warnings = found
            return Reading(value, self.signal.slopes(record, weights), {self.text: value}, warnings)
        value, weights[rows] = _AVERAGES[self.reading](inside, _trapezia(time))
        return Reading(value, self.signal.slopes(record, weights))

    def _extremes(self, record: Record, rows: slice, inside: FloatArray, weights: FloatArray) -> Reading:
        signs = {"max": (1.0,), "min": (-1.0,), "range": (1.0, -1.0)}[self.reading]
        value, places, warnings = 0.0, {}, []
        for sign in signs:
            k = int(np.argmax(sign * inside))
            value += (sign if len(signs) > 1 else 1.0) * float(inside[k])
            weights[rows.start + k] += sign if len(signs) > 1 else 1.0
            found = float(record.time[rows.start + k])
            places[f"{'largest' if sign > 0 else 'smallest'} {self.signal.text}"] = found
            if (self.signal.absolute or self.signal.vector) and inside[k] == 0.0:
                warnings.append(
                    f"'{self.text}': it is 0 at {found:g} s, where it has a corner and no gradient; 0 is taken for it"
                )
            rival = _rival(sign * inside, k)
            if rival is not None:
                warnings.append(
                    f"'{self.text}': the samples at {found:g} s and {record.time[rows.start + rival]:g} s are equal to "
                    f"{RIVALS:g}; the gradient is that of the first, and changes where the other one takes its place"
                )
        return Reading(value, self.signal.slopes(record, weights), places, warnings)

    def _rows(self, time: FloatArray) -> slice:
        if self.at is not None:
            row = self._row(time, self.at)
            return slice(row, row + 1)
        begin = 0 if self.begin is None else self._row(time, self.begin)
        end = len(time) - 1 if self.end is None else self._row(time, self.end)
        if end < begin:
            raise KingpostError(f"'{self.text}': it ends at {time[end]:g} s, before it begins at {time[begin]:g} s")
        return slice(begin, end + 1)

    def _row(self, time: FloatArray, t: float) -> int:
        check_time(self.text, t, time)
        return int(np.argmin(np.abs(time - t)))


_AVERAGES: dict[str, Callable[[FloatArray, FloatArray], tuple[float, FloatArray]]] = {
    "integral": lambda y, h: (float(h @ y), h),
    "mean": lambda y, h: (float(h @ y) / h.sum(), h / h.sum()),
    "rms": lambda y, h: _root(float(h @ y**2) / h.sum(), h * y / h.sum()),
    "std": lambda y, h: _spread(y, h / h.sum()),
}


def _root(square: float, half_slopes: FloatArray) -> tuple[float, FloatArray]:
    """Return the root of a number with its slopes, given half those of the number; at zero it has none."""
    root = math.sqrt(max(square, 0.0))
    return root, half_slopes / root if root > 0.0 else np.zeros_like(half_slopes)


def _spread(y: FloatArray, parts: FloatArray) -> tuple[float, FloatArray]:
    away = y - parts @ y
    return _root(float(parts @ away**2), parts * away)


def _trapezia(time: FloatArray) -> FloatArray:
    """Return what each sample counts in the trapezoidal rule."""
    steps = np.diff(time)
    return np.asarray(np.concatenate([steps, [0.0]]) + np.concatenate([[0.0], steps])) / 2


def _rival(values: FloatArray, best: int) -> int | None:
    """Return another peak that is as high as the best one, if there is one apart from it."""
    peaks = np.flatnonzero((values[1:-1] >= values[:-2]) & (values[1:-1] >= values[2:])) + 1
    edges = [k for k, inner in ((0, 1), (len(values) - 1, len(values) - 2)) if len(values) > 1 and values[k] > values[inner]]
    close = [int(k) for k in (*peaks, *edges) if abs(k - best) > 1 and values[best] - values[k] <= RIVALS * abs(values[best])]
    # Samples of a level stretch are one peak.
    apart = [k for k in close if (values[min(k, best) : max(k, best)] < values[best] - RIVALS * abs(values[best])).any()]
    return apart[0] if apart else None


def check_time(text: str, t: float, time: FloatArray) -> None:
    """Refuse a time that is not one of the samples'."""
    step = float(time[1] - time[0]) if len(time) > 1 else 1.0
    if not time[0] - ON_SAMPLE * step <= t <= time[-1] + ON_SAMPLE * step:
        raise KingpostError(f"'{text}': the run goes from {time[0]:g} s to {time[-1]:g} s, and {t:g} s is outside of it")
    near = int(np.argmin(np.abs(time - t)))
    if abs(time[near] - t) > ON_SAMPLE * step:
        around = time[max(near - 1, 0) : near + 2]
        raise KingpostError(
            f"'{text}': there is no sample at {t:g} s, only at {listed(f'{item:.10g} s' for item in around)}; ask for one of "
            "these, or for another output step"
        )
