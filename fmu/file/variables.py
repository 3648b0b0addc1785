"""The variables of an FMU: which can be recorded, which can be set, and to what."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from kingpost.base.errors import closest, listed
from kingpost.fmu.file.opened import Fmu, FmuError, without_collection

REALS = ("Real", "Float32", "Float64")
INTEGERS = ("Integer", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Enumeration")
NUMERIC = (*REALS, *INTEGERS, "Boolean")
#: More names than this help nobody in a message.
MANY = 20


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable of the interface; an array of FMI 3 has several ``elements``."""

    name: str
    reference: int
    #: The type in whose functions (get..., set...) it takes part.
    access: str
    declared: Any
    elements: int
    labels: tuple[str, ...]
    unit: str | None
    #: Whether the FMU holds its negative (an alias in FMI 1.0).
    negated: bool = False

    @property
    def real(self) -> bool:
        """Whether its values are floating-point numbers."""
        return self.declared.type in REALS

    @property
    def numeric(self) -> bool:
        """Whether its values can be columns of a history."""
        return self.declared.type in NUMERIC

    @property
    def causality(self) -> str:
        """What it is to the model: input, output, parameter, local ..."""
        return str(self.declared.causality)

    @property
    def variability(self) -> str:
        """When it changes: constant, fixed, tunable, discrete or continuous."""
        return str(self.declared.variability)

    def number(self, attribute: str) -> float | None:
        """Return min, max or nominal, of the variable or of its declared type."""
        for owner in (self.declared, self.declared.declaredType):
            text = getattr(owner, attribute, None) if owner is not None else None
            if text is not None:
                try:
                    return float(text)
                except ValueError:
                    return None
        return None

    def start(self) -> list[Any] | None:
        """Return the start values that the description gives, converted, or None."""
        if self.declared.start is None:
            return None
        try:
            return self.convert(str(self.declared.start))
        except FmuError:
            return None

    def convert(self, value: Any) -> list[Any]:
        """Return ``value`` (a number, a text, or several for an array) as the values that the FMU takes."""
        words: Sequence[Any]
        if self.declared.type in ("String", "Binary"):
            words = [value] if isinstance(value, str | bytes) or not isinstance(value, Iterable) else list(value)
        elif isinstance(value, str):
            words = value.split()
        else:
            words = list(value) if isinstance(value, Iterable) else [value]
        if len(words) != self.elements:
            raise FmuError(f"variable '{self.name}' takes {self.elements} value(s), got {len(words)}: {value!r}")
        return [self._convert(word) for word in words]

    def _convert(self, word: Any) -> Any:
        kind = self.declared.type
        try:
            if kind in REALS:
                number = float(word)
                if not math.isfinite(number):
                    raise ValueError
                return number
            if kind == "Boolean":
                return {"true": True, "1": True, "false": False, "0": False}[str(word).lower().removesuffix(".0")]
            if kind in INTEGERS:
                return self._item(word) if kind == "Enumeration" and isinstance(word, str) else _whole(word)
            return str(word)
        except (ValueError, KeyError, TypeError, OverflowError):
            wanted = {"Boolean": "true or false", "Enumeration": f"one of {listed(self.items())}"}.get(
                kind, "a finite number" if kind in REALS else "a whole number"
            )
            raise FmuError(f"variable '{self.name}' ({kind}) cannot be {word!r}; give {wanted}") from None

    def items(self) -> dict[str, int]:
        """Return the items of an enumeration."""
        kind = self.declared.declaredType
        return {item.name: int(item.value) for item in (kind.items if kind is not None else ())}

    def _item(self, word: str) -> int:
        return self.items()[word] if word in self.items() else _whole(word)


def _whole(word: Any) -> int:
    number = float(word)
    if number != math.floor(number):
        raise ValueError
    return int(number)


def variables_of(fmu: Fmu) -> dict[str, Variable]:
    """Return all variables by name, in the order of the description."""
    with without_collection():
        return {declared.name: _variable(declared, fmu) for declared in fmu.description.modelVariables}


def _variable(declared: Any, fmu: Fmu) -> Variable:
    name, access, unit = declared.name, declared.type, declared.unit
    if access == "Enumeration":
        access = "Int64" if fmu.major == 3 else "Integer"
    if unit is None and declared.declaredType is not None:
        unit = declared.declaredType.unit
    negated = name in fmu.negated
    if not declared.shape:
        return Variable(name, int(declared.valueReference), access, declared, 1, (name,), unit, negated)
    # Counted from 1, as in Modelica, where such names come from.
    places = itertools.product(*(range(1, size + 1) for size in declared.shape))
    labels = tuple(f"{name}[{','.join(map(str, place))}]" for place in places)
    return Variable(name, int(declared.valueReference), access, declared, math.prod(declared.shape), labels, unit)


def recorded(variables: Mapping[str, Variable], patterns: Sequence[str] | None) -> list[Variable]:
    """Return the variables to record: those that match any pattern, or the outputs (for want of them, what is inside)."""
    numeric = {name: variable for name, variable in variables.items() if variable.numeric and variable.elements}
    if patterns is None:
        for causality in ("output", "local"):
            chosen = [variable for variable in numeric.values() if variable.causality == causality]
            if chosen:
                return chosen
        raise FmuError(
            "the FMU has no outputs and no local variables to record; name others as outputs, for example "
            f"'{next(iter(numeric), 'NAME')}'"
        )
    found: dict[str, Variable] = {}
    for pattern in patterns:
        matching = {name: variable for name, variable in numeric.items() if name == pattern or fnmatchcase(name, pattern)}
        if not matching:
            if pattern in variables:
                raise FmuError(f"variable '{pattern}' is a {variables[pattern].declared.type} and cannot be recorded")
            raise FmuError(f"no variable matches '{pattern}'{closest(pattern, numeric)} {_shown('Variables', numeric)}")
        found |= matching
    return list(found.values())


def settable(variable: Variable) -> bool:
    """Say whether a user can give the start value."""
    declared = variable.declared
    if declared.causality == "input":
        return True
    if declared.variability == "constant" or declared.causality in ("structuralParameter", "independent"):
        return False
    if declared.initial is None:  # FMI 1.0, where what has a start value can be given another
        return declared.start is not None
    return declared.initial in ("exact", "approx")


def start_settings(variables: Mapping[str, Variable], settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values to set, checked and converted."""
    possible = [name for name, variable in variables.items() if settable(variable)]
    result = {}
    for name, value in settings.items():
        if name not in variables:
            raise FmuError(f"the FMU has no variable '{name}'{closest(name, possible)} {_shown('Can be set', possible)}")
        variable = variables[name]
        if not settable(variable):
            why = f"its causality is {variable.causality}, its variability {variable.variability}"
            raise FmuError(f"variable '{name}' cannot be set: {why}. {_shown('Can be set', possible)}")
        if variable.declared.type in ("Binary", "Clock"):
            raise FmuError(f"variable '{name}' is a {variable.declared.type}, which cannot be set here")
        result[name] = variable.convert(value)
    return result


def _shown(what: str, names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - MANY} more" if len(known) > MANY else ""
    return f"{what}: {listed(known[:MANY])}{more}."
