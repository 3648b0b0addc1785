"""A system structure as data: systems and components by their paths, their connectors, and connections as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kingpost.base.errors import closest, listed
from kingpost.base.units import BASE, Unit
from kingpost.fmu.cosim.description.markup import (
    Element,
    attribute,
    check_known,
    child,
    children,
    number,
    plain,
    truth,
)
from kingpost.fmu.cosim.description.ssp.notes import Notes
from kingpost.fmu.cosim.description.ssp.package import Package
from kingpost.fmu.cosim.description.ssp.transformations import TRANSFORMATIONS, Change, read_change
from kingpost.fmu.cosim.description.system import CosimError
from kingpost.fmu.file.opened import FmiKind, open_fmu
from kingpost.fmu.file.units import declared_units, defined_unit, unit_named
from kingpost.fmu.file.variables import Variable, variables_of

FMU_TYPE = "application/x-fmu-sharedlibrary"
#: The annotation in which Kingpost keeps what SSP has no place for: communication step, master, steps of components, and
#: inputs that hold.
ANNOTATION = "kingpost.cosim"
OSP_ANNOTATION = "com.opensimulationplatform"
#: Systems in systems in systems: more than this is a mistake, or an attack.
DEEPEST = 50
#: Types of connectors and parameters, and those of SSP 2.0 that are of the same kind.
REALS = ("Real", "Float64", "Float32")
INTEGERS = ("Integer", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
OTHER_TYPES = ("Boolean", "String", "Enumeration", "Binary")
KINDS = (
    "input",
    "output",
    "parameter",
    "calculatedParameter",
    "structuralParameter",
    "constant",
    "local",
    "inout",
    "unspecified",
)

#: The names that lead from the root system, which has none, to a system or a component.
ElementPath = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A connector of a system, or a variable of a component."""

    path: ElementPath
    connector: str

    def __str__(self) -> str:
        return ".".join(("/".join(self.path), self.connector)) if self.path else self.connector


