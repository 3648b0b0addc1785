"""A problem that is ready to leave Kingpost, with what the exported model suggests to its user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import ExportError, SolverError
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import Integrator
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import Trajectory
from kingpost.mechanism.values import Values
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.drawn import machine_geometry
from kingpost.multibody.input_layout import InputLayout
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.grid import check_times
from kingpost.simulation.problem import Problem, pose
from kingpost.simulation.settings import RunChoices, RunSettings
from kingpost.simulation.signals import Signal, Signals, driving_paths, signals_by_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: What an exported model suggests where nobody says: the end of a run (s), and internal steps for each communication step.
SUGGESTED_END = 10.0
SUGGESTED_STEPS = 10


@dataclass(frozen=True)
class SampleRows:
    """Rows in the state of a model that works at sample times, one step apart, beginning with the start of a run.

    Where an input is not finite, or a step has no finite result, a sample counts as refused or failed, and nothing changes but
    what ``otherwise`` says.
    """

    refused: int
    failed: int
    #: Samples in a row that were refused or failed, up to the last one.
    bad: int
    #: Time of the first sample.
    origin: int
    #: Names of states that are nobody else's business.
    hidden: frozenset[str] = frozenset()
    #: What becomes of the outputs at a bad sample, in words.
    otherwise: str = "the last good outputs are held"


@dataclass(frozen=True, eq=False)
class ExportModel:
    """Everything that an exporter needs to know.

    ``t_end`` and ``communication_step`` (s) are what the exported model suggests to its user.
    """

    problem: Problem
    t_end: float
    communication_step: float
    #: Of a model that works at sample times.
    samples: SampleRows | None = None
    #: What the model is as plain data, if it is no mechanism.
    written: Callable[[], Mapping[str, Any]] | None = None

    @property
    def mechanism(self) -> Mechanism:
        return self.problem.mechanism

    @property
    def equations(self) -> Equations:
        return self.problem.equations

    @property
    def integrator(self) -> Integrator:
        return self.problem.integrator

    @property
    def step(self) -> float:
        """The longest internal step of a fixed-step integrator in s."""
        return self.problem.step

    @property
    def values(self) -> Values:
        return self.problem.values

    @property
    def x0(self) -> FloatArray:
        return self.problem.x0

    @property
    def u0(self) -> FloatArray:
        return self.problem.u0

    @property
    def p0(self) -> FloatArray:
        return self.problem.p

    @property
    def settings(self) -> Mapping[str, float]:
        """Settings that the user gave: start values among them are no longer formulas."""
        return self.problem.given

    @property
    def plugins(self) -> PluginSet:
        return self.problem.plugins

    @property
    def driven(self) -> Mapping[str, Trajectory]:
        """The inputs that follow a path of their own, inside of the equations."""
        layout = self.problem.assembly.layout
        return {} if layout is None else layout.driven

    @property
    def fitted_to(self) -> dict[str, str]:
        """The parameters and inputs that start values of some force's states were fitted to, with that force.

        What is exported does not fit them again: its start is the one of the values that it was exported with.
        """
        mine = {item.name for item in self.mechanism.parameters} | {item.name for item in self.mechanism.inputs}
        forces = self.problem.assembly.forces.items()
        return {name: owner for owner, force in forces for name in force.fitted_to() if name in mine}

    @property
    def geometry(self) -> dict[str, Any]:
        """Where joints and masses are, as plain data; nothing of a model without bodies."""
        return machine_geometry(self.mechanism, self.values.parameters, self.plugins)

    def culprits(self) -> list[str]:
        """Return what keeps the model from becoming plain C: forces in Python, and an integrator that is not a step map."""
        found = [f"force '{name}' calls plain Python" for name in self.equations.python_forces]
        if not self.problem.stepper.fixed:
            found.append(f"integrator '{self.integrator.name}' is a solver that runs in Python, not a step map")
        return found


def prepare_export(
    mechanism: Mechanism,
    *,
    settings: Mapping[str, float] | None = None,
    communication_step: float | None = None,
    drive: Signals | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> ExportModel:
    """Derive and check what an exporter needs; the arguments are those of :func:`kingpost.simulate`.

    ``communication_step`` (s) is the step that the exported model suggests to its user, by default the output step, or ten
    internal steps; ``t_end`` the end of a run that it suggests. Inputs that ``drive`` has a trajectory, history or file for
    follow that inside the model, and are no inputs of it any more.
    """
    plugins = plugins or PluginSet()
    how = RunSettings.of(choices).over(how or RunSettings()).selected(plugins)
    for what, value in (("step", how.step), ("communication step", communication_step), ("end time", how.t_end)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ExportError(f"the {what} is {value:g} s; it must be above zero")
    given = dict(settings or {})

    def driven(assembly: Assembly, values: Values) -> tuple[InputLayout, FloatArray]:
        return driven_layout(assembly.mechanism, values, signals, how.t_start or 0.0, plugins)

    signals = signals_by_name(mechanism, drive, plugins)
    # A number is a start value, and the input stays one.
    given |= {name: float(signal) for name, signal in signals.items() if isinstance(signal, int | float)}
    problem = pose(mechanism, how, values=given, plugins=plugins, drive=driven if signals else None)
    return export_model(problem, communication_step)


def driven_layout(
    mechanism: Mechanism, values: Values, signals: Mapping[str, Signal], t: float, plugins: PluginSet
) -> tuple[InputLayout, FloatArray]:
    """Return inputs that follow paths inside of the equations, and the values of all at a time."""
    paths = driving_paths(mechanism, values, signals, t, plugins)
    scope = {**values.parameters, TIME: t}
    row = [float(paths[name].value(t, scope)) if name in paths else value for name, value in values.inputs.items()]
    return InputLayout(tuple(values.inputs), driven=paths), np.array(row)


def export_model(
    problem: Problem,
    communication_step: float | None = None,
    rows: SampleRows | None = None,
    written: Callable[[], Mapping[str, Any]] | None = None,
) -> ExportModel:
    """Return a problem with what it suggests to the user of the exported model."""
    how = problem.how
    suggested = next((step for step in (communication_step, how.output_step) if step), SUGGESTED_STEPS * problem.step)
    end = SUGGESTED_END if how.t_end is None else how.t_end
    own = {"step": problem.step} if problem.stepper.fixed else {}
    try:
        check_times(problem.t_start, max(end, problem.t_start + suggested), **own, communication_step=suggested)
    except SolverError as error:
        raise ExportError(str(error)) from None
    return ExportModel(problem, end, suggested, rows, written)
