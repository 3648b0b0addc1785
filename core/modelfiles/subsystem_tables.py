"""``[[subsystems]]`` of a model file: groups of its bodies, and systems in variables of their own.

A group has ``bodies``. A system has variables, invariants, forces and so on, in the words of
:class:`kingpost.modular.subsystem.Subsystem`; it becomes a force ``subsystems``, whose variables are states, and its parameters
and inputs become those of the machine. Both kinds are put into each other by ``within``; a child of a system may also ``use`` a
part that is described elsewhere in the file, under names of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import fill
from kingpost.base.numbers import shown
from kingpost.mechanism.elements import ForceElement, Input, Parameter
from kingpost.mechanism.subsystems import Group
from kingpost.modular.subsystem import SUBSYSTEMS, Subsystem

#: What groups alone have, what systems alone have, and what a child has that uses a part described elsewhere.
GROUP_KEYS = ("bodies",)
SYSTEM_KEYS = (*(item.name for item in fields(Subsystem) if item.name != "name"), "pull")
USE = "use"
USE_KEYS = ("names", "suffix", "keep")
SHARED_KEYS = ("name", "within")


@dataclass(frozen=True)
class SubsystemTables:
    """What the tables of a file say: groups of bodies, and systems as forces with their parameters and inputs."""

    groups: tuple[Group, ...] = ()
    forces: tuple[ForceElement, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True)
class _Entry:
    """A table, which of the file's it is, and which keys say of what kind it is."""

    index: int
    table: Mapping[str, Any]

    @property
    def name(self) -> Any:
        return self.table.get("name", f"number {self.index + 1}")

    @property
    def within(self) -> Any:
        return self.table.get("within", "")

    @property
    def of_system(self) -> list[str]:
        return [key for key in self.table if key in (*SYSTEM_KEYS, USE)]

    def refuse(self, reason: str, *path: str) -> MechanismError:
        return MechanismError(f"subsystem '{self.name}' {reason}", path=("subsystems", self.index, *path))


def has_systems(tables: Sequence[Any]) -> bool:
    """Say whether any of the tables describes a system in variables of its own."""
    return any(isinstance(table, Mapping) and _Entry(0, table).of_system for table in tables)


def read_subsystems(tables: Sequence[Mapping[str, Any]], declared: Collection[str] = ()) -> SubsystemTables:
    """Return what ``[[subsystems]]`` describe, without the parameters and inputs that are ``declared`` by the machine.

    Raises
    ------
    MechanismError
        For a table that is both a group of bodies and a system, for one kind within the other, and for whatever
        :class:`Group` and :class:`Subsystem` refuse; with the place of the table.

    """
    entries = [_Entry(i, table) for i, table in enumerate(tables)]
    for entry in entries:
        _check_keys(entry)
    systems = _systems(entries)
    groups = [
        _located(entry, partial(fill, Group, entry.table, f"subsystem '{entry.name}'"))
        for entry in entries
        if entry.index not in systems
    ]
    return _assembled(entries, systems, tuple(groups), declared) if systems else SubsystemTables(tuple(groups))


def _check_keys(entry: _Entry) -> None:
    """Refuse unknown keys, and those of both kinds in one table."""
    known = (*SHARED_KEYS, *GROUP_KEYS, *SYSTEM_KEYS, USE)
    for key in entry.table:
        if key not in known:
            raise entry.refuse(
                f"has no '{key}'{closest(key, known)} A group of bodies has: {listed((*SHARED_KEYS, *GROUP_KEYS))}; a system "
                f"in variables of its own has: {listed((*SHARED_KEYS, *SYSTEM_KEYS, USE))}.",
                key,
            )
    for key in (*SHARED_KEYS, USE):
        if not isinstance(entry.table.get(key, ""), str):
            raise MechanismError(
                f"subsystem number {entry.index + 1}: {key} = {shown(entry.table[key])} is not a text",
                path=("subsystems", entry.index, key),
            )
    if entry.of_system and "bodies" in entry.table:
        raise entry.refuse(
            f"has 'bodies' and '{entry.of_system[0]}': a group of bodies has no more than 'within' beside them, and a system "
            "in variables of its own has no bodies. Make two subsystems of it",
            "bodies",
        )
    if USE in entry.table:
        more = [key for key in entry.of_system if key not in (USE, *USE_KEYS)]
        if more:
            raise entry.refuse(
                f"uses '{entry.table[USE]}' as it is, under other names ({listed(USE_KEYS)}); '{more[0]}' belongs to the part "
                "itself, or to the system that it is in",
                more[0],
            )


def _systems(entries: Sequence[_Entry]) -> set[int]:
    """Return which entries are systems: those with words of one, and those of nothing but systems within them."""
    systems = {entry.index for entry in entries if entry.of_system}
    groups = {entry.index for entry in entries if "bodies" in entry.table}
    names = {entry.table.get("name"): entry for entry in entries}
    for _ in entries:
        for entry in entries:
            outer = names.get(entry.within)
            if outer is not None and not (outer.of_system or "bodies" in outer.table):
                (systems if entry.index in systems else groups).add(outer.index)
    for entry in entries:
        outer = names.get(entry.within)
        if outer is None:
            continue
        if (entry.index in systems) == (outer.index in systems) and outer.index not in systems & groups:
            continue
        kinds = ("a system in variables of its own", "a group of bodies")
        inner, around = kinds if entry.index in systems else kinds[::-1]
        raise entry.refuse(
            f"is {inner} within '{entry.within}', which is {around}: bodies meet in groups, variables in systems. Take "
            "'within' from it; names of parameters and inputs are common to both",
            "within",
        )
    return systems