@dataclass(frozen=True)
class Connector:
    """A connector as the structure declares it."""

    kind: str
    unit: Unit | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A system or a component; ``element`` holds what is read from it later."""

    path: ElementPath
    element: Element
    connectors: Mapping[str, Connector]

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"'{'/'.join(self.path)}'" if self.path else "the root system"


@dataclass(frozen=True, eq=False)
class FmuPart(Part):
    """A component, which is an FMU."""

    fmu: Path
    variables: Mapping[str, Variable]
    #: The units of its variables, as its FMU means them.
    units: Mapping[str, Unit]
    #: How often it wants to step, in s.
    step: float | None = None
    #: Which interface of the FMU is asked for, if it matters.
    interface: FmiKind | None = None

    def variable(self, name: str, where: str) -> Variable:
        """Return a variable of the FMU, or the array that it is an element of."""
        found = self._named(name)
        if found is None:
            raise CosimError(f"{where}: the FMU of {self.name} has no variable '{name}'{closest(name, self.variables)}")
        return found

    def unit(self, name: str) -> Unit | None:
        """Return the unit of a variable, if it has one."""
        found = self._named(name)
        return None if found is None else unit_named(found.unit, self.units)

    def _named(self, name: str) -> Variable | None:
        array = self.variables.get(name.rpartition("[")[0])
        return self.variables.get(name) or (array if array is not None and name in array.labels else None)


@dataclass(frozen=True)
class Link:
    """A connection as it is written: of two places, in a system, in no direction."""

    within: ElementPath
    start: Place
    end: Place
    change: Change
    #: Whether numbers pass as they are, whatever the units.
    raw: bool
    #: Whether the input holds over a step, whatever the master would let it do.
    hold: bool = False

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"connection of '{self.start}' and '{self.end}'"


@dataclass
class Structure:
    """Everything in a structure, systems before what is in them."""

    package: Package
    root: Element
    systems: dict[ElementPath, Part] = field(default_factory=dict)
    components: dict[ElementPath, FmuPart] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    enumerations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    def part(self, path: ElementPath) -> Part:
        """Return a system or a component."""
        return self.systems[path] if path in self.systems else self.components[path]


def read_structure(package: Package) -> Structure:
    """Read a structure and the descriptions of its FMUs, of which nothing is run."""
    root = package.root()
    where = f"'{package.structure}'"
    top = ("System", "Enumerations", "Units", "DefaultExperiment")
    check_known(root, where, applied=top, attributes=("version", "name", *TOP_LEVEL))
    system = child(root, "System")
    if system is None:
        raise CosimError(f"{where} holds no System")
    structure = Structure(package, root, enumerations=read_enumerations(child(root, "Enumerations"), where))
    _read_system(structure, system, (), read_units(child(root, "Units"), where))
    if not structure.components:
        raise CosimError(f"{where} holds no components")
    return structure


#: Who made a file, and when.
TOP_LEVEL = ("author", "fileversion", "copyright", "license", "generationTool", "generationDateAndTime")


def read_units(owner: Element | None, where: str) -> dict[str, Unit]:
    """Return the units that a file defines for itself."""
    units = {}
    for entry in children(owner, "Unit"):
        name, base = attribute(entry, "name", where), child(entry, "BaseUnit")
        if base is None:
            continue
        unit = defined_unit(name, {key: base.get(key) for key in (*BASE, "factor", "offset")})
        if not unit.known:
            raise CosimError(f"{where}: the unit '{name}' is defined by what is not a number, or by a factor of 0")
        units[name] = unit
    return units


def read_enumerations(owner: Element | None, where: str) -> dict[str, dict[str, int]]:
    """Return the enumerations that a file defines: names of items and their numbers."""
    return {
        attribute(entry, "name", where): {
            attribute(item, "name", where): int(number(attribute(item, "value", where), where))
            for item in children(entry, "Item")
        }
        for entry in children(owner, "Enumeration")
    }


def _read_system(structure: Structure, element: Element, path: ElementPath, units: Mapping[str, Unit]) -> None:
    where = f"system '{'/'.join(path)}'" if path else "the root system"
    if len(path) > DEEPEST:
        raise CosimError(f"{where} is a system in {len(path)} others; more than {DEEPEST} are not read")
    if child(element, "SignalDictionaries") is not None:
        raise CosimError(f"{where} has signal dictionaries, which are not understood; connect the components directly")
    parts = ("Connectors", "ParameterBindings", "Elements", "Connections")
    check_known(element, where, applied=parts, attributes=("name",))
    structure.systems[path] = Part(path, element, _connectors(element, where, units))
    for entry in children(child(element, "Elements")):
        name = attribute(entry, "name", where)
        inner = (*path, name)
        if not name:
            raise CosimError(f"{where}: an element has an empty name")
        if inner in structure.systems or inner in structure.components:
            raise CosimError(f"{where}: two of its elements are called '{name}'")
        if plain(entry) == "System":
            _read_system(structure, entry, inner, units)
        else:
            structure.components[inner] = _component(structure, entry, inner, units)
    structure.links += _links(structure, element, path)


def _component(structure: Structure, element: Element, path: ElementPath, units: Mapping[str, Unit]) -> FmuPart:
    where = f"element '{'/'.join(path)}'"
    kind = element.get("type", FMU_TYPE)
    if plain(element) != "Component" or kind != FMU_TYPE:
        what = f"Component of type {kind}" if plain(element) == "Component" else plain(element)
        raise CosimError(f"{where} is a {what}; only FMUs ({FMU_TYPE}) can be run")
    known = ("name", "type", "source", "implementation")
    check_known(element, where, applied=("Connectors", "ParameterBindings"), attributes=known)
    if element.get("source") is None:
        raise CosimError(f"{where} has no source: there is nothing that could be run in its place")
    fmu = open_fmu(structure.package.file(str(element.get("source")), where))
    part = FmuPart(
        path, element, _connectors(element, where, units), fmu=fmu.path, variables=variables_of(fmu), units=declared_units(fmu),
        step=_step_hint(element, where),
        interface=_implementation(element.get("implementation", "any"), fmu.capabilities, where),
    )  # fmt: skip
    for name, connector in part.connectors.items():
        own = part.unit(name)
        # A name that is defined nowhere says nothing that could be wrong.
        if connector.unit is None or own is None or not connector.unit.known or not own.known:
            continue
        if connector.unit.to(own) != (1.0, 0.0):
            raise CosimError(
                f"{where}: its connector '{name}' is said to be in {connector.unit.name}, but its FMU has it in {own.name}"
            )
    return part


def _implementation(wanted: str, offered: Mapping[FmiKind, object], where: str) -> FmiKind | None:
    """Return the interface that the structure asks for, which the FMU must offer."""
    names: dict[str, FmiKind] = {"CoSimulation": "co-simulation", "ModelExchange": "model-exchange"}
    if wanted == "any":
        return None
    if names.get(wanted) not in offered:
        raise CosimError(f"{where}: its implementation is to be {wanted}, but its FMU offers {listed(offered)}")
    return names[wanted]


def _connectors(owner: Element, where: str, units: Mapping[str, Unit]) -> dict[str, Connector]:
    found: dict[str, Connector] = {}
    for entry in children(child(owner, "Connectors"), "Connector"):
        name = attribute(entry, "name", where)
        what = f"{where}: connector '{name}'"
        check_known(entry, what, applied=(*REALS, *INTEGERS, *OTHER_TYPES, "Dimension"), attributes=("name", "kind"))
        kind = entry.get("kind", "unspecified")
        if kind not in KINDS:
            raise CosimError(f"{what} is of kind {kind!r}{closest(kind, KINDS)} Kinds: {listed(KINDS)}.")
        if name in found:
            raise CosimError(f"{where}: two of its connectors are called '{name}'")
        kinds = [inner for inner in children(entry) if plain(inner) in REALS]
        found[name] = Connector(kind, unit_named(kinds[0].get("unit"), units) if kinds else None)
    return found


def _links(structure: Structure, system: Element, path: ElementPath) -> Iterator[Link]:
    known = ("startElement", "startConnector", "endElement", "endConnector", "suppressUnitConversion")
    inside = [
        entry[-1] for entry in (*structure.systems, *structure.components) if len(entry) == len(path) + 1 and entry[:-1] == path
    ]
    for entry in children(child(system, "Connections")):
        where = f"a connection in system '{'/'.join(path)}'" if path else "a connection in the root system"
        places = []
        for end in ("start", "end"):
            element, connector = entry.get(f"{end}Element"), attribute(entry, f"{end}Connector", where)
            if element and element not in inside:
                raise CosimError(
                    f"{where}: there is no element '{element}'{closest(element, inside)} Elements: {listed(inside)}."
                )
            places.append(Place((*path, element) if element else path, connector))
        link = Link(path, places[0], places[1], Change(), truth(entry.get("suppressUnitConversion"), where))
        check_known(entry, link.name, applied=TRANSFORMATIONS, attributes=known)
        hold = any(truth(note.get("hold"), link.name) for note in annotated(entry, ANNOTATION))
        yield Link(path, link.start, link.end, read_change(entry, link.name), link.raw, hold)


def annotated(owner: Element, kind: str) -> Iterator[Element]:
    """Yield what a tool keeps in annotations of its own type."""
    for annotation in children(child(owner, "Annotations"), "Annotation"):
        if annotation.get("type") == kind:
            yield from children(annotation)


def _step_hint(component: Element, where: str) -> float | None:
    """Return the step that a component is to be advanced with, as Kingpost or the Open Simulation Platform note it."""
    for kind, element, key in ((ANNOTATION, "component", "step"), (OSP_ANNOTATION, "StepSizeHint", "value")):
        for entry in annotated(component, kind):
            if plain(entry) == element and entry.get(key) is not None:
                return number(str(entry.get(key)), where)
    return None
