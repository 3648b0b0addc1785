"""Tasks in TOML files, of whatever kind: which tables hold them, which of several is meant, and where a mistake stands."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from kingpost.base.errors import FileError, MechanismError, Path, closest, listed
from kingpost.base.numbers import shown
from kingpost.base.text_files import is_file, read_text
from kingpost.base.toml import LineIndex, read_toml
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.mechanism.tasks import ServoTask

if TYPE_CHECKING:
    from kingpost.modelfiles.opened import OpenedModel

Machine: TypeAlias = "OpenedModel | Mechanism"
Task = TypeVar("Task", bound=ServoTask | OptimalTask)


@dataclass(frozen=True, eq=False)
class TaskKind(Generic[Task]):
    """A kind of tasks: the words for it, and what makes tasks of tables."""

    cls: type[Task]
    #: The table of one task, and that of several by name.
    one: str
    several: str
    #: What messages call it, in full, and where its kind is clear.
    title: str
    short: str
    #: (table, folder that files in it are relative to, name) -> task.
    read: Callable[[Mapping[str, Any], pathlib.Path, str], Task]
    #: Refuses what a machine does not have.
    check: Callable[[Task, Mechanism], None]
    #: The tasks that an opened model brings.
    brought: Callable[[OpenedModel], Mapping[str, Task]]
    #: (table, place in the task) -> place in the table, where these differ.
    place: Callable[[Mapping[str, Any], Path], Path] = lambda table, path: path

    def entries(self, data: Mapping[str, Any], base: pathlib.Path = pathlib.Path()) -> dict[str, TaskEntry[Task]]:
        """Return the tasks in the tables of a file, by name; files in them are relative to ``base``."""
        entries: dict[str, TaskEntry[Task]] = {}
        if self.one in data:
            entry = self._entry(data[self.one], (self.one,), base, "")
            entries[entry.task.name or self.one] = entry
        for name, given in table_at(data.get(self.several, {}), f"[{self.several}]", (self.several,)).items():
            where = (self.several, name)
            if name in entries:
                raise MechanismError(f"two {self.short}s are called '{name}'", path=where)
            entries[name] = self._entry(given, where, base, name)
        return entries

    def _entry(self, given: Any, where: Path, base: pathlib.Path, name: str) -> TaskEntry[Task]:
        table = table_at(given, f"[{'.'.join(map(str, where))}]", where)
        try:
            return TaskEntry(self, self.read(table, base, name), where, table)
        except MechanismError as error:
            raise error.within(*where) from None

    def in_file(self, path: pathlib.Path, name: str = "", mechanism: Mechanism | None = None) -> Task:
        """Return the task, or that of several which has this name, in a TOML file; other tables in it are of its machine."""
        text, data = read_toml(path, f"the {self.title}")
        try:
            if not any(key in data for key in (self.one, self.several)):
                raise MechanismError(f"the file holds no {self.short}; write [{self.one}], or [{self.several}.NAME]")
            entries = self.entries(data, path.parent)
            # What else a file may hold is for the reader of model files; a word of no reader is a slip.
            from kingpost.modelfiles.toml_model import KNOWN_KEYS

            for key in data:
                if key not in KNOWN_KEYS:
                    raise MechanismError(f"a task file has no '{key}'{closest(key, KNOWN_KEYS)}", path=(key,))
            found = self.chosen(name, {key: entry.task for key, entry in entries.items()}, "the file")
            entry = next(entry for entry in entries.values() if entry.task is found)
            if mechanism is not None:
                entry.check(mechanism)
        except MechanismError as error:
            raise located(path, text, error) from None
        except RecursionError:
            raise FileError(f"{path} cannot be read: its tables are nested too deep") from None
        return entry.task

    def chosen(self, name: str, known: Mapping[str, Task], where: str) -> Task:
        """Return the task of this name; without one the file's or model's own, or the only one."""
        if name in known:
            return known[name]
        if name:
            words = f"{self.short}s".capitalize()
            raise MechanismError(f"{where} has no {self.short} '{name}'{closest(name, known)} {words}: {listed(known)}.")
        if self.one in known:
            return known[self.one]
        if len(known) == 1:
            return next(iter(known.values()))
        raise MechanismError(
            f"{where} has {len(known)} {self.short}s; say which: {listed(known)}"
            if known
            else f"{where} brings no {self.short}; give a file"
        )

    def find(self, source: Any, machine: Machine | None = None) -> Task:
        """Return a task by name, from a file, plain data or itself, checked against the machine that it is for."""
        opened = None if isinstance(machine, Mechanism) else machine
        mechanism = machine if isinstance(machine, Mechanism) else None if opened is None else opened.mechanism
        known: Mapping[str, Task] = {} if opened is None else self.brought(opened)
        where = f"model '{mechanism.name}'" if mechanism else "no machine"
        if isinstance(source, Mapping):
            entry = TaskEntry(self, self.read(source, pathlib.Path(), ""), (), source)
            if mechanism is not None:
                entry.check(mechanism)
            return entry.task
        if isinstance(source, self.cls):
            task = source
        elif source is None or (isinstance(source, str) and not source):
            task = self.chosen("", known, where)
        elif not isinstance(source, str | pathlib.Path):
            article = "an" if self.cls.__name__[0] in "AEIOU" else "a"
            raise MechanismError(
                f"{shown(source)} is no {self.title}; give its name, a TOML file, or {article} {self.cls.__name__}"
            )
        elif str(source) in known:
            task = known[str(source)]
        else:
            file, name = named_file(str(source))
            if file is not None:
                return self.in_file(file, name, mechanism)
            task = self.chosen(str(source), known, where)
        if mechanism is not None:
            self.check(task, mechanism)
        return task


@dataclass(frozen=True, eq=False)
class TaskEntry(Generic[Task]):
    """A task in a file, and where its table is."""

    kind: TaskKind[Task]
    task: Task
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
            self.kind.check(self.task, mechanism)
        except MechanismError as error:
            raise MechanismError(str(error), path=(*self.where, *self.kind.place(self.table, error.path))) from None


def table_at(value: Any, what: str, path: Path) -> Mapping[str, Any]:
    """Return a table, or refuse what is none."""
    if not isinstance(value, Mapping):
        raise MechanismError(f"{what} must be a table, got {shown(value)}", path=path)
    return value


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
