"""One machine in this process: the compiled time loop of a run, called once for each frame."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError
from kingpost.equations.integrator import StepMap
from kingpost.fmu.live.controls import Control, Controls
from kingpost.fmu.live.subject import FRAME, HORIZON, LiveStoppedError, Subject
from kingpost.kernel.kernel import Status, Stop
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.results.turns import with_turns
from kingpost.simulation.blocks import TAIL
from kingpost.simulation.input_rows import InputRows
from kingpost.simulation.problem import checked_step
from kingpost.simulation.provenance import run_record
from kingpost.simulation.run import Simulation
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.signals import Signal
from kingpost.simulation.simulate import prepare
from kingpost.simulation.while_running import changed_parameters

#: Memory in bytes that states may take, the fewest and the most of them, and what one takes beside its numbers.
MEMORY, FEWEST, MOST, BESIDE = 64 * 2**20, 500, 100_000, 400


@dataclass(frozen=True, eq=False)
class MachineState:
    """A state of a machine; its arrays are never written to."""

    frame: int
    x: FloatArray
    held: FloatArray
    p: FloatArray
    row: FloatArray


class _PresentRow(InputRows):
    """The row of inputs that holds now, whichever step is asked for."""

    def in_step(self, steps: int, substeps: int) -> FloatArray:
        return np.asarray(self.values[0])


def ready_machine(
    mechanism: Mechanism,
    settings: Mapping[str, float],
    inputs: Mapping[str, Signal],
    how: RunSettings,
    plugins: PluginSet,
    frame: float | None = None,
    t_end: float | None = None,
) -> LiveMachine:
    """Return a machine that is ready to go, with frames of a whole number of steps."""
    how = how.selected(plugins)
    integrator = select(plugins.integrators, "rk4") if how.integrator is None else how.integrator
    if not isinstance(integrator, StepMap):
        raise SolverError(
            f"integrator '{getattr(integrator, 'name', integrator)}' chooses its own steps; a live session needs one with "
            "fixed steps, such as rk4"
        )
    step = checked_step(integrator, how.step)
    length = step * max(1, round((FRAME if frame is None else frame) / step))
    begin = how.t_start or 0.0
    span = (begin + HORIZON if t_end is None else t_end) - begin
    frames = max(1, math.ceil(span / length * (1 - 1e-9))) if math.isfinite(span) else 1
    how = replace(how, step=step, output_step=length, t_end=begin + frames * length)
    return LiveMachine(prepare(mechanism, settings=settings, inputs=inputs, how=how, plugins=plugins))


class LiveMachine(Subject):
    """A run that is ready to go, advanced frame by frame; without changes it gives the bits of that run."""

    def __init__(self, simulation: Simulation) -> None:
        problem, grid, rows = simulation.problem, simulation.grid, simulation.rows
        mechanism = problem.mechanism
        self._simulation, self._nx = simulation, simulation.states
        self._parameters = mechanism.parameters
        self.name, self.channels = mechanism.name, simulation.channels
        self.t_start = self.t = grid.t_start
        self.t_end, self.frame = grid.t_start + grid.samples * grid.output_step, grid.output_step
        self.notes = tuple(rows.notes)
        names = rows.layout.names
        moving = {name for name in names if name in rows.sources or name in rows.layout.moving}
        inputs = {signal.name: signal for signal in mechanism.inputs}
        self._places = {name: i for i, name in enumerate(names) if name not in moving}
        self._columns = np.array(list(self._places.values()), dtype=np.intp)
        self._moving = [names.index(channel.name) for channel in simulation.moving_inputs]
        items = {
            name: Control(name, "input", inputs[name].unit, float(rows.values[0, i]), description=inputs[name].description)
            for name, i in self._places.items()
        }
        items |= {
            parameter.name: Control(
                parameter.name, "parameter", parameter.unit, problem.values.parameters[parameter.name], parameter.minimum,
                parameter.maximum, description=parameter.description,
            )
            for parameter in mechanism.shown_parameters
        }  # fmt: skip
        fixed = dict.fromkeys(moving, "it moves by itself")
        for quantity in (*mechanism.coordinates, *mechanism.speeds):
            fixed[quantity.name] = "it is part of the state; change what moves it"
        self.controls = Controls(f"'{mechanism.name}'", items, fixed)
        self._n, self._per_frame = 0, rows.per_sample
        # Rows of their own, which are written to as inputs change; a single one where none moves by itself.
        still = len(rows.values) > 1 and rows.values.strides[0] == 0
        self._u = np.array(rows.values[:1] if still else rows.values, dtype=float)
        self._held = self._u[0, self._columns].copy()
        self._x = np.array(simulation.x0, dtype=float)
        #: The parameters where the loop reads them, and as they were given.
        self._p, self._numbers = np.array(simulation.p, dtype=float), np.array(simulation.p, dtype=float)
        self._y = np.empty((1, len(problem.equations.channels)))
        self._loop = simulation.kernel.loop(self._x, self._u, self._p, self._y, grid.substeps // rows.per_sample)
        #: The last states, from which is told whether the step is too long.
        self._tail: deque[tuple[float, FloatArray, FloatArray]] = deque(maxlen=TAIL)
        self._look()

    @property
    def most_states(self) -> int:
        size = 8 * (len(self._x) + len(self._held) + len(self.row)) + BESIDE
        return min(MOST, max(FEWEST, MEMORY // size))

    @property
    def _inputs(self) -> FloatArray:
        """The row of inputs that begins now."""
        return np.asarray(self._u[0 if len(self._u) == 1 else self._n * self._per_frame])

    def _look(self) -> None:
        """Find all channels as they are now."""
        simulation = self._simulation
        self._fill()
        try:
            y = simulation.kernel.sample(np.array([self.t]), self._x[None, :], self._inputs[None, :], self._p)
            self._present.failures.check_outputs(self.t, y[0])
        except SolverError as error:
            raise simulation.failures.explained(error) from None
        self._y[:] = y
        self._show()

    def _fill(self) -> None:
        """Put the inputs that hold into the rows of this frame."""
        n, every = self._n, self._per_frame
        if len(self._u) == 1:
            self._u[0, self._columns] = self._held
        else:
            self._u[n * every : (n + 1) * every + 1, self._columns] = self._held

    def _show(self) -> None:
        self.row = np.concatenate([self._y[0], self._inputs[self._moving]]) if self._moving else self._y[0].copy()

    def advance(self) -> None:
        grid, loop, n = self._simulation.grid, self._loop, self._n
        self._fill()
        loop.first_row = n
        self._tail.append((self.t, self._x[: self._nx].copy(), self._inputs.copy()))
        status = loop.go(grid.t_start, grid.step, grid.substeps, grid.substeps, n * grid.substeps)
        if status != Status.OK:
            raise LiveStoppedError(self._why(status, n * grid.substeps + loop.done)) from None
        self._n = n + 1
        self.t = float(grid.times_of(self._n, self._n + 1)[0])
        self._show()

    @property
    def _present(self) -> Simulation:
        """The run with the numbers that hold now, for those who say why it cannot go on."""
        simulation = self._simulation
        problem = replace(simulation.problem, p=self._numbers)
        problem.__dict__.update(stepper=simulation.problem.stepper)
        rows = _PresentRow(simulation.rows.layout, np.zeros(1), self._inputs[None, :], np.zeros(1, dtype=np.int_))
        return replace(simulation, problem=problem, rows=rows)

    def _why(self, status: Status, steps: int) -> str:
        """Return why the loop stopped, in the words of a run."""
        stop = Stop(status, steps, self._loop.t_stop, self._x.copy(), self._loop.told)
        present = self._present
        try:
            present.refuse_stop(stop, self._y[0] if status == Status.OUTPUT_NOT_FINITE else None)
        except KingpostError as error:
            told = str(present.failures.explained(error)) if isinstance(error, SolverError) else str(error)
        times, states, inputs = (np.array(part) for part in zip(*self._tail, strict=True))
        return " ".join([told, *(f"Note: {note}." for note in present.step_warnings(times, states, inputs))])

    def change(self, values: Mapping[str, float]) -> None:
        simulation, before = self._simulation, self.save()
        inputs = {name: value for name, value in values.items() if name in self._places}
        given = {name: value for name, value in values.items() if name not in self._places}
        order = list(self._places)
        try:
            for name, value in inputs.items():
                self._held[order.index(name)] = value
            self._fill()
            if given:
                x = self._x[: self._nx]
                self._numbers = changed_parameters(simulation.problem, given, self.t, x, self._inputs, self._numbers)
                self._p[:] = self._numbers
                # What an integrator remembers was found with the other numbers.
                step = simulation.grid.step
                self._x[:] = simulation.problem.stepper.begin(self.t, x.copy(), self._inputs, self._numbers, step)
            self._look()
        except KingpostError:
            self.restore(before)
            raise

    def save(self) -> MachineState:
        return MachineState(self._n, self._x.copy(), self._held.copy(), self._numbers, self.row)

    def restore(self, state: Any) -> None:
        self._n, self._x[:], self._held[:], self._numbers = state.frame, state.x, state.held, state.p
        self._p[:] = self._numbers
        self.t = float(self._simulation.grid.times_of(self._n, self._n + 1)[0])
        self._y[0] = state.row[: self._y.shape[1]]
        self.row = state.row
        self._fill()
        self._tail.clear()

    def forget(self, state: Any) -> None:
        pass

    def history(self, times: Sequence[float], rows: Sequence[FloatArray], outcome: str, seconds: float) -> History:
        return self._history(self._simulation, times, rows, outcome, seconds)

    def present(self) -> History:
        numbers = {parameter.name: float(value) for parameter, value in zip(self._parameters, self._numbers, strict=True)}
        problem = self._simulation.problem
        problem = replace(problem, values=replace(problem.values, parameters=numbers))
        return self._history(replace(self._simulation, problem=problem), [self.t], [self.row], "live", 0.0)

    def _history(
        self, simulation: Simulation, times: Sequence[float], rows: Sequence[FloatArray], outcome: str, seconds: float
    ) -> History:
        record = run_record(simulation, outcome, seconds, {})
        record["time"] = {**record["time"], "end_s": float(times[-1])}
        record |= {"warnings": list(self.notes), "diverges": False}
        return History(np.array(times), self.channels, with_turns(self.channels, np.array(rows)), record)

    def close(self) -> list[str]:
        return []
