"""Times of one row beside those of others on a machine that is shared."""

from __future__ import annotations

import importlib
import math
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from kingpost.simulation.run import Simulation

#: Short slices in many rounds: a shared machine runs at changing speeds, and each row should meet its best one.
ROUNDS, SLICE, BUDGET = 60, 0.02, 4.0

Array = np.ndarray[Any, np.dtype[np.float64]]


# What is timed.


@dataclass
class Row:
    """One way to compute the machine's motion; what it cannot do stays None. States are in Kingpost's order."""

    name: str
    #: Evaluate the accelerations so many times; at (Q, V) and T they are ``vdot``.
    evaluate: Callable[[], object] | None = None
    evaluations: int = 1
    vdot: Array | None = None
    #: Take this many steps from (Q, V) at T.
    advance: Callable[[int], object] | None = None
    steps: int = 1
    #: The state after COMPARED_STEPS.
    after: Array | None = None
    run: Callable[[], object] | None = None
    times: dict[str, float] = field(default_factory=dict)

    def work(self) -> Iterator[tuple[str, Callable[[], object], int]]:
        """Yield what is timed, and how many times it is done in a call."""
        if self.evaluate:
            yield "evaluate", self.evaluate, self.evaluations
        if self.advance:
            yield "step", lambda: self.advance(self.steps), self.steps
        if self.run:
            yield "run", self.run, 1


def shortest(function: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of a call in s, over batches of up to some milliseconds; the longer ones were disturbed.

    It is time on the processor: none of the rows waits, and time given to other processes is not theirs.
    """
    calls, best, until = 1, math.inf, time.process_time() + seconds
    while True:
        started = time.process_time()
        for _ in range(calls):
            function()
        ended = time.process_time()
        best = min(best, (ended - started) / calls)
        if ended > until:
            return best
        if ended - started < 0.001:
            calls *= 2


def step_time(run: Simulation, seconds: float) -> float:
    """Return the shortest time of a step in s, in the compiled loop alone: a run also writes down how it was made."""
    grid = run.grid
    y = np.empty((grid.samples, len(run.channels)))
    steps = grid.samples * grid.substeps

    def march() -> None:
        run.kernel.march(y, grid.substeps, grid.t_start, grid.step, run.x0, run.inputs, run.p, at_once=True)

    return shortest(march, seconds) / steps


def processor_time() -> float:
    """Return the time on processors of this process and of those of its children that have ended, in s."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(rows: list[Row]) -> None:
    """Take the times of all rows in turn, many times over; each thing gets a time of BUDGET, or is done once."""
    work = [(row, *item) for row in rows for item in row.work()]
    spent = [0.0] * len(work)
    for _ in range(ROUNDS):
        for k, (row, name, function, count) in enumerate(work):
            if spent[k] < BUDGET:
                started = time.process_time()
                row.times[name] = min(row.times.get(name, math.inf), shortest(function, SLICE) / count)
                spent[k] += time.process_time() - started


def peer(name: str, package: str = "") -> ModuleType | None:
    """Return a module, or None after a word about it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name} is not installed and left out ({error}); pip install {package or name}")
        return None
