"""The plugins that a run has: built-ins, installed ones, and files. An object that a run owns; nothing is global."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from kingpost import hookspecs
from kingpost.errors import PluginError, closest
from kingpost.hookspecs import NAME, PREFIX
from kingpost.interfaces.command import Command
from kingpost.interfaces.exporter import Exporter
from kingpost.interfaces.force import Force
from kingpost.interfaces.formulation import Formulation
from kingpost.interfaces.integrator import Integrator
from kingpost.interfaces.joint_loads import JointLoads
from kingpost.interfaces.master import Master
from kingpost.interfaces.model import Model
from kingpost.interfaces.writer import Writer
from kingpost.registry import Broken, Registry, Source
from kingpost.version import __version__

#: Modules with Kingpost's own hook implementations; named, not imported, since the core depends on none of them.
BUILT_IN = ("kingpost.cli.hooks", "kingpost.plugins.hooks", "kingpost.fmu.hooks")


class PluginSet:
    """All plugins available to a run.

    Parameters
    ----------
    files
        Python files with hook implementations. A broken one raises :class:`PluginError` at once.
    entry_points
        Whether to load installed plugins (entry-point group ``kingpost``). A broken one is recorded in ``broken`` and
        matters only to a run that needs it.

    """

    def __init__(self, files: Iterable[str | Path] = (), *, entry_points: bool = True) -> None:
        self.broken: list[Broken] = []
        self.files: tuple[Path, ...] = tuple(dict.fromkeys(Path(file).resolve() for file in files))
        self._entry_points = entry_points
        self._sources: dict[str, Source] = {}
        self._manager = pluggy.PluginManager(NAME)
        self._manager.add_hookspecs(hookspecs)
        for name in BUILT_IN:
            self._register(importlib.import_module(name), Source("built-in", name, NAME, __version__))
        if entry_points:
            self._load_entry_points()
        first_of_files = len(self.broken)
        for path in self.files:
            self._load_file(path)
        self._manager.check_pending()
        self.formulations = self._collect("kingpost_register_formulations", Formulation)
        self.integrators = self._collect("kingpost_register_integrators", Integrator)
        self.joint_loads = self._collect("kingpost_register_joint_loads", JointLoads)
        self.forces = self._collect("kingpost_register_forces", Force)
        self.models = self._collect("kingpost_register_models", Model)
        self.writers = self._collect("kingpost_register_writers", Writer)
        self.exporters = self._collect("kingpost_register_exporters", Exporter)
        self.masters = self._collect("kingpost_register_masters", Master)
        self.commands = self._collect("kingpost_register_commands", Command)
        for broken in self.broken[first_of_files:]:
            if broken.source.origin == "file":
                raise PluginError(f"plugin {broken}")

    @property
    def registries(self) -> tuple[Registry[Any], ...]:
        """One registry for each plugin kind."""
        return (
            self.formulations,
            self.integrators,
            self.joint_loads,
            self.forces,
            self.models,
            self.writers,
            self.exporters,
            self.masters,
            self.commands,
        )

    def with_files(self, files: Iterable[str | Path]) -> PluginSet:
        """Return a set that also holds the plugins in ``files``."""
        wanted = tuple(dict.fromkeys([*self.files, *(Path(file).resolve() for file in files)]))
        return self if wanted == self.files else PluginSet(wanted, entry_points=self._entry_points)

    def listing(self) -> list[dict[str, str]]:
        """Return one row for each plugin class: kind, name, who supplied it, and what it does."""
        return [
            {
                "kind": registry.kind,
                "name": cls.name,
                "distribution": source.distribution,
                "version": source.version,
                "origin": source.origin,
                "location": source.location,
                "summary": cls.summary(),
            }
            for registry in self.registries
            for cls, source in registry.entries()
        ]

    def sources(self) -> list[dict[str, str]]:
        """Return one row for each loaded plugin module, for the provenance of results."""
        return [vars(source).copy() for source in self._sources.values()]

    def _load_entry_points(self) -> None:
        allowed = os.environ.get("KINGPOST_LOAD_PLUGINS")
        names = None if allowed is None else {name.strip() for name in allowed.split(",")}
        for point in sorted(importlib.metadata.entry_points(group=NAME), key=lambda point: point.name):
            distribution = point.dist.name if point.dist else "unknown"
            version = point.dist.version if point.dist else "unknown"
            if names is not None and distribution not in names:
                continue
            source = Source("entry point", point.value, distribution, version)
            try:
                plugin = point.load()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a stranger's module may raise anything, SystemExit included
                self.broken.append(Broken(source, f"import failed: {type(error).__name__}: {error}"))
                continue
            self._register(plugin, source)

    def _load_file(self, path: Path) -> None:
        source = Source("file", str(path), path.stem, "local")
        if not path.is_file():
            raise PluginError(f"plugin file '{path}' does not exist")
        module_name = f"kingpost_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise PluginError(f"plugin file '{path}' is not a Python file; its name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            del sys.modules[module_name]
            line = _line_in(error, path)
            raise PluginError(f"plugin file {path}{line}: {type(error).__name__}: {error}") from error
        self._register(module, source)
        if not any(True for name in vars(module) if name.startswith(PREFIX)):
            raise PluginError(
                f"plugin file {path} defines no hook; add for example\n"
                "    @kingpost.hookimpl\n    def kingpost_register_integrators():\n        return [MyIntegrator]"
            )

    def _register(self, plugin: Any, source: Source) -> None:
        fault = _hook_fault(plugin)
        if fault:
            self.broken.append(Broken(source, fault))
            return
        name = f"{source.location} ({source.distribution})"
        try:
            self._manager.register(plugin, name=name)
        except (ValueError, pluggy.PluginValidationError) as error:
            self.broken.append(Broken(source, str(error)))
            return
        self._sources[name] = source

    def _collect(self, hook: str, base: Any) -> Registry[Any]:
        registry: Registry[Any] = Registry(base, self.broken)
        # Called one by one, not through pluggy's caller, so that an exception can be laid at its plugin's door.
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            source = self._sources[implementation.plugin_name]
            try:
                result = implementation.function()
            except Exception as error:
                self.broken.append(Broken(source, f"{hook}() failed: {type(error).__name__}: {error}"))
                continue
            classes = list(result) if isinstance(result, Sequence) else [result]
            if os.environ.get("KINGPOST_TRACE_PLUGINS") == "1":
                names = ", ".join(getattr(cls, "__name__", repr(cls)) for cls in classes)
                print(f"[kingpost] {hook}: {source} -> {names}", file=sys.stderr)
            for cls in classes:
                registry.add(cls, source)
        return registry


def _hook_fault(plugin: Any) -> str:
    """Return what is wrong with the hooks of a plugin module, or an empty string."""
    specs = {name: value for name, value in vars(hookspecs).items() if name.startswith(PREFIX)}
    for name in dir(plugin):
        value = getattr(plugin, name, None)
        marked = hasattr(value, f"{NAME}_impl")
        if not callable(value) or not (marked or (name.startswith(PREFIX) and not isinstance(value, ModuleType))):
            continue
        if name not in specs:
            return f"unknown hook '{name}'{closest(name, specs)} Hooks: {', '.join(specs)}"
        if not marked:
            return f"'{name}' is not marked as a hook; put @kingpost.hookimpl above it"
        wanted = list(inspect.signature(specs[name]).parameters)
        own = list(inspect.signature(value).parameters)
        if not set(own) <= set(wanted):
            return f"hook '{name}({', '.join(own)})' has a wrong signature; write 'def {name}({', '.join(wanted)}):'"
    return ""


def _line_in(error: BaseException, path: Path) -> str:
    """Return ``", line n"`` for the last line of ``path`` that the traceback passes through."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    traceback, line = error.__traceback__, ""
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            line = f", line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return line
