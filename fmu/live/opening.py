"""From a start to a session: a model by name, a model file, a coupled system as a file or as plain data, or an FMU."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError, MechanismError, closest, listed
from kingpost.base.load_frames import FEW_JOINTS
from kingpost.base.toml import read_toml
from kingpost.fmu.cosim.description.opening import open_system
from kingpost.fmu.cosim.description.system import Component, System, split_name
from kingpost.fmu.cosim.description.system_file import SystemFile, system_from
from kingpost.fmu.live.controls import LiveError
from kingpost.fmu.live.machine import LiveMachine, ready_machine
from kingpost.fmu.live.scenario import SUBJECTS
from kingpost.fmu.live.session import LiveSession
from kingpost.fmu.live.subject import Subject
from kingpost.fmu.live.system import LiveSystem, ready_system
from kingpost.mechanism.mechanism import Mechanism
from kingpost.modelfiles.opened import open_model
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.settings import RunSettings

#: Of both: how long a frame is, and how long a session may last (s).
OPTIONS = ("frame", "t_end")
#: How a machine is solved, as for a run; what looks at a run as a whole has no place here.
LEFT_OUT = ("output_step", "write", "monitors", "verify", "check_step")
MODEL_OPTIONS = (*OPTIONS, *(field.name for field in fields(RunSettings) if field.name not in (*LEFT_OUT, *OPTIONS)))
SYSTEM_OPTIONS = (*OPTIONS, "step", "master", "timeout", "isolate")
SYSTEM_FILES = (".ssp", ".ssd", ".xml")


def open_session(
    start: Mapping[str, Any], plugins: PluginSet | None = None, folder: Path | None = None, files: ExitStack | None = None
) -> LiveSession:
    """Return a session that is ready to go.

    Parameters
    ----------
    start
        One of ``model`` (a name or a file), ``system`` (a file, or plain data as in one) and ``file`` (a file of any kind),
        with ``settings`` (numbers by name) and ``options`` (``frame`` and ``t_end`` in s; of a model the fields of
        :class:`kingpost.RunSettings`; of a system ``step``, ``master``, ``timeout`` and ``isolate``).
    plugins
        The plugins to choose from.
    folder
        What files are relative to; by default where this process is.
    files
        Closed by the caller after the session: what an archive was unpacked into.

    """
    plugins = plugins or PluginSet()
    if not isinstance(start, Mapping):
        raise LiveError(f"the start of a session is a table, got {start!r:.80}")
    kinds = [key for key in SUBJECTS if start.get(key)]
    if len(kinds) != 1:
        raise LiveError(f"a session takes exactly one of {listed(SUBJECTS)}; got {listed(kinds)}")
    given = start[kinds[0]]
    settings, options = _table(start, "settings"), _table(start, "options")
    if isinstance(given, Mapping):
        if kinds[0] != "system":
            raise LiveError(f"'{kinds[0]}' takes a name or a file, got a table")
        path = (folder or Path.cwd()) / "system.toml"
        file = SystemFile(path, system_from(given, path, plugins), plugins)
        return _begin(_system(file, settings, options), start)
    if not isinstance(given, str):
        raise LiveError(f"'{kinds[0]}' takes a name or a file, got {given!r}")
    return _begin(_opened(kinds[0], given, settings, options, plugins, folder, files or ExitStack()), start)


def _begin(subject: Subject, start: Mapping[str, Any]) -> LiveSession:
    kept = {key: start[key] for key in (*SUBJECTS, "settings", "options") if start.get(key)}
    return LiveSession(subject, kept)


def _opened(
    kind: str,
    given: str,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
    plugins: PluginSet,
    folder: Path | None,
    files: ExitStack,
) -> Subject:
    path = Path(given) if folder is None else folder / given
    suffix = path.suffix.lower()
    if suffix == ".fmu":
        step = options.get("step") or options.get("frame") or 0.01
        name = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in path.stem)
        system = System(name, (Component(name, fmu=path),), step=float(step))
        return _system(SystemFile(path, system, plugins), settings, options)
    if suffix in SYSTEM_FILES or path.is_dir() or kind == "system" or (suffix == ".toml" and _is_system(path)):
        return _system(files.enter_context(open_system(path, plugins)), settings, options)
    of_file = suffix in (".toml", ".urdf") or kind == "file"
    return _machine(str(path) if of_file else given, settings, options, plugins)


def _is_system(path: Path) -> bool:
    """Say whether a TOML file has components, as a system has and a model has not."""
    return "components" in read_toml(path)[1]


def _machine(name: str, settings: Mapping[str, Any], options: Mapping[str, Any], plugins: PluginSet) -> LiveMachine:
    _refuse_others(options, MODEL_OPTIONS, "a machine")
    opened = open_model(name, plugins, settings)
    how = opened.how(_how({key: value for key, value in options.items() if key not in OPTIONS}))
    how = replace(how, t_end=None, output_step=None, monitors=None, verify=None, check_step=None, write=None)
    how = replace(how, loads=_loads(how.loads, how.with_cuts(opened.mechanism, opened.plugins)))
    frame, t_end = _number(options, "frame"), _number(options, "t_end")
    return ready_machine(opened.mechanism, opened.settings, opened.inputs, how, opened.plugins, frame, t_end)


def _loads(said: Any, mechanism: Mechanism) -> Any:
    """Return the joints whose loads are computed; with any of them come the poses of all bodies, which pictures need."""
    if said is not None or not mechanism.joints:
        return said
    return ("all",) if len(mechanism.joints) <= FEW_JOINTS else (mechanism.joints[0].name,)


def _how(options: Mapping[str, Any]) -> RunSettings:
    try:
        return RunSettings.of(options)
    except TypeError as error:
        raise LiveError(str(error)) from None


def _system(file: SystemFile, settings: Mapping[str, Any], options: Mapping[str, Any]) -> LiveSystem:
    _refuse_others(options, SYSTEM_OPTIONS, "a system")
    system = file.system
    given: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        owner, own = split_name(name, system)
        given.setdefault(owner, {})[own] = value
    components = tuple(
        _component(_drawn(component, file.plugins), given.get(component.name, {}), options) for component in system.components
    )
    changes = {key: options[key] for key in ("step", "master", "timeout") if options.get(key) is not None}
    try:
        changed = system.with_changes(components=components, **changes)
        return ready_system(changed, file.plugins, _number(options, "frame"), _number(options, "t_end"))
    except MechanismError as error:
        raise file.located(error) from None


def _drawn(component: Component, plugins: PluginSet) -> Component:
    """Return a component that computes what a picture of its machine needs, unless something is said about its loads."""
    machine = component.model
    if component.loads is not None:
        return component
    if isinstance(machine, str):
        try:
            opened = open_model(machine, plugins)
        except KingpostError:
            return component  # whoever opens it next says what is wrong
        loads, mechanism = opened.how().loads, opened.mechanism
    elif isinstance(machine, Mechanism):
        loads, mechanism = None, machine
    else:
        return component
    found = _loads(loads, mechanism)
    return component if found is None else replace(component, loads=found)


def _component(component: Component, settings: Mapping[str, Any], options: Mapping[str, Any]) -> Component:
    changed = replace(component, settings={**component.settings, **settings}) if settings else component
    if component.fmu is None or component.isolate is not None or options.get("isolate") is None:
        return changed
    return replace(changed, isolate=bool(options["isolate"]))


def _table(start: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = start.get(key) or {}
    if not isinstance(table, Mapping):
        raise LiveError(f"'{key}' of a session is a table, got {table!r}")
    return table


def _number(options: Mapping[str, Any], key: str) -> float | None:
    value = options.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise LiveError(f"'{key}' is {value!r}; it takes a time in s above 0")
    return float(value)


def _refuse_others(options: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in options:
        if key not in known:
            raise LiveError(f"a session of {what} has no option '{key}'{closest(key, known)} It takes: {listed(known)}.")
