"""Connections between scalars, made from those between variables, arrays and ports, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kingpost.base.errors import closest, listed
from kingpost.fmu.cosim.components.described import Described, Port, Signal
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.description.system import Component, Connection, CosimError, System, split_name

#: More names than this help nobody in a message.
MANY = 20


@dataclass(frozen=True)
class Wire:
    """One output of a component feeds one input of another: input = factor * output + offset.

    Of wires to one input that ``add``, it gets the sum. ``table`` says which values of the output are replaced by others.
    """

    source: str
    output: str
    target: str
    input: str
    factor: float = 1.0
    offset: float = 0.0
    #: Whether the input holds over a step, whatever the master would let it do.
    hold: bool = False
    add: bool = False
    table: tuple[tuple[float, float], ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """Both ends, as ``component.variable``."""
        return f"{self.source}.{self.output}", f"{self.target}.{self.input}"


def declared_ports(component: Component, described: Described) -> dict[str, Port]:
    """Return the ports of a component: those of its own description, and those that the system declares."""
    ports: dict[str, Port] = dict(described.ports)
    for name, given in component.ports.items():
        where = f"component '{component.name}': port '{name}'"
        members = _port_members(given, described.signals, where)
        for variable in members.values():
            if variable not in described.signals:
                raise CosimError(f"{where}: {unknown(variable, described)}", path=("components", component.name, "ports", name))
        ports[name] = members
    return ports


def _port_members(given: Any, signals: Mapping[str, Signal], where: str) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(member): str(variable) for member, variable in given.items()}
    if not isinstance(given, str | Sequence):
        raise CosimError(f"{where} = {given!r}: give a table of members, a list of variables, or a pattern such as 'base.*'")
    members: dict[str, str] = {}
    for word in [given] if isinstance(given, str) else given:
        members |= _matching(str(word), signals, where) if "*" in str(word) else {str(word): str(word)}
    return members


def _matching(pattern: str, signals: Mapping[str, Signal], where: str) -> dict[str, str]:
    """Return the inputs and outputs that a pattern fits; its ``*`` gives the names of the members.

    Outputs of a machine have dots in their names where inputs have underscores, so that makes no difference.
    """
    before, _, after = pattern.partition("*")
    if "*" in after:
        raise CosimError(f"{where}: the pattern '{pattern}' holds more than one '*', which gives the names of the members")
    members = {
        name[len(before) : len(name) - len(after)].replace(".", "_"): name
        for name, signal in signals.items()
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
        and signal.causality in ("input", "output")
    }  # fmt: skip
    if not members:
        raise CosimError(f"{where}: no input or output is called like '{pattern}'{closest(pattern, signals)}")
    return members


def unknown(variable: str, described: Described, causality: str = "") -> str:
    """Return a sentence about a variable that is not there, or is no number."""
    declared = described.variables.get(variable) if isinstance(described, FmuComponent) else None
    if declared is not None:
        return (
            f"'{described.name}.{variable}' is a {declared.declared.type}; only numbers and truth values can be connected, "
            "not texts, binary data or clocks"
        )
    known = [name for name, signal in described.signals.items() if not causality or signal.causality == causality]
    what = f"{causality}s" if causality else "variables"
    more = f" and {len(known) - MANY} more" if len(known) > MANY else ""
    return (
        f"'{described.name}' has no {causality or 'variable'} '{variable}'{closest(variable, known)} "
        f"Its {what}: {listed(known[:MANY])}{more}."
    )


def make_wires(system: System, components: Mapping[str, Described]) -> list[Wire]:
    """Return all connections between scalars.

    Raises
    ------
    CosimError
        For names that are not there, inputs that are fed twice, and units or types that do not fit.

    """
    ports = {component.name: declared_ports(component, components[component.name]) for component in system.components}
    wires: list[Wire] = []
    fed: dict[str, Wire] = {}
    for i, connection in enumerate(system.connections):
        try:
            for wire in _wires_of(connection, system, components, ports):
                output, entry = wire.names
                if entry in fed and not (wire.add and fed[entry].add):
                    raise CosimError(
                        f"input '{entry}' is fed by '{fed[entry].names[0]}' and by '{output}'; an input has one source. If it "
                        "is their sum, say add = true in each of these connections"
                    )
                fed[entry] = wire
                wires.append(wire)
        except CosimError as error:
            raise CosimError(str(error), path=("connections", i, *error.path)) from None
    return wires


def make_bonds(system: System, components: Mapping[str, Described], wires: Sequence[Wire]) -> list[tuple[Wire, Wire]]:
    """Return the connections of effort and flow of every power bond, checked."""
    found = []
    outputs = list(dict.fromkeys(wire.names[0] for wire in wires))
    for i, bond in enumerate(system.bonds):
        for text in (bond.effort, bond.flow):
            split_name(text, system)
        efforts, flows = ([wire for wire in wires if wire.names[0] == text] for text in (bond.effort, bond.flow))
        pairs = [(e, f) for e in efforts for f in flows if e.source == f.target and f.source == e.target]
        if len(pairs) != 1:
            raise CosimError(
                f"bond '{bond.name}': effort '{bond.effort}' and flow '{bond.flow}' must be outputs of two components, each "
                f"connected to one input of the other; connected outputs: {listed(outputs)}",
                path=("bonds", i),
            )
        if any(wire.add for wire in pairs[0]):
            raise CosimError(f"bond '{bond.name}': its connections cannot be summands (add = true)", path=("bonds", i))
        effort, flow = (components[wire.source].signals[wire.output] for wire in pairs[0])
        if effort.dimension is not None and flow.dimension is not None:
            exponents = {
                base: effort.dimension.exponents.get(base, 0) + flow.dimension.exponents.get(base, 0)
                for base in ("kg", "m", "s", "A")
            }
            if exponents != {"kg": 1, "m": 2, "s": -3, "A": 0} or effort.dimension.factor * flow.dimension.factor != 1:
                raise CosimError(
                    f"bond '{bond.name}': '{bond.effort}' in {effort.unit} times '{bond.flow}' in {flow.unit} is not a power "
                    "in W",
                    path=("bonds", i),
                )
        found.append(pairs[0])
    return found


def _wires_of(
    connection: Connection,
    system: System,
    components: Mapping[str, Described],
    ports: Mapping[str, Mapping[str, Port]],
) -> Iterator[Wire]:
    where = f"connection from '{connection.source}' to '{connection.target}'"
    (source, output), (target, entry) = (split_name(text, system) for text in (connection.source, connection.target))
    a, b = components[source], components[target]
    if output in ports[source] or entry in ports[target]:
        for name, port in ((source, output), (target, entry)):
            if port not in ports[name]:
                raise CosimError(
                    f"{where}: '{name}' has no port '{port}'{closest(port, ports[name])} Ports: {listed(ports[name])}."
                )
        yield from _between_ports(connection, a, ports[source][output], b, ports[target][entry], where)
        return
    outputs, inputs = (
        described.arrays.get(name, (name,) if name in described.signals else ())
        for described, name in ((a, output), (b, entry))
    )
    if not outputs:
        raise CosimError(f"{where}: {unknown(output, a, 'output')}")
    if not inputs:
        raise CosimError(f"{where}: {unknown(entry, b, 'input')}")
    if len(outputs) != len(inputs):
        raise CosimError(f"{where}: '{output}' has {len(outputs)} elements, '{entry}' has {len(inputs)}")
    for one, other in zip(outputs, inputs, strict=True):
        yield _wire(connection, a, one, b, other, where)


def _between_ports(
    connection: Connection, a: Described, port_a: Port, b: Described, port_b: Port, where: str
) -> Iterator[Wire]:
    """Yield a wire for each member that both have, in the direction in which it can go."""
    for described, own, others in ((a, port_a, port_b), (b, port_b, port_a)):
        for member, variable in own.items():
            # An output that the other side does not take is no harm, an input that nobody feeds is.
            if member not in others and described.signals[variable].causality == "input":
                raise CosimError(
                    f"{where}: nothing feeds '{described.name}.{variable}', since the other port has no member '{member}'"
                    f"{closest(member, others)} Its members: {listed(others)}."
                )
    if not set(port_a) & set(port_b):
        raise CosimError(f"{where}: the ports have no member in common: {listed(port_a)}, and {listed(port_b)}")
    for member, one in port_a.items():
        if member not in port_b:
            continue
        other = port_b[member]
        directions = a.signals[one].causality, b.signals[other].causality
        if directions == ("output", "input"):
            yield _wire(connection, a, one, b, other, where)
        elif directions == ("input", "output"):
            if connection.factor is not None or connection.offset:
                raise CosimError(
                    f"{where}: member '{member}' goes the other way, so a factor or offset could mean two things; connect the "
                    "variables one by one where there is one"
                )
            yield _wire(connection, b, other, a, one, where)
        else:
            raise CosimError(
                f"{where}: member '{member}' is {directions[0]} '{one}' on one side and {directions[1]} '{other}' on the "
                "other; one must be an output and the other an input"
            )


def _wire(connection: Connection, a: Described, output: str, b: Described, entry: str, where: str) -> Wire:
    source, target = a.signals[output], b.signals[entry]
    for name, signal, wanted in ((f"{a.name}.{output}", source, "output"), (f"{b.name}.{entry}", target, "input")):
        if signal.causality != wanted:
            raise CosimError(f"{where}: the causality of '{name}' is {signal.causality}, not {wanted}")
    if source.kind != target.kind and (source.kind, target.kind) != ("integer", "real"):
        raise CosimError(f"{where}: '{a.name}.{output}' is {source.kind}, but '{b.name}.{entry}' is {target.kind}")
    if target.kind != "real" and (connection.factor is not None or connection.offset):
        raise CosimError(f"{where}: '{b.name}.{entry}' is {target.kind}; factor and offset are for real numbers")
    if connection.table and source.kind == "real":
        raise CosimError(f"{where}: '{a.name}.{output}' is real; a table is for whole numbers and truth values")
    if connection.add and target.kind == "boolean":
        raise CosimError(f"{where}: '{b.name}.{entry}' is boolean, which is no sum")
    factor, offset = _conversion(connection, source, target, where)
    hold = connection.hold or entry in b.continuing
    return Wire(a.name, output, b.name, entry, factor, offset, hold, connection.add, connection.table)


def _conversion(connection: Connection, source: Signal, target: Signal, where: str) -> tuple[float, float]:
    """Return factor and offset; without a factor that is given, units must be equal, or convertible if that is asked for."""
    if connection.factor is not None:
        return connection.factor, connection.offset
    if not source.unit or not target.unit:
        return 1.0, connection.offset
    if source.unit == target.unit and (None in (source.dimension, target.dimension) or source.dimension == target.dimension):
        return 1.0, connection.offset
    said = f"{where}: '{source.name}' is in {source.unit}, '{target.name}' in {target.unit}"
    change = source.dimension.to(target.dimension) if source.dimension is not None and target.dimension is not None else None
    if change is None:
        raise CosimError(f"{said}, which do not fit; connect others, or give the factor between them")
    factor, offset = change
    if change == (1.0, 0.0):
        return 1.0, connection.offset
    if not connection.convert:
        added = f" and {offset:.9g} added" if offset else ""
        raise CosimError(f"{said}; write convert = true to have it multiplied by {factor:.9g}{added}, or give a factor")
    return factor, offset + connection.offset
