"""A worker of a study: one compiled run, and case after case of it with other numbers."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, SolverError
from kingpost.base.raised import in_words
from kingpost.modelfiles.opened import OpenedModel
from kingpost.multibody.drawn import machine_geometry
from kingpost.results.history import History
from kingpost.simulation.blocks import Block, StepWatch, columns_of
from kingpost.simulation.grid import WHOLE_RATIO
from kingpost.simulation.run import Simulation
from kingpost.simulation.small_angles import Tilts, TiltWatch
from kingpost.studies.case import Case, Outcome
from kingpost.studies.reducer import Accumulator, Reducer, StreamingReducer


@dataclass(frozen=True, eq=False)
class Worker:
    """Runs cases of a study, one after the other, or several in threads.

    Of a run, only what reducers need is kept, and of those that stream nothing: memory does not grow with the number of cases,
    nor, if all of them stream, with the length of runs.
    """

    simulation: Simulation
    opened: OpenedModel
    reducers: tuple[Reducer, ...]
    #: What is left out at the start, s.
    skip: float = 0.0
    #: CasADi's symbols must not be touched by two threads at once.
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        if not self.skipped <= self.simulation.grid.samples:
            grid = self.simulation.grid
            raise KingpostError(
                f"skip = {self.skip:g} s leaves nothing of runs from {grid.t_start:g} s on of "
                f"{grid.samples * grid.output_step:g} s; leave out less"
            )
        self._needed  # noqa: B018  # refuses channels that there are not

    @cached_property
    def skipped(self) -> int:
        """How many samples are left out at the start."""
        return math.ceil(self.skip / self.simulation.grid.output_step * (1 - WHOLE_RATIO))

    @cached_property
    def _needed(self) -> list[tuple[Reducer, tuple[Channel, ...], list[int]]]:
        """The reducers, each with the channels that it needs and their columns."""
        channels, found = self.simulation.channels, []
        for reducer in self.reducers:
            columns = columns_of(self.simulation, reducer.channels(channels))
            found.append((reducer, tuple(channels[column] for column in columns), columns))
        return found

    def settings(self, case: Case) -> dict[str, float]:
        """Return the numbers of a case, those of the whole study and of its sea included."""
        opened = self.opened
        sea: Mapping[str, float] = {}
        if case.sea:
            from kingpost.marine.seas import read_sea
            from kingpost.simulation.at_sea import sea_settings

            sea = sea_settings(self.simulation.mechanism, read_sea(case.sea), opened.plugins)
        return {**opened.settings, **sea, **case.settings}

    def at(self, case: Case) -> Simulation:
        """Return the run of a case."""
        with self._lock:
            return self.simulation.at(self.settings(case))

    def history(self, case: Case, keep: Sequence[str] | None = None) -> History:
        """Return a run as a whole, or some channels of it, from its start on."""
        with self._lock:
            return self.at(case).run(keep=keep)

    def run(self, case: Case) -> Outcome:
        """Run a case, and return its numbers, or why there are none: a case that fails does not end a study."""
        started = time.thread_time()
        numbers: dict[str, float] = {}
        error = outside = ""
        try:
            with contextlib.nullcontext() if self._parallel else self._lock:
                numbers, outside = self._numbers(case)
        except KingpostError as failure:
            error = str(failure)
        except Exception as failure:  # a reducer or force that somebody else wrote may raise anything
            error = f"not an error of ours: {in_words(failure)}"
        # Numbers of a hull that went where its theory does not hold must not be counted by anybody.
        return Outcome(case.key, {} if error or outside else numbers, error, time.thread_time() - started, outside)

    @property
    def _parallel(self) -> bool:
        """Whether several threads may run cases at once: only machine code needs no interpreter."""
        return self.simulation.kernel.backend == "c" and self.simulation.problem.stepper.fixed

    @cached_property
    def _tilts(self) -> Tilts:
        with self._lock:
            return Tilts(self.simulation)

    def _numbers(self, case: Case) -> tuple[dict[str, float], str]:
        """Return the numbers of a case, and how it left linear theory, if it did."""
        simulation = self.at(case)
        takers = [_Taker.of(self, simulation, *needed) for needed in self._needed]
        watch, tilts = StepWatch(simulation), TiltWatch(simulation, self._tilts)
        try:
            for block in simulation.blocks():
                watch.look(block)
                counted = _after(block, self.skipped)
                if counted is not None:
                    with self._lock if self._tilts.symbolic else contextlib.nullcontext():
                        tilts.look(counted.time, counted.values)
                    for taker in takers:
                        taker.take(counted)
        except SolverError as error:
            with self._lock:
                notes = [f"Note: {note}." for note in (*watch.warnings(), *tilts.warnings())]
            raise SolverError(" ".join([str(error), *notes])) from None
        outside = "; ".join(f"{tilt.words}, beyond {tilts.limit:g} deg" for tilt in tilts.beyond)
        return _merged(takers), outside


@dataclass(eq=False)
class _Taker:
    """A reducer at work on a run: fed with its samples, or given its channels as a whole at the end."""

    reducer: Reducer
    channels: tuple[Channel, ...]
    columns: list[int]
    #: Of a reducer that streams.
    stream: Accumulator | None
    #: Room for the channels of one that does not, and how the run is described to it.
    values: FloatArray
    record: Mapping[str, object]
    times: list[FloatArray] = field(default_factory=list)
    filled: int = 0

    @staticmethod
    def of(
        worker: Worker, simulation: Simulation, reducer: Reducer, channels: tuple[Channel, ...], columns: list[int]
    ) -> _Taker:
        if isinstance(reducer, StreamingReducer):
            return _Taker(reducer, channels, columns, reducer.begin(channels), np.zeros((0, 0)), {})
        room = np.empty((simulation.grid.samples + 1 - worker.skipped, len(columns)))
        return _Taker(reducer, channels, columns, None, room, _record(simulation))

    def take(self, block: Block) -> None:
        values = block.values[:, self.columns]
        if self.stream is not None:
            self.stream.add(block.time, values)
            return
        self.values[self.filled : self.filled + len(block)] = values
        self.times.append(block.time)
        self.filled += len(block)

    def numbers(self) -> Mapping[str, float]:
        if self.stream is not None:
            return self.stream.numbers()
        return self.reducer.reduce(History(np.concatenate(self.times), self.channels, self.values, self.record))


def _record(simulation: Simulation) -> dict[str, object]:
    """Return what the joint loads of a run need to be turned, and judged."""
    problem = simulation.problem
    loads = simulation.equations.observed.loads
    if loads is None:
        return {}
    geometry = machine_geometry(problem.mechanism, problem.values.parameters, problem.plugins)
    return {"model": {"name": problem.mechanism.name}, "loads": dict(loads.record), "geometry": geometry}


def _after(block: Block, skipped: int) -> Block | None:
    """Return what is left of a block if so many samples of the run are left out."""
    rows = max(0, skipped - block.first)
    if rows >= len(block):
        return None
    return block if rows == 0 else Block(block.first + rows, block.time[rows:], block.values[rows:])


def _merged(takers: Sequence[_Taker]) -> dict[str, float]:
    """Return the numbers of all reducers; two may give the same number, but not two of one name."""
    found: dict[str, float] = {}
    for name, number, reducer in _all_numbers(takers):
        if name in found and found[name] != number and not (math.isnan(number) and math.isnan(found[name])):
            raise KingpostError(
                f"reducer '{reducer}' gives '{name}' = {number:g}, another one {found[name]:g}; give it another name"
            )
        found[name] = number
    return found


def _all_numbers(takers: Sequence[_Taker]) -> Iterator[tuple[str, float, str]]:
    for taker in takers:
        for name, number in taker.numbers().items():
            yield name, float(number), taker.reducer.name
