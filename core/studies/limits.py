"""Limits of channels: what must hold in a run so that one can work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.studies.reducer import number_name

#: A number of all runs, by its name.
Numbers: TypeAlias = Callable[[str], FloatArray]
#: What of a run a limit is held against, by the word of the limit; ``min`` is the only one that must not be undercut.
HELD = {"max": "max", "min": "min", "range": "range", "std": "std"}


@dataclass(frozen=True)
class Limit:
    """Limits of a channel.

    Parameters
    ----------
    channel
        The channel.
    max, min
        What its values must not exceed or undercut.
    range, std
        What its largest minus its smallest value, and its standard deviation, must not exceed.
    share
        The part of the time in which it may be above ``max`` or below ``min``.

    """

    channel: str
    max: float | None = None
    min: float | None = None
    range: float | None = None
    std: float | None = None
    share: float = 0.0

    def __post_init__(self) -> None:
        what = f"limits of '{self.channel}'"
        if not self.levels:
            raise MechanismError(f"{what} say nothing; give max, min, range or std, such as {{max = 1.2e5}}")
        if self.max is not None and self.min is not None and not self.min < self.max:
            raise MechanismError(f"{what}: min = {self.min:g} is not below max = {self.max:g}", path=("min",))
        for word in ("range", "std"):
            number = getattr(self, word)
            if number is not None and number < 0.0:
                raise MechanismError(f"{what}: {word} = {number:g} is below 0, so that no run could keep it", path=(word,))
        if not 0.0 <= self.share < 1.0:
            raise MechanismError(f"{what}: share = {self.share:g} is no part of the time; give 0 to 1", path=("share",))
        if self.share and self.max is None and self.min is None:
            raise MechanismError(f"{what}: share goes with max or min", path=("share",))

    @property
    def levels(self) -> dict[str, float]:
        """The numbers that are given, by word."""
        return {word: number for word in HELD if (number := getattr(self, word)) is not None}

    @property
    def statistics(self) -> tuple[str, ...]:
        """Which statistics of the channel a run must keep."""
        return tuple(HELD[word] for word in self.levels)

    @property
    def sides(self) -> dict[str, float]:
        """The sides beyond which part of the time may be spent."""
        return {word: number for word, number in self.levels.items() if word in ("max", "min") and self.share}

    def judged(self, numbers: Numbers) -> Iterator[Verdict]:
        """Yield for each level what runs have, and by how much that is too much."""
        for word, level in self.levels.items():
            value = numbers(number_name(self.channel, HELD[word]))
            if word in self.sides:
                beyond = "above" if word == "max" else "below"
                share = numbers(number_name(self.channel, f"share {beyond} {level:g}"))
                yield Verdict(self, word, level, value, share - self.share)
                continue
            over = level - value if word == "min" else value - level
            yield Verdict(self, word, level, value, over / abs(level) if level else over)

    def record(self) -> dict[str, Any]:
        """Return the limits as plain data."""
        return {"channel": self.channel, **self.levels, **({"share": self.share} if self.share else {})}


@dataclass(frozen=True, eq=False)
class Verdict:
    """A level of a limit, what each run has, and by how much it is beyond: parts of the level, or of the time.

    Above 0 is too much; NaN stands for runs that have no such number.
    """

    limit: Limit
    word: str
    level: float
    value: FloatArray
    excess: FloatArray

    @property
    def words(self) -> str:
        """The level in words, ``hook.z: range up to 1.5``."""
        side = "from" if self.word == "min" else "up to"
        share = f" but for {self.limit.share:g} of the time" if self.word in self.limit.sides else ""
        return f"{self.limit.channel}: {self.word} {side} {self.level:g}{share}"
