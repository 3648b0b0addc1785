"""Servo tasks from files: ``[servo]``, or several ``[tasks.NAME]``, in a TOML file of their own or beside a machine.

docs/model-files.md has the whole grammar.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from kingpost.base.errors import FileError, MechanismError, Path, closest, listed
from kingpost.base.fields import Table, convert, fill
from kingpost.base.numbers import shown
from kingpost.base.text_files import is_file, read_text
from kingpost.base.toml import LineIndex, read_toml
from kingpost.mechanism import paths
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask, check_task
from kingpost.mechanism.trajectories import Trajectory, read_trajectory

if TYPE_CHECKING:
    from kingpost.modelfiles.opened import OpenedModel

SERVO, TASKS = "servo", "tasks"
Machine: TypeAlias = "OpenedModel | Mechanism"
#: Lists in a task, and what each of their entries is.
_TOGETHER: dict[str, type[paths.Line] | type[paths.Turn]] = {"lines": paths.Line, "turns": paths.Turn}


@dataclass(frozen=True)
class TaskTable:
    """What a table may say about a task."""

    inputs: tuple[str, ...]
    t_end: float
    t_start: float = 0.0
    path: Table = field(default_factory=dict)
    lines: tuple[Table, ...] = ()
    turns: tuple[Table, ...] = ()
    settings: Table = field(default_factory=dict)
    model: str = ""
    name: str = ""
    description: str = ""


@dataclass(frozen=True, eq=False)
class TaskEntry:
    """A task in a file, and where its table is."""

    task: ServoTask
    where: Path
    table: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model that it says it is for; empty for any."""
        return str(self.table.get("model", ""))

    def check(self, mechanism: Mechanism) -> None:
        """Refuse names that the machine does not have; the error says which entry of the file is meant."""
        model = self.model.partition(":")[0]
        if model and not model.endswith((".toml", ".urdf")) and model != mechanism.name:
            raise MechanismError(
                f"{self.task.title} is for the model '{model}', and the machine is '{mechanism.name}'",
                path=(*self.where, "model"),
            )
        try:
            check_task(self.task, mechanism)
        except MechanismError as error:
            raise MechanismError(str(error), path=(*self.where, *self._place(error.path))) from None

    def _place(self, path: Path) -> Path:
        """Return where a path is written: that of a measure may be a component of a line."""
        if len(path) < 2 or path[0] != "path" or path[1] in self.table.get("path", {}):
            return path
        for key in _TOGETHER:
            for i, entry in enumerate(self.table.get(key, ())):
                if path[1] in entry["measures"]:
                    return (key, i, path[2] if len(path) > 2 and path[2] in entry else "measures")
        return path


def read_task(source: Any, machine: Machine | None = None) -> ServoTask:
    """Return a servo task, checked against the machine that it is for.

    Parameters
    ----------
    source
        The name of a task that the model brings; a TOML file with ``[servo]`` or ``[tasks.NAME]``; of a file with several
        tasks ``FILE:NAME``; the same as plain data; a :class:`~kingpost.mechanism.tasks.ServoTask`; or nothing, for the only
        task of a model.
    machine
        What it is for: a mechanism, or an opened model, which may bring tasks. Without one names are not checked.

    Raises
    ------
    FileError
        When there is no such file, or it is not TOML.
    MechanismError
        When there is no such task, or what it says breaks a rule; the message begins with file and line.

    """
    mechanism = machine if isinstance(machine, Mechanism) or machine is None else machine.mechanism
    known: Mapping[str, ServoTask] = {} if isinstance(machine, Mechanism) or machine is None else machine.tasks
    if isinstance(source, Mapping):
        entry = TaskEntry(task_from_dict(source), (), source)
        if mechanism is not None:
            entry.check(mechanism)
        return entry.task
    if isinstance(source, ServoTask):
        task = source
    elif source is None or (isinstance(source, str) and not source):
        task = chosen("", known, f"model '{mechanism.name}'" if mechanism else "no machine")
    elif not isinstance(source, str | pathlib.Path):
        raise MechanismError(f"{shown(source)} is no servo task; give its name, a TOML file, or a ServoTask")
    elif str(source) in known:
        task = known[str(source)]
    else:
        file, name = named_file(str(source))
        if file is not None:
            return read_task_file(file, name, mechanism)
        task = chosen(str(source), known, f"model '{mechanism.name}'" if mechanism else "no machine")
    if mechanism is not None:
        check_task(task, mechanism)
    return task


