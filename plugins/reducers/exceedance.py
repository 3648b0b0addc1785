"""How long, and how often, channels are beyond limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import Table
from kingpost.base.numbers import finite, shown
from kingpost.studies.reducer import Accumulator, StreamingReducer, chosen_channels, names_of, number_name
from kingpost.studies.streaming import Exceedances

SIDES = {"max": "above", "min": "below"}


@dataclass(frozen=True)
class ExceedanceOptions:
    """Of what.

    Parameters
    ----------
    limits
        For each channel a table with ``max``, ``min`` or both.

    """

    limits: Table

    def __post_init__(self) -> None:
        for channel, sides in self.limits.items():
            if not isinstance(sides, Mapping) or not sides:
                raise MechanismError(f"limits of '{channel}' are {shown(sides)}; write for example {{max = 1e5}}")
            for side, value in sides.items():
                if side not in SIDES:
                    raise MechanismError(
                        f"limits of '{channel}' have no '{side}'{closest(side, SIDES)} Sides: {listed(SIDES)}."
                    )
                if finite(value) is None:
                    raise MechanismError(f"limits of '{channel}': {side} = {shown(value)} is not a finite number")


class Exceedance(StreamingReducer):
    """The part of the time in which channels are beyond limits, and how many times they go there."""

    name = "exceedance"
    Options = ExceedanceOptions

    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        return chosen_channels(self.options.limits, names_of(available), f"reducer '{self.name}'")

    def begin(self, channels: Sequence[Channel]) -> Accumulator:
        return _NamedExceedances(names_of(channels), tuple(self._levels()))

    def _levels(self) -> Iterator[tuple[str, str, float]]:
        for channel, sides in self.options.limits.items():
            for side, level in sides.items():
                yield channel, side, float(level)


class _NamedExceedances(Exceedances):
    """Shares of the time and numbers of times beyond limits."""

    def __init__(self, names: Sequence[str], limits: Sequence[tuple[str, str, float]]) -> None:
        signs = [1.0 if side == "max" else -1.0 for _, side, _ in limits]
        columns = [names.index(channel) for channel, _, _ in limits]
        super().__init__(columns, [level for _, _, level in limits], signs, len(names))
        self.limits = limits

    def found(self) -> Mapping[str, float]:
        numbers = {}
        for i, (channel, side, level) in enumerate(self.limits):
            numbers[share_name(channel, side, level)] = float(self.beyond[i] / self.samples)
            numbers[number_name(channel, f"times {SIDES[side]} {level:g}")] = float(self.times[i])
        return numbers


def share_name(channel: str, side: str, level: float) -> str:
    """Return the name of the part of the time beyond a limit."""
    return number_name(channel, f"share {SIDES[side]} {level:g}")
