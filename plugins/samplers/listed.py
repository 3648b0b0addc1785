"""Cases as somebody lists them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.numbers import finite, shown
from kingpost.fatigue.states import PROBABILITY_ROUNDING
from kingpost.studies.sampler import Sample, Sampler

KEYS = ("name", "settings", "probability")


@dataclass(frozen=True)
class ListOptions:
    """Which cases.

    Parameters
    ----------
    cases
        Tables with ``name``, ``settings`` (numbers by name) and ``probability``, the part of the time; without any
        probability all are alike.
    label
        What the names are names of, such as ``position``.

    """

    cases: tuple[Any, ...]
    label: str = "position"


class Listed(Sampler):
    """A list of cases by name, such as positions of a crane."""

    name = "list"
    Options = ListOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        entries = self.options.cases
        if not entries:
            raise MechanismError("the list of cases is empty", path=("cases",))
        self.samples = tuple(_sample(entry, i, len(entries), self.options.label) for i, entry in enumerate(entries))
        _check(self.samples, entries, self.options.label)

    def count(self) -> int:
        return len(self.samples)

    def cases(self) -> Iterator[Sample]:
        return iter(self.samples)


def _sample(entry: Any, i: int, count: int, label: str) -> Sample:
    where: tuple[str | int, ...] = ("cases", i)
    if not isinstance(entry, Mapping):
        raise MechanismError(f"case number {i + 1} is {shown(entry)}; write a table with {listed(KEYS)}", path=where)
    for key in entry:
        if key not in KEYS:
            raise MechanismError(
                f"case number {i + 1} has no '{key}'{closest(key, KEYS)} It takes: {listed(KEYS)}.", path=where
            )
    name = entry.get("name", str(i + 1))
    settings = entry.get("settings", {})
    if not isinstance(name, str) or not isinstance(settings, Mapping):
        raise MechanismError(f"case number {i + 1} takes a text as 'name' and a table as 'settings'", path=where)
    for key, value in settings.items():
        if finite(value) is None:
            raise MechanismError(f"case '{name}': {key} = {shown(value)} is not a finite number", path=where)
    weight = finite(entry.get("probability", 1.0 / count))
    if weight is None or not 0.0 <= weight <= 1.0:
        raise MechanismError(
            f"case '{name}': probability = {shown(entry['probability'])} is not a number between 0 and 1", path=where
        )
    return Sample({str(key): float(value) for key, value in settings.items()}, labels={label: name}, weight=weight)


def _check(samples: tuple[Sample, ...], entries: tuple[Any, ...], label: str) -> None:
    names = [sample.labels[label] for sample in samples]
    for name in names:
        if names.count(name) > 1:
            raise MechanismError(f"two cases are called '{name}'; names must differ", path=("cases", names.index(name)))
    said = sum("probability" in entry for entry in entries)
    if 0 < said < len(entries):
        raise MechanismError(f"{said} of {len(entries)} cases have a probability; give it to all, or to none", path=("cases",))
    total = math.fsum(sample.weight for sample in samples)
    if abs(total - 1.0) > PROBABILITY_ROUNDING:
        raise MechanismError(f"the probabilities of the cases add up to {total:.9g}, not 1; correct them", path=("cases",))
