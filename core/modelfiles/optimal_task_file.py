"""Optimal tasks from files: ``[optimal]``, or several ``[optimal_tasks.NAME]``, in a file of their own or beside a machine.

docs/optimal-control.md has the whole grammar.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kingpost.base.errors import FileError, MechanismError, Path, closest, listed
from kingpost.base.fields import Table, fill
from kingpost.base.numbers import shown
from kingpost.base.toml import read_toml
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask, check_optimal_task
from kingpost.modelfiles.task_file import located, named_file

if TYPE_CHECKING:
    from kingpost.modelfiles.opened import OpenedModel

OPTIMAL, OPTIMAL_TASKS = "optimal", "optimal_tasks"
Machine: TypeAlias = "OpenedModel | Mechanism"


@dataclass(frozen=True)
class OptimalTaskTable:
    """What a table may say about an optimal task."""

    inputs: tuple[str, ...]
    #: A number of s, or the shortest and the longest one.
    horizon: Any
    end: Table = field(default_factory=dict)
    bounds: Table = field(default_factory=dict)
    rates: Table = field(default_factory=dict)
    costs: tuple[Table, ...] = ()
    free: Table = field(default_factory=dict)
    settings: Table = field(default_factory=dict)
    t_start: float = 0.0
    intervals: int = 40
    guess: Literal["constant", "line"] = "constant"
    model: str = ""
    name: str = ""
    description: str = ""


@dataclass(frozen=True, eq=False)
class OptimalEntry:
    """A task in a file, and where its table is."""

    task: OptimalTask
    where: Path
    model: str

    def check(self, mechanism: Mechanism) -> None:
        """Refuse names that the machine does not have; the error says which entry of the file is meant."""
        model = self.model.partition(":")[0]
        if model and not model.endswith((".toml", ".urdf")) and model != mechanism.name:
            raise MechanismError(
                f"{self.task.title} is for the model '{model}', and the machine is '{mechanism.name}'",
                path=(*self.where, "model"),
            )
        try:
            check_optimal_task(self.task, mechanism)
        except MechanismError as error:
            raise MechanismError(str(error), path=(*self.where, *error.path)) from None


def read_optimal_task(source: Any, machine: Machine | None = None) -> OptimalTask:
    """Return an optimal task, checked against the machine that it is for.

    ``source`` is the name of a task that the model brings; a TOML file with ``[optimal]`` or ``[optimal_tasks.NAME]``; of a
    file with several tasks ``FILE:NAME``; the same as plain data; an :class:`OptimalTask`; or nothing, for the only task of a
    model.

    Raises
    ------
    FileError
        When there is no such file, or it is not TOML.
    MechanismError
        When there is no such task, or what it says breaks a rule; the message begins with file and line.

    """
    mechanism = machine if isinstance(machine, Mechanism) or machine is None else machine.mechanism
    known: Mapping[str, OptimalTask] = {} if isinstance(machine, Mechanism) or machine is None else machine.optimal_tasks
    where = f"model '{mechanism.name}'" if mechanism else "no machine"
    if isinstance(source, Mapping):
        task = optimal_task_from_dict(source)
    elif isinstance(source, OptimalTask):
        task = source
    elif source is None or (isinstance(source, str) and not source):
        task = _chosen("", known, where)
    elif not isinstance(source, str | pathlib.Path):
        raise MechanismError(f"{shown(source)} is no optimal task; give its name, a TOML file, or an OptimalTask")
    elif str(source) in known:
        task = known[str(source)]
    else:
        file, name = named_file(str(source))
        if file is not None:
            return read_optimal_task_file(file, name, mechanism)
        task = _chosen(str(source), known, where)
    if mechanism is not None:
        check_optimal_task(task, mechanism)
    return task


def read_optimal_task_file(path: pathlib.Path, name: str = "", mechanism: Mechanism | None = None) -> OptimalTask:
    """Return the task, or that of several which has this name, in a TOML file; other tables in it are of its machine."""
    text, data = read_toml(path, "the optimal task")
    try:
        if not any(key in data for key in (OPTIMAL, OPTIMAL_TASKS)):
            raise MechanismError("the file holds no optimal task; write [optimal], or [optimal_tasks.NAME]")
        entries = read_optimal_entries(data)
        from kingpost.modelfiles.toml_model import KNOWN_KEYS

        for key in data:
            if key not in KNOWN_KEYS:
                raise MechanismError(f"a task file has no '{key}'{closest(key, KNOWN_KEYS)}", path=(key,))
        found = _chosen(name, {key: entry.task for key, entry in entries.items()}, "the file")
        entry = next(entry for entry in entries.values() if entry.task is found)
        if mechanism is not None:
            entry.check(mechanism)
    except MechanismError as error:
        raise located(path, text, error) from None
    except RecursionError:
        raise FileError(f"{path} cannot be read: its tables are nested too deep") from None
    return entry.task


def read_optimal_entries(data: Mapping[str, Any]) -> dict[str, OptimalEntry]:
    """Return the tasks in the tables ``optimal`` and ``optimal_tasks`` of a file, by name."""
    entries: dict[str, OptimalEntry] = {}
    if OPTIMAL in data:
        entry = _entry(data[OPTIMAL], (OPTIMAL,), "")
        entries[entry.task.name or OPTIMAL] = entry
    several = data.get(OPTIMAL_TASKS, {})
    if not isinstance(several, Mapping):
        raise MechanismError(f"[{OPTIMAL_TASKS}] must be a table, got {shown(several)}", path=(OPTIMAL_TASKS,))
    for name, given in several.items():
        if name in entries:
            raise MechanismError(f"two optimal tasks are called '{name}'", path=(OPTIMAL_TASKS, name))
        entries[name] = _entry(given, (OPTIMAL_TASKS, name), name)
    return entries


def _entry(table: Any, where: Path, name: str) -> OptimalEntry:
    if not isinstance(table, Mapping):
        raise MechanismError(f"[{'.'.join(map(str, where))}] must be a table, got {shown(table)}", path=where)
    try:
        return OptimalEntry(optimal_task_from_dict(table, name), where, str(table.get("model", "")))
    except MechanismError as error:
        raise error.within(*where) from None


def optimal_task_from_dict(data: Mapping[str, Any], name: str = "") -> OptimalTask:
    """Return the task that plain data describe, in the words of a task file."""
    what = f"optimal task '{name}'" if name else "the optimal task"
    table = fill(OptimalTaskTable, data, what)
    left_out = ("model", "name") if table.costs else ("model", "name", "costs")
    given: dict[str, Any] = {key: getattr(table, key) for key in vars(table) if key not in left_out}
    return OptimalTask(**given, name=table.name or name)


def _chosen(name: str, known: Mapping[str, OptimalTask], where: str) -> OptimalTask:
    if name in known:
        return known[name]
    if name:
        raise MechanismError(f"{where} has no optimal task '{name}'{closest(name, known)} Optimal tasks: {listed(known)}.")
    if OPTIMAL in known:
        return known[OPTIMAL]
    if len(known) == 1:
        return next(iter(known.values()))
    raise MechanismError(
        f"{where} has {len(known)} optimal tasks; say which: {listed(known)}"
        if known
        else f"{where} brings no optimal task; give a file"
    )
