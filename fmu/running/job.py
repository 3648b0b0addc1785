"""What is asked of an FMU, as plain data that can be handed to another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kingpost.fmu.instance.solvers import SolverName


@dataclass(frozen=True)
class Job:
    """A run: times, start values, what is recorded and what is fed, by names of variables."""

    t_start: float
    step: float
    #: Steps; there is one sample more.
    steps: int
    settings: Mapping[str, Sequence[Any]]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    solver: SolverName = "CVode"
    tolerance: float | None = None
    #: Whether the state is saved before every step, so that one which the FMU discards can be taken in shorter parts.
    saving: bool = False

    def time(self, k: int) -> float:
        """Return the time of sample ``k``: multiplied, not accumulated."""
        return self.t_start + k * self.step

    @property
    def t_end(self) -> float:
        """When the run ends."""
        return self.time(self.steps)
