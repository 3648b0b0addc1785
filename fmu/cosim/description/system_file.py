"""System files: a coupled system written in TOML. docs/cosim.md has the whole grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from kingpost.base.errors import FileError, MechanismError, PluginError, closest, listed
from kingpost.base.fields import Table, fill
from kingpost.base.toml import LineIndex, read_toml
from kingpost.fmu.cosim.description.system import Component, Connection, CosimError, PowerBond, System
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.simulation.signals import read_signal

KEYS = ("name", "description", "plugins", "run", "components", "connections", "bonds")
#: What a connection is called in a file, and in Python.
ENDS = {"from": "source", "to": "target"}


@dataclass(frozen=True)
class RunTable:
    """What the table [run] takes."""

    t_end: float | None = None
    t_start: float | None = None
    step: float | None = None
    output_step: float | None = None
    master: str | Table | None = None
    order: tuple[str, ...] | None = None
    record: tuple[str, ...] | None = None
    loops: Literal["warn", "refuse"] | None = None
    growth: float | None = None
    timeout: float | None = None
    run_timeout: float | None = None


@dataclass(frozen=True, eq=False)
class SystemFile:
    """A system, the plugins that its file names, and where its entries stand."""

    path: Path
    system: System
    plugins: PluginSet
    lines: LineIndex | None = None

    def located(self, error: MechanismError) -> MechanismError:
        """Return an error with file and line in front."""
        line = self.lines.line(error.path) if self.lines is not None else None
        return CosimError(f"{self.path}:{line}: {error}" if line else f"{self.path}: {error}", path=error.path)


def read_system(path: str | Path, plugins: PluginSet | None = None) -> System:
    """Return the system in a TOML file."""
    return read_system_file(path, plugins).system


def read_system_file(path: str | Path, plugins: PluginSet | None = None) -> SystemFile:
    """Return everything that a TOML system file says; files in it are relative to its folder.

    Raises
    ------
    FileError
        If the file cannot be read or is not TOML.
    CosimError
        If what it says breaks a rule; the message begins with file and line.

    """
    path = Path(path)
    text, data = read_toml(path)
    lines = LineIndex(text)
    try:
        plugins = _plugins(data, path, plugins or PluginSet())
        return SystemFile(path, system_from(data, path, plugins), plugins, lines)
    except MechanismError as error:
        line = lines.line(error.path)
        raise CosimError(f"{path}:{line}: {error}" if line else f"{path}: {error}", path=error.path) from None


def _plugins(data: Mapping[str, Any], path: Path, plugins: PluginSet) -> PluginSet:
    names = data.get("plugins", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CosimError(f"'plugins' must be a list of texts, got {names!r}", path=("plugins",))
    try:
        return plugins.with_files([path.parent / name for name in names], named_by=path)
    except (PluginError, FileError) as error:
        raise CosimError(str(error), path=("plugins",)) from None


def system_from(data: Mapping[str, Any], path: Path, plugins: PluginSet) -> System:
    """Return the system that plain data make, in the form of a system file at ``path``: files are relative to its folder."""
    for key in data:
        if key not in KEYS:
            raise CosimError(f"a system file has no '{key}'{closest(key, KEYS)} It takes: {listed(KEYS)}.", path=(key,))
    for key in ("name", "description"):
        if not isinstance(data.get(key, ""), str):
            raise CosimError(f"{key} = {data[key]!r} is not a text", path=(key,))
    try:
        run = fill(RunTable, _table(data, "run"), "[run]")
    except MechanismError as error:
        raise error.within("run") from None
    chosen = {field.name: value for field in fields(run) if (value := getattr(run, field.name)) is not None}
    if isinstance(run.master, Mapping):
        options = dict(run.master)
        if "name" not in options:
            raise CosimError(f"[run] master = {options!r} lacks 'name', which master to take", path=("run", "master"))
        try:
            chosen["master"] = select(plugins.masters, options.pop("name"), options)
        except PluginError as error:
            raise CosimError(str(error), path=("run", "master")) from None
    components = tuple(_component(name, entry, path.parent) for name, entry in _table(data, "components").items())
    if not components:
        raise CosimError('the file has no components; write for example [components.crane] with fmu = "crane.fmu"')
    return System(
        data.get("name", path.stem), components, tuple(_listed(data, "connections", Connection)),
        tuple(_listed(data, "bonds", PowerBond)), description=str(data.get("description", "")), **chosen,
    )  # fmt: skip


def _component(name: str, entry: Any, folder: Path) -> Component:
    if not isinstance(entry, Mapping):
        raise CosimError(
            f"component '{name}' must be a table, written [components.{name}]; got {entry!r}", path=("components", name)
        )
    given = {("settings" if key == "set" else key): value for key, value in entry.items()}
    if "fmu" in given:
        if not isinstance(given["fmu"], str):
            raise CosimError(f"component '{name}': fmu = {given['fmu']!r} is not a text", path=("components", name, "fmu"))
        given["fmu"] = folder / given["fmu"]
    if isinstance(given.get("model"), str) and given["model"].endswith((".toml", ".urdf")):
        given["model"] = str(folder / given["model"])
    for key in ("settings", "ports", "inputs"):
        if not isinstance(given.get(key, {}), Mapping):
            written = "set" if key == "settings" else key
            raise CosimError(
                f"component '{name}': '{written}' must be a table, got {given[key]!r}", path=("components", name, written)
            )
    for label, signal in given.get("inputs", {}).items():
        where = ("components", name, "inputs", label)
        try:
            given["inputs"] = {**given["inputs"], label: read_signal(signal, folder)}
        except MechanismError as error:
            raise CosimError(f"component '{name}': input '{label}': {error}", path=where) from None
    try:
        return fill(Component, {**given, "name": name}, f"component '{name}'")
    except MechanismError as error:
        raise error.within("components", name) from None


def _listed(data: Mapping[str, Any], key: str, cls: type[Any]) -> list[Any]:
    entries = data.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise CosimError(f"'{key}' must be a list of tables, each written [[{key}]]; got {entries!r}", path=(key,))
    found = []
    for i, entry in enumerate(entries):
        given = {ENDS.get(word, word): value for word, value in entry.items()} if cls is Connection else dict(entry)
        if cls is PowerBond:
            given.setdefault("name", f"bond {i + 1}")
        try:
            found.append(fill(cls, given, f"{key.removesuffix('s')} number {i + 1}"))
        except MechanismError as error:
            raise error.within(key, i) from None
    return found


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, Mapping):
        raise CosimError(f"'{key}' must be a table, written [{key}]; got {table!r}", path=(key,))
    return table
