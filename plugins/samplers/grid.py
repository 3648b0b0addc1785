"""Every combination of some values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kingpost.base.fields import Table
from kingpost.plugins.samplers.values import values_by_name
from kingpost.studies.sampler import Sample, Sampler


@dataclass(frozen=True)
class GridOptions:
    """Values by name.

    Parameters
    ----------
    values
        For each parameter, constant input or start value a list of numbers, or ``{from = 0, to = 1, count = 5}``.

    """

    values: Table


class Grid(Sampler):
    """Every combination of values, each for the same part of the time."""

    name = "grid"
    Options = GridOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.values = values_by_name(self.options.values, "values")

    def count(self) -> int:
        return math.prod(len(numbers) for numbers in self.values.values())

    def cases(self) -> Iterator[Sample]:
        weight = 1.0 / self.count()
        for numbers in itertools.product(*self.values.values()):
            chosen = dict(zip(self.values, numbers, strict=True))
            yield Sample(chosen, labels=chosen, weight=weight)
