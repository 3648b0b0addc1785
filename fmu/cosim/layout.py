"""Where every number of a coupled run has its place: vectors of inputs and outputs, and the channels of its history."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kingpost.base.channels import Channel
from kingpost.fmu.cosim.components.described import Described, Places
from kingpost.fmu.cosim.masters.interface import Bond, Coupling, Partner
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.cosim.wiring.wires import Wire
from kingpost.fmu.process.limits import checked_limit


class Layout:
    """The vectors of one run: connected inputs, connected outputs, and what is recorded beside them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        names = list(plan.components)
        self.fed = {name: list(dict.fromkeys(wire.input for wire in plan.wires if wire.target == name)) for name in names}
        self.given = {name: list(dict.fromkeys(wire.output for wire in plan.wires if wire.source == name)) for name in names}
        recorded = {name: [signal for owner, signal in plan.recorded if owner == name] for name in names}
        self.extra = {name: [signal for signal in recorded[name] if signal not in self.given[name]] for name in names}
        self.u, self.y, self.r = (np.zeros(sum(map(len, group.values()))) for group in (self.fed, self.given, self.extra))
        self.input_names, self.output_names, self.extra_names = (
            tuple(f"{name}.{entry}" for name in names for entry in group[name]) for group in (self.fed, self.given, self.extra)
        )
        everything = self.output_names + self.extra_names
        self.channels = tuple(_channel(plan.components[owner], signal) for owner, signal in plan.recorded)
        #: The places of recorded numbers among the outputs and what is recorded beside them.
        self.columns = np.array([everything.index(channel.name) for channel in self.channels], dtype=np.intp)
        for bond in plan.system.bonds:
            self.channels += (Channel(f"bonds.{bond.name}.power", "W"), Channel(f"bonds.{bond.name}.residual", "J"))
        #: The channels of a sample; energies through ports are found from all of them.
        self.sampled = self.channels
        self._add_port_energies()

    @property
    def known(self) -> Iterator[str]:
        """The names of all that the components show, recorded or not."""
        return (f"{name}.{signal}" for name, described in self.plan.components.items() for signal in described.signals)

    def _add_port_energies(self) -> None:
        """Lay out a channel 'energy' beside every channel 'power' of a port that is kept."""
        units = {channel.name: channel.unit for channel in self.channels}
        ports = [f"{owner}.{port}" for owner, component in self.plan.components.items() for port in component.ports]
        kept = [port for port in ports if units.get(f"{port}.power") == "W" and f"{port}.energy" not in units]
        self.powers = [list(units).index(f"{port}.power") for port in kept]
        self.channels += tuple(Channel(f"{port}.energy", "J") for port in kept)

    def places(
        self,
        deadline: float = math.inf,
        going_back: bool | None = None,
        changeable: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Iterator[tuple[str, Places]]:
        """Yield the parts of the vectors that belong to each component, how long it may take, and what somebody may change."""
        system = self.plan.system
        goes_back = self.plan.master.goes_back if going_back is None else going_back
        first = [0, 0, 0]
        for name in self.plan.components:
            lists = self.fed[name], self.given[name], self.extra[name]
            parts = []
            for i, (whole, names) in enumerate(zip((self.u, self.y, self.r), lists, strict=True)):
                parts.append(whole[first[i] : first[i] + len(names)])
                first[i] += len(names)
            own = system.component(name).timeout
            limit = checked_limit(system.timeout if own is None else own, "timeout")
            yield name, Places(
                lists[0], parts[0], lists[1], parts[1], lists[2], parts[2], goes_back,
                self.plan.master.moves_inputs, limit, deadline, (changeable or {}).get(name, ()),
            )  # fmt: skip

    def coupling(self, partners: Mapping[str, Partner]) -> Coupling:
        """Return what the master gets."""
        plan = self.plan
        outputs = {name: i for i, name in enumerate(self.output_names)}
        feeding: dict[str, list[Wire]] = {name: [] for name in self.input_names}
        for wire in plan.wires:
            feeding[wire.names[1]].append(wire)
        wires = [group[0] for group in feeding.values()]
        return Coupling(
            tuple(partners.values()), self.u, self.y, self.input_names, self.output_names,
            np.array([outputs[wire.names[0]] for wire in wires], dtype=np.intp),
            np.array([wire.factor for wire in wires], dtype=float),
            np.array([sum(wire.offset for wire in group) for group in feeding.values()], dtype=float),
            tuple(partners[name] for name in plan.order), tuple(self._bonds()),
            np.array([any(wire.hold for wire in group) for group in feeding.values()], dtype=bool),
            tuple(
                (i, outputs[wire.names[0]], wire.factor) for i, group in enumerate(feeding.values()) for wire in group[1:]
            ),
            {i: dict(wire.table) for i, wire in enumerate(wires) if wire.table},
        )  # fmt: skip

    def _bonds(self) -> Iterator[Bond]:
        for bond, (effort, flow) in zip(self.plan.system.bonds, self.plan.bonds, strict=True):
            outputs = [self.output_names.index(wire.names[0]) for wire in (effort, flow)]
            inputs = [self.input_names.index(wire.names[1]) for wire in (effort, flow)]
            yield Bond(bond.name, outputs[0], inputs[0], outputs[1], inputs[1])


def _channel(component: Described, signal: str) -> Channel:
    """Return a recorded signal under its full name, with the frame that its machine gives it in."""
    channel = component.channels.get(signal) or Channel(signal, component.signals[signal].unit or "1")
    return replace(channel, name=f"{component.name}.{signal}")
