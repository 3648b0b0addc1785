"""Run a mechanism: :func:`simulate` does everything, :func:`prepare` stops before the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.equations.integrator import Integrator, StepMap
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import Values
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.simulation.grid import Grid, check_memory, fixed_step_grid, output_grid
from kingpost.simulation.monitors import monitored_run
from kingpost.simulation.problem import checked_step, pose
from kingpost.simulation.run import Progress, Simulation
from kingpost.simulation.settings import RunChoices, RunSettings
from kingpost.simulation.step_check import with_step_check

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: What an input may be: a number, a function of time sampled at the output times, or one number for each of them.
Signal: TypeAlias = float | Callable[[float], float] | FloatArray
#: End of a run (s) where nobody says.
DEFAULT_END = 10.0


def simulate(
    mechanism: Mechanism,
    t_end: float | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    inputs: Mapping[str, Signal] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    progress: Progress = lambda fraction: None,
    **choices: Unpack[RunChoices],
) -> History:
    """Run a mechanism and return its history.

    Parameters
    ----------
    mechanism
        The machine.
    t_end
        End of the run in s.
    settings
        Values of parameters, constant inputs and start values by name, e.g. ``{"mass": 2.0, "pivot.angle": 0.3}``.
    inputs
        Inputs that change: a function of time, or an array with a value for each output time. Held over each output step.
    how
        How it is solved; what is said by keyword comes before it.
    plugins
        The plugins to choose from; by default all built-in and installed ones.
    progress
        Called now and then with the fraction done.
    choices
        The fields of :class:`kingpost.RunSettings` by keyword: ``formulation``, ``integrator``, ``step``, ``output_step``,
        ``backend``, ``start``, ``close_loops``, ``loads``, ``load_method``, ``load_metric``, ``monitors``, ``check_step``,
        ``cut``, ``t_start``.

    Raises
    ------
    SolverError
        When the integration cannot go on; its ``history`` holds what was computed before.

    """
    how = RunSettings.of(choices).over(how or RunSettings())
    simulation = prepare(mechanism, t_end, settings=settings, inputs=inputs, how=how, plugins=plugins)
    return carry_out(simulation, progress)


def carry_out(simulation: Simulation, progress: Progress = lambda fraction: None) -> History:
    """Carry a run out as its settings say: with monitors, and with a check of its step."""
    how = simulation.problem.how
    history = monitored_run(simulation, progress) if how.monitors else simulation.run(progress)
    return history if how.check_step is None else with_step_check(simulation, history, how.check_step, progress)


def prepare(
    mechanism: Mechanism,
    t_end: float | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    inputs: Mapping[str, Signal] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Simulation:
    """Derive, compile and check everything a run needs; the arguments are those of :func:`simulate`."""
    plugins = plugins or PluginSet()
    how = RunSettings.of(choices).over(how or RunSettings()).selected(plugins)
    how = how if t_end is None else replace(how, t_end=t_end)
    grid = run_grid(how, plugins)
    rows = np.zeros((0, 0))

    def at_start(cut: Mechanism, values: Values) -> FloatArray:
        nonlocal rows
        rows = input_rows(cut, values, inputs or {}, grid)
        return rows[0]

    problem = pose(mechanism, how, values=settings, plugins=plugins, inputs_at_start=at_start)
    check_memory(grid, 1 + len(mechanism.inputs) + len(problem.equations.channels))
    kernel = Kernel(problem.stepper.running, how.backend or "auto", problem.equations.python_forces)
    return Simulation(problem, kernel, grid, rows)


def run_grid(how: RunSettings, plugins: PluginSet) -> Grid:
    """Return the times of a run."""
    integrator = select(plugins.integrators, "rk4") if how.integrator is None else how.integrator
    assert isinstance(integrator, Integrator)
    t_start, t_end = how.t_start or 0.0, DEFAULT_END if how.t_end is None else how.t_end
    step = checked_step(integrator, how.step)
    if isinstance(integrator, StepMap):
        return fixed_step_grid(t_start, t_end, step, how.output_step)
    return output_grid(t_start, t_end, how.output_step)


def input_rows(mechanism: Mechanism, values: Values, inputs: Mapping[str, Signal], grid: Grid) -> FloatArray:
    """Return the inputs at every sample time, one row each."""
    names = [signal.name for signal in mechanism.inputs]
    for name in inputs:
        if name not in names:
            raise MechanismError(f"'{mechanism.name}' has no input '{name}'{closest(name, names)} Inputs: {listed(names)}.")
    rows = np.empty((grid.samples + 1, len(names)))
    for j, name in enumerate(names):
        signal: Any = inputs.get(name, values.inputs[name])
        column = np.array([signal(t) for t in grid.times]) if callable(signal) else np.asarray(signal, dtype=float)
        if column.shape not in ((), (grid.samples + 1,)):
            raise MechanismError(f"input '{name}' has {column.size} values, but the run has {grid.samples + 1} output times")
        rows[:, j] = column
        if not np.isfinite(rows[:, j]).all():
            first = int(np.argmin(np.isfinite(rows[:, j])))
            raise MechanismError(f"input '{name}' is {rows[first, j]} at t = {grid.times[first]:g} s; it must be finite")
    return rows
