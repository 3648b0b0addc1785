"""One number changed at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table
from kingpost.base.numbers import finite, shown
from kingpost.plugins.samplers.values import values_by_name
from kingpost.studies.sampler import Sample, Sampler

BASE = "base"


@dataclass(frozen=True)
class OneAtATimeOptions:
    """What is changed.

    Parameters
    ----------
    values
        For each parameter, constant input or start value the numbers that it takes while all others are as in the base case.
    base
        Numbers of the base case where they are not those of the model.

    """

    values: Table
    base: Table = field(default_factory=dict)


class OneAtATime(Sampler):
    """A base case, and others in which one number differs from it; only the base case counts for the year."""

    name = "one-at-a-time"
    Options = OneAtATimeOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.values = values_by_name(self.options.values, "values")
        self.base: dict[str, float] = {}
        for name, value in self.options.base.items():
            number = finite(value)
            if number is None:
                raise MechanismError(f"base: '{name}' = {shown(value)} is not a finite number", path=("base", name))
            self.base[name] = number
        for name, numbers in self.values.items():
            if self.base.get(name) in numbers:
                raise MechanismError(
                    f"'{name}' = {self.base[name]:g} is the base case already; leave it out of its values",
                    path=("values", name),
                )

    def count(self) -> int:
        return 1 + sum(len(numbers) for numbers in self.values.values())

    def cases(self) -> Iterator[Sample]:
        yield Sample(self.base, labels={"changed": BASE}, weight=1.0)
        for name, numbers in self.values.items():
            for number in numbers:
                yield Sample({**self.base, name: number}, labels={"changed": f"{name} = {number:.12g}"}, weight=0.0)
