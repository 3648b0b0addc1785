"""A coupled system that is ready to run: everything opened, wired and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from kingpost.base.errors import closest, listed
from kingpost.fmu.cosim.components.described import Described
from kingpost.fmu.cosim.components.fmu import FmuComponent, open_component
from kingpost.fmu.cosim.components.model import open_model
from kingpost.fmu.cosim.description.system import CosimError, System
from kingpost.fmu.cosim.masters.interface import Master
from kingpost.fmu.cosim.slower import steps_together
from kingpost.fmu.cosim.wiring.graph import Loop, algebraic_loops, stepping_order
from kingpost.fmu.cosim.wiring.wires import Wire, make_bonds, make_wires
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.simulation.grid import fixed_step_grid

P = TypeVar("P", bound="Plan")


@dataclass(frozen=True, eq=False)
class Plan:
    """What is known of a coupled system before any code of an FMU is run."""

    system: System
    components: Mapping[str, Described]
    wires: tuple[Wire, ...]
    #: The connections of effort and flow of every power bond.
    bonds: tuple[tuple[Wire, Wire], ...]
    order: tuple[str, ...]
    loops: tuple[Loop, ...]
    master: Master
    #: What is recorded: component and variable.
    recorded: tuple[tuple[str, str], ...]
    plugins: PluginSet
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls: type[P], system: System, plugins: PluginSet | None = None) -> P:
        """Open all components of a system and check everything that can be checked without running any of them."""
        plugins = plugins or PluginSet()
        master = select(plugins.masters, system.master)
        components: dict[str, Described] = {}
        for component in system.components:
            try:
                opened = open_component(component) if component.fmu is not None else open_model(component, plugins)
            except CosimError as error:
                raise CosimError(str(error), path=("components", component.name, *error.path)) from None
            components[component.name] = opened
            steps_together(opened, system.step)  # refuses steps that do not fit
        _check_instances(components)
        wires = make_wires(system, components)
        bonds = make_bonds(system, components, wires)
        loops = algebraic_loops(components, wires)
        if loops and system.loops == "refuse":
            raise CosimError(
                f"outputs depend on each other at once: {'; '.join(map(str, loops))}. Break the circle, for instance by a "
                "component with a state in it, or say loops = \"warn\" and take the master 'iterated'"
            )
        names = [component.name for component in system.components]
        order = system.order or stepping_order(names, wires)
        notes = [*system.notes, *_held_paths(components)]
        notes += [f"algebraic loop: {loop}{'' if master.goes_back else _late(master)}" for loop in loops if loop.certain]
        if system.output_step is not None and master.varies_steps:
            notes.append(f"output_step is not used: '{master.name}' chooses the communication steps, and each is kept")
        else:
            steps_per_sample(system)  # refuses steps that do not fit
        recorded = _recorded(system, components)
        return cls(system, components, tuple(wires), tuple(bonds), order, tuple(loops), master, recorded, plugins, tuple(notes))

    def connections(self) -> list[dict[str, Any]]:
        """Return all connections as plain data."""
        return [
            {"from": wire.names[0], "to": wire.names[1], "factor": wire.factor, "offset": wire.offset}
            | ({"add": True} if wire.add else {})
            | ({"table": [list(pair) for pair in wire.table]} if wire.table else {})
            for wire in self.wires
        ]


def steps_per_sample(system: System) -> int:
    """Return the number of communication steps between two samples."""
    step = system.step if system.output_step is None else system.output_step
    return fixed_step_grid(system.t_start, system.t_end, system.step, step).substeps


def _check_instances(components: Mapping[str, Described]) -> None:
    """Refuse two instances in this process of an FMU that can have only one there."""
    seen: dict[str, str] = {}
    for name, described in components.items():
        if described.facts.get("once_per_process") and not described.facts["isolated"]:
            twin = seen.setdefault(described.facts["sha256"], name)
            if twin != name:
                raise CosimError(
                    f"components '{twin}' and '{name}': '{described.facts['fmu']}' can be instantiated only once in a process; "
                    "say isolate = true for one of them",
                    path=("components", name),
                )


def _held_paths(components: Mapping[str, Described]) -> list[str]:
    """Say which FMUs hold inputs that should move, since they cannot follow them."""
    return [
        f"component '{name}' holds {listed(described.driven)} over each of its steps, at the mean: its FMU does not take "
        "inputs that change during a step (canInterpolateInputs)"
        for name, described in components.items()
        if isinstance(described, FmuComponent) and described.driven and not described.follows
    ]


def _late(master: Master) -> str:
    return f"; '{master.name}' lets it lag by a communication step, 'iterated' would close it"


def _recorded(system: System, components: Mapping[str, Described]) -> tuple[tuple[str, str], ...]:
    if system.record is None:
        return tuple((name, output) for name, described in components.items() for output in described.outputs())
    every = {f"{name}.{signal}": (name, signal) for name, described in components.items() for signal in described.signals}
    chosen: dict[tuple[str, str], None] = {}
    for pattern in system.record:
        matching = [entry for name, entry in every.items() if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise CosimError(f"record: no variable matches '{pattern}'{closest(pattern, every)}", path=("run", "record"))
        chosen |= dict.fromkeys(matching)
    return tuple(chosen)
