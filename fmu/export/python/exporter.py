"""Exporter ``fmu``: an FMU with Python inside, for models that are not all plain C."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Literal

import casadi as ca

from kingpost.base.errors import ExportError, KingpostError
from kingpost.base.version import __version__
from kingpost.equations.integrator import StepMap
from kingpost.fmu.export.archive import write_archive
from kingpost.fmu.export.native.building import PLATFORMS, Platform, build_binary, platforms_named, this_platform
from kingpost.fmu.export.native.sources import NativeSources, native_sources
from kingpost.fmu.export.python.bundling import PYTHON, PackageCopy, PluginCopies, copy_package, copy_plugins, merged
from kingpost.fmu.export.python.module import pythonfmu_binaries, pythonfmu_licence, pythonfmu_version, slave_files
from kingpost.fmu.export.python.runtime.rebuilding import model_functions, numbers_at_start
from kingpost.fmu.interface.description import Capabilities, describe_model, model_identifier
from kingpost.fmu.interface.documentation import documentation_files, record
from kingpost.fmu.interface.interface import Interface, build_interface
from kingpost.kernel.compiler import find_compiler
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.registry.plugin import Plugin
from kingpost.simulation.export_model import ExportModel
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection
from kingpost.simulation.provenance import plain_options
from kingpost.simulation.signals import plain_path


@dataclass(frozen=True)
class PythonOptions:
    """How the FMU runs.

    ``engine``: the compiled library, Kingpost in Python, or both, of which a machine takes the first that it can use.
    ``binary``: what the importer loads; the bridge needs a C compiler at the export and is more robust than pythonfmu's own.
    ``needs_execution_tool``: what the description says; some importers refuse FMUs that need one.
    ``platforms``: joined by ``+``, those to compile for (default: this machine's).
    """

    engine: Literal["auto", "library", "package"] = "auto"
    binary: Literal["auto", "bridge", "pythonfmu"] = "auto"
    needs_execution_tool: bool = True
    platforms: str | None = None
    fmi: Literal[2] = 2
    fmu: Literal["cs"] = "cs"


class PythonFmu(Exporter):
    """FMU with Python inside, for FMI 2.0 co-simulation; for forces and integrators that are written in Python."""

    name = "fmu"
    suffix = ".fmu"
    Options = PythonOptions

    def export(self, model: ExportModel, selection: ExportSelection, path: Path) -> Exported:
        options: PythonOptions = self.options
        interface = build_interface(model, selection, "cs")
        platforms = _platforms(options)
        no_library = _no_library(model, options, platforms)
        package, plugins, no_package = _package(model, options, no_library)
        manifest: dict[str, Any] = {
            "model": model.mechanism.name,
            "kingpost": __version__,
            "names": list(interface.names),
            "first": interface.first,
            "library": {"files": {}, "why_not": no_library},
            "package": {
                "why_not": no_package,
                "name": package.name,
                "python": PYTHON,
                "requires": merged([package.requires, plugins.requires]),
                "distributions": list(plugins.distributions),
                "plugins": [f"plugins/{name}" for name in plugins.files],
                "files": {},
                "definition": _definition(model, selection),
                "check": _check(interface),
            },
        }
        compiled = _compiled(model, options, no_library, no_package)
        salt = _digest([_texts(manifest), _unmarked(interface, compiled), slave_files("", ""), package.files, plugins.files])
        capabilities = Capabilities(
            needs_execution_tool=options.needs_execution_tool, directional_derivatives=False, input_interpolation=False
        )
        description, token = describe_model(interface, 2, "cs", capabilities, salt=salt)
        unique = "".join(letter for letter in token if letter.isalnum())[:16]
        runtime = f"resources/kingpost_fmu_{unique}"
        manifest["token"] = token
        files = {
            "modelDescription.xml": description.encode(),
            **documentation_files(interface, 2, self.name),
            "documentation/licenses/pythonfmu.txt": pythonfmu_licence().encode(),
            "resources/kingpost.json": _json(record(interface, self.name)),
            "resources/requirements.txt": _requirements_text(manifest["package"]).encode(),
            **_encoded("resources", slave_files(unique, model.mechanism.name)),
            **_encoded("resources", package.files),
            **_encoded(f"{runtime}/plugins", plugins.files),
        }
        if compiled and platforms:
            sources = library_sources(interface, token) if compiled == "library" else equation_sources(interface)
            files |= _encoded("sources", sources.texts)
            built = {target.name: f"library/{target.name}{target.suffix}" for target in platforms}
            manifest["library" if compiled == "library" else "package"]["files"] = built
            files |= {f"{runtime}/{built[target.name]}": build_binary(sources, target) for target in platforms}
        files[f"{runtime}/manifest.json"] = _json(manifest)
        binaries = {name: ("pythonfmu", data) for name, data in pythonfmu_binaries().items()}
        bridged = [] if options.binary == "pythonfmu" else [target for target in platforms if target.suffix != ".dll"]
        if bridged:
            sources = bridge_sources(f"slave_{unique}", token)
            files |= _encoded("sources/bridge", sources.texts)
            binaries |= {target.folders[2]: ("bridge", build_binary(sources, target)) for target in bridged}
        suffixes = {target.folders[2]: target.suffix for target in PLATFORMS.values()}
        for folder, (_, data) in binaries.items():
            files[f"binaries/{folder}/{model_identifier(model.mechanism.name)}{suffixes[folder]}"] = data
        size = write_archive(path, files)
        return Exported(path, _facts(interface, manifest, binaries, size))


def library_sources(interface: Interface, token: str) -> NativeSources:
    """Return the C sources of the library that Python calls: those of a native FMU, with plain functions instead of FMI."""
    sources = native_sources(interface, token, 2, ramps=False)
    texts = {name: text for name, text in sources.texts.items() if name != "fmi2.c"}
    texts["direct.c"] = _native("direct.c")
    return NativeSources(texts, tuple(sorted(name for name in texts if name.endswith(".c"))))


def equation_sources(interface: Interface) -> NativeSources:
    """Return the C sources of what a solver in Python evaluates."""
    generator = ca.CodeGenerator("equations", {"casadi_int": "long long int"})
    for function in model_functions(interface):
        generator.add(function)
    return NativeSources({"equations.c": f"{_VISIBLE}\n{generator.dump()}"}, ("equations.c",))


#: CasADi looks the functions up by name.
_VISIBLE = """#if defined(_WIN32)
#define CASADI_SYMBOL_EXPORT __declspec(dllexport)
#else
#define CASADI_SYMBOL_EXPORT __attribute__((visibility("default")))
#endif"""


def bridge_sources(module: str, token: str) -> NativeSources:
    """Return the C sources of the binary that finds Python and lets it work."""
    texts = {name: _native(name) for name in ("bridge.h", "bridge.c", "interpreter.c")}
    texts["bridge_model.h"] = f'#define KP_MODULE "{module}"\n#define KP_TOKEN "{token}"\n'
    return NativeSources(texts, ("bridge.c", "interpreter.c"))


def _native(name: str) -> str:
    return package_files("kingpost.fmu.export.native").joinpath("c", name).read_text(encoding="utf-8")


def _platforms(options: PythonOptions) -> list[Platform]:
    """Return the platforms to compile for; none if nobody named any and there is no compiler."""
    if options.platforms is not None:
        return platforms_named(options.platforms)
    own = this_platform()
    if own is not None and find_compiler() is not None:
        return [own]
    for option, value in (("engine", "library"), ("binary", "bridge")):
        if getattr(options, option) == value:
            raise ExportError(
                f"{option}={value} needs a C compiler, and there is none: set CC, install gcc or clang, or choose otherwise"
            )
    return []


def _no_library(model: ExportModel, options: PythonOptions, platforms: list[Platform]) -> str:
    """Return why the FMU holds no compiled library, or an empty string."""
    culprits = model.culprits()
    if culprits and options.engine == "library":
        raise ExportError(
            f"'{model.mechanism.name}' cannot be compiled: {'; '.join(culprits)}. Write them with CasADi operations, or let "
            "the FMU run in Python (engine=package)"
        )
    if culprits:
        return "; ".join(culprits)
    if options.engine == "package":
        return "the FMU was exported to run in Python"
    return "" if platforms else "there was no C compiler at the export"


def _package(model: ExportModel, options: PythonOptions, no_library: str) -> tuple[PackageCopy, PluginCopies, str]:
    """Return the copies of Kingpost and of the plugins, or why the FMU holds none."""
    none = PackageCopy("", {}, ()), PluginCopies({}, (), ())
    if options.engine == "library":
        return *none, "the FMU was exported with its compiled library alone"
    try:
        package = copy_package()
        plugins = copy_plugins(model, package.name)
        _check_definition(model)
    except ExportError as error:
        if no_library:
            raise
        return *none, str(error)
    return package, plugins, ""


def _definition(model: ExportModel, selection: ExportSelection) -> dict[str, Any]:
    """Return what the engine in Python derives the model from again."""
    loads, how = model.equations.observed.loads, model.problem.how
    joints: Mapping[str, Any] = {} if loads is None else loads.record["joints"]
    return {
        "mechanism": None if model.written else model.mechanism.to_dict(),
        "block": model.written() if model.written else None,
        "settings": dict(model.settings),
        "drive": {name: plain_path(path) for name, path in model.driven.items()},
        "communication_step": model.communication_step,
        "how": {
            "formulation": {"name": model.equations.formulation, **_options(how.formulation)},
            "integrator": {"name": model.integrator.name, **_options(model.integrator)},
            "load_method": None if loads is None else {"name": loads.record["method"], **_options(how.load_method)},
            "load_metric": how.load_metric,
            "loads": [
                {"joint": name, **{key: entry[key] for key in ("frame", "side", "at")}} for name, entry in joints.items()
            ],
            "step": how.step,
            "t_start": how.t_start,
            "t_end": model.t_end,
            "start": how.start,
            "close_loops": how.close_loops,
        },
        "selection": {key: None if value is None else list(value) for key, value in vars(selection).items()},
    }


def _options(plugin: Any) -> dict[str, Any]:
    """Return the options of a plugin that was chosen; one that was not has its defaults."""
    return plain_options(plugin) if isinstance(plugin, Plugin) else {}


def _check_definition(model: ExportModel) -> None:
    """Refuse a mechanism that is not the same when it is read back."""
    if model.written is not None:
        return
    try:
        again = mechanism_from_dict(json.loads(json.dumps(model.mechanism.to_dict())))
        same = again.digest() == model.mechanism.digest()
    except (KingpostError, TypeError, ValueError) as error:
        raise ExportError(f"'{model.mechanism.name}' cannot be written down and read back: {error}") from None
    if not same:
        raise ExportError(f"'{model.mechanism.name}' is another one when it is written down and read back")


def _check(interface: Interface) -> dict[str, list[float]]:
    found = numbers_at_start(interface, {function.name(): function for function in model_functions(interface)})
    for what, values in found.items():
        for i, value in enumerate(values):
            if not abs(value) < float("inf"):
                name = interface.names[interface.first[what] + i]
                raise ExportError(f"'{name}' is {value} at the start, so the model cannot be run; choose other start values")
    return found


def _compiled(model: ExportModel, options: PythonOptions, no_library: str, no_package: str) -> str:
    """Return what is compiled: the whole model as a library, the equations alone for a solver in Python, or nothing."""
    if not no_library:
        return "library"
    traced = not model.equations.python_forces and not isinstance(model.integrator, StepMap)
    return "equations" if traced and options.engine != "package" and not no_package else ""


def _unmarked(interface: Interface, compiled: str) -> dict[str, str]:
    """Return all C sources before they know the token, which is made of them."""
    texts = {f"bridge/{name}": text for name, text in bridge_sources("", "").texts.items()}
    if compiled:
        texts |= (library_sources(interface, "") if compiled == "library" else equation_sources(interface)).texts
    return texts


def _digest(groups: Iterable[Mapping[str, str]]) -> str:
    content = hashlib.sha256()
    for group in groups:
        for name, text in group.items():
            content.update(f"{name}\0{text}\0".encode())
    return content.hexdigest()


def _texts(data: Mapping[str, Any]) -> dict[str, str]:
    return {"manifest.json": json.dumps(data)}


def _json(data: Any) -> bytes:
    """Return data as JSON in the order that they have: parameters and inputs are numbered by it."""
    return (json.dumps(data, indent=1, allow_nan=False) + "\n").encode()


def _encoded(folder: str, texts: Mapping[str, str]) -> dict[str, bytes]:
    return {f"{folder}/{name}": text.encode() for name, text in texts.items()}


def _requirements_text(package: Mapping[str, Any]) -> str:
    """Return what pip can install for the engine in Python; the compiled library needs none of it."""
    lines = [f"{entry['distribution']}=={entry['version']}" for entry in (*package["requires"], *package["distributions"])]
    markers = {entry["distribution"]: entry.get("python_below") for entry in package["requires"]}
    return "".join(
        f"{line}; python_version < '{markers[name]}'\n" if markers.get(name := line.partition("==")[0]) else f"{line}\n"
        for line in lines
    )


def _facts(
    interface: Interface, manifest: Mapping[str, Any], binaries: Mapping[str, tuple[str, bytes]], size: int
) -> tuple[tuple[str, str], ...]:
    model, package = interface.model, manifest["package"]
    counted = {cause: sum(item.causality == cause for item in interface.variables) for cause in ("input", "parameter")}
    library = ", ".join(sorted(manifest["library"]["files"]))
    engines = [f"compiled library for {library}"] if library else []
    if not package["why_not"]:
        equations = ", ".join(sorted(package["files"]))
        inside = f"Kingpost in Python, equations compiled for {equations}" if equations else "Kingpost in Python"
        engines.append(f"{inside} elsewhere" if library else inside)
    why = f" ({manifest['library']['why_not']})" if manifest["library"]["why_not"] else ""
    wanted = [entry for entry in (*package["requires"], *package["distributions"]) if "python_below" not in entry]
    packages = ", ".join(entry["distribution"] for entry in wanted)
    needs = "Python 3.8 or newer" if library else f"Python {PYTHON} or newer with {packages}"
    step = f" with {model.step:g} s or less" if isinstance(model.integrator, StepMap) else ", steps of its own"
    names = {"bridge": "own bridge", "pythonfmu": f"pythonfmu {pythonfmu_version()}"}
    return (
        ("model", model.mechanism.name),
        ("kind", "FMI 2.0 co-simulation, Python inside"),
        ("variables", f"{len(interface.variables) - 1}: {len(interface.outputs)} outputs, {counted['input']} inputs, "
         f"{counted['parameter']} parameters; {interface.counts['x']} states"),
        ("step", f"{model.integrator.name}{step}"),
        ("engine", ", ".join(engines) + why),
        ("needs", needs),
        ("binaries", ", ".join(f"{folder} ({names[kind]})" for folder, (kind, _) in sorted(binaries.items()))),
        ("size", f"{size / 1000:.0f} kB"),
    )  # fmt: skip
