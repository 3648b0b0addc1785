"""Run a mechanism: :func:`simulate` does everything, :func:`prepare` stops before the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kingpost.base.arrays import FloatArray
from kingpost.equations.integrator import Integrator, StepMap
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import Values
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.input_layout import InputLayout
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.simulation.grid import Grid, fixed_step_grid, output_grid
from kingpost.simulation.input_rows import InputRows, input_rows
from kingpost.simulation.monitors import monitored_run
from kingpost.simulation.other_numbers import Feed, feeding
from kingpost.simulation.problem import Drive, checked_step, pose
from kingpost.simulation.run import Progress, Simulation
from kingpost.simulation.settings import RunChoices, RunSettings, fixed_step
from kingpost.simulation.signals import Signals, signals_by_name
from kingpost.simulation.step_check import with_step_check
from kingpost.simulation.verification import verified_run

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: End of a run (s) where nobody says.
DEFAULT_END = 10.0


def simulate(
    mechanism: Mechanism,
    t_end: float | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    inputs: Signals | None = None,
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
        Inputs that change, by name. A function of time, or an array with a value for each output time, is held over each output
        step. A trajectory, a history (its channel of that name), a file with one, a table with the words of a trajectory, or
        :class:`kingpost.Moving` moves inside of steps, too, exactly. A history, or a file with one, in the place of all moves
        every input that it has a channel for.
    how
        How it is solved; what is said by keyword comes before it.
    plugins
        The plugins to choose from; by default all built-in and installed ones.
    progress
        Called now and then with the fraction done.
    choices
        The fields of :class:`kingpost.RunSettings` by keyword: ``formulation``, ``integrator``, ``step``, ``output_step``,
        ``backend``, ``start``, ``close_loops``, ``loads``, ``load_method``, ``load_metric``, ``monitors``, ``verify``,
        ``check_step``, ``cut``, ``t_start``.

    Raises
    ------
    SolverError
        When the integration cannot go on; its ``history`` holds what was computed before.

    """
    how = RunSettings.of(choices).over(how or RunSettings())
    simulation = prepare(mechanism, t_end, settings=settings, inputs=inputs, how=how, plugins=plugins)
    return carry_out(simulation, progress)


def carry_out(simulation: Simulation, progress: Progress = lambda fraction: None) -> History:
    """Carry a run out as its settings say: with monitors, looked at by a second formalism, and with a check of its step."""
    how = simulation.problem.how

    def run() -> History:
        return monitored_run(simulation, progress) if how.monitors else simulation.run(progress)

    history = run() if how.verify is None else verified_run(simulation, run)
    return history if how.check_step is None else with_step_check(simulation, history, how.check_step, progress)


def prepare(
    mechanism: Mechanism,
    t_end: float | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    inputs: Signals | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Simulation:
    """Derive, compile and check everything a run needs; the arguments are those of :func:`simulate`."""
    plugins = plugins or PluginSet()
    how = RunSettings.of(choices).over(how or RunSettings()).selected(plugins)
    how = how if t_end is None else replace(how, t_end=t_end)
    grid = run_grid(how, plugins)
    fixed = how.integrator is None or fixed_step(how.integrator)
    found: list[InputRows] = []
    feeds: list[Feed] = []

    def drive(assembly: Assembly, values: Values) -> tuple[InputLayout, FloatArray]:
        signals = signals_by_name(assembly.mechanism, inputs, plugins)
        rows = input_rows(assembly.mechanism, values, signals, grid, plugins, fixed=fixed)
        found.append(rows)
        feeds.append(feeding(rows, assembly.mechanism, signals, plugins, fixed=fixed))
        return rows.layout, rows.values[0]

    return replace(ready(mechanism, how, settings, plugins, grid, drive, found), feed=feeds[0])


def ready(
    mechanism: Mechanism,
    how: RunSettings,
    settings: Mapping[str, float] | None,
    plugins: PluginSet,
    grid: Grid,
    drive: Drive,
    rows: Sequence[InputRows],
) -> Simulation:
    """Return a run whose inputs ``drive`` makes, and puts into ``rows``."""
    problem = pose(mechanism, how, values=settings, plugins=plugins, drive=drive)
    kernel = Kernel(problem.stepper.running, how.backend or "auto", problem.equations.python_forces)
    return Simulation(problem, kernel, grid, rows[0])


def run_grid(how: RunSettings, plugins: PluginSet) -> Grid:
    """Return the times of a run."""
    integrator = select(plugins.integrators, "rk4") if how.integrator is None else how.integrator
    assert isinstance(integrator, Integrator)
    t_start, t_end = how.t_start or 0.0, DEFAULT_END if how.t_end is None else how.t_end
    step = checked_step(integrator, how.step)
    if isinstance(integrator, StepMap):
        return fixed_step_grid(t_start, t_end, step, how.output_step)
    return output_grid(t_start, t_end, how.output_step)