def _assembled(
    entries: Sequence[_Entry], systems: set[int], groups: tuple[Group, ...], declared: Collection[str]
) -> SubsystemTables:
    """Return the systems that are within no other one, with those within them as children."""
    from kingpost.modular.system import build  # most files have no systems of this kind

    own = [entry for entry in entries if entry.index in systems]
    names = [str(entry.name) for entry in own]
    for entry in own:
        if names.count(entry.name) > 1:
            raise entry.refuse("is there twice; name one of them otherwise", "name")
        if entry.within and entry.within not in names:
            raise entry.refuse(
                f"is within '{entry.within}', which is not a subsystem{closest(entry.within, names)} "
                f"Subsystems: {listed(names)}.",
                "within",
            )
    reader = _Reader({entry.name: entry for entry in own})
    used = {part for entry in own for part in _parts_used(entry.table)}
    forces: list[ForceElement] = []
    parameters: dict[str, tuple[float, str, Any]] = {}
    inputs: dict[str, str] = {}
    for entry in own:
        if entry.within or entry.name in used:
            continue
        system = reader.read(entry, ())
        whole = _located(entry, partial(build, system))
        units, values = whole.symbols.units, whole.symbols.values
        _share(entry, parameters, {k: (v, units.get(k, "1")) for k, v in values.items() if k not in declared})
        inputs |= {name: units.get(name, "1") for name in whole.inputs if name not in declared}
        pull = entry.table.get("pull", 0.0)
        forces.append(_located(entry, partial(ForceElement, SUBSYSTEMS, name=system.name, system=system.to_data(), pull=pull)))
    for entry in own:
        if entry.name not in reader.reached:
            reader.read(entry, ())  # refused: it is in a circle that no system leads into
    return SubsystemTables(
        groups,
        tuple(forces),
        tuple(Parameter(name, value, unit) for name, (value, unit, _) in parameters.items()),
        tuple(Input(name, unit) for name, unit in inputs.items()),
    )


def _share(entry: _Entry, known: dict[str, tuple[float, str, Any]], own: Mapping[str, tuple[float, str]]) -> None:
    """Add the parameters of a system to those of the machine; one of the same name is the same one."""
    for name, (value, unit) in own.items():
        other = known.setdefault(name, (value, unit, entry.name))
        if other[:2] != (value, unit):
            raise entry.refuse(
                f"has parameter '{name}' = {value:g} {unit}, which is {other[0]:g} {other[1]} in '{other[2]}': one machine has "
                "one of each name. Declare it in [parameters], give both the same value, or rename one ('names', 'suffix')",
                "parameters",
                name,
            )


def _parts_used(table: Mapping[str, Any]) -> list[str]:
    """Return the names of parts that a table or its children use; what is no name is refused where it is read."""
    inner = [part for child in _children(table) if isinstance(child, Mapping) for part in _parts_used(child)]
    return [*([table[USE]] if isinstance(table.get(USE), str) else []), *inner]


def _children(table: Mapping[str, Any]) -> Sequence[Any]:
    """Return the children in a table; none where they are no list, which is refused where the table becomes a subsystem."""
    children = table.get("children", ())
    return children if isinstance(children, list | tuple) else ()


@dataclass(frozen=True)
class _Reader:
    """Systems by the names of their tables, read with what is within them and what they use."""

    entries: Mapping[str, _Entry]
    reached: set[str] = field(default_factory=set)

    def read(self, entry: _Entry, around: tuple[str, ...]) -> Subsystem:
        if entry.name in around:
            circle = " -> ".join((*around[around.index(entry.name) :], entry.name))
            raise entry.refuse(f"would be a part of itself: {circle}; take 'within' or '{USE}' from one of them")
        self.reached.add(entry.name)
        data = {key: value for key, value in entry.table.items() if key not in ("within", "pull")}
        inner = [other for other in self.entries.values() if other.within == entry.name]
        around = (*around, entry.name)
        if USE in data:
            if inner:
                raise entry.refuse(f"uses '{data[USE]}' as it is, so that '{inner[0].name}' cannot be within it", "within")
            return _located(entry, lambda: self._used(entry, data, around))
        if isinstance(data.get("children", []), list | tuple):
            own = [self._child(entry, child, around) for child in _children(data)]
            data["children"] = [*own, *(self.read(other, around) for other in inner)]
        return _located(entry, lambda: Subsystem.from_data(data))

    def _child(self, entry: _Entry, child: Any, around: tuple[str, ...]) -> Any:
        """Return a child with the parts that it uses put in."""
        if not isinstance(child, Mapping):
            return child
        if USE in child:
            return self._used(entry, child, around)
        grandchildren = [self._child(entry, item, around) for item in _children(child)]
        return {**child, "children": grandchildren} if grandchildren else child

    def _used(self, entry: _Entry, child: Mapping[str, Any], around: tuple[str, ...]) -> Subsystem:
        if not isinstance(child[USE], str):
            raise entry.refuse(f"uses {shown(child[USE])}, which is not the name of a system", USE)
        part = self.entries.get(child[USE])
        if part is None:
            raise entry.refuse(
                f"uses '{child[USE]}', which is not a system of this file{closest(child[USE], self.entries)} "
                f"Systems: {listed(self.entries)}.",
                USE,
            )
        names = {key: child[key] for key in USE_KEYS if key in child}
        return self.read(part, around).used_as(child.get("name", child[USE]), **names)


def _located(entry: _Entry, action: Callable[[], Any]) -> Any:
    """Return what an action returns; what it refuses is in this table."""
    try:
        return action()
    except MechanismError as error:
        if error.path[:1] == ("subsystems",):
            raise
        raise error.within("subsystems", entry.index) from None
