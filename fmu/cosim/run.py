"""Running a coupled system: everything opened and checked first, then one loop around its master."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted, KingpostError, SolverError, closest
from kingpost.base.version import __version__
from kingpost.fmu.cosim.components.described import Described, PartnerEnded, PartnerError, Places, Running
from kingpost.fmu.cosim.components.fmu import open_component
from kingpost.fmu.cosim.components.model import open_model
from kingpost.fmu.cosim.description.system import CosimError, System
from kingpost.fmu.cosim.masters.interface import Bond, Coupling, Master
from kingpost.fmu.cosim.watch import Watch
from kingpost.fmu.cosim.wiring.graph import Loop, algebraic_loops, stepping_order
from kingpost.fmu.cosim.wiring.wires import Wire, make_bonds, make_wires
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.results.history import History
from kingpost.simulation.grid import fixed_step_grid

Progress = Callable[[float], None]
#: Times closer than this part of a step are the same.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Cosimulation:
    """A coupled system that is ready to go: everything read, wired and checked, and no code of an FMU run."""

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

    def run(self, progress: Progress = lambda fraction: None) -> History:
        """Carry the run out; see :func:`cosimulate`."""
        return _Loop(self).run(progress)


def prepare_cosimulation(system: System, plugins: PluginSet | None = None) -> Cosimulation:
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
    notes = [f"algebraic loop: {loop}{'' if master.goes_back else _late(master)}" for loop in loops if loop.certain]
    if system.output_step is not None and master.varies_steps:
        notes.append(f"output_step is not used: '{master.name}' chooses the communication steps, and each is kept")
    else:
        _samples(system)
    recorded = _recorded(system, components)
    return Cosimulation(
        system, components, tuple(wires), tuple(bonds), order, tuple(loops), master, recorded, plugins, tuple(notes)
    )


def cosimulate(
    system: System, *, plugins: PluginSet | None = None, progress: Progress = lambda fraction: None, **changes: Any
) -> History:
    """Run a coupled system and return the history of all its components, with channels ``component.variable``.

    Parameters
    ----------
    system
        The system.
    plugins
        Where masters and models come from.
    progress
        Is told the part of the run that is done.
    **changes
        Fields of the system that are replaced, e.g. ``step=0.005, master="iterated"``.

    Raises
    ------
    CosimError
        If what is connected does not fit together.
    SolverError
        If a component fails, crashes in a process of its own, gives numbers that are not finite, or the coupling diverges;
        ``error.history`` holds the samples before that.

    """
    return prepare_cosimulation(system.with_changes(**changes) if changes else system, plugins).run(progress)


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


def _late(master: Master) -> str:
    return f"; '{master.name}' lets it lag by a communication step, 'iterated' would close it"


def _samples(system: System) -> tuple[int, int]:
    """Return the number of samples and of communication steps in each."""
    step = system.step if system.output_step is None else system.output_step
    grid = fixed_step_grid(system.t_start, system.t_end, system.step, step)
    return grid.samples, grid.substeps


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


class _Loop:
    """One run: instances, vectors, and the samples so far."""

    def __init__(self, plan: Cosimulation) -> None:
        self.plan, self.system = plan, plan.system
        self.started = time.perf_counter()
        self.running: dict[str, Running] = {}
        self.warnings = list(plan.notes)
        self.statistics: dict[str, Any] = {"steps": 0}
        self.watch: Watch | None = None
        self._lay_out()

    def _lay_out(self) -> None:
        """Give every connected input and output, and everything recorded beside them, a place."""
        plan = self.plan
        names = list(plan.components)
        self.fed = {name: [wire.input for wire in plan.wires if wire.target == name] for name in names}
        self.given = {name: list(dict.fromkeys(wire.output for wire in plan.wires if wire.source == name)) for name in names}
        recorded = {name: [signal for owner, signal in plan.recorded if owner == name] for name in names}
        self.extra = {name: [signal for signal in recorded[name] if signal not in self.given[name]] for name in names}
        self.u = np.zeros(sum(map(len, self.fed.values())))
        self.y = np.zeros(sum(map(len, self.given.values())))
        self.r = np.zeros(sum(map(len, self.extra.values())))
        self.input_names = [f"{name}.{entry}" for name in names for entry in self.fed[name]]
        self.output_names = [f"{name}.{output}" for name in names for output in self.given[name]]
        extra_names = [f"{name}.{signal}" for name in names for signal in self.extra[name]]
        everything = self.output_names + extra_names
        self.channels = tuple(
            Channel(f"{owner}.{signal}", plan.components[owner].signals[signal].unit or "1") for owner, signal in plan.recorded
        )
        self.columns = np.array([everything.index(channel.name) for channel in self.channels], dtype=np.intp)
        for bond in self.system.bonds:
            self.channels += (Channel(f"bonds.{bond.name}.power", "W"), Channel(f"bonds.{bond.name}.residual", "J"))
        self._add_port_energies()
        self.extra_names = extra_names

    def _add_port_energies(self) -> None:
        """Lay out a channel 'energy' beside every channel 'power' of a port that is kept."""
        units = {channel.name: channel.unit for channel in self.channels}
        ports = [f"{owner}.{port}" for owner, component in self.plan.components.items() for port in component.ports]
        kept = [port for port in ports if units.get(f"{port}.power") == "W" and f"{port}.energy" not in units]
        self.powers = [list(units).index(f"{port}.power") for port in kept]
        self.channels += tuple(Channel(f"{port}.energy", "J") for port in kept)

    def coupling(self) -> Coupling:
        """Return what the master gets."""
        plan = self.plan
        by_input = {wire.names[1]: wire for wire in plan.wires}
        wires = [by_input[name] for name in self.input_names]
        return Coupling(
            tuple(self.running.values()), self.u, self.y, tuple(self.input_names), tuple(self.output_names),
            np.array([self.output_names.index(wire.names[0]) for wire in wires], dtype=np.intp),
            np.array([wire.factor for wire in wires], dtype=float), np.array([wire.offset for wire in wires], dtype=float),
            tuple(self.running[name] for name in plan.order), tuple(self._bonds()),
            np.array([wire.hold for wire in wires], dtype=bool),
        )  # fmt: skip

    def _bonds(self) -> Iterator[Bond]:
        for bond, (effort, flow) in zip(self.system.bonds, self.plan.bonds, strict=True):
            outputs = [self.output_names.index(wire.names[0]) for wire in (effort, flow)]
            inputs = [self.input_names.index(wire.names[1]) for wire in (effort, flow)]
            yield Bond(bond.name, outputs[0], inputs[0], outputs[1], inputs[1])

    def run(self, progress: Progress) -> History:
        system = self.system
        times: list[float] = []
        rows: list[FloatArray] = []
        self.t, self.h = system.t_start, system.step
        self._doing = "at the start"

        def so_far(outcome: str) -> History | None:
            return self._history(np.array(times), np.array(rows), outcome) if rows else None

        try:
            try:
                self._start()
                self._march(times, rows, progress)
            except PartnerEnded as ended:
                self.warnings.append(f"component '{ended.partner}' ended the run at t = {self.t:.9g} s: {ended}")
            finally:
                self._close()
        except KeyboardInterrupt:
            history = so_far("interrupted")
            if history is None:
                raise KeyboardInterrupt("interrupted before the first sample") from None
            raise Interrupted(f"interrupted at t = {times[-1]:g} s", history=history) from None
        except CosimError:
            raise
        except KingpostError as error:
            who = f"component '{error.partner}' failed {self.doing}: " if isinstance(error, PartnerError) else ""
            exploding = self.watch.suspicion() if isinstance(error, PartnerError) and self.watch is not None else ""
            what = f"{str(error).rstrip('.')}.{exploding}" if exploding else str(error)
            raise SolverError(f"system '{system.name}': {who}{what}", history=so_far("failed")) from None
        history = so_far("complete")
        if history is None:
            raise SolverError(f"system '{system.name}': {self.warnings[-1]}")
        return history

    def _start(self) -> None:
        system, plan = self.system, self.plan
        first = [0, 0, 0]
        for name, component in plan.components.items():
            lists = self.fed[name], self.given[name], self.extra[name]
            parts = []
            for i, (whole, names) in enumerate(zip((self.u, self.y, self.r), lists, strict=True)):
                parts.append(whole[first[i] : first[i] + len(names)])
                first[i] += len(names)
            places = Places(lists[0], parts[0], lists[1], parts[1], lists[2], parts[2], plan.master.goes_back)
            self.running[name] = component.start(places, system.t_start, system.t_end)
        self.network = self.coupling()
        fault = plan.master.fault_of(self.network)
        if fault:
            raise CosimError(f"master '{plan.master.name}' cannot run system '{system.name}': {fault}")
        # As many rounds as there are components carry every start value to wherever it acts at once.
        for k in range(len(self.running) + plan.master.further_rounds):
            self._each("initialising", *(["take"] if k == 0 else ["give", "take"]))
            self.network.transfer()
        # The first outputs belong to the values that came last, as in libcosim: it matters where outputs depend on each other.
        self._each("leaving initialisation", "give", "begin")
        self._each("reading the first outputs", "take")

    def _each(self, doing: str, *calls: str) -> None:
        self._doing = f"while {doing} at t = {self.t:.9g} s"
        for partner in self.running.values():
            for call in calls:
                getattr(partner, call)()

    def _march(self, times: list[float], rows: list[FloatArray], progress: Progress) -> None:
        system, master = self.system, self.plan.master
        self.watch = watch = Watch(self.output_names, self.y, system.growth)
        beside = Watch(self.extra_names, self.r, 0.0)
        recorders = [partner.record for name, partner in self.running.items() if self.extra[name]]
        both = np.empty(len(self.y) + len(self.r))
        #: Power through each bond, and the energy that was made or lost between its sides so far.
        energies = np.zeros((len(system.bonds), 2))

        def keep() -> None:
            both[: len(self.y)] = self.y
            both[len(self.y) :] = self.r
            times.append(self.t)
            rows.append(np.concatenate([both[self.columns], energies.ravel()]) if len(energies) else both[self.columns])

        advance = master.begin(self.network)
        self._each("reading the first outputs", "record")
        energies[:, 0] = [self.network.powers(bond)[0] for bond in self.network.bonds]
        watch.look(self.t)
        beside.look(self.t)
        keep()
        self._doing = ""
        h, end, span = system.step, system.t_end, system.t_end - system.t_start
        per_sample = 1 if master.varies_steps else _samples(system)[1]
        count = 0
        begun = time.perf_counter()
        while self.t < end - SAME * h:
            self.h = h if end - self.t > h * (1 - SAME) else end - self.t
            following = advance(self.t, self.h)
            count += 1
            # Multiplied, not accumulated, where steps are equal.
            self.t = system.t_start + count * h if not master.varies_steps else self.t + self.h
            for i, bond in enumerate(self.network.bonds):
                one, other = self.network.powers(bond)
                energies[i] = one, energies[i, 1] + (one - other) * self.h
            watch.look(self.t)
            if count % per_sample == 0 or self.t >= end - SAME * h:
                for record in recorders:
                    record()
                beside.look(self.t)
                keep()
                progress(min(1.0, (self.t - system.t_start) / span))
            self.statistics["steps"] = count
            h = following if master.varies_steps else h
        self.statistics["steps_s"] = round(time.perf_counter() - begun, 6)

    @property
    def doing(self) -> str:
        """What is under way."""
        return self._doing or f"in the step from t = {self.t:.9g} s by {self.h:g} s"

    def _close(self) -> None:
        for partner in self.running.values():
            with contextlib.suppress(KingpostError):
                said = partner.close()
                if said:
                    self.warnings.append(said)

    def _history(self, times: FloatArray, rows: FloatArray, outcome: str) -> History:
        power = rows[:, self.powers]
        energy = np.zeros_like(power)
        energy[1:] = np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(times)[:, None], axis=0)
        return History(times, self.channels, np.hstack([rows, energy]), self._record(times, outcome))

    def _record(self, times: FloatArray, outcome: str) -> dict[str, Any]:
        system, plan = self.system, self.plan
        return {
            "kingpost": __version__,
            "outcome": outcome,
            "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "wall_time_s": round(time.perf_counter() - self.started, 6),
            "model": {"name": system.name, "digest": "", "description": system.description},
            "integrator": {"name": plan.master.name, "options": _plain(vars(plan.master.options))},
            "system": {
                "components": {name: dict(described.facts) for name, described in plan.components.items()},
                "connections": [
                    {"from": wire.names[0], "to": wire.names[1], "factor": wire.factor, "offset": wire.offset}
                    for wire in plan.wires
                ],
                "bonds": [asdict(bond) for bond in system.bonds],
                "order": list(plan.order),
                "algebraic_loops": [str(loop) for loop in plan.loops],
            },
            "parameters": {},
            "inputs": {},
            "start_values": {
                f"{name}.{key}": _plain_value(value)
                for name, described in plan.components.items()
                for key, value in described.settings.items()
            },
            "time": {
                "start_s": system.t_start,
                "end_s": float(times[-1]),
                "step_s": None if plan.master.varies_steps else system.step,
                "output_step_s": None if plan.master.varies_steps else system.step * _samples(system)[1],
            },
            "statistics": dict(self.statistics),
            "warnings": list(self.warnings),
            "channels": [asdict(channel) for channel in self.channels],
            "plugins": plan.plugins.sources(),
            "python": platform.python_version(),
            "fmpy": version("fmpy"),
            "numpy": np.__version__,
            "platform": platform.platform(),
        }


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if not key.startswith("_")}


def _plain_value(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
