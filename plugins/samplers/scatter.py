"""Sea states as often as they occur, from several sides, several times each."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table
from kingpost.base.numbers import finite, shown
from kingpost.fatigue.states import PROBABILITY_ROUNDING
from kingpost.studies.sampler import Sample, Sampler
from kingpost.studies.scatter import ScatterTable, SeaState, scatter_table

#: More seeds than this of one sea state are a slip of the pen.
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class ScatterOptions:
    """Which sea states.

    Parameters
    ----------
    scatter
        A file (.csv with columns Hs, Tp, probability or occurrences; .toml with ``[[states]]``), or rows [Hs, Tp, probability].
    spectrum
        The shape of the spectra.
    headings
        Where waves go to, in degrees from the vessel's x axis: 180 is a head sea. Numbers of the same probability, or rows
        [heading, probability].
    seeds
        How many times each sea state is run from each side, or the numbers themselves.
    components
        Waves that a sea is made of; 0 for as many as the model has.
    options
        Further words of the spectrum, such as gamma.
    rest
        ``"calm"``, if the table leaves time without load.
    common_seeds
        Whether every sea state and heading has the same seeds, as they are. By default they are drawn for each on its own, so
        that the chances of one sea state are not those of the next.

    """

    scatter: Any
    spectrum: str = "jonswap"
    headings: tuple[Any, ...] = (180.0,)
    seeds: Any = 1
    components: int = 0
    options: Table = field(default_factory=dict)
    rest: str | None = None
    common_seeds: bool = False


class Scatter(Sampler):
    """Sea states of a scatter table, each with several headings and seeds."""

    name = "scatter"
    Options = ScatterOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.table: ScatterTable = scatter_table(self.options.scatter, self.options.rest)
        self.headings = _headings(self.options.headings)
        self.seeds = _seeds(self.options.seeds)
        if self.options.components < 0:
            raise MechanismError(f"components = {self.options.components} is no number of waves", path=("components",))

    @cached_property
    def states(self) -> tuple[SeaState, ...]:
        """The sea states that occur at all."""
        return tuple(state for state in self.table.states if state.probability > 0.0)

    def count(self) -> int:
        return len(self.states) * len(self.headings) * len(self.seeds)

    def cases(self) -> Iterator[Sample]:
        for state in self.states:
            for heading, part in self.headings:
                weight = state.probability * part / len(self.seeds)
                for seed in self.seeds:
                    labels = {"Hs": state.hs, "Tp": state.tp, "heading": heading, "seed": seed}
                    yield Sample(sea=self._sea(state, heading, seed), labels=labels, weight=weight)

    def _sea(self, state: SeaState, heading: float, seed: int) -> str:
        own = seed if self.options.common_seeds else own_seed(state.hs, state.tp, heading, seed)
        words = {"Hs": state.hs, "Tp": state.tp, "heading": heading, "seed": own, **self.options.options}
        if self.options.components:
            words["components"] = self.options.components
        return f"{self.options.spectrum}:{','.join(f'{key}={_written(value)}' for key, value in words.items())}"


def own_seed(hs: float, tp: float, heading: float, seed: int) -> int:
    """Return the seed of a repetition of a sea state, the same wherever it stands in a table."""
    return zlib.crc32(f"{hs!r} {tp!r} {heading!r} {seed}".encode()) % 2**31


def _written(value: Any) -> str:
    """Return a number as short as it stays the same."""
    return f"{value:.17g}" if isinstance(value, float) and float(f"{value:g}") != value else _short(value)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _headings(given: tuple[Any, ...]) -> tuple[tuple[float, float], ...]:
    if not given:
        raise MechanismError("there is no heading; give some, such as [150, 165, 180]", path=("headings",))
    rows = [entry if isinstance(entry, list | tuple) else [entry, 1.0 / len(given)] for entry in given]
    found = []
    for entry in rows:
        numbers = [finite(value) for value in entry]
        if len(numbers) != 2 or None in numbers:
            raise MechanismError(
                f"heading {shown(entry)} is none; write degrees, or [degrees, probability]", path=("headings",)
            )
        heading, part = (float(number) for number in numbers if number is not None)
        if not -360.0 <= heading <= 360.0:
            raise MechanismError(f"heading {heading:g} is not between -360 and 360 degrees", path=("headings",))
        if not 0.0 <= part <= 1.0:
            raise MechanismError(f"the probability of heading {heading:g} is {part:g}, not between 0 and 1", path=("headings",))
        found.append((heading, part))
    if len({heading % 360.0 for heading, _ in found}) < len(found):
        raise MechanismError(f"a heading stands twice in {shown([heading for heading, _ in found])}", path=("headings",))
    total = math.fsum(part for _, part in found)
    if abs(total - 1.0) > PROBABILITY_ROUNDING:
        raise MechanismError(
            f"the probabilities of the headings add up to {total:.9g}, not 1; correct them", path=("headings",)
        )
    return tuple((heading, part) for heading, part in found if part > 0.0)


def _seeds(given: Any) -> tuple[int, ...]:
    if isinstance(given, int) and not isinstance(given, bool):
        if not 1 <= given <= MOST_SEEDS:
            raise MechanismError(f"seeds = {given}: give a number from 1 to {MOST_SEEDS}, or a list", path=("seeds",))
        return tuple(range(1, given + 1))
    if not isinstance(given, list | tuple) or not given:
        raise MechanismError(f"seeds = {shown(given)}: give a number of seeds, or a list of them", path=("seeds",))
    for seed in given:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise MechanismError(f"seed {shown(seed)} is not a whole number from 0 to 2147483647", path=("seeds",))
    if len(set(given)) < len(given):
        raise MechanismError(f"a seed stands twice in {shown(list(given))}: the same sea would count twice", path=("seeds",))
    return tuple(given)
