"""The plugins that a run has: built-ins, installed ones, and files. An object that a run owns; nothing is global."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from kingpost.base.errors import PluginError, closest, listed
from kingpost.base.raised import in_words, path_of
from kingpost.base.text_files import resolved
from kingpost.base.version import __version__
from kingpost.registry.failures import TRACE
from kingpost.registry.hookspecs import KINDS_HOOK, NAME, PREFIX, hookspec
from kingpost.registry.kinds import CORE_KINDS, DECLARING, HERE, PluginKind, named
from kingpost.registry.registry import BUILT_IN as OURS
from kingpost.registry.registry import Broken, Origin, Registry

#: Everything of ours is one plugin in the provenance of results.
BUILT_IN = Origin(OURS, HERE, NAME, __version__)


#: The variable of the environment that switches all plugins off, in this process and those that it starts.
SWITCH = "KINGPOST_NO_PLUGINS"


class PluginSet:
    """All plugins available to a run, with one registry for each kind: ``plugins.integrators``, ``plugins.of("masters")``.

    A kind is loaded when it is first asked for. Installed plugins and files are imported at once.

    Parameters
    ----------
    files
        Python files with hook implementations. A broken one raises :class:`PluginError` at once.
    entry_points
        Whether to load installed plugins (entry-point group ``kingpost``). A broken one is recorded in ``broken`` and
        matters only to a run that needs it.
    announce
        Called, before it is imported, with each file that a model or system file names, and with the name of that one.

    """

    def __init__(
        self,
        files: Iterable[str | Path] = (),
        *,
        entry_points: bool = True,
        announce: Callable[[Path, Path], None] | None = None,
    ) -> None:
        self.broken: list[Broken] = []
        self.files: tuple[Path, ...] = tuple(dict.fromkeys(resolved(Path(file)) for file in files))
        if self.files and switched_off():
            raise PluginError(f"plugin file '{self.files[0]}' is not loaded: plugins are switched off here")
        self.kinds: dict[str, PluginKind] = {}
        self._announce = announce
        self._entry_points = entry_points
        self._origins: dict[str, Origin] = {}
        self._registries: dict[str, Registry[Any]] = {}
        self._manager = pluggy.PluginManager(NAME)
        self._specify(KINDS_HOOK)
        self._declare(CORE_KINDS, BUILT_IN)
        for name in DECLARING:
            self._add(_imported(name), BUILT_IN, name)
        if entry_points and not switched_off():
            self._load_entry_points()
        first_of_files = len(self.broken)
        for path in self.files:
            self._load_file(path)
        self._manager.check_pending()
        if self.files:
            self._collect_from_files()
        for broken in self.broken[first_of_files:]:
            if broken.source.origin == "file":
                raise PluginError(f"plugin {broken}")

    def of(self, kind: str) -> Registry[Any]:
        """Return the registry of a kind of plugins, by its plural, e.g. ``"integrators"``."""
        if kind not in self._registries:
            if kind not in self.kinds:
                raise PluginError(
                    f"there is no kind of plugins '{kind}'{closest(kind, self.kinds)} Kinds: {listed(self.kinds)}."
                )
            for name in self.kinds[kind].built_in:
                self._add(_imported(name), BUILT_IN, name)
            self._registries[kind] = self._collected(self.kinds[kind])
            for other, become in self.kinds[kind].adopts:
                self._registries[kind].adopt(partial(self.of, other), partial(_become, become))
        return self._registries[kind]

    def __getattr__(self, name: str) -> Registry[Any]:
        """Return the registry of a kind by its name, which a package may have declared."""
        if name.startswith("_") or name not in self.__dict__.get("kinds", {}):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.of(name)

    @property
    def registries(self) -> tuple[Registry[Any], ...]:
        """One registry for each kind, all of them loaded."""
        return tuple(self.of(kind) for kind in self.kinds)

    def with_files(self, files: Iterable[str | Path], named_by: Path | None = None) -> PluginSet:
        """Return a set that also holds the plugins in ``files``, which a model or system file may have named."""
        wanted = tuple(dict.fromkeys([*self.files, *(resolved(Path(file)) for file in files)]))
        if wanted == self.files:
            return self
        if self._announce is not None and named_by is not None and not switched_off():
            for file in wanted[len(self.files) :]:
                self._announce(file, named_by)
        return PluginSet(wanted, entry_points=self._entry_points, announce=self._announce)

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
        return [vars(origin).copy() for origin in dict.fromkeys(self._origins.values())]

    def _load_entry_points(self) -> None:
        allowed = os.environ.get("KINGPOST_LOAD_PLUGINS")
        names = None if allowed is None else {name.strip() for name in allowed.split(",")}
        for point in sorted(importlib.metadata.entry_points(group=NAME), key=lambda point: point.name):
            distribution = point.dist.name if point.dist else "unknown"
            version = point.dist.version if point.dist else "unknown"
            if names is not None and distribution not in names:
                continue
            source = Origin("entry point", point.value, distribution, version)
            try:
                plugin = point.load()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a stranger's module may raise anything, SystemExit included
                self.broken.append(Broken(source, f"import failed{_last_line(error)}: {in_words(error)}"))
                continue
            self._add(plugin, source)

    def _load_file(self, path: Path) -> None:
        source = Origin("file", str(path), path.stem, "local")
        from kingpost.registry.python_files import imported_file  # few runs have files

        module = imported_file(path)
        self._add(module, source)
        if not any(True for name in vars(module) if name.startswith(PREFIX)):
            raise PluginError(
                f"plugin file {path} defines no hook; add for example\n"
                "    @kingpost.hookimpl\n    def kingpost_register_integrators():\n        return [MyIntegrator]"
            )

    def _add(self, plugin: Any, source: Origin, name: str = "") -> None:
        """Take a module with hooks in: first the kinds that it declares, then all it has for them."""
        name = name or f"{source.location} ({source.distribution})"
        if self._manager.has_plugin(name):
            return
        declare = getattr(plugin, KINDS_HOOK, None)
        try:
            if callable(declare):
                self._declare(declare(), source)
        except Exception as error:
            self.broken.append(Broken(source, f"{KINDS_HOOK}() failed{_last_line(error)}: {in_words(error)}"))
            return
        fault = self._hook_fault(plugin)
        if fault:
            self.broken.append(Broken(source, fault))
            return
        try:
            self._manager.register(plugin, name=name)
        except (ValueError, pluggy.PluginValidationError) as error:
            self.broken.append(Broken(source, str(error)))
            return
        self._origins[name] = source

    def _declare(self, kinds: Any, source: Origin) -> None:
        for kind in kinds if isinstance(kinds, Sequence) else [kinds]:
            if not isinstance(kind, PluginKind):
                raise PluginError(f"expected instances of kingpost.PluginKind, got {kind!r}")
            if kind.name in self.kinds or hasattr(type(self), kind.name):
                raise PluginError(f"there is a kind of plugins '{kind.name}' already; choose another name")
            self.kinds[kind.name] = kind
            self._specify(kind.hook)

    def _specify(self, hook: str) -> None:
        """Tell pluggy of a hook without arguments."""
        specs = ModuleType(hook)

        def spec() -> None:
            """Return classes."""

        spec.__name__ = hook
        setattr(specs, hook, hookspec(spec))
        self._manager.add_hookspecs(specs)

    def _collect_from_files(self) -> None:
        """Load the kinds that files bring plugins of, so that what is wrong with those is said at once."""
        files = {name for name, source in self._origins.items() if source.origin == "file"}
        for name, kind in list(self.kinds.items()):
            if any(implementation.plugin_name in files for implementation in self._implementations(kind)):
                self.of(name)

    def _implementations(self, kind: PluginKind) -> list[Any]:
        found = getattr(self._manager.hook, kind.hook).get_hookimpls()
        return sorted(found, key=lambda implementation: self._origins[implementation.plugin_name] != BUILT_IN)

    def _collected(self, kind: PluginKind) -> Registry[Any]:
        registry: Registry[Any] = Registry(kind.base(), self.broken)
        # Called one by one, not through pluggy's caller, so that an exception can be laid at its plugin's door.
        for implementation in self._implementations(kind):
            source = self._origins[implementation.plugin_name]
            try:
                result = implementation.function()
            except Exception as error:
                self.broken.append(Broken(source, f"{kind.hook}() failed{_last_line(error)}: {in_words(error)}"))
                continue
            classes = list(result) if isinstance(result, Sequence) else [result]
            if os.environ.get(TRACE) == "1":
                names = ", ".join(getattr(cls, "__name__", repr(cls)) for cls in classes)
                print(f"[kingpost] {kind.hook}: {source} -> {names}", file=sys.stderr)
            for cls in classes:
                registry.add(cls, source)
        return registry

    def _hook_fault(self, plugin: Any) -> str:
        """Return what is wrong with the hooks of a plugin module, or an empty string."""
        known = [KINDS_HOOK, *(kind.hook for kind in self.kinds.values())]
        for name in dir(plugin):
            value = getattr(plugin, name, None)
            marked = hasattr(value, f"{NAME}_impl")
            if not callable(value) or not (marked or (name.startswith(PREFIX) and not isinstance(value, ModuleType))):
                continue
            if name not in known:
                return f"unknown hook '{name}'{closest(name, known)} Hooks: {', '.join(known)}"
            if not marked:
                return f"'{name}' is not marked as a hook; put @kingpost.hookimpl above it"
            own = list(inspect.signature(value).parameters)
            if own:
                return f"hook '{name}({', '.join(own)})' has a wrong signature; write 'def {name}():'"
        return ""


def switched_off() -> bool:
    """Say whether no code but ours is to be imported; an FMU, which is code as a whole, keeps the plugins that it brings."""
    return HERE == NAME and os.environ.get(SWITCH, "") not in ("", "0")


def _imported(name: str) -> ModuleType:
    """Return a module of ours; inside an FMU, which brings only what a model is made of, an empty one if it is not there."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if HERE == NAME or not (error.name and name.startswith(error.name)):
            raise
        return ModuleType(name)


def _become(place: str, cls: Any) -> Any:
    """Return what the function at ``place`` makes of a class of another kind."""
    return named(place)(cls)


def _last_line(error: BaseException) -> str:
    """Return `` in FILE, line n``: where a stranger's module, or what it imports, raised."""
    path = path_of(error)
    if isinstance(error, SyntaxError) or len(path) < 2:  # its message names the line; or nothing but our own call
        return ""
    return f" in {path[-1][0].file}, line {path[-1][0].line}"
