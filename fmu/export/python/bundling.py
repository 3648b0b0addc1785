"""Copies of Python code for an FMU: Kingpost under a name of its own, plugin files, and what they need where they run."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kingpost import PLACES
from kingpost.base.errors import ExportError
from kingpost.equations.integrator import StepMap
from kingpost.fmu.export.python.runtime.importing import rename_imports
from kingpost.registry.registry import Origin, Registry
from kingpost.simulation.export_model import ExportModel

PACKAGE = "kingpost"
#: Where the engine begins; the rest of the package follows from its imports.
ROOT = f"{PACKAGE}.fmu.export.python.runtime.rebuilding"
#: The built-in plugins that a model can be made of; commands, models and file formats do not travel along.
PLUGINS = (
    *(f"{PACKAGE}.plugins.{kind}.hooks" for kind in ("formulations", "formalisms", "integrators", "joint_loads", "forces")),
    f"{PACKAGE}.plugins.formalisms.formulation",  # named by the kind of formulations, which imports nothing
)
#: What else a plugin file that travels along may bring: the kinds that this package declares, and what they derive from.
DECLARED_KINDS = (f"{PACKAGE}.fmu.hooks", f"{PACKAGE}.fmu.cosim.masters.interface")
#: Packages that hold what a model needs, and offer more.
CUT_SHORT = ("fmu", "fmu.export", "fmu.cosim", "fmu.cosim.masters")
#: The oldest Python that can run the package.
PYTHON = "3.10"


@dataclass(frozen=True)
class PackageCopy:
    """The modules of Kingpost that an engine needs, with their imports renamed."""

    name: str
    #: Sources by their places below the folder that holds the package.
    files: Mapping[str, str]
    requires: tuple[dict[str, str], ...]


@dataclass(frozen=True)
class PluginCopies:
    """The plugins that a model uses: files that travel along, and distributions that must be there."""

    #: Sources by file name, in the order in which they are loaded.
    files: Mapping[str, str]
    distributions: tuple[dict[str, str], ...]
    requires: tuple[dict[str, str], ...]


@cache
def copy_package() -> PackageCopy:
    """Return the part of Kingpost that runs inside FMUs; its name is unique to its content."""
    sources: dict[str, tuple[str, bool]] = {}
    # SciPy is imported where samples are interpolated, and by solvers.
    needed = {"scipy"}
    # Plugin files that travel along may use any public name.
    waiting = [PACKAGE, ROOT, *PLUGINS, *DECLARED_KINDS, *(f"{PACKAGE}.{place}" for place in PLACES)]
    # What these offer beyond the engine has no place in an FMU.
    instead = {f"{PACKAGE}.{name}": '"""The part of this package that runs inside FMUs."""\n' for name in CUT_SHORT}
    # Modules that are only imported inside functions travel along, but what they need is not needed at once.
    later: list[str] = []
    while waiting or later:
        at_once = bool(waiting)
        module = (waiting or later).pop()
        if module in sources:
            continue
        spec = importlib.util.find_spec(module)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "get_source"):
            raise ExportError(f"the source of module '{module}' cannot be found, so that it cannot travel in an FMU")
        text = instead.get(module) or spec.loader.get_source(module) or ""
        sources[module] = text, spec.submodule_search_locations is not None
        parent = module.rpartition(".")[0]
        (waiting if at_once else later).extend([parent] if parent else [])
        for name, lazy in _imported(text):
            if name.split(".")[0] == PACKAGE:
                (waiting if at_once and not lazy else later).extend(_as_module(name))
            elif at_once and not lazy:
                needed.add(name.split(".")[0])
    digest = hashlib.sha256("".join(f"{name}\0{text}\0" for name, (text, _) in sorted(sources.items())).encode()).hexdigest()
    private = f"{PACKAGE}_{digest[:16]}"
    files = {}
    for module, (text, is_package) in sorted(sources.items()):
        place = "/".join([private, *module.split(".")[1:]])
        files[f"{place}/__init__.py" if is_package else f"{place}.py"] = rename_imports(text, {PACKAGE: private})
    return PackageCopy(private, files, tuple(_requirements(needed)))


def copy_plugins(model: ExportModel, package: str) -> PluginCopies:
    """Return the plugins beyond the built-in ones that a model uses."""
    files: dict[str, str] = {}
    distributions: list[dict[str, str]] = []
    # The package imports SciPy only where a solver needs it.
    needed = set() if isinstance(model.integrator, StepMap) else {"scipy"}
    used = used_plugins(model)
    for source in dict.fromkeys(source for source, _ in used):
        provides = ", ".join(what for owner, what in used if owner == source)
        if source.origin == "file":
            text = Path(source.location).read_text(encoding="utf-8")
            needed |= {name.split(".")[0] for name, _ in _imported(text)} - {PACKAGE}
            files[f"{len(files)}_{Path(source.location).name}"] = rename_imports(text, {PACKAGE: package})
        elif source.origin == "entry point":
            place, _, attribute = source.location.partition(":")
            top = place.split(".")[0].strip()
            private = f"{top}_{package}"
            distributions.append(
                {"distribution": source.distribution, "version": source.version, "module": top, "private": private,
                 "provides": provides}
            )  # fmt: skip
            files[f"{len(files)}_{top}.py"] = _stand_in(private + place.strip()[len(top) :], attribute.strip())
    return PluginCopies(files, tuple(distributions), tuple(_requirements(needed)))


def used_plugins(model: ExportModel) -> list[tuple[Origin, str]]:
    """Return who supplied each plugin that a model uses, and what it is; refuse one that nobody has registered."""
    plugins, loads = model.plugins, model.equations.observed.loads
    wanted: list[tuple[Registry[Any], str]] = [(plugins.forces, force.kind) for force in model.mechanism.forces]
    # A block needs no formulation, and one that works at sample times no integrator.
    wanted += [] if model.written else [(plugins.formulations, model.equations.formulation)]
    wanted += [] if model.samples else [(plugins.integrators, model.integrator.name)]
    wanted += [] if loads is None else [(plugins.joint_loads, loads.record["method"])]
    found = []
    for registry, name in dict.fromkeys(wanted):
        entries = registry.sources(name)
        if len(entries) != 1:
            raise ExportError(
                f"{registry.kind} '{name}' belongs to no plugin, so its code cannot travel in an FMU. Put it into a plugin "
                "file, and name that among the plugins"
            )
        found.append((entries[0], f"{registry.kind} '{name}'"))
    if model.samples is None and not isinstance(model.integrator, plugins.integrators.get(model.integrator.name)):
        raise ExportError(
            f"integrator '{model.integrator.name}' is not the one that is registered under this name; put it into a plugin file"
        )
    return found


def _stand_in(module: str, attribute: str) -> str:
    """Return a plugin file that passes on the hooks of an installed plugin."""
    plugin = f"getattr(plugin, {attribute!r})" if attribute else "plugin"
    return (
        f"import importlib\n\nplugin = importlib.import_module({module!r})\n"
        f"for name in [name for name in dir({plugin}) if name.startswith('kingpost_register_')]:\n"
        f"    globals()[name] = getattr({plugin}, name)\n"
    )


def _imported(source: str) -> Iterator[tuple[str, bool]]:
    """Yield each absolute module name that a source imports, and whether it does so only inside a function."""

    def visit(nodes: Iterable[ast.AST], lazy: bool) -> Iterator[tuple[str, bool]]:
        for node in nodes:
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                yield from visit(node.orelse, lazy)
            elif isinstance(node, ast.Import):
                yield from ((alias.name, lazy) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node.module, lazy
                # A name may be a module, too.
                yield from ((f"{node.module}.{alias.name}", lazy) for alias in node.names)
            else:
                inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from visit(ast.iter_child_nodes(node), lazy or inside)

    yield from visit(ast.parse(source).body, False)


def _as_module(name: str) -> list[str]:
    """Return the module called ``name``, if it is one and not something inside one."""
    try:
        return [name] if importlib.util.find_spec(name) is not None else []
    except ModuleNotFoundError:
        return []


def _requirements(modules: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield module, distribution and version of each package that is not part of Python."""
    known = importlib.metadata.packages_distributions()
    for module in sorted(set(modules) - {*sys.stdlib_module_names, "__future__"}):
        below = {"python_below": "3.11"} if module == "tomli" else {}
        for distribution in known.get(module, [])[:1]:
            version = importlib.metadata.version(distribution)
            yield {"module": module, "distribution": distribution, "version": version, **below}
        if module not in known and below:
            yield {"module": module, "distribution": module, "version": "2.0.1", **below}


def merged(groups: Sequence[Sequence[dict[str, str]]]) -> list[dict[str, str]]:
    """Return all requirements once, by name."""
    by_name = {entry["module"]: entry for group in groups for entry in group}
    return [by_name[name] for name in sorted(by_name)]
