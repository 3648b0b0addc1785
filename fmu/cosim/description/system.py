"""A coupled system as plain data: components, connections, power bonds, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert_fields
from kingpost.fmu.cosim.masters.interface import Master
from kingpost.fmu.process.limits import CALL_LIMIT, checked_limit
from kingpost.kernel.backends import Backend
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection


class CosimError(MechanismError):
    """A coupled system breaks a rule; ``path`` says which entry is meant."""


@dataclass(frozen=True)
class Component:
    """A part of a coupled system: an FMU, or a machine or signal block that runs in this process.

    Parameters
    ----------
    name
        What it is called in connections and results; without dots.
    fmu
        An FMU file, of FMI 1.0 (co-simulation), 2 or 3.
    model
        A Kingpost model by name or file, a :class:`kingpost.Mechanism`, or a :class:`kingpost.fmu.blocks.Block`.
    settings
        Start values of parameters, inputs and states by name.
    inputs
        Inputs that follow a path of their own instead of being connected: trajectories, histories, files or formulas, as for
        :func:`kingpost.simulate`.
    step
        Of a model: the longest internal step in s. Of an FMU: the step it is advanced with, a whole part of the communication
        step or a whole number of them; then it takes part only at the beginning and the end of its step.
    integrator, formulation, loads, load_method, load_metric, cut, start, close_loops, backend, sea
        Of a model: as in :class:`kingpost.RunSettings`; they come before what a model file says under ``[run]``.
    interface, solver, tolerance
        Of an FMU: ``"co-simulation"`` or ``"model-exchange"``, the former by default where it offers both. For model exchange:
        the solver that advances it, ``"CVode"`` or ``"Euler"`` (one step for each ``step``), and CVode's relative tolerance.
    isolate
        Of an FMU: whether it runs in a process of its own. By default all do but those that were exported on this machine, by
        this user.
    timeout
        Of an FMU in a process of its own: the longest time of one call in s; by default that of the system.
    ports
        Variables that are connected together, by the name of the port: a table of members and variables, a list of variables,
        or a pattern such as ``"base.*"``, whose ``*`` gives the members.

    """

    name: str
    fmu: Any = None
    model: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    step: float | None = None
    integrator: Any = None
    formulation: Any = None
    loads: Any = None
    load_method: Any = None
    load_metric: Any = None
    cut: tuple[str, ...] | None = None
    start: Literal["start", "equilibrium"] | None = None
    close_loops: bool | None = None
    backend: Backend | None = None
    sea: str | None = None
    isolate: bool | None = None
    timeout: float | None = None
    interface: Literal["co-simulation", "model-exchange"] | None = None
    solver: Literal["CVode", "Euler"] | None = None
    tolerance: float | None = None
    ports: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        convert_fields(self, f"component '{self.name}'")
        if not self.name or "." in self.name or any(ord(letter) < 32 for letter in self.name):
            raise CosimError(f"a component is called {self.name!r}; its name is one line, not empty, and holds no dots")
        if (self.fmu is None) == (self.model is None):
            what = "neither" if self.fmu is None else "both"
            raise CosimError(f"component '{self.name}' has {what} of 'fmu' and 'model'; give one of them")
        if self.fmu is not None:
            object.__setattr__(self, "fmu", Path(self.fmu))
        if self.step is not None and not 0 < self.step < float("inf"):
            raise CosimError(f"component '{self.name}': its step is {self.step} s; it must be positive", path=("step",))
        checked_limit(self.timeout, f"component '{self.name}': its timeout")
        if self.tolerance is not None and not 0 < self.tolerance < 1:
            raise CosimError(
                f"component '{self.name}': its tolerance is {self.tolerance}; it must be between 0 and 1", path=("tolerance",)
            )


@dataclass(frozen=True)
class Connection:
    """An output, array or port feeds another: input = factor * output + offset.

    A port has members of both directions; each output feeds the input of the same member. ``convert`` says that units of one
    dimension may be converted; a ``factor`` that is given stands as it is, whatever the units. ``hold`` keeps the input as it
    is over a step with masters that would extrapolate it. ``add`` lets several connections feed an input, which gets their sum.
    ``table`` holds pairs of whole numbers (or truth values): what the first is replaced by; other numbers stay as they are.
    """

    source: str
    target: str
    factor: float | None = None
    offset: float = 0.0
    convert: bool = False
    hold: bool = False
    add: bool = False
    table: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        where = f"connection from '{self.source}' to '{self.target}'"
        convert_fields(self, where)
        replaced = [pair[0] for pair in self.table]
        if len(set(replaced)) < len(replaced):
            raise CosimError(f"{where}: its table replaces a number by two others; each stands there once")
        if self.table and self.add:
            raise CosimError(f"{where}: it has a table and is added to others; it can be one or the other")
        if self.factor == 0:
            raise CosimError(f"connection from '{self.source}' to '{self.target}': a factor of 0 connects nothing")


@dataclass(frozen=True)
class PowerBond:
    """Two connections whose product is power: the outputs ``"a.force"`` and ``"b.velocity"`` that feed the other component."""

    name: str
    effort: str
    flow: str

    def __post_init__(self) -> None:
        convert_fields(self, f"bond '{self.name}'")


@dataclass(frozen=True)
class System:
    """A coupled system and how it is run.

    Parameters
    ----------
    name
        What it is called in results.
    components, connections, bonds
        Its parts; power bonds are for masters that look at energy.
    step
        Communication step in s.
    t_end, t_start
        End and start in s.
    master
        Name of a master, with options (``"iterated:tolerance=1e-8"``), its class or an instance.
    order
        Order in which components step if they take turns; by default found from the connections.
    record
        Names or patterns (``"crane.slew.*"``) of what is kept; by default all outputs.
    output_step
        Time between samples in s, a whole number of communication steps; by default each is kept.
    loops
        What happens if outputs depend on each other at once: ``"warn"`` or ``"refuse"``.
    growth
        The run stops if a connected value turns from step to step and grows at least so many times in each of at least four
        stretches of 20 communication steps, and a hundred times in all; 0 switches that off.
    timeout
        The longest time in s of one call into an FMU that runs in a process of its own; 0: no limit.
    run_timeout
        The longest time of the whole run in s; 0: no limit.

    """

    name: str
    components: tuple[Component, ...]
    connections: tuple[Connection, ...] = ()
    bonds: tuple[PowerBond, ...] = ()
    step: float = 0.01
    t_end: float = 10.0
    t_start: float = 0.0
    master: Selection[Master] = "jacobi"
    order: tuple[str, ...] = ()
    record: tuple[str, ...] | None = None
    output_step: float | None = None
    loops: Literal["warn", "refuse"] = "warn"
    growth: float = 1.5
    timeout: float = CALL_LIMIT
    run_timeout: float = 0.0
    description: str = ""
    #: What its reader has to say of it.
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in ("components", "connections", "bonds", "order", "notes"):
            object.__setattr__(self, key, tuple(getattr(self, key)))
        if not isinstance(self.name, str) or not self.name.strip() or any(ord(letter) < 32 for letter in self.name):
            raise CosimError(f"a system is called {self.name!r}; its name is a text of one line and not empty", path=("name",))
        if not self.components:
            raise CosimError(f"system '{self.name}' has no components")
        names = [component.name for component in self.components]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise CosimError(f"two components are called '{name}'", path=("components", name))
        for key in ("timeout", "run_timeout"):
            checked_limit(getattr(self, key), key)
        if self.loops not in ("warn", "refuse"):
            raise CosimError(f"loops = {self.loops!r}; it must be 'warn' or 'refuse'")
        for name in self.order:
            if name not in names:
                raise CosimError(f"order: there is no component '{name}'{closest(name, names)} Components: {listed(names)}.")
        if self.order and sorted(self.order) != sorted(names):
            raise CosimError(f"order must name each component once: {listed(names)}; got {listed(self.order)}")

    def with_changes(self, **changes: Any) -> System:
        """Return a copy with some fields replaced."""
        return replace(self, **changes)

    def write_ssp(self, path: str | Path, plugins: PluginSet | None = None) -> Path:
        """Write the system with its FMUs as an SSP 1.0 archive; models become native FMUs."""
        from kingpost.fmu.cosim.writing import write_ssp

        return write_ssp(self, path, plugins)

    def write_osp(self, folder: str | Path, plugins: PluginSet | None = None) -> Path:
        """Write OspSystemStructure.xml and all FMUs into a folder; models become native FMUs."""
        from kingpost.fmu.cosim.writing import write_osp

        return write_osp(self, folder, plugins)

    def component(self, name: str) -> Component:
        """Return a component by name."""
        for component in self.components:
            if component.name == name:
                return component
        names = [component.name for component in self.components]
        raise CosimError(f"there is no component '{name}'{closest(name, names)} Components: {listed(names)}.")


def split_name(text: str, system: System) -> tuple[str, str]:
    """Return component and variable of ``"crane.slew.angle"``."""
    name, dot, variable = text.partition(".")
    names = [component.name for component in system.components]
    if not dot or not variable:
        raise CosimError(f"'{text}' is not written component.variable, e.g. '{names[0]}.x'")
    if name not in names:
        raise CosimError(f"'{text}': there is no component '{name}'{closest(name, names)} Components: {listed(names)}.")
    return name, variable
