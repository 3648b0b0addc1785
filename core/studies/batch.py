"""Many runs of one machine with different numbers, on several threads: the compiled loop needs no interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, SolverError
from kingpost.equations.integrator import Solver
from kingpost.kernel.kernel import Status, Stop, input_rows_in_memory
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import Values, resolve_values
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.drawn import machine_geometry
from kingpost.multibody.input_layout import InputLayout
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.results.turns import with_turns
from kingpost.simulation.grid import Grid
from kingpost.simulation.input_rows import HeldRows, InputRows, held_rows, input_courses, row_plan, rows_by_plan
from kingpost.simulation.other_numbers import Feed
from kingpost.simulation.problem import declared_start
from kingpost.simulation.run import Simulation
from kingpost.simulation.settings import RunChoices, RunSettings
from kingpost.simulation.signals import Signals, signals_by_name
from kingpost.simulation.simulate import ready, run_grid

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kingpost.kernel.lanes import Lanes, LaneStop
    from kingpost.simulation.small_angles import Tilts
    from kingpost.studies.starts import ScenarioTable


#: Steps in all runs together from which on a second compilation pays: a compiler takes about as long for an operation of a
#: step as a million steps do, and half of those is saved.
WORTH_COMPILING = 1_000_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Runs that are ready to go: everything derived, compiled and checked, one start state and parameter row for each."""

    simulation: Simulation
    scenarios: tuple[Mapping[str, float], ...]
    x0: FloatArray
    p: FloatArray
    rows: tuple[InputRows, ...]
    #: What carries several runs out at once; None: one after the other on each thread.
    lanes: Lanes | None = None
    #: How runs are carried out, and why not several at once, if they are not.
    note: str = "one after the other"

    def run(self, threads: int = 1, progress: Callable[[float], None] = lambda fraction: None) -> BatchHistory:
        """Carry the runs out. One that fails leaves NaN from then on, and a sentence in ``failures``."""
        grid, kernel = self.simulation.grid, self.simulation.kernel
        count = len(self.scenarios)
        channels = self.simulation.equations.channels
        values = np.full((count, grid.samples + 1, len(channels)), np.nan)
        failures: dict[int, str] = {}
        first = np.full(count, grid.t_start)
        values[:, 0] = kernel.sample(
            first, self.x0, np.array([rows.values[0] for rows in self.rows]).reshape(count, -1), self.p
        )

        def together(some: range) -> int:
            for k, stop in zip(some, self._marched(some, values), strict=True):
                if stop.status != Status.OK:
                    values[k, 1 + stop.steps // grid.substeps :] = np.nan
                    why = "the state or an output is not finite, a joint locks, or a step has no solution"
                    failures[k] = f"stopped at t = {stop.t:.6g} s: {why}"
                values[k] = with_turns(channels, values[k])
            return len(some)

        at_once = 1 if self.lanes is None else self.lanes.count
        done = 0
        with ThreadPoolExecutor(threads) as pool:
            for finished in pool.map(together, (range(count)[first : first + at_once] for first in range(0, count, at_once))):
                done += finished
                progress(done / count)
        values.flags.writeable = False
        from kingpost.simulation.small_angles import Tilts

        tilts = Tilts(self.simulation)
        records = tuple({**self._record(k), **self._tilted(k, tilts, values[k])} for k in range(count))
        return BatchHistory(grid.times, channels, values, self.scenarios, failures, records)

    def _marched(self, some: range, values: FloatArray) -> Sequence[Stop | LaneStop]:
        """Carry some runs out, put their outputs into ``values``, and return how each ended."""
        grid, every = self.simulation.grid, self.simulation.grid.substeps // self.rows[0].per_sample
        if self.lanes is not None:
            from kingpost.kernel.lanes import LaneRun

            runs = [LaneRun(self.x0[k], input_rows_in_memory(self.rows[k].values), self.p[k], values[k, 1:]) for k in some]
            return self.lanes.march(runs, grid.substeps, every, grid.t_start, grid.step)
        march, steps = self.simulation.kernel.march, (grid.substeps, grid.t_start, grid.step)
        return [
            march(values[k, 1:], *steps, self.x0[k], self.rows[k].values, self.p[k], at_once=True, every=every) for k in some
        ]

    def _tilted(self, k: int, tilts: Tilts, values: FloatArray) -> dict[str, Any]:
        """Return how far floating bodies left linear theory in a run, if they did."""
        from kingpost.simulation.small_angles import TiltWatch

        watch = TiltWatch(self.simulation, tilts, self.p[k])
        watch.look(self.simulation.grid.times, values)
        return {**watch.record(), "warnings": watch.warnings()} if watch.beyond else {}

    def _record(self, k: int) -> dict[str, Any]:
        """Return what the joint loads of a run need to be turned later."""
        loads, mechanism = self.simulation.equations.observed.loads, self.simulation.mechanism
        if loads is None:
            return {}
        parameters = dict(zip((parameter.name for parameter in mechanism.parameters), self.p[k].tolist(), strict=True))
        return {"loads": dict(loads.record), "geometry": machine_geometry(mechanism, parameters, self.simulation.plugins)}


@dataclass(frozen=True, eq=False)
class BatchHistory:
    """``values[k, i, j]`` is channel j at ``time[i]`` in scenario k."""

    time: FloatArray
    channels: tuple[Channel, ...]
    values: FloatArray
    scenarios: tuple[Mapping[str, float], ...]
    #: What went wrong, by number of the scenario.
    failures: Mapping[int, str]
    #: Provenance of each run, as far as its joint loads need it, and what is to be said of it.
    records: tuple[Mapping[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.scenarios)

    def __getitem__(self, k: int) -> History:
        """Return one run; refuse one that failed."""
        if k in self.failures:
            raise SolverError(f"scenario {k} {dict(self.scenarios[k])} {self.failures[k]}")
        return History(self.time, self.channels, self.values[k], self.records[k] if self.records else {})

    def channel(self, name: str) -> FloatArray:
        """Return one channel of all runs, a row for each."""
        names = [channel.name for channel in self.channels]
        if name not in names:
            return History(self.time, self.channels, self.values[0])[name]  # raises, with the closest name
        return self.values[:, :, names.index(name)]


def prepare_batch(
    mechanism: Mechanism,
    t_end: float,
    scenarios: Sequence[Mapping[str, float]],
    *,
    inputs: Signals | None = None,
    side_by_side: bool | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Batch:
    """Derive and compile once, and check every scenario.

    ``scenarios`` are settings as for :func:`kingpost.simulate`, whose other arguments are these, too. A fixed-step
    integrator is needed. Where all runs together have so many steps that it is worth a second compilation, several of them
    are carried out at once in the registers of the processor, each to the bits that it has on its own; ``side_by_side``
    demands that, or forbids it. ``note`` of the batch says what was chosen, and why.
    """
    if not scenarios:
        raise KingpostError("a batch needs at least one scenario")
    plugins = plugins or PluginSet()
    how = replace(RunSettings.of(choices).over(how or RunSettings()).selected(plugins), t_end=t_end)
    grid = run_grid(how, plugins)
    if isinstance(how.integrator, Solver):
        raise SolverError(f"a batch needs a fixed-step integrator such as rk4; '{how.integrator.name}' is a solver")
    from kingpost.studies.starts import common_starts, tabulated

    rows: list[InputRows] = []
    tables: list[ScenarioTable] = []

    def drive(assembly: Assembly, _: Values) -> tuple[InputLayout, FloatArray]:
        table = tabulated(assembly.mechanism, scenarios, list(declared_start(assembly)))
        tables.append(table)
        rows[:] = _rows_of_all(assembly, scenarios, table, inputs, grid, plugins)
        return rows[0].layout, rows[0].values[0]

    first = ready(mechanism, how, scenarios[0], plugins, grid, drive, rows)
    x0, good = common_starts(first, tables[0])
    p = tables[0].parameters.copy()
    for k in np.flatnonzero(~good).tolist():
        try:
            simulation = replace(first, feed=_fed(rows[k])).at(scenarios[k])
        except KingpostError as error:
            raise type(error)(f"scenario {k}: {error}") from None
        x0[k], p[k] = simulation.x0, simulation.p
    lanes, note = _lanes(first, len(scenarios), side_by_side)
    return Batch(first, tuple(scenarios), x0, p, tuple(rows), lanes, note)


def _lanes(simulation: Simulation, runs: int, wanted: bool | None) -> tuple[Lanes | None, str]:
    """Return what carries several runs out at once, if that is wanted or worth it and can be had, and a note on it."""
    steps = runs * simulation.grid.samples * simulation.grid.substeps
    if wanted is False or (wanted is None and (runs == 1 or steps < WORTH_COMPILING)):
        return None, "one after the other" + ("" if wanted is False else f": {steps} steps in all are too few to compile for")
    found = simulation.kernel.side_by_side
    if not isinstance(found, str):
        return found, f"{found.count} at once"
    if wanted:
        raise SolverError(f"'{simulation.mechanism.name}' cannot be run several times at once: {found}")
    return None, f"one after the other: {found}"


def _fed(rows: InputRows) -> Feed:
    """Return what feeds a run with rows that are there already."""
    return lambda values, grid: rows


def _rows_of_all(
    assembly: Assembly,
    scenarios: Sequence[Mapping[str, float]],
    table: ScenarioTable,
    inputs: Signals | None,
    grid: Grid,
    plugins: PluginSet,
) -> list[InputRows]:
    """Return the inputs of all scenarios in rows of one and the same make."""
    mechanism, names = assembly.mechanism, [state.name for state in assembly.states]
    signals = signals_by_name(mechanism, inputs, plugins)

    def resolved(k: int) -> Values:
        try:
            return resolve_values(mechanism, scenarios[k], names)
        except KingpostError as error:
            raise type(error)(f"scenario {k}: {error}") from None

    if not signals:
        layout = InputLayout(tuple(signal.name for signal in mechanism.inputs))
        return [
            HeldRows(layout, table.inputs[k], grid) if plain else held_rows(mechanism, resolved(k), grid)
            for k, plain in enumerate(table.plain)
        ]
    found = []
    for k in range(len(scenarios)):
        values = resolved(k)
        try:
            found.append((values, input_courses(mechanism, values, signals, grid, plugins)))
        except KingpostError as error:
            raise type(error)(f"scenario {k}: {error}") from None
    plan = row_plan([courses for _, courses in found], grid, fixed=True)
    return [rows_by_plan(plan, courses, values, grid, fixed=True) for values, courses in found]


def simulate_batch(
    mechanism: Mechanism,
    t_end: float,
    scenarios: Sequence[Mapping[str, float]],
    *,
    threads: int = 1,
    inputs: Signals | None = None,
    side_by_side: bool | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> BatchHistory:
    """Run a mechanism once for each of ``scenarios``; see :func:`prepare_batch`."""
    batch = prepare_batch(
        mechanism, t_end, scenarios, inputs=inputs, side_by_side=side_by_side, how=how, plugins=plugins, **choices
    )
    return batch.run(threads)
