"""Machines by name: a model with construction options, or a file; with what they say about solving them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import FileError, MechanismError, PluginError
from kingpost.base.numbers import finite, finite_in, shown
from kingpost.base.text_files import is_file, resolved
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.values import resolve_values
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.simulation.exporter import Exported
from kingpost.simulation.grid import Grid
from kingpost.simulation.input_rows import input_rows
from kingpost.simulation.settings import RunChoices, RunSettings, merged
from kingpost.simulation.signals import Signal, Signals, signals_by_name
from kingpost.simulation.simulate import simulate
from kingpost.simulation.verbs import equilibrium, evaluate, export, linearize
from kingpost.statics.equilibrium import Equilibrium
from kingpost.statics.linearize import Linearisation

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class OpenedModel:
    """A mechanism, and what its model or file says about solving it.

    >>> crane = open_model("vessel-crane")
    >>> crane.simulate(t_end=0.1)["slew.angle"].shape
    (11,)
    """

    mechanism: Mechanism
    plugins: PluginSet
    #: Parameters, inputs and start values that its file or its user sets.
    settings: Mapping[str, float] = field(default_factory=dict)
    #: Inputs that move as its files say.
    inputs: Mapping[str, Signal] = field(default_factory=dict)
    #: What the files say about running it, the file that was asked for last.
    run: tuple[RunSettings, ...] = ()
    t_end: float = Model.t_end
    step: float = Model.step
    #: Servo tasks by name: those of the model, then those of its files.
    tasks: Mapping[str, ServoTask] = field(default_factory=dict)
    #: Optimal tasks by name, in the same order.
    optimal_tasks: Mapping[str, OptimalTask] = field(default_factory=dict)

    def task(self, source: Any = None) -> ServoTask:
        """Return a servo task for it: one of its own by name, one in a file, or its only one (:func:`read_task`)."""
        from kingpost.modelfiles.task_file import read_task

        return read_task(source, self)

    def optimal_task(self, source: Any = None) -> OptimalTask:
        """Return an optimal task for it: one of its own by name, one in a file, or its only one (:func:`read_optimal_task`)."""
        from kingpost.modelfiles.optimal_task_file import read_optimal_task

        return read_optimal_task(source, self)

    def how(self, *later: RunSettings) -> RunSettings:
        """Return how it is solved: the model's own end and step, then what its files say, then ``later`` settings."""
        return merged([RunSettings(t_end=self.t_end, step=self.step), *self.run, *later], self.plugins)

    def _arguments(self, settings: Mapping[str, float] | None, choices: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "settings": {**self.settings, **(settings or {})},
            "how": self.how(RunSettings.of(choices)),
            "plugins": self.plugins,
        }

    def _still(
        self, at: Mapping[str, Any] | None, settings: Mapping[str, float] | None, choices: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return arguments with inputs that move as they are at the time of a state."""
        arguments = self._arguments(settings, choices)
        t = finite((at or {}).get("t", arguments["how"].t_start or 0.0))
        return {**arguments, "settings": self.driven(settings).settings_at(0.0 if t is None else t)}

    def driven(self, settings: Mapping[str, float] | None = None, inputs: Signals | None = None) -> OpenedModel:
        """Return the same with other numbers and other inputs: what is said later counts, a number for an input included."""
        kept = {name: signal for name, signal in self.inputs.items() if name not in (settings or {})}
        given = signals_by_name(self.mechanism, inputs, self.plugins)
        return replace(self, settings={**self.settings, **(settings or {})}, inputs={**kept, **given})

    def settings_at(self, t: float) -> Mapping[str, float]:
        """Return its settings with the values that inputs which move have at a time."""
        if not self.inputs:
            return self.settings
        names = {entry.name for entry in self.mechanism.parameters} | {entry.name for entry in self.mechanism.inputs}
        values = resolve_values(self.mechanism, {name: value for name, value in self.settings.items() if name in names})
        rows = input_rows(self.mechanism, values, self.inputs, Grid(t, 1e-3, 1, 1), self.plugins, fixed=False)
        return {**self.settings, **{name: float(rows.column(name)[0]) for name in self.inputs}}

    def simulate(
        self,
        t_end: float | None = None,
        *,
        settings: Mapping[str, float] | None = None,
        inputs: Signals | None = None,
        **choices: Unpack[RunChoices],
    ) -> History:
        """Run it as its file says; ``t_end`` and ``choices`` come before that (:func:`kingpost.simulate`)."""
        own = self.driven(settings, inputs)
        said = {**choices, **({} if t_end is None else {"t_end": t_end})}
        return simulate(self.mechanism, inputs=own.inputs, **self._arguments(settings, said))

    def export(
        self,
        path: str | Path,
        *,
        to: Any = "native-fmu",
        communication_step: float | None = None,
        settings: Mapping[str, float] | None = None,
        **choices: Unpack[RunChoices],
    ) -> Exported:
        """Write it as an FMU (:func:`kingpost.export`)."""
        given, own = self._arguments(settings, choices), self.driven(settings)
        return export(self.mechanism, path, to=to, communication_step=communication_step, drive=own.inputs, **given)

    def evaluate(
        self, at: Mapping[str, Any] | None = None, *, settings: Mapping[str, float] | None = None, **choices: Unpack[RunChoices]
    ) -> dict[str, Any]:
        """Return what it is at one state (:func:`kingpost.evaluate`)."""
        return evaluate(self.mechanism, at, **self._still(at, settings, choices))

    def equilibrium(
        self,
        at: Mapping[str, Any] | None = None,
        *,
        stable: bool = True,
        settings: Mapping[str, float] | None = None,
        **choices: Unpack[RunChoices],
    ) -> Equilibrium:
        """Return where it stays at rest (:func:`kingpost.equilibrium`)."""
        return equilibrium(self.mechanism, at, stable=stable, **self._still(at, settings, choices))

    def linearize(
        self, at: Mapping[str, Any] | None = None, *, settings: Mapping[str, float] | None = None, **choices: Unpack[RunChoices]
    ) -> Linearisation:
        """Return its small motions (:func:`kingpost.linearize`)."""
        return linearize(self.mechanism, at, **self._still(at, settings, choices))


def open_model(
    name: str | Path,
    plugins: PluginSet | None = None,
    settings: Iterable[str] | Mapping[str, float] = (),
    *,
    python: bool = False,
) -> OpenedModel:
    """Return the machine called ``name``: a file if it looks like one, else a model plugin.

    ``settings`` are ``{"mass": 2.0}`` or ``["mass=2"]``. With ``python``, ``FILE.py:NAME`` is a machine, too: the code of the
    file is run, so that only names that a user has typed may be opened so.
    """
    if python and is_python(str(name)):
        from kingpost.modelfiles.python_model import open_python

        opened = open_python(str(name), plugins or PluginSet())
    else:
        opened = _open(str(name), plugins or PluginSet(), seen=())
    given = dict(settings) if isinstance(settings, Mapping) else parse_settings(settings)
    return opened.driven(given)


def _open(name: str, plugins: PluginSet, seen: tuple[Path, ...]) -> OpenedModel:
    if name.endswith(".urdf"):
        from kingpost.modelfiles.urdf import read_urdf

        return OpenedModel(read_urdf(name), plugins)
    if not name.endswith(".toml"):
        if is_python(name):
            raise FileError(
                f"'{name}' is Python code, which runs only where a command names it, as in 'kingpost run {name}', never from "
                "another file; in Python, import it and give its mechanism to kingpost.simulate"
            )
        if "/" in name or is_file(Path(name)):
            raise FileError(f"'{name}' is not a model file; its name must end in .toml or .urdf")
        return opened_by(select(plugins.models, name), plugins)
    path = Path(name)
    if resolved(path) in seen:
        raise FileError(f"{path} takes its model from itself")
    from kingpost.modelfiles.toml_model import read_model_file  # of no use to models by name, which are most

    file = read_model_file(path, plugins)
    plugins = plugins.with_files(file.plugins)
    own = {name: entry.task for name, entry in file.tasks.items()}
    optimal = {name: entry.task for name, entry in file.optimal_tasks.items()}
    if file.mechanism is not None:
        opened = OpenedModel(file.mechanism, plugins, run=(file.run,), tasks=own, optimal_tasks=optimal)
        return opened.driven(file.settings, file.inputs)
    assert file.model is not None
    inner = str(path.parent / file.model) if file.model.endswith(".toml") else file.model
    source = _open(inner, plugins, (*seen, resolved(path)))
    file.check_tasks(source.mechanism)
    driven = source.driven(file.settings, file.inputs)
    return replace(
        driven,
        run=(*source.run, file.run),
        tasks={**source.tasks, **own},
        optimal_tasks={**source.optimal_tasks, **optimal},
    )


def is_python(name: str) -> bool:
    """Say whether a machine is named as one in a Python file: ``FILE.py:NAME``."""
    return name.partition(":")[0].endswith(".py")


def opened_by(model: Model, plugins: PluginSet) -> OpenedModel:
    """Return the machine that a model plugin builds."""
    mechanism = model.build()
    if not isinstance(mechanism, Mechanism):
        raise PluginError(f"model '{model.name}' built {shown(mechanism)}, expected a kingpost.Mechanism")
    return OpenedModel(
        mechanism, plugins, t_end=model.t_end, step=model.step, tasks=_tasks(model), optimal_tasks=_optimal_tasks(model)
    )


def _tasks(model: Model) -> dict[str, ServoTask]:
    tasks = model.tasks()
    if not isinstance(tasks, Mapping) or not all(isinstance(task, ServoTask) for task in tasks.values()):
        raise PluginError(f"model '{model.name}': tasks() returned {shown(tasks)}, expected servo tasks by name")
    return {str(name): task if task.name else task.called(str(name)) for name, task in tasks.items()}


def _optimal_tasks(model: Model) -> dict[str, OptimalTask]:
    tasks = model.optimal_tasks()
    if not isinstance(tasks, Mapping) or not all(isinstance(task, OptimalTask) for task in tasks.values()):
        raise PluginError(f"model '{model.name}': optimal_tasks() returned {shown(tasks)}, expected optimal tasks by name")
    return {str(name): task if task.name else task.called(str(name)) for name, task in tasks.items()}


def parse_settings(words: Iterable[str]) -> dict[str, float]:
    """Return ``{"mass": 2.0}`` for ``["mass=2"]``."""
    settings = {}
    for word in words:
        name, equals, text = word.partition("=")
        value = finite_in(text)
        if not equals or not name or value is None:
            raise MechanismError(f"setting '{word}': write NAME=VALUE with a finite number, e.g. mass1=2.5")
        settings[name.strip()] = value
    return settings
