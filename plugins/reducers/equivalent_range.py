"""Damage-equivalent ranges of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kingpost.base.channels import Channel
from kingpost.fatigue.equivalent import REFERENCE_FREQUENCY, SLOPES, check_slopes
from kingpost.studies.reducer import Accumulator, StreamingReducer, chosen_channels, names_of
from kingpost.studies.streaming import EquivalentRanges


@dataclass(frozen=True)
class EquivalentRangeOptions:
    """Of what.

    Parameters
    ----------
    channels
        Channels, or joints for their six loads.
    slopes
        Inverse slopes m.
    f_ref
        Reference frequency in Hz, N_eq = T f_ref.

    """

    channels: tuple[str, ...]
    slopes: tuple[float, ...] = SLOPES
    f_ref: float = REFERENCE_FREQUENCY

    def __post_init__(self) -> None:
        check_slopes(self.slopes)


class EquivalentRange(StreamingReducer):
    """Damage-equivalent ranges (DEL) of channels, by rainflow counting."""

    name = "equivalent-range"
    Options = EquivalentRangeOptions

    def channels(self, available: Sequence[Channel]) -> Sequence[str]:
        return chosen_channels(self.options.channels, names_of(available), f"reducer '{self.name}'")

    def begin(self, channels: Sequence[Channel]) -> Accumulator:
        return EquivalentRanges(names_of(channels), self.options.slopes, self.options.f_ref)
