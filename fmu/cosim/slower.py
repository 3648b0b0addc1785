"""Components that step less often than values are exchanged: once in a whole number of communication steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.cosim.components.described import Described, PartnerError, Places, Running
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.description.system import CosimError

#: A component's step is a whole number of communication steps if it is so to this relative precision.
WHOLE_STEPS = 1e-9


def steps_together(described: Described, step: float) -> int:
    """Return how many communication steps a component takes in one: 1 but for FMUs whose own step is longer."""
    own = described.step if isinstance(described, FmuComponent) else None
    if own is None or own <= step * (1 + WHOLE_STEPS):
        return 1
    ratio = own / step
    count = round(ratio) if math.isfinite(ratio) else 0
    if not abs(ratio - count) <= WHOLE_STEPS * count:
        raise CosimError(
            f"component '{described.name}': its step of {own:g} s is no whole number of communication steps of {step:g} s",
            path=("components", described.name, "step"),
        )
    return count


def start_component(described: Described, places: Places, t_start: float, t_end: float, step: float) -> Running:
    """Return an instance in initialisation, of a component that steps as often as it wants to."""
    count = steps_together(described, step)
    return described.start(places, t_start, t_end) if count == 1 else Slower(described, places, t_start, t_end, count)


class Slower(Running):
    """A component that takes its inputs at the beginning of its long step and shows its outputs at the end of it.

    Between them the others see the outputs of the step before, as in libcosim.
    """

    by_hand = "it steps less often than the others"

    def __init__(self, described: Described, places: Places, t_start: float, t_end: float, count: int) -> None:
        self.name = described.name
        self.inputs, self.outputs = places.u, places.y
        # It stands at another time than the others, so nobody can ask it to go back, or to a time between its own.
        self.can_go_back = self.varies_steps = False
        self._places, self._t_end, self._count = places, t_end, count
        self._own = replace(places, u=np.zeros_like(places.u), y=np.zeros_like(places.y), r=np.zeros_like(places.r))
        self._partner = described.start(self._own, t_start, t_end)
        places.u[:] = self._own.u
        self._t = t_start
        #: The end of the step under way.
        self._until: float | None = None
        #: What was changed meanwhile, for its next step.
        self._changes: dict[str, float] = {}

    def begin(self) -> None:
        self._partner.begin()

    def give(self) -> None:
        self._own.u[:] = self.inputs
        self._partner.give()

    def take(self) -> None:
        self._partner.take()
        self.outputs[:] = self._own.y

    def record(self) -> None:
        if self._until is None:
            self._partner.record()
            self._places.r[:] = self._own.r

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        self._t, self._h = t + h, h
        if self._until is None:
            if self._changes:
                self._partner.change(self._changes)
                self._changes = {}
            self._own.u[:] = self.inputs
            self._until = min(t + self._count * h, max(self._t_end, t + h))
            self._partner.send(t, self._until - t, slopes)

    def receive(self) -> None:
        if self._until is not None and self._t >= self._until - WHOLE_STEPS * self._h:
            self._partner.receive()
            self.outputs[:] = self._own.y
            self._until = None

    def save(self) -> Any:
        raise PartnerError(self.name, "it steps less often than the others, so it cannot go back with them")

    def restore(self, state: Any) -> None:
        raise PartnerError(self.name, "it steps less often than the others, so it cannot go back with them")

    def forget(self, state: Any) -> None:
        pass

    def change(self, values: Mapping[str, float]) -> None:
        self._changes.update(values)

    def close(self) -> str:
        return self._partner.close()  # which does not wait for a step under way: it may be what hangs
