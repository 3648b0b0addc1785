"""Sampler plugins: which cases a study has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kingpost.registry.plugin import Plugin


@dataclass(frozen=True)
class Sample:
    """One choice of a sampler.

    Parameters
    ----------
    settings
        Parameters, constant inputs and start values by name.
    sea
        A sea in the words of a sea's description, empty for none.
    labels
        What a person tells the choices of the sampler apart by. A label called ``seed`` says that choices which differ in
        nothing else are repetitions under the same conditions.
    weight
        The part of the time that the choice stands for; those of a sampler add up to one at most.

    """

    settings: Mapping[str, float] = field(default_factory=dict)
    sea: str = ""
    labels: Mapping[str, float | str] = field(default_factory=dict)
    weight: float = 1.0


class Sampler(Plugin):
    """Base of sampler plugins. A study has every combination of what its samplers choose.

    The same options give the same choices in the same order, on every machine.
    """

    kind = "sampler"

    @abstractmethod
    def cases(self) -> Iterator[Sample]:
        """Yield the choices, one by one: there may be very many."""

    @abstractmethod
    def count(self) -> int:
        """Return how many choices there are, without making them."""
