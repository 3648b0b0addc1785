"""A look at every connection after every step: numbers that are not finite, and values that explode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError

#: Communication steps in a stretch whose largest values are compared with those of the one before.
STRETCH = 20
#: Stretches in a row in which a value must have grown, and how many times in all if it oscillates from step to step, and if it
#: does not: a machine that falls over grows smoothly, too, but not by so much.
STRETCHES, OSCILLATING, STEADY = 4, 100.0, 1e10
#: Turns in a stretch from which on a value counts as oscillating: slower motions are resolved by the communication step.
TURNS = 6
#: Values that are so much smaller than the largest one of their component are rounding errors, which may grow.
ROUNDING_SHARE = 1e-12
CURES = (
    "Such a coupling is unstable where one side's inertia outweighs the other's, and shorter steps do not cure it. Use a "
    "smaller mass ratio, let one side take the interface inertia of the other (docs/cosim.md; then shorter steps help), or "
    "take the master 'iterated'"
)


class Watch:
    """Watches a vector of values over the steps of a run; ``names`` are told when one goes wrong."""

    def __init__(self, names: Sequence[str], values: FloatArray, growth: float) -> None:
        self._names, self._values, self._growth = names, values, growth
        self._good = values.copy()
        self._ring = np.zeros((STRETCH, len(values)))
        self._count = 0
        self._largest = np.zeros(len(values))
        #: For how many stretches each value has grown without a break, and how many times in all.
        self._stretches = np.zeros(len(values), dtype=int)
        self._times = np.ones(len(values))
        owners = [name.partition(".")[0] for name in names]
        self._parts = [np.array([owner == other for other in owners]) for owner in dict.fromkeys(owners)]

    def look(self, t: float) -> None:
        """Look at the values that were reached at ``t``; raise :class:`SolverError` if the run cannot go on."""
        values = self._values
        # A sum is finite only if its parts are; one that overflows is looked at closely.
        if not math.isfinite(values.sum()) and not np.isfinite(values).all():
            self._refuse(t)
        self._good[:] = values
        place = self._count % STRETCH
        self._ring[place] = values
        self._count += 1
        if place == STRETCH - 1 and self._growth > 0:
            self._compare(t)

    def save(self) -> tuple[Any, ...]:
        """Return all that it remembers."""
        kept = self._good, self._ring, self._largest, self._stretches, self._times
        return self._count, *(array.copy() for array in kept)

    def restore(self, state: tuple[Any, ...]) -> None:
        """Remember what it did when that was saved."""
        self._count = state[0]
        self._good, self._ring, self._largest, self._stretches, self._times = (array.copy() for array in state[1:])

    def suspicion(self) -> str:
        """Return a sentence about values that were exploding when something else stopped the run, or an empty text."""
        steps = min(self._count, STRETCH)
        if self._growth <= 0 or steps < 4:
            return ""
        # The ring in its order, and its two halves.
        rows = np.abs(self._ring[[(self._count - steps + i) % STRETCH for i in range(steps)]])
        before, after = rows[: steps // 2].max(axis=0), rows[steps // 2 :].max(axis=0)
        for part in self._parts:
            before[part & (after < ROUNDING_SHARE * after[part].max())] = 0.0
        times = np.divide(after, before, out=np.ones(len(after)), where=before > 0)
        worst = int(np.argmax(times)) if len(times) else 0
        if not len(times) or times[worst] < OSCILLATING:
            return ""
        return (
            f" Before that the coupling had begun to diverge: '{self._names[worst]}' had grown {times[worst]:.3g} times within "
            f"the last {steps} communication steps, to {after[worst]:.3g}. {CURES}"
        )

    def _refuse(self, t: float) -> None:
        bad = ~np.isfinite(self._values)
        first = int(np.argmax(bad))
        more = int(bad.sum()) - 1
        owner = self._names[first].partition(".")[0]
        last = ", ".join(
            f"{name} = {value:.6g}" for name, value in zip(self._names, self._good, strict=True) if name.startswith(f"{owner}.")
        )
        raise SolverError(
            f"component '{owner}': '{self._names[first]}' is {self._values[first]} at t = {t:.9g} s, though the component "
            f"reports success{f' ({more} more values are not finite)' if more else ''}. Last good values: {last}"
        )

    def _compare(self, t: float) -> None:
        largest = np.abs(self._ring).max(axis=0)
        for part in self._parts:
            largest[part & (largest < ROUNDING_SHARE * largest[part].max())] = 0.0
        grown = (largest > self._growth * self._largest) & (self._largest > 0)
        ratio = np.divide(largest, self._largest, out=np.ones(len(largest)), where=grown)
        self._stretches = np.where(grown, self._stretches + 1, 0)
        self._times = np.where(grown, self._times * ratio, 1.0)
        self._largest = largest
        wild = (self._stretches >= STRETCHES) & (self._times >= OSCILLATING)
        if not wild.any():
            return
        steps = np.diff(self._ring, axis=0)
        turns = (steps[1:] * steps[:-1] < 0).sum(axis=0)
        wild &= (turns >= TURNS) | (self._times >= STEADY)
        if not wild.any():
            return
        worst = int(np.argmax(np.where(wild, self._times, 0.0)))
        raise SolverError(
            f"the coupling diverges: '{self._names[worst]}' has grown {self._times[worst]:.3g} times within the last "
            f"{STRETCH * self._stretches[worst]} communication steps, to {largest[worst]:.3g} at t = {t:.9g} s. {CURES}"
        )
