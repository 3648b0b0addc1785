"""Subsystems: descriptions of parts of a machine in whatever variables suit each part, and of what joins them.

A subsystem names its variables by their order (0 for coordinates, 1 for velocities, quasi-velocities and what has no
coordinate, such as a current), says how those of one order are the rates of those below, which expressions must vanish
(invariants, of any order), and what acts along its variables. An assembly has subsystems for children, and only says what is
added: extra variables, external invariants, further forces. Nothing is eliminated by hand; see :mod:`kingpost.modular.tree`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.formulas import FUNCTIONS, Expression, Scalar, as_scalar
from kingpost.base.numbers import shown

#: An expression in the variables, parameters and inputs of a subsystem: a formula in text, or a function of their symbols,
#: ``lambda s: s.x**2 + s.y**2 - s.length**2``.
Formula: TypeAlias = float | str | Expression | Callable[[Any], Any]
TIME = "t"
#: The kind of force that holds a tree of subsystems.
SUBSYSTEMS = "subsystems"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_RATE = re.compile(r"_d+ot\Z")
_TABLES = ("rates", "maps", "invariants", "motion", "forces", "inputs", "parameters", "start", "guess", "units", "names")


def several(entry: Any) -> tuple[Any, ...]:
    """Return the formulas of an invariant: one, or one for each of some orders."""
    return tuple(entry) if isinstance(entry, list | tuple) else (entry,)


def rate_name(base: str, times: int) -> str:
    """Return the name of a variable differentiated some times: x, x_dot, x_ddot, ..."""
    return base if times == 0 else f"{base}_{'d' * times}ot"


@dataclass(frozen=True, eq=False)
class Subsystem:
    """A part of a machine, or, with children, a machine assembled from parts.

    >>> rod = Subsystem(
    ...     "pendulum",
    ...     variables={0: ("x", "y")},
    ...     invariants={"length": "x**2 + y**2 - l**2"},
    ...     forces={"x": "-m * x_ddot", "y": "-m * y_ddot - m * g"},
    ...     parameters={"m": 1.0, "l": 1.0, "g": 9.81},
    ...     start={"x": 1.0},
    ... )
    """

    name: str
    #: Own variables by order; those of an assembly are its extra variables. One without a stated rate has the rate ``x_dot``.
    variables: Mapping[int, Sequence[str]] = field(default_factory=dict)
    #: How variables change, by their names: dx/dt as an expression in variables up to the next order, (2.7).
    rates: Mapping[str, Formula] = field(default_factory=dict)
    #: The same where it is not solved: expressions in variables and rates ``x_dot`` that vanish, (2.6).
    maps: Mapping[str, Formula] = field(default_factory=dict)
    #: Expressions of any order that vanish (2.10); of an assembly, what joins its children. Several in a row are one invariant
    #: and its rates, in whatever form these are wanted; rates that are not given are found.
    invariants: Mapping[str, Formula | Sequence[Formula]] = field(default_factory=dict)
    #: Motion variables of any order that forces act along, where they are not variables themselves.
    motion: Mapping[str, Formula] = field(default_factory=dict)
    #: Effective forces, active and inertia ones, along variables or motion variables: affine in the highest rates.
    forces: Mapping[str, Formula] = field(default_factory=dict)
    #: Signals from outside and the variable that each acts along (4.14), or an empty text if formulas use it.
    inputs: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    #: Values of variables at the start, which are held, and first guesses (0 unless given) of those that invariants determine.
    start: Mapping[str, Scalar] = field(default_factory=dict)
    guess: Mapping[str, Scalar] = field(default_factory=dict)
    #: Units of variables, parameters and inputs; 1 unless given.
    units: Mapping[str, str] = field(default_factory=dict)
    #: Variables that describe all motions; chosen by numbers unless given.
    independent: Sequence[str] | None = None
    children: Sequence[Subsystem] = ()
    #: What its names are called by the assembly it is in, and what is put behind all others but those kept.
    names: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check_name("subsystem", self.name)
        self._check_kinds()
        for table in _TABLES:
            object.__setattr__(self, table, MappingProxyType(dict(getattr(self, table))))
        for sequence in ("children", "keep"):
            object.__setattr__(self, sequence, tuple(getattr(self, sequence)))
        if self.independent is not None:
            object.__setattr__(self, "independent", tuple(self.independent))
        ordered = {int(order): tuple(names) for order, names in sorted(self.variables.items())}
        object.__setattr__(self, "variables", MappingProxyType(ordered))
        self._check_variables()
        self._check_numbers()

    def used_as(
        self, name: str, names: Mapping[str, str] | None = None, suffix: str = "", keep: Sequence[str] = ()
    ) -> Subsystem:
        """Return the same part under another name, for another place.

        ``names`` are new names of its variables, parameters and inputs (its children's included); all others get ``suffix``
        behind them, but for those to ``keep``, such as a gravity that all parts have in common.
        """
        if self.names or self.suffix:
            # Renamed before: the old names become an assembly of one, so that both renamings apply.
            return Subsystem(name, children=(self,), names=dict(names or {}), suffix=suffix, keep=keep)
        return replace(self, name=name, names=dict(names or {}), suffix=suffix, keep=tuple(keep))

    def outer(self, label: str) -> str:
        """Return what the assembly that this subsystem is in calls one of its names (not one of a rate)."""
        return self.names.get(label, label if label in self.keep else f"{label}{self.suffix}")

    @classmethod
    def from_data(cls, data: Any) -> Subsystem:
        """Return the subsystem that tables of a file describe; all formulas are texts."""
        if isinstance(data, Subsystem):
            return data
        if not isinstance(data, Mapping):
            raise MechanismError(f"expected a table that describes a subsystem, got {shown(data)}")
        known = [item.name for item in fields(cls)]
        for key in data:
            if key not in known:
                raise MechanismError(f"a subsystem has no '{key}'{closest(key, known)} It has: {listed(known)}.", path=(key,))
        if "name" not in data:
            raise MechanismError("a subsystem needs a name", path=("name",))
        given = dict(data)
        _check_name("subsystem", given["name"])
        _check_kind(given["name"], "variables", orders := given.get("variables", {}))
        bad = [order for order in orders if not (str(order).isdecimal() and len(str(order)) < 4)]
        if bad:
            raise MechanismError(
                f"subsystem '{given['name']}': variables are listed by order, e.g. 0 = [\"x\"]; '{bad[0]}' is no order",
                path=("variables", str(bad[0])),
            )
        for order, names in orders.items():
            _check_kind(given["name"], "variables", names, str(order))
        given["variables"] = {int(order): tuple(names) for order, names in orders.items()}
        _check_kind(given["name"], "children", children := given.get("children", ()))
        given["children"] = tuple(cls.from_data(child) for child in children)
        return cls(**given)

    def to_data(self) -> dict[str, Any]:
        """Return tables for a file; functions have no text, and are refused."""
        data: dict[str, Any] = {"name": self.name}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("name", "children") or not value:
                continue
            if item.name == "variables":
                data["variables"] = {str(order): list(names) for order, names in value.items() if names}
            elif isinstance(value, Mapping):
                data[item.name] = {key: self._plain(item.name, key, entry) for key, entry in value.items()}
            else:
                data[item.name] = value if isinstance(value, str) else list(value)
        if self.children:
            data["children"] = [child.to_data() for child in self.children]
        return data

    def _plain(self, table: str, key: str, entry: Any) -> Any:
        if isinstance(entry, list | tuple):
            return [self._plain(table, key, item) for item in entry]
        if callable(entry):
            raise MechanismError(
                f"subsystem '{self.name}': {table} of '{key}' is a function, which cannot be written to a file; give it as a "
                "formula in text"
            )
        return str(entry) if isinstance(entry, str | Expression) else float(entry)

    def _check_kinds(self) -> None:
        for word in ("variables", *_TABLES, "children", "keep", "independent"):
            given = getattr(self, word)
            if not (word == "independent" and given is None):
                _check_kind(self.name, word, given)
        for order, names in self.variables.items():
            _check_kind(self.name, "variables", names, str(order))
        for table in ("inputs", "units", "names"):
            for key, value in getattr(self, table).items():
                _check_text(self.name, value, table, str(key))
        for word, given in (("keep", self.keep), ("independent", self.independent or ()), ("suffix", (self.suffix,))):
            for value in given:
                _check_text(self.name, value, word)

    def _check_variables(self) -> None:
        seen: set[str] = set()
        for order, labels in self.variables.items():
            if order < 0:
                raise MechanismError(f"subsystem '{self.name}': variables have orders 0, 1, 2, ..., not {order}")
            for label in labels:
                _check_name(f"variable of subsystem '{self.name}'", label)
                if label in seen:
                    raise MechanismError(f"subsystem '{self.name}' has variable '{label}' twice; rename one of them")
                seen.add(label)
        for what, names in (("parameter", self.parameters), ("input", self.inputs)):
            for label in names:
                _check_name(f"{what} of subsystem '{self.name}'", label)
                if label in seen:
                    raise MechanismError(f"subsystem '{self.name}': '{label}' is the name of two things; rename the {what}")
                seen.add(label)
        called = [child.name for child in self.children]
        twice = [name for name in dict.fromkeys(called) if called.count(name) > 1]
        if twice:
            raise MechanismError(
                f"subsystem '{self.name}' has two children called '{twice[0]}'; name one of them otherwise (used_as)"
            )

    def _check_numbers(self) -> None:
        for label, value in self.parameters.items():
            number = as_scalar(value)
            if not isinstance(number, float):
                raise MechanismError(f"subsystem '{self.name}': parameter '{label}' must be a number, got '{value}'")
        for table in ("rates", "maps", "invariants", "motion", "forces"):
            for key, entry in getattr(self, table).items():
                for formula in several(entry):
                    if not callable(formula) and not isinstance(formula, Expression):
                        self._check_formula(table, key, formula)

    def _check_formula(self, table: str, key: str, entry: Any) -> None:
        try:
            as_scalar(entry)
        except MechanismError as error:
            raise MechanismError(f"subsystem '{self.name}', {table} of '{key}': {error}", path=(table, key)) from None


def _check_kind(subsystem: str, word: str, given: Any, *key: str) -> None:
    """Refuse what is no table where names are given something, and no list elsewhere."""
    of_names = not key and (word == "variables" or word in _TABLES)
    if isinstance(given, Mapping) if of_names else isinstance(given, Sequence) and not isinstance(given, str):
        return
    wanted = "a table" if of_names else "a list"
    place = ".".join((word, *key))
    raise MechanismError(f"subsystem '{subsystem}': '{place}' must be {wanted}; got {shown(given)}", path=(word, *key))


def _check_text(subsystem: str, value: Any, *path: str) -> None:
    if not isinstance(value, str):
        raise MechanismError(f"subsystem '{subsystem}', {'.'.join(path)}: {shown(value)} is not a text", path=path)


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise MechanismError(f"{what} is called {shown(name)}; a name is made of letters, digits and _, a letter first")
    if name in FUNCTIONS or name in (TIME, "pi"):
        raise MechanismError(f"{what} is called '{name}', which means something else in formulas; choose another name")
    if _RATE.search(name):
        raise MechanismError(
            f"{what} is called '{name}', which is what the rate of another would be called; choose another name"
        )
