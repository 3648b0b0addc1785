"""A run, some samples at a time: for what is to be had of it without keeping all of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, KingpostError, SolverError, closest, listed
from kingpost.kernel.loops import Status
from kingpost.results.choosing import MOST_NAMED
from kingpost.results.history import History
from kingpost.results.turns import Turns
from kingpost.simulation.grid import check_memory
from kingpost.simulation.otherwise import counted, slow_warnings
from kingpost.simulation.provenance import run_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kingpost.simulation.run import Simulation

    Progress: TypeAlias = Callable[[float], None]
#: Samples in a block, if nobody says: some 100 kB of all channels of a crane.
BLOCK = 256
#: About so many states are kept on the way, to judge the step by.
THINNED = 100
#: And so many of the last ones.
TAIL = 64


@dataclass(frozen=True, eq=False)
class Block:
    """Samples that follow each other: the number of the first, their times, and all channels of the run.

    The arrays are filled anew for the next block.
    """

    first: int
    time: FloatArray
    values: FloatArray

    def __len__(self) -> int:
        return len(self.time)


def run_in_blocks(simulation: Simulation, samples: int = BLOCK, statistics: dict[str, Any] | None = None) -> Iterator[Block]:
    """Carry a run out and give so many samples at a time; see :meth:`kingpost.Simulation.blocks`.

    ``statistics`` gets the number of steps, or what a solver counts.
    """
    if samples < 1:
        raise KingpostError(f"a block of {samples} samples is none; give 1 or more")
    source = _marched if simulation.problem.stepper.fixed else _solved
    turns = Turns(simulation.channels)
    try:
        for first, rows in source(simulation, samples, {} if statistics is None else statistics):
            yield _with_inputs(simulation, first, turns.continued(rows))
    except SolverError as error:
        raise simulation.failures.explained(error) from None


def _with_inputs(simulation: Simulation, first: int, rows: FloatArray) -> Block:
    beyond = first + len(rows)
    moving = [simulation.rows.column(channel.name)[first:beyond] for channel in simulation.moving_inputs]
    return Block(first, simulation.grid.times_of(first, beyond), np.column_stack([rows, *moving]) if moving else rows)


def _begun(simulation: Simulation, samples: int) -> FloatArray:
    """Return room for the start and as many samples as there are in a block, the start in its place."""
    grid = simulation.grid
    y = np.empty((1 + min(samples, grid.samples), len(simulation.equations.channels)))
    first = grid.times_of(0, 1), simulation.x0[None, :], simulation.rows.values[:1]
    y[:1] = simulation.kernel.sample(*first, simulation.p)
    simulation.failures.check_outputs(grid.t_start, y[0])
    return y


def _marched(simulation: Simulation, samples: int, statistics: dict[str, Any]) -> Iterator[tuple[int, FloatArray]]:
    grid, rows = simulation.grid, simulation.rows
    y = _begun(simulation, samples)
    stops = simulation.kernel.march_in_parts(
        *(y[1:], grid.samples, grid.substeps, grid.t_start, grid.step, simulation.x0, rows.values, simulation.p),
        every=grid.substeps // rows.per_sample,
    )
    done = 0
    for stop in stops:
        good = stop.steps // grid.substeps
        statistics |= {"steps": stop.steps, **counted(simulation.problem.stepper, stop)}
        begin = 1 if done else 0  # the start goes with the first
        if good > done or not begin:
            yield done + begin, y[begin : 1 + good - done]
        simulation.refuse_stop(stop, y[1 + good - done] if stop.status == Status.OUTPUT_NOT_FINITE else None)
        done = good


def _solved(simulation: Simulation, samples: int, statistics: dict[str, Any]) -> Iterator[tuple[int, FloatArray]]:
    y = _begun(simulation, samples)
    filled, first = 1, 0
    try:
        for k, row in simulation.solved(statistics):
            if filled == len(y):
                yield first, y[:filled]
                filled, first = 0, k
            y[filled] = row
            filled += 1
    except SolverError:
        yield first, y[:filled]
        raise
    yield first, y[:filled]


def columns_of(simulation: Simulation, names: Sequence[str]) -> list[int]:
    """Return the columns of channels in the samples of a run; refuse what there is not."""
    known = {channel.name: column for column, channel in enumerate(simulation.channels)}
    for name in names:
        if name not in known:
            raise KingpostError(f"no channel '{name}'{closest(name, known)} Channels: {listed(known, most=MOST_NAMED)}.")
    return [known[name] for name in names]


def kept_run(simulation: Simulation, names: Sequence[str], progress: Progress = lambda fraction: None) -> History:
    """Carry a run out and keep some of its channels, in the order in which they are named."""
    from kingpost.simulation.small_angles import TiltWatch

    names = tuple(dict.fromkeys(names))
    columns = columns_of(simulation, names)
    check_memory(simulation.grid, 1 + len(names))
    values = np.empty((simulation.grid.samples + 1, len(names)))
    watch, tilts = StepWatch(simulation), TiltWatch(simulation)
    statistics: dict[str, Any] = {}
    started, finished = time.perf_counter(), 0

    def so_far(outcome: str) -> History:
        record = run_record(simulation, outcome, time.perf_counter() - started, statistics)
        channels = tuple(simulation.channels[column] for column in columns)
        record["channels"] = [vars(channel) for channel in channels]
        if outcome != "interrupted":
            warnings = watch.warnings()
            said = [*warnings, *slow_warnings(statistics, simulation.grid.step), *tilts.warnings(), *simulation.rows.notes]
            record |= {**tilts.record(), "warnings": said, "diverges": bool(warnings)}
        return History(simulation.grid.times_of(0, finished), channels, values[:finished], record)

    try:
        for block in run_in_blocks(simulation, statistics=statistics):
            finished = block.first + len(block)
            values[block.first : finished] = block.values[:, columns]
            watch.look(block)
            tilts.look(block.time, block.values)
            progress(block.first / simulation.grid.samples)
    except KeyboardInterrupt:
        reached = simulation.grid.times_of(finished - 1, finished)[0]
        raise Interrupted(f"interrupted at t = {reached:g} s", history=so_far("interrupted")) from None
    except SolverError as error:
        history = so_far("failed")
        message = " ".join([str(error), *(f"Note: {note}." for note in history.provenance["warnings"])])
        raise type(error)(message, history=history) from None
    progress(1.0)
    return so_far("complete")


class StepWatch:
    """Keeps some states of a run on its way, so that afterwards it can be said whether its step was too long."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._every = max(1, simulation.grid.samples // THINNED)
        self._samples: list[int] = []
        self._states: list[FloatArray] = []
        self._last: tuple[int, FloatArray] = (0, np.zeros((0, 0)))

    def look(self, block: Block) -> None:
        """Take what is needed of a block."""
        states = block.values[:, : self._simulation.states]
        for k in range(-block.first % self._every, len(block), self._every):
            self._samples.append(block.first + k)
            self._states.append(states[k].copy())
        # Those closely before the end: a step that is too long may have ended it.
        self._last = block.first + max(0, len(block) - TAIL), states[-TAIL:].copy()

    def warnings(self) -> list[str]:
        """Return what is to be said of the step."""
        if not self._samples:
            return []
        begin, tail = self._last
        kept = {**dict(zip(self._samples, self._states, strict=True)), **dict(enumerate(tail, begin))}
        samples = sorted(kept)
        times = np.array([self._simulation.grid.times_of(k, k + 1)[0] for k in samples])
        states, rows = np.array([kept[k] for k in samples]), self._simulation.rows
        inputs = np.array([rows.values[k * rows.per_sample if self._simulation.problem.stepper.fixed else k] for k in samples])
        return self._simulation.step_warnings(times, states, inputs)
