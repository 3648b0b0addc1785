"""Extreme loads: how they scatter over seeds, and what is to be expected in three hours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.studies.case_table import CaseTable, Label
from kingpost.studies.reducer import number_name
from kingpost.studies.summary.gumbel import FEWEST, THREE_HOURS, Gumbel, fit_gumbel

#: Conditions that are told of each channel: those with the largest mean extremes.
TOLD = 5
#: The probability that a design value is not exceeded in three hours.
FRACTILE = 0.9
#: A fit to fewer values than this is told to be a guess.
ENOUGH = 10
MAXIMA, MINIMA = "max", "min"


@dataclass(frozen=True, eq=False)
class Extreme:
    """The extremes of a channel under one condition, one for each seed or block of a run, as the sizes that they have.

    Of minima the values are as they are, below 0 most often; the fit is to their negatives.
    """

    channel: str
    side: str
    labels: dict[str, Label]
    weight: float
    values: FloatArray
    #: The run with the largest one.
    worst: str
    #: Length of time that each value is the extreme of, s.
    duration: float
    fit: Gumbel | None
    #: Why there is no fit, or what to know about it.
    note: str

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def spread(self) -> float:
        """The standard deviation over seeds; NaN for one."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else math.nan

    @property
    def largest(self) -> float:
        """The extreme of extremes."""
        return float(self.values.max() if self.side == MAXIMA else self.values.min())

    def expected(self, time: float = THREE_HOURS) -> Expected | None:
        """Return the most probable extreme in a time, and what it stays within with 90 %, both with limits of confidence."""
        if self.fit is None:
            return None
        ratio = time / self.duration
        moved = self.fit.moved(ratio)
        reduced = -math.log(-math.log(FRACTILE))
        numbers = (
            moved.mode, *self.fit.interval(0.0, ratio),
            float(moved.quantile(FRACTILE)), *self.fit.interval(reduced, ratio),
        )  # fmt: skip
        if self.side == MINIMA:
            a, low, high, b, low_b, high_b = (-number for number in numbers)
            numbers = (a, high, low, b, high_b, low_b)
        return Expected(time, *numbers)


@dataclass(frozen=True)
class Expected:
    """What is to be expected in a time (s), with limits of 90 % confidence."""

    time: float
    most_probable: float
    most_probable_low: float
    most_probable_high: float
    fractile: float
    fractile_low: float
    fractile_high: float


def find_extremes(table: CaseTable, channels: Sequence[str], duration: float, blocks: int = 1) -> tuple[Extreme, ...]:
    """Return the extremes of channels under the conditions in which they are the largest on average.

    Parameters
    ----------
    table
        The cases.
    channels
        Names of channels, without those of numbers.
    duration
        Length of the counted part of a run, s.
    blocks
        How many parts of a run have extremes of their own.

    """
    found = []
    for channel in channels:
        for side in (MAXIMA, MINIMA):
            found += _of_channel(table, channel, side, duration, blocks)
    return tuple(found)


def _of_channel(table: CaseTable, channel: str, side: str, duration: float, blocks: int) -> list[Extreme]:
    if not table.done.any():
        return []
    sign = 1.0 if side == MAXIMA else -1.0
    whole = sign * table.numbers(number_name(channel, side))
    groups, done = table.conditions, table.done
    count = groups.sums(done.astype(float))
    mean = np.divide(groups.sums(np.where(done, whole, 0.0)), count, out=np.full(len(count), -np.inf), where=count > 0)
    found = []
    for i in np.argsort(-mean, kind="stable")[:TOLD].tolist():
        if count[i] == 0:
            continue
        members = np.flatnonzero((groups.of == i) & done)
        if blocks > 1:
            parts = [table.numbers(number_name(channel, f"{side} {k + 1}"))[members] for k in range(blocks)]
            values = sign * np.concatenate(parts)
        else:
            values = whole[members]
        fit, note = _fitted(values)
        worst = table.keys[int(members[whole[members].argmax()])]
        weight = float(table.weight[groups.of == i].sum())
        found.append(Extreme(channel, side, groups.labelled(i), weight, sign * values, worst, duration / blocks, fit, note))
    return found


def _fitted(values: FloatArray) -> tuple[Gumbel | None, str]:
    if len(values) < FEWEST:
        return None, f"{FEWEST} seeds or more are needed for a distribution"
    try:
        fit = fit_gumbel(values)
    except KingpostError:
        return None, "all seeds give the same"
    few = f"{len(values)} values only; {ENOUGH} or more seeds would say more"
    return fit, few if len(values) < ENOUGH else ""