def read_task_file(path: pathlib.Path, name: str = "", mechanism: Mechanism | None = None) -> ServoTask:
    """Return the task, or that of several which has this name, in a TOML file; other tables in it are of its machine."""
    text, data = read_toml(path, "the servo task")
    try:
        if not any(key in data for key in (SERVO, TASKS)):
            raise MechanismError("the file holds no task; write [servo], or [tasks.NAME]")
        entries = read_entries(data, path.parent)
        # What else a file may hold is for the reader of model files; a word of no reader is a slip.
        from kingpost.modelfiles.toml_model import KNOWN_KEYS

        for key in data:
            if key not in KNOWN_KEYS:
                raise MechanismError(f"a task file has no '{key}'{closest(key, KNOWN_KEYS)}", path=(key,))
        found = chosen(name, {key: entry.task for key, entry in entries.items()}, "the file")
        entry = next(entry for entry in entries.values() if entry.task is found)
        if mechanism is not None:
            entry.check(mechanism)
    except MechanismError as error:
        raise located(path, text, error) from None
    except RecursionError:
        raise FileError(f"{path} cannot be read: its tables are nested too deep") from None
    return entry.task


def read_entries(data: Mapping[str, Any], base: pathlib.Path) -> dict[str, TaskEntry]:
    """Return the tasks in the tables ``servo`` and ``tasks`` of a file, by name; files in them are relative to ``base``."""
    entries: dict[str, TaskEntry] = {}
    if SERVO in data:
        table = _table(data[SERVO], f"[{SERVO}]", (SERVO,))
        task = _within((SERVO,), table, base, "")
        entries[task.name or SERVO] = TaskEntry(task, (SERVO,), table)
    for name, given in _table(data.get(TASKS, {}), f"[{TASKS}]", (TASKS,)).items():
        where = (TASKS, name)
        if name in entries:
            raise MechanismError(f"two tasks are called '{name}'", path=where)
        table = _table(given, f"[{TASKS}.{name}]", where)
        entries[name] = TaskEntry(_within(where, table, base, name), where, table)
    return entries


def task_from_dict(data: Mapping[str, Any], base: pathlib.Path = pathlib.Path(), name: str = "") -> ServoTask:
    """Return the task that plain data describe, in the words of a task file."""
    what = f"servo task '{name}'" if name else "the servo task"
    table = fill(TaskTable, data, what)
    course: dict[Any, Any] = {}
    for measure, given in _table(table.path, f"{what}: path", ("path",)).items():
        course[measure] = _trajectory(measure, given, base, what)
    for key, cls in _TOGETHER.items():
        for i, given in enumerate(getattr(table, key)):
            measures, path = _together(key, i, given, cls, what)
            if measures in course and isinstance(course[measures], list):
                course[measures].append(path)
                continue
            taken = {name for names in course for name in ((names,) if isinstance(names, str) else names)}
            twice = [measure for measure in measures if measure in taken]
            if twice:
                raise MechanismError(f"{what} gives '{twice[0]}' two paths", path=(key, i, "measures"))
            course[measures] = [path]
    for measures, given in course.items():
        if isinstance(given, list):
            course[measures] = given[0] if len(given) == 1 else _chain(measures, given, table, what)
    settings = _table(table.settings, f"{what}: settings", ("settings",))
    return ServoTask(
        course, table.inputs, table.t_end, table.t_start, settings, table.name or name, description=table.description
    )


