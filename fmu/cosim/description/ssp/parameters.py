"""Parameter values: bound to systems and components, from files or inline, with prefixes, units and mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kingpost.base.errors import closest
from kingpost.base.units import Unit
from kingpost.fmu.cosim.description.markup import (
    Element,
    attribute,
    check_known,
    child,
    children,
    number,
    plain,
    truth,
    whole,
)
from kingpost.fmu.cosim.description.ssp.network import GIVING, Network, converted
from kingpost.fmu.cosim.description.ssp.package import check_root
from kingpost.fmu.cosim.description.ssp.structure import (
    INTEGERS,
    REALS,
    TOP_LEVEL,
    ElementPath,
    FmuPart,
    Place,
    Structure,
    read_enumerations,
    read_units,
)
from kingpost.fmu.cosim.description.ssp.transformations import TRANSFORMATIONS, Change, read_change
from kingpost.fmu.cosim.description.system import CosimError
from kingpost.fmu.file.units import unit_named
from kingpost.fmu.file.variables import settable

SET_TYPE = "application/x-ssp-parameter-set"
MAPPING_TYPE = "application/x-ssp-parameter-mapping"
#: How the text of a value is read, by its type.
TYPES: dict[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(REALS, number),
    **dict.fromkeys(INTEGERS, whole),
    "Boolean": truth,
    "String": lambda text, where: text,
    "Enumeration": lambda text, where: text,
}


@dataclass(frozen=True)
class Value:
    """A value by a name; ``values`` are several if it is an array."""

    name: str
    kind: str
    values: tuple[Any, ...]
    unit: Unit | None
    #: What is said of it in messages: where it stands.
    where: str
    #: Items of the enumeration that it belongs to.
    items: Mapping[str, int]
    #: The file that it comes from, or the binding.
    source: str
    #: Whether it was written for this system, and not for anybody who can use it.
    meant: bool = True
    #: What a mapping does to it once it is in the unit of its target, and whether units are left alone.
    change: Change = field(default_factory=Change)
    raw: bool = False


class Settings:
    """The start values of all components: inner bindings first, so that outer ones have the last word."""

    def __init__(self, structure: Structure, network: Network) -> None:
        self.structure, self.network = structure, network
        self.of: dict[ElementPath, dict[str, Any]] = {path: {} for path in structure.components}
        parts = [*structure.systems.values(), *structure.components.values()]
        for part in sorted(parts, key=lambda part: -len(part.path)):
            for value in _bound(structure, part.element, part.name):
                self._apply(part.path, value)

    def _apply(self, path: ElementPath, value: Value) -> None:
        """Give a value to everything that has its name below a system or component."""
        places = [
            Place(component.path, name)
            for component in self.structure.components.values()
            if (name := _below(path, component.path, value.name)) is not None and name in component.variables
        ]
        connectors = [
            Place(system.path, name)
            for system in self.structure.systems.values()
            if (name := _below(path, system.path, value.name)) is not None and name in system.connectors
        ]
        for place in places:
            self._set(place, value, Change())
        for place in connectors:
            self._pass_on(place, value)
        if not places and not connectors:
            known = self._names(path)
            what = f"{value.where}: nothing is called '{value.name}'{closest(value.name, known)}"
            if value.meant:
                raise CosimError(what)
            self.structure.notes.say(("unmatched", value.source), f"{what} The value is not used")

    def _pass_on(self, place: Place, value: Value) -> None:
        """Give the value of a connector to what it is connected with."""
        if self.structure.systems[place.path].connectors[place.connector].kind in GIVING:
            shown = self.network.fed_from(place)
            if shown is not None and settable(self.structure.components[shown.path].variables[shown.connector]):
                self._set(shown, value, Change())
            else:
                self.structure.notes.say(
                    "calculated", f"{value.where}: the value of '{place}', which components calculate, is not used"
                )
            return
        unit = self.network.unit(place)
        first = Change() if value.raw else converted(value.unit, unit, f"{value.where}: '{value.name}'", self.structure.notes)
        first = first.then(value.change, value.where)
        ways = list(self.network.reached(place))
        for way in ways:
            self._set(way.target, replace(value, unit=None, change=Change()), first.then(way.change, value.where))
        if not ways:
            self.structure.notes.say(
                "nowhere", f"{value.where}: the value of '{place}' is not used, since nothing is connected with it"
            )

    def _set(self, place: Place, value: Value, change: Change) -> None:
        component = self.structure.components[place.path]
        where = f"{value.where}: '{value.name}'"
        if not value.raw:
            change = change.then(converted(value.unit, component.unit(place.connector), where, self.structure.notes), where)
        change = change.then(value.change, where)
        _check_kind(change, value, where)
        values = tuple(change.of(entry) for entry in value.values)
        if value.kind == "Enumeration":
            values = tuple(_item(entry, value, component, place.connector) for entry in values)
        self.of[place.path][place.connector] = values[0] if len(values) == 1 else list(values)

    def _names(self, path: ElementPath) -> Iterator[str]:
        for part in (*self.structure.systems.values(), *self.structure.components.values()):
            if part.path[: len(path)] == path:
                own = part.variables if isinstance(part, FmuPart) else part.connectors
                yield from (".".join((*part.path[len(path) :], name)) for name in own)


def _below(path: ElementPath, inner: ElementPath, name: str) -> str | None:
    """Return the rest of a hierarchical name, as seen from a system, after the names that lead to a part of it."""
    if inner[: len(path)] != path:
        return None
    prefix = "".join(f"{word}." for word in inner[len(path) :])
    return name[len(prefix) :] if name.startswith(prefix) else None


def _check_kind(change: Change, value: Value, where: str) -> None:
    """Refuse a transformation that is not for the type of a value."""
    if change.linear and value.kind not in REALS:
        raise CosimError(f"{where} is a {value.kind}; a linear transformation is for real numbers")
    if change.table is None:
        return
    truths = any(isinstance(entry, bool) for entry in change.table)
    wanted = ("Enumeration",) if change.by_name else ("Boolean",) if truths else (*INTEGERS,)
    if value.kind not in wanted:
        raise CosimError(f"{where} is a {value.kind}; its table of values is for {wanted[0]}")


def _item(text: Any, value: Value, component: FmuPart, name: str) -> Any:
    """Return an item of an enumeration as its FMU knows it, or the number that the file gives it."""
    if text in component.variables[name].items():
        return text
    return value.items.get(text, text)


def _bound(structure: Structure, owner: Element, name: str) -> Iterator[Value]:
    """Yield the values that are bound to a system or component, in their order."""
    for i, binding in enumerate(children(child(owner, "ParameterBindings"))):
        where = f"parameter binding {i + 1} of {name}"
        known = ("type", "source", "sourceBase", "prefix")
        check_known(binding, where, applied=("ParameterValues", "ParameterMapping"), attributes=known)
        parameters, inline = _source(structure, binding, where, "ParameterValues", "ParameterSet", SET_TYPE)
        if parameters is None:
            raise CosimError(f"{where} has neither a source nor values")
        values = [
            replace(value, name=binding.get("prefix", "") + value.name, meant=inline)
            for value in _parameters(parameters, where, binding.get("source") or where)
        ]
        mapping = child(binding, "ParameterMapping")
        if mapping is None:
            yield from values
            continue
        entries, _ = _source(structure, mapping, where, None, "ParameterMapping", MAPPING_TYPE)
        yield from _mapped(structure, values, entries if entries is not None else mapping, where)


def _source(
    structure: Structure, owner: Element, where: str, holder: str | None, element: str, kind: str
) -> tuple[Element | None, bool]:
    """Return an element that stands in a file, or inline within ``holder``, and whether it is inline."""
    if owner.get("type", kind) != kind:
        raise CosimError(f"{where}: its type is {owner.get('type')!r}; only {kind} can be read")
    if owner.get("sourceBase", "SSD") != "SSD":
        raise CosimError(f"{where}: its sourceBase is {owner.get('sourceBase')!r}; only files beside the structure are read")
    source = owner.get("source")
    if source:
        return structure.package.xml(source, element, where), False
    found = child(child(owner, holder) if holder else owner, element)
    if found is not None:
        check_root(found, element, where)
    return found, True


def _parameters(owner: Element, where: str, source: str) -> Iterator[Value]:
    check_known(owner, where, applied=("Parameters", "Enumerations", "Units"), attributes=("version", "name", *TOP_LEVEL))
    units = read_units(child(owner, "Units"), where)
    enumerations = read_enumerations(child(owner, "Enumerations"), where)
    for parameter in children(child(owner, "Parameters")):
        name = attribute(parameter, "name", where)
        what = f"{where}: parameter '{name}'"
        check_known(parameter, what, applied=(*TYPES, "Binary", "Dimension"), attributes=("name",))
        typed = [entry for entry in children(parameter) if plain(entry) in (*TYPES, "Binary")]
        if len(typed) != 1:
            raise CosimError(f"{what} has {len(typed)} values; it must have one")
        kind = plain(typed[0])
        if kind not in TYPES:
            raise CosimError(f"{what} is a {kind}, which cannot be set here")
        check_known(typed[0], what, attributes=("value", "unit", "name"))
        text = attribute(typed[0], "value", what)
        # Several numbers stand in one text; a text is one value.
        words = text.split() if child(parameter, "Dimension") is not None and kind != "String" else [text]
        yield Value(
            name, kind, tuple(TYPES[kind](word, what) for word in words), unit_named(typed[0].get("unit"), units), where,
            enumerations.get(typed[0].get("name", ""), {}), source,
        )  # fmt: skip


def _mapped(structure: Structure, values: list[Value], mapping: Element, where: str) -> Iterator[Value]:
    """Yield the values that a mapping names, under the names that it gives them; others are not applied."""
    check_known(mapping, where, applied=("MappingEntry",), attributes=("version", "type", "source", "sourceBase", *TOP_LEVEL))
    by_name = {value.name: value for value in values}
    targets: set[str] = set()
    for entry in children(mapping, "MappingEntry"):
        source, target = attribute(entry, "source", where), attribute(entry, "target", where)
        what = f"{where}: mapping of '{source}' to '{target}'"
        check_known(entry, what, applied=TRANSFORMATIONS, attributes=("source", "target", "suppressUnitConversion"))
        if target in targets:
            raise CosimError(f"{what}: two parameters are mapped to that name")
        targets.add(target)
        if source not in by_name:
            structure.notes.say(("unmapped", where), f"{what}: there is no parameter '{source}'{closest(source, by_name)}")
            continue
        raw = truth(entry.get("suppressUnitConversion"), what)
        yield replace(by_name[source], name=target, where=what, meant=False, change=read_change(entry, what), raw=raw)
