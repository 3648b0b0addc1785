"""A look at every connection after every step: numbers that are not finite, and values that explode."""

from __future__ import annotations

import ctypes
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
        #: How many looks there have been.
        self.looks = 0
        self._largest = np.zeros(len(values))
        #: For how many stretches each value has grown without a break, and how many times in all.
        self._stretches = np.zeros(len(values), dtype=np.int64)
        self._times = np.ones(len(values))
        owners = [name.partition(".")[0] for name in names]
        self._owners = list(dict.fromkeys(owners))
        self._parts = [np.array([owner == other for other in owners]) for owner in self._owners]

    def look(self, t: float) -> None:
        """Look at the values that were reached at ``t``; raise :class:`SolverError` if the run cannot go on."""
        values = self._values
        # A sum is finite only if its parts are; one that overflows is looked at closely.
        if not math.isfinite(values.sum()) and not np.isfinite(values).all():
            self._refuse(t)
        self._good[:] = values
        place = self.looks % STRETCH
        self._ring[place] = values
        self.looks += 1
        if place == STRETCH - 1 and self._growth > 0 and self._grows():
            self.judge(t)

    def save(self) -> tuple[Any, ...]:
        """Return all that it remembers."""
        kept = self._good, self._ring, self._largest, self._stretches, self._times
        return self.looks, *(array.copy() for array in kept)

    def restore(self, state: tuple[Any, ...]) -> None:
        """Remember what it did when that was saved."""
        self.looks = state[0]
        kept = self._good, self._ring, self._largest, self._stretches, self._times
        for array, before in zip(kept, state[1:], strict=True):
            array[...] = before

    def suspicion(self) -> str:
        """Return a sentence about values that were exploding when something else stopped the run, or an empty text."""
        steps = min(self.looks, STRETCH)
        if self._growth <= 0 or steps < 4:
            return ""
        # The ring in its order, and its two halves.
        rows = np.abs(self._ring[[(self.looks - steps + i) % STRETCH for i in range(steps)]])
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

    def _grows(self) -> bool:
        """Compare the last stretch with the one before, and say whether a value has grown for long."""
        largest = np.abs(self._ring).max(axis=0)
        for part in self._parts:
            largest[part & (largest < ROUNDING_SHARE * largest[part].max())] = 0.0
        grown = (largest > self._growth * self._largest) & (self._largest > 0)
        ratio = np.divide(largest, self._largest, out=np.ones(len(largest)), where=grown)
        self._stretches[:] = np.where(grown, self._stretches + 1, 0)
        self._times[:] = np.where(grown, self._times * ratio, 1.0)
        self._largest[:] = largest
        return bool(((self._stretches >= STRETCHES) & (self._times >= OSCILLATING)).any())

    def judge(self, t: float) -> None:
        """Raise :class:`SolverError` if what has grown for long up to ``t`` means that the coupling diverges."""
        wild = (self._stretches >= STRETCHES) & (self._times >= OSCILLATING)
        steps = np.diff(self._ring, axis=0)
        turns = (steps[1:] * steps[:-1] < 0).sum(axis=0)
        wild &= (turns >= TURNS) | (self._times >= STEADY)
        if not wild.any():
            return
        worst = int(np.argmax(np.where(wild, self._times, 0.0)))
        raise SolverError(
            f"the coupling diverges: '{self._names[worst]}' has grown {self._times[worst]:.3g} times within the last "
            f"{STRETCH * self._stretches[worst]} communication steps, to {self._largest[worst]:.3g} at t = {t:.9g} s. {CURES}"
        )

    def in_machine_code(self) -> WatchPart:
        """Return all that it remembers where machine code finds it, which looks as :meth:`look` does but judges nothing."""
        parts = np.array([self._owners.index(name.partition(".")[0]) for name in self._names], dtype=np.int64)
        most = np.zeros(len(self._owners))
        made = WatchPart(
            n=len(self._names), count=self.looks, stretch=STRETCH, growth=self._growth, rounding=ROUNDING_SHARE,
            oscillating=OSCILLATING, least=STRETCHES, values=self._values.ctypes.data, good=self._good.ctypes.data,
            ring=self._ring.ctypes.data, largest=self._largest.ctypes.data, times=self._times.ctypes.data,
            most=most.ctypes.data, stretches=self._stretches.ctypes.data, part=parts.ctypes.data,
        )  # fmt: skip
        made.kept = (self, parts, most)
        return made

    def looked(self, count: int) -> None:
        """Hear how many looks there have been in all, after some in machine code."""
        self.looks = count


class WatchPart(ctypes.Structure):
    """kp_watch in steps.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n", "count", "stretch")),
        *((name, ctypes.c_void_p) for name in ("values", "good", "ring", "largest", "times", "most", "stretches", "part")),
        *((name, ctypes.c_double) for name in ("growth", "rounding", "oscillating")),
        ("least", ctypes.c_int64),
    )
    kept: tuple[Any, ...] = ()
