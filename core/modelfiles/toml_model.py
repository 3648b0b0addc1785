"""Model files: a mechanism, or a run of one, written in TOML with the words of :mod:`kingpost.mechanism.mechanism`.

A file holds either a mechanism (``bodies``, ``joints``, ...) or the ``model`` to take it from, by name or by file; and
beside that the ``plugins`` to load, values to ``set``, how ``inputs`` move, how to ``run`` it, servo ``tasks`` and
``optimal_tasks``. docs/model-files.md has the whole grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, MechanismError, PluginError, closest, listed
from kingpost.base.fields import fill
from kingpost.base.numbers import finite, shown
from kingpost.base.toml import read_toml
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter, Port, WaveNumber
from kingpost.mechanism.measures import Measure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.mechanism.shapes import read_shapes
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import Sampled, read_trajectory
from kingpost.mechanism.values import check_values
from kingpost.modelfiles.optimal_task_file import OPTIMAL, OPTIMAL_KIND, OPTIMAL_TASKS
from kingpost.modelfiles.subsystem_tables import has_systems, read_subsystems
from kingpost.modelfiles.task_file import SERVO, SERVO_TASKS, TASKS
from kingpost.modelfiles.task_tables import TaskEntry, located
from kingpost.multibody.assembly import make_forces
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.signals import Signal, read_signal

MECHANISM_KEYS = (
    *("name", "description", "parameters", "inputs", "bodies", "joints", "closures", "forces", "outputs", "measures", "ports"),
    *("subsystems", "vessel"),
)
RUN_KEYS = ("model", "plugins", "set", "run")
TASK_KEYS = (SERVO, TASKS, OPTIMAL, OPTIMAL_TASKS)
KNOWN_KEYS = (*MECHANISM_KEYS, *RUN_KEYS, *TASK_KEYS)
#: What the declaration of an input in a file may hold beside its fields: how it moves.
MOVES = "moves"


@dataclass(frozen=True)
class ModelFile:
    """What a file says: a mechanism or the model to take, and how to run it."""

    path: Path
    mechanism: Mechanism | None = None
    model: str | None = None
    plugins: tuple[Path, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    run: RunSettings = field(default_factory=RunSettings)
    #: Inputs that move, by name.
    inputs: Mapping[str, Signal] = field(default_factory=dict)
    tasks: Mapping[str, TaskEntry[ServoTask]] = field(default_factory=dict)
    optimal_tasks: Mapping[str, TaskEntry[OptimalTask]] = field(default_factory=dict)

    def check_tasks(self, mechanism: Mechanism) -> None:
        """Refuse tasks that name what the machine of this file does not have, with file and line."""
        entries: list[TaskEntry[ServoTask] | TaskEntry[OptimalTask]] = [*self.tasks.values(), *self.optimal_tasks.values()]
        for entry in entries:
            try:
                entry.check(mechanism)
            except MechanismError as error:
                raise located(self.path, None, error) from None


def read_model(path: str | Path, plugins: PluginSet | None = None) -> Mechanism:
    """Return the mechanism in a TOML model file.

    Raises
    ------
    FileError
        When the file cannot be read or is not TOML.
    MechanismError
        When what it says breaks a rule; the message begins with file and line.

    """
    file = read_model_file(path, plugins)
    if file.mechanism is None:
        raise FileError(f"{path} is a run file for model '{file.model}'; it holds no mechanism of its own")
    return file.mechanism


def read_model_file(path: str | Path, plugins: PluginSet | None = None) -> ModelFile:
    """Return everything that a TOML model file or run file says."""
    path = Path(path)
    text, data = read_toml(path)
    try:
        return _interpret(path, data, plugins)
    except MechanismError as error:
        raise located(path, text, error) from None
    except RecursionError:
        raise FileError(f"{path} cannot be read: its tables are nested too deep") from None


def mechanism_from_dict(data: Mapping[str, Any], base: Path = Path()) -> Mechanism:
    """Return the mechanism that plain data describe, in the words of a model file; files in it are relative to ``base``."""
    for key in data:
        if key not in MECHANISM_KEYS:
            raise MechanismError(
                f"a mechanism has no '{key}'{closest(key, MECHANISM_KEYS)} It takes: {listed(MECHANISM_KEYS)}.", path=(key,)
            )
    described = _tables(data, "subsystems")
    for key in ("name",) if has_systems(described) or "vessel" in data else ("name", "bodies", "joints"):
        if key not in data:
            raise MechanismError(f"the mechanism lacks '{key}'")
    parameters, inputs = _named(data, "parameters", Parameter), _named(data, "inputs", Input)
    systems = read_subsystems(described, {item.name for item in (*parameters, *inputs)})
    forces = _forces(data, base)
    floating = _vessel(data, base, forces)
    return Mechanism(
        name=data["name"],
        description=data.get("description", ""),
        parameters=(*parameters, *systems.parameters),
        inputs=(*inputs, *systems.inputs),
        bodies=(*floating[0], *_bodies(data, base)),
        joints=(*floating[1], *_listed(data, "joints", Joint)),
        forces=(*floating[2], *forces, *systems.forces),
        outputs=_listed(data, "outputs", Output),
        measures=_listed(data, "measures", Measure),
        ports=_listed(data, "ports", Port),
        closures=_listed(data, "closures", Closure),
        subsystems=systems.groups,
    )


def _vessel(
    data: Mapping[str, Any], base: Path, forces: tuple[ForceElement, ...]
) -> tuple[tuple[Body, ...], tuple[Joint, ...], tuple[ForceElement, ...]]:
    """Return bodies, joints and forces of a vessel from hydrodynamic data, if there is one."""
    if "vessel" not in data:
        return (), (), ()
    from kingpost.modelfiles.vessel_table import read_vessel  # with all that a fit needs

    return read_vessel(_table(data, "vessel"), base, forces)


def _interpret(path: Path, data: dict[str, Any], plugins: PluginSet | None) -> ModelFile:
    for key in data:
        if key not in KNOWN_KEYS:
            raise MechanismError(
                f"a model file has no '{key}'{closest(key, KNOWN_KEYS)} It takes: {listed(KNOWN_KEYS)}.", path=(key,)
            )
    if data and all(key in TASK_KEYS for key in data):
        what = "servo tasks" if any(key in data for key in (SERVO, TASKS)) else "optimal tasks"
        raise MechanismError(f'the file holds {what} and no machine; give it as a task, or add model = "NAME"')
    files = tuple(path.parent / name for name in _texts(data, "plugins"))
    try:
        plugins = (plugins or PluginSet()).with_files(files, named_by=path)
    except (PluginError, FileError) as error:
        raise MechanismError(str(error), path=("plugins",)) from None
    try:
        run = fill(RunSettings, _table(data, "run"), "[run]")
    except MechanismError as error:
        raise error.within("run") from None
    settings = _table(data, "set")
    for name, value in settings.items():
        if finite(value) is None:
            raise MechanismError(f"set: {name} = {shown(value)} is not a finite number", path=("set", name))
    tasks, optimal = SERVO_TASKS.entries(data, path.parent), OPTIMAL_KIND.entries(data, path.parent)
    if "model" in data:
        for key in MECHANISM_KEYS:
            if key in data and key not in ("name", "description", "inputs"):
                raise MechanismError(
                    f"the file takes its mechanism from model = {data['model']!r}, so it cannot hold '{key}' too", path=(key,)
                )
        if not isinstance(data["model"], str):
            raise MechanismError(f"model = {data['model']!r} is not a text", path=("model",))
        signals = _signals(_table(data, "inputs"), path.parent)
        return ModelFile(path, None, data["model"], files, settings, run, signals, tasks, optimal)
    data, moving = _apart(data, path.parent)
    mechanism = mechanism_from_dict({key: value for key, value in data.items() if key in MECHANISM_KEYS}, path.parent)
    make_forces(mechanism, plugins)
    check_values(mechanism, {parameter.name: parameter.default for parameter in mechanism.parameters})
    entries: list[TaskEntry[ServoTask] | TaskEntry[OptimalTask]] = [*tasks.values(), *optimal.values()]
    for entry in entries:
        entry.check(mechanism)
    return ModelFile(path, mechanism, None, files, settings, run, moving, tasks, optimal)


def _apart(data: Mapping[str, Any], base: Path) -> tuple[dict[str, Any], Mapping[str, Signal]]:
    """Return a file without what its inputs say about how they move, and that."""
    declared = _table(data, "inputs")
    entries = {name: dict(entry) if isinstance(entry, Mapping) else entry for name, entry in declared.items()}
    moving = {name: entry.pop(MOVES) for name, entry in entries.items() if isinstance(entry, dict) and MOVES in entry}
    signals = _signals(moving, base, MOVES)
    return ({**data, "inputs": entries} if moving else dict(data)), signals


def _signals(table: Mapping[str, Any], base: Path, *inside: str) -> dict[str, Signal]:
    """Return the signals that a table of plain data describes."""
    found = {}
    for name, entry in table.items():
        try:
            found[name] = read_signal(entry, base)
        except FileError as error:
            raise FileError(f"input '{name}': {error}") from None
        except MechanismError as error:
            raise MechanismError(f"input '{name}': {error}", path=("inputs", name, *inside, *error.path)) from None
    return found


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, Mapping):
        raise MechanismError(f"'{key}' must be a table, written [{key}]; got {table!r}", path=(key,))
    return table


def _texts(data: Mapping[str, Any], key: str) -> list[str]:
    texts = data.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise MechanismError(f"'{key}' must be a list of texts, got {texts!r}", path=(key,))
    return texts


def _named(data: Mapping[str, Any], key: str, cls: type[Any]) -> tuple[Any, ...]:
    entries = []
    for name, entry in _table(data, key).items():
        what = f"{key.removesuffix('s')} '{name}'"
        if not isinstance(entry, Mapping):
            raise MechanismError(f'{what} must be written {name} = {{ default = {entry!r}, unit = "..." }}', path=(key, name))
        if "name" in entry:
            raise MechanismError(f"{what} has its name in front of the '='; remove 'name'", path=(key, name))
        try:
            # A machine at sea that was written down has numbers of waves among its parameters.
            own = WaveNumber if cls is Parameter and "force" in entry else cls
            entries.append(fill(own, {"name": name, **entry}, what))
        except MechanismError as error:
            raise error.within(key, name) from None
    return tuple(entries)


def _tables(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    entries = data.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise MechanismError(f"'{key}' must be a list of tables, each written [[{key}]]; got {entries!r}", path=(key,))
    return entries


def _listed(data: Mapping[str, Any], key: str, cls: type[Any], word: str = "") -> tuple[Any, ...]:
    entries = []
    word = word or cls.__name__.lower()
    for i, entry in enumerate(_tables(data, key)):
        what = f"{word} '{entry['name']}'" if "name" in entry else f"{word} number {i + 1}"
        try:
            entries.append(fill(cls, entry, what))
        except MechanismError as error:
            raise error.within(key, i) from None
    return tuple(entries)


def _bodies(data: Mapping[str, Any], base: Path) -> tuple[Body, ...]:
    """Return the bodies; meshes that they name are read in, so that a picture can be drawn without their files."""
    entries = [dict(entry) for entry in _tables(data, "bodies")]
    for i, entry in enumerate(entries):
        if "shape" in entry:
            what = f"body '{entry.get('name', i + 1)}': shape"
            try:
                entry["shape"] = read_shapes(entry["shape"], base)
            except FileError as error:
                raise FileError(f"{what}: {error}") from None
            except MechanismError as error:
                raise MechanismError(f"{what}: {error}", path=("bodies", i, "shape")) from None
    return _listed({"bodies": entries}, "bodies", Body)


def _forces(data: Mapping[str, Any], base: Path) -> tuple[ForceElement, ...]:
    forces = []
    for i, entry in enumerate(_tables(data, "forces")):
        options = dict(entry)
        if "kind" not in options:
            raise MechanismError(f"force number {i + 1} lacks 'kind', e.g. kind = \"gravity\"", path=("forces", i))
        kind, name = options.pop("kind"), options.pop("name", "")
        try:
            for key, value in options.items():
                options[key] = _with_samples(value, base, f"force '{name or kind}' ({kind}): {key}", key)
            forces.append(ForceElement(kind, name=name, **options))
        except MechanismError as error:
            raise error.within("forces", i) from None
    return tuple(forces)


def _with_samples(value: Any, base: Path, what: str, key: str) -> Any:
    """Return an option with the CSV files that sampled trajectories in it name read in, so that their numbers belong to it."""
    if isinstance(value, list):
        return [_with_samples(item, base, what, key) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("kind") != Sampled.kind or "file" not in value:
        return {name: _with_samples(item, base, what, key) for name, item in value.items()}
    try:
        return read_trajectory(value, base)
    except FileError as error:
        raise FileError(f"{what}: {error}") from None
    except MechanismError as error:
        raise MechanismError(f"{what}: {error}", path=(key,)) from None
