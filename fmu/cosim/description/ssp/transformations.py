"""What happens to a value on its way: units converted, a linear transformation, or a table of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kingpost.fmu.cosim.description.markup import Element, attribute, check_known, children, number, plain, truth, whole
from kingpost.fmu.cosim.description.system import CosimError

LINEAR = "LinearTransformation"
#: Tables, and how the values in them are read.
TABLES: dict[str, Callable[[str, str], Any]] = {
    "BooleanMappingTransformation": truth,
    "IntegerMappingTransformation": whole,
    "EnumerationMappingTransformation": lambda text, where: text,
}
TRANSFORMATIONS = (LINEAR, *TABLES)


@dataclass(frozen=True)
class Change:
    """A value that is in the table is replaced; then it is multiplied by a factor, and an offset is added."""

    factor: float = 1.0
    offset: float = 0.0
    table: Mapping[Any, Any] | None = None
    #: Whether the table replaces items of enumerations by their names.
    by_name: bool = False

    def __bool__(self) -> bool:
        return self.linear or self.table is not None

    @property
    def linear(self) -> bool:
        """Whether it multiplies or adds anything."""
        return (self.factor, self.offset) != (1.0, 0.0)

    def then(self, later: Change, where: str) -> Change:
        """Return this change and a later one as one."""
        if later.table is None:
            factor, offset = later.factor * self.factor, later.factor * self.offset + later.offset
            return Change(factor, offset, self.table, self.by_name)
        if self.linear or self.by_name or later.by_name:
            if not self:
                return later
            raise CosimError(f"{where}: a table of values follows another transformation, which is not possible here")
        first = self.table or {}
        both = {value: later.table.get(target, target) for value, target in first.items()}
        return Change(table={**{value: target for value, target in later.table.items() if value not in first}, **both})

    def of(self, value: Any) -> Any:
        """Return a value after the change."""
        if self.table is not None:
            value = self.table.get(value, value)
        return self.factor * value + self.offset if self.linear else value


def read_change(owner: Element, where: str) -> Change:
    """Return the transformation of a connection or a mapping entry; none is one that changes nothing."""
    found = [entry for entry in children(owner) if plain(entry) in TRANSFORMATIONS]
    if not found:
        return Change()
    if len(found) > 1:
        raise CosimError(f"{where}: it has {len(found)} transformations; there can be one")
    kind = plain(found[0])
    if kind == LINEAR:
        check_known(found[0], where, attributes=("factor", "offset"))
        return Change(number(found[0].get("factor", "1"), where), number(found[0].get("offset", "0"), where))
    check_known(found[0], where, applied=("MapEntry",))
    table: dict[Any, Any] = {}
    for entry in children(found[0]):
        source, target = (TABLES[kind](attribute(entry, key, where), where) for key in ("source", "target"))
        if source in table:
            raise CosimError(f"{where}: its {kind} replaces {source!r} by two values")
        table[source] = target
    return Change(table=table, by_name=kind == "EnumerationMappingTransformation")
