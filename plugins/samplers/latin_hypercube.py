"""Points spread evenly over ranges of several numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table
from kingpost.base.numbers import shown
from kingpost.plugins.samplers.values import MOST, values_by_name
from kingpost.studies.sampler import Sample, Sampler


@dataclass(frozen=True)
class LatinHypercubeOptions:
    """Which points.

    Parameters
    ----------
    ranges
        For each parameter, constant input or start value its lowest and highest number.
    count
        How many points.
    seed
        Of the random numbers.
    logarithmic
        Names whose numbers are spread evenly in powers of ten.

    """

    ranges: Table
    count: int
    seed: int = 0
    logarithmic: tuple[str, ...] = ()


class LatinHypercube(Sampler):
    """Random points of which every n-th part of every range has exactly one.

    McKay, Beckman, Conover: A comparison of three methods for selecting values of input variables, Technometrics 21, 1979.
    """

    name = "latin-hypercube"
    Options = LatinHypercubeOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.ranges = values_by_name(self.options.ranges, "ranges", least=2)
        for name, ends in self.ranges.items():
            log = name in self.options.logarithmic
            if len(ends) != 2 or not ends[0] < ends[1] or (log and ends[0] <= 0.0):
                raise MechanismError(
                    f"the range of '{name}' is {list(ends)}; give its lowest and highest number{', above 0' if log else ''}",
                    path=("ranges", name),
                )
        for name in self.options.logarithmic:
            if name not in self.ranges:
                raise MechanismError(f"'{name}' is to be logarithmic, but has no range", path=("logarithmic",))
        if not 1 <= self.options.count <= MOST:
            raise MechanismError(f"count = {shown(self.options.count)}: give 1 point or more, up to {MOST}", path=("count",))
        if self.options.seed < 0:
            raise MechanismError(f"seed = {shown(self.options.seed)}: give a whole number, 0 or more", path=("seed",))

    def count(self) -> int:
        return int(self.options.count)

    def cases(self) -> Iterator[Sample]:
        count, random = self.count(), np.random.default_rng(self.options.seed)
        columns = []
        for name, (low, high) in self.ranges.items():
            parts = (random.permutation(count) + random.random(count)) / count
            if name in self.options.logarithmic:
                columns.append(np.exp(math.log(low) + parts * math.log(high / low)))
            else:
                columns.append(low + parts * (high - low))
        for row in zip(*(column.tolist() for column in columns), strict=True):
            chosen = dict(zip(self.ranges, row, strict=True))
            yield Sample(chosen, labels=chosen, weight=1.0 / count)