def chosen(name: str, known: Mapping[str, ServoTask], where: str) -> ServoTask:
    """Return the task of this name; without one the file's or model's own, or the only one."""
    if name in known:
        return known[name]
    if name:
        raise MechanismError(f"{where} has no task '{name}'{closest(name, known)} Tasks: {listed(known)}.")
    if SERVO in known:
        return known[SERVO]
    if len(known) == 1:
        return next(iter(known.values()))
    raise MechanismError(
        f"{where} has {len(known)} tasks; say which: {listed(known)}" if known else f"{where} brings no task; give a file"
    )


def located(path: pathlib.Path, text: str | None, error: MechanismError) -> MechanismError:
    """Return an error with the file and the line that it is about in front."""
    line = LineIndex(read_text(path) if text is None else text).line(error.path)
    where = f"{path}:{line}" if line else str(path)
    return MechanismError(f"{where}: {error}", path=error.path)


def named_file(source: str) -> tuple[pathlib.Path | None, str]:
    """Return the file that a text names, and the task in it; None for what is the name of a task."""
    if source.endswith(".toml") or is_file(pathlib.Path(source)):
        return pathlib.Path(source), ""
    name, colon, task = source.rpartition(":")
    if colon and (name.endswith(".toml") or is_file(pathlib.Path(name))):
        return pathlib.Path(name), task
    if "/" in source or "\\" in source:
        return pathlib.Path(source), ""
    return None, source


def _within(where: Path, table: Mapping[str, Any], base: pathlib.Path, name: str) -> ServoTask:
    try:
        return task_from_dict(table, base, name)
    except MechanismError as error:
        raise error.within(*where) from None


def _table(value: Any, what: str, path: Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MechanismError(f"{what} must be a table, got {shown(value)}", path=path)
    return value


def _trajectory(measure: str, given: Any, base: pathlib.Path, what: str) -> Trajectory:
    try:
        return read_trajectory(given, base)
    except FileError as error:
        raise FileError(f"{what}: path of '{measure}': {error}") from None
    except MechanismError as error:
        raise MechanismError(f"{what}: path of '{measure}': {error}", path=("path", measure, *error.path)) from None


def _together(
    key: str, i: int, given: Any, cls: type[paths.Line] | type[paths.Turn], what: str
) -> tuple[tuple[str, ...], paths.Path]:
    what = f"{what}: {cls.kind} {i + 1}"
    table = dict(_table(given, what, (key, i)))
    if "measures" not in table:
        raise MechanismError(f'{what} lacks \'measures\', e.g. measures = ["load.x", "load.z"]', path=(key, i))
    try:
        measures: tuple[str, ...] = convert(tuple[str, ...], table.pop("measures"))
    except MechanismError as error:
        raise MechanismError(f"{what}: measures: {error}", path=(key, i, "measures")) from None
    try:
        path = fill(cls, table, what)
        path.along(measures)
    except MechanismError as error:
        reason = str(error).removeprefix(what).removeprefix(f"{cls.kind}: ").removeprefix(": ")
        between = "" if str(error).startswith(f"{what} ") else ": "
        raise MechanismError(f"{what}{between}{reason}", path=(key, i, *error.path)) from None
    if len(set(measures)) < len(measures):
        raise MechanismError(f"{what} names a measure twice: {listed(measures)}", path=(key, i, "measures"))
    return measures, path


def _chain(measures: tuple[str, ...], parts: list[paths.Path], table: TaskTable, what: str) -> paths.Chain:
    try:
        return paths.Chain(tuple(parts))
    except MechanismError as error:
        key = "turns" if isinstance(parts[0], paths.Turn) else "lines"
        rows = [i for i, given in enumerate(getattr(table, key)) if tuple(given["measures"]) == measures]
        part = error.path[1] if len(error.path) > 1 else 0
        raise MechanismError(f"{what}: {listed(measures)}: {error}", path=(key, rows[int(part)])) from None
