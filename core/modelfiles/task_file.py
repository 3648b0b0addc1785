"""Servo tasks from files: ``[servo]``, or several ``[tasks.NAME]``, in a TOML file of their own or beside a machine.

docs/model-files.md has the whole grammar.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kingpost.base.errors import FileError, MechanismError, Path, listed
from kingpost.base.fields import Table, convert, fill
from kingpost.mechanism import paths
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask, check_task
from kingpost.mechanism.trajectories import Trajectory, read_trajectory
from kingpost.modelfiles.task_tables import Machine, TaskEntry, TaskKind, table_at

SERVO, TASKS = "servo", "tasks"
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
    return SERVO_TASKS.find(source, machine)


def read_task_file(path: pathlib.Path, name: str = "", mechanism: Mechanism | None = None) -> ServoTask:
    """Return the task, or that of several which has this name, in a TOML file; other tables in it are of its machine."""
    return SERVO_TASKS.in_file(path, name, mechanism)


def read_entries(data: Mapping[str, Any], base: pathlib.Path) -> dict[str, TaskEntry[ServoTask]]:
    """Return the tasks in the tables ``servo`` and ``tasks`` of a file, by name; files in them are relative to ``base``."""
    return SERVO_TASKS.entries(data, base)


def _place(table: Mapping[str, Any], path: Path) -> Path:
    """Return where a path is written: that of a measure may be a component of a line."""
    if len(path) < 2 or path[0] != "path" or path[1] in table.get("path", {}):
        return path
    for key in _TOGETHER:
        for i, entry in enumerate(table.get(key, ())):
            if path[1] in entry["measures"]:
                return (key, i, path[2] if len(path) > 2 and path[2] in entry else "measures")
    return path


def task_from_dict(data: Mapping[str, Any], base: pathlib.Path = pathlib.Path(), name: str = "") -> ServoTask:
    """Return the task that plain data describe, in the words of a task file."""
    what = f"servo task '{name}'" if name else "the servo task"
    table = fill(TaskTable, data, what)
    course: dict[Any, Any] = {}
    for measure, given in table_at(table.path, f"{what}: path", ("path",)).items():
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
    settings = table_at(table.settings, f"{what}: settings", ("settings",))
    return ServoTask(
        course, table.inputs, table.t_end, table.t_start, settings, table.name or name, description=table.description
    )


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
    table = dict(table_at(given, what, (key, i)))
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


SERVO_TASKS = TaskKind(
    ServoTask, SERVO, TASKS, "servo task", "task", task_from_dict, check_task, lambda opened: opened.tasks, _place
)
