"""The symbols of a tree of subsystems: variables of all orders, how they change, and the scopes that formulas are read in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.formulas import Expression, as_scalar, evaluate
from kingpost.modular.subsystem import TIME, Formula, Subsystem, rate_name
from kingpost.symbols.linear_solvers import solve_blocks


class Scope(Mapping[str, Any]):
    """Symbols by name, also as attributes, for formulas that are functions: ``lambda s: s.x**2 - s.length``."""

    def __init__(self, symbols: Mapping[str, Any], what: str) -> None:
        self._symbols, self._what = dict(symbols), what

    def __getitem__(self, name: str) -> Any:
        if name not in self._symbols:
            raise MechanismError(
                f"{self._what} uses '{name}', which is not declared{closest(name, self._symbols)} "
                f"Known here: {listed(sorted(self._symbols), 40)}."
            )
        return self._symbols[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._symbols)

    def __len__(self) -> int:
        return len(self._symbols)

    def __contains__(self, name: object) -> bool:
        return name in self._symbols

    @property
    def subject(self) -> str:
        """What the formula is of, for messages."""
        return self._what


def read(formula: Formula, scope: Scope) -> ca.SX:
    """Return the expression of a formula, in the symbols of a scope."""
    if callable(formula) and not isinstance(formula, Expression):
        return ca.SX(formula(scope))
    try:
        return ca.SX(evaluate(as_scalar(formula), scope))
    except MechanismError as error:
        raise MechanismError(f"{scope.subject}: {error}") from None


@dataclass
class Symbols:
    """All variables, parameters and inputs of a tree, by the names that its root has for them."""

    #: The order of the accelerations: rates above it are never asked for.
    top: int
    t: ca.SX = field(default_factory=lambda: ca.SX.sym(TIME))
    variables: dict[str, ca.SX] = field(default_factory=dict)
    orders: dict[str, int] = field(default_factory=dict)
    rates: dict[str, ca.SX] = field(default_factory=dict)
    #: The variable that another is simply the rate of.
    rate_of: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, ca.SX] = field(default_factory=dict)
    inputs: dict[str, ca.SX] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    starts: dict[str, Any] = field(default_factory=dict)
    guesses: dict[str, Any] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    def of_order(self, order: int) -> tuple[str, ...]:
        """Return the variables of an order."""
        return tuple(label for label, own in self.orders.items() if own == order)

    @property
    def states(self) -> tuple[str, ...]:
        """The variables below the highest order: what must be known at a time to know what happens next."""
        return tuple(label for order in range(self.top) for label in self.of_order(order))

    def column(self, labels: tuple[str, ...]) -> ca.SX:
        """Return the symbols of variables as a column."""
        return ca.vertcat(ca.SX(0, 1), *(self.variables[label] for label in labels))

    def order_of(self, expression: ca.SX) -> int:
        """Return the highest order among the variables in an expression; -1 without any."""
        return max((self.orders.get(symbol.name(), -1) for symbol in ca.symvar(expression)), default=-1)

    def rate(self, expression: ca.SX) -> ca.SX:
        """Return the time derivative of an expression in variables below the highest order."""
        states = self.states
        rates = ca.vertcat(ca.SX(0, 1), *(self.rates[label] for label in states))
        moving = ca.jtimes(expression, self.column(states), rates) if states else ca.SX(expression.shape[0], 1)
        return moving + ca.jacobian(expression, self.t)

    def lifted(self, expression: ca.SX, order: int) -> ca.SX:
        """Return an expression of an order differentiated up to the highest one."""
        for _ in range(order, self.top):
            expression = self.rate(expression)
        return expression

    def highest(self, label: str) -> str | None:
        """Return the variable of the highest order that is a derivative of another; None if none simply is."""
        following = {below: above for above, below in self.rate_of.items()}
        while self.orders[label] < self.top:
            if label not in following:
                return None
            label = following[label]
        return label


@dataclass(frozen=True, eq=False)
class Place:
    """A subsystem in a tree: its path, what its own names are called at the root, and what it has below."""

    subsystem: Subsystem
    path: str
    rename: Callable[[str], str]
    children: tuple[Place, ...]
    #: Own variables, at the root's names, with the own name and number of differentiations of each.
    labels: dict[str, tuple[str, int]]
    #: What each name that formulas of this subsystem can use is called at the root.
    known: dict[str, str]
    #: Maps that say more than how variables change, by name: invariants, too.
    leftover: dict[str, ca.SX]


def declare(subsystem: Subsystem, symbols: Symbols, path: str = "", rename: Callable[[str], str] = str) -> Place:
    """Enter the variables, parameters and inputs of a subsystem and its children among the symbols."""
    here = f"{path}.{subsystem.name}" if path else subsystem.name

    def outward(name: str) -> str:
        return rename(subsystem.outer(name)) if path else rename(name)

    children = []
    known: dict[str, str] = {}
    for child in subsystem.children:
        place = declare(child, symbols, here, outward)
        _inherit(known, place, here)
        children.append(place)
    _enter_parameters(subsystem, symbols, outward, here)
    _enter_inputs(subsystem, symbols, outward, here)
    known.update({name: outward(name) for name in (*subsystem.parameters, *subsystem.inputs)})
    labels = _enter_variables(subsystem, symbols, outward, here)
    for label, (base, times) in labels.items():
        local = rate_name(base, times)
        if local in known:
            raise MechanismError(_clash(local, here, "one of its children"))
        known[local] = label
    place = Place(subsystem, here, outward, tuple(children), labels, known, {})
    _complete(place, symbols)
    _enter_starts(place, symbols)
    _enter_units(place, symbols)
    return place


def scope_of(place: Place, symbols: Symbols, what: str, more: Mapping[str, Any] | None = None) -> Scope:
    """Return the symbols that a formula of a subsystem can use, by its own names."""
    everything = {**symbols.variables, **symbols.parameters, **symbols.inputs}
    local = {name: everything[label] for name, label in place.known.items()}
    return Scope({TIME: symbols.t, **local, **(more or {})}, f"'{place.path}', {what}")


def _inherit(known: dict[str, str], place: Place, here: str) -> None:
    """Add what a child can name, by the names that its parent has for it."""
    child = place.subsystem
    for local, label in place.known.items():
        base, times = _split(local, place)
        outer = rate_name(child.outer(base), times)
        if outer in known and known[outer] != label:
            raise MechanismError(_clash(outer, here, f"'{place.path}'"))
        known[outer] = label


def _split(local: str, place: Place) -> tuple[str, int]:
    """Return the name that was declared, and how often it was differentiated."""
    stem, mark, order = local.rpartition("_")
    if mark and order.endswith("ot") and set(order[:-2]) == {"d"} and stem in place.known:
        return stem, len(order) - 2
    return local, 0


def _enter_parameters(subsystem: Subsystem, symbols: Symbols, outward: Callable[[str], str], here: str) -> None:
    for name, value in subsystem.parameters.items():
        label = outward(name)
        if label in symbols.variables or label in symbols.inputs:
            raise MechanismError(_clash(label, here, "another subsystem"))
        if symbols.values.setdefault(label, float(value)) != float(value):
            raise MechanismError(
                f"'{here}': parameter '{label}' is {float(value):g} here and {symbols.values[label]:g} in another subsystem; "
                "rename one of them (names or suffix of used_as), or give both the same value"
            )
        symbols.parameters.setdefault(label, ca.SX.sym(label))


def _enter_inputs(subsystem: Subsystem, symbols: Symbols, outward: Callable[[str], str], here: str) -> None:
    for name in subsystem.inputs:
        label = outward(name)
        if label in {**symbols.variables, **symbols.parameters, **symbols.inputs}:
            raise MechanismError(_clash(label, here, "another subsystem"))
        symbols.inputs[label] = ca.SX.sym(label)


def _enter_variables(
    subsystem: Subsystem, symbols: Symbols, outward: Callable[[str], str], here: str
) -> dict[str, tuple[str, int]]:
    labels: dict[str, tuple[str, int]] = {}
    for order, names in subsystem.variables.items():
        for name in names:
            label = outward(name)
            if label in {**symbols.variables, **symbols.parameters, **symbols.inputs}:
                raise MechanismError(_clash(label, here, "another subsystem"))
            symbols.variables[label] = ca.SX.sym(label)
            symbols.orders[label] = order
            labels[label] = (name, 0)
    return labels


def _enter_starts(place: Place, symbols: Symbols) -> None:
    own = place.subsystem
    entries = [(name, value, symbols.starts) for name, value in own.start.items()]
    entries += [(name, value, symbols.guesses) for name, value in own.guess.items()]
    for name, value, entered in entries:
        label = place.known.get(name)
        if label not in symbols.variables:
            variables = [item for item, known in place.known.items() if known in symbols.variables]
            table = "start" if entered is symbols.starts else "guess"
            raise MechanismError(
                f"'{place.path}': {table} has '{name}', which is not a variable{closest(name, variables)} "
                f"The variables are: {listed(variables, 40)}."
            )
        entered[label] = _renamed_formula(value, place.known)


def _enter_units(place: Place, symbols: Symbols) -> None:
    for name, unit in place.subsystem.units.items():
        if name not in place.known:
            raise MechanismError(f"'{place.path}': units has '{name}', which is not declared{closest(name, place.known)}")
        symbols.units[place.known[name]] = unit


def _renamed_formula(value: Any, known: Mapping[str, str]) -> Any:
    """Return a start value, a formula in parameters, in the names that the root has for these."""
    scalar = as_scalar(value)
    if not isinstance(scalar, Expression):
        return scalar
    tree = ast.parse(scalar.text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = known.get(node.id, node.id)
    return Expression(ast.unparse(tree))


def _clash(label: str, here: str, other: str) -> str:
    return (
        f"label '{label}' clashes: both '{here}' and {other} have it. Rename one of them (names or suffix of used_as), or, if "
        "it is one and the same variable, make it one by an invariant"
    )


def _complete(place: Place, symbols: Symbols) -> None:
    """Give every own variable below the highest order its rate: as stated, as maps say, or as a variable of its own."""
    subsystem = place.subsystem
    unknown = [name for name in subsystem.rates if place.known.get(name) not in place.labels]
    if unknown:
        raise MechanismError(
            f"'{place.path}': rates has '{unknown[0]}', which is not one of its variables{closest(unknown[0], place.known)}"
        )
    mapped = _solve_maps(place, symbols)
    for label in list(place.labels):
        _chain(place, symbols, label, mapped)
    for name, formula in subsystem.rates.items():
        label = place.known[name]
        found = read(formula, scope_of(place, symbols, f"rate of '{name}'"))
        if symbols.order_of(found) > symbols.orders[label] + 1:
            raise MechanismError(
                f"'{place.path}': the rate of '{name}', of order {symbols.orders[label]}, uses a variable of order "
                f"{symbols.order_of(found)}; only those up to the next order can say how it changes"
            )
        symbols.rates[label] = found


def _chain(place: Place, symbols: Symbols, label: str, mapped: Mapping[str, Any]) -> None:
    """Add the rates of a variable, as variables, up to the highest order, unless they are known otherwise."""
    base, times = place.labels[label]
    local = rate_name(base, times)
    if label in symbols.rates or local in place.subsystem.rates or label in mapped or symbols.orders[label] >= symbols.top:
        return
    above = rate_name(place.rename(base), times + 1)
    symbols.variables[above] = ca.SX.sym(above)
    symbols.orders[above] = symbols.orders[label] + 1
    symbols.rates[label] = symbols.variables[above]
    symbols.rate_of[above] = label
    place.labels[above] = (base, times + 1)
    place.known[rate_name(base, times + 1)] = above
    _chain(place, symbols, above, mapped)


def _solve_maps(place: Place, symbols: Symbols) -> dict[str, ca.SX]:
    """Solve the kinematic maps (2.6) for the rates that occur in them; what they say beyond is left over."""
    subsystem = place.subsystem
    if not subsystem.maps:
        return {}
    candidates = {
        label: ca.SX.sym(f"rate of {label}")
        for label, (base, times) in place.labels.items()
        if base not in subsystem.rates and symbols.orders[label] < symbols.top
    }
    more = {
        rate_name(base, times + 1): candidates[label] for label, (base, times) in place.labels.items() if label in candidates
    }
    rows = {name: read(formula, scope_of(place, symbols, f"map '{name}'", more)) for name, formula in subsystem.maps.items()}
    all_rows = ca.vertcat(*rows.values())
    rates = [label for label, symbol in candidates.items() if ca.which_depends(all_rows, symbol, 1, False)[0]]
    unknowns = ca.vertcat(ca.SX(0, 1), *(candidates[label] for label in rates))
    chosen = _independent_rows(rows, unknowns)
    if len(chosen) < len(rates):
        raise MechanismError(
            f"'{place.path}': the maps {listed(rows)} give {len(chosen)} equations that are affine in the rates of "
            f"{listed(rates)}; {len(rates)} are needed. Add maps, or state the rates themselves (rates)"
        )
    system = ca.vertcat(*(rows[name] for name in chosen))
    jacobian = ca.jacobian(system, unknowns)
    constant = ca.substitute(system, unknowns, ca.SX.zeros(unknowns.shape))
    solved = solve_blocks(jacobian, -constant)
    found = {label: solved[i] for i, label in enumerate(rates)}
    symbols.rates.update(found)
    for name, row in rows.items():
        if name not in chosen:
            place.leftover[name] = ca.substitute(row, unknowns, solved)
    return found


def _independent_rows(rows: Mapping[str, ca.SX], unknowns: ca.SX) -> list[str]:
    """Return as many rows as there are unknowns that are affine in them and, by their structure, determine them."""
    chosen: list[str] = []
    for name, row in rows.items():
        jacobian = ca.jacobian(row, unknowns)
        if len(chosen) == unknowns.numel() or ca.depends_on(jacobian, unknowns):
            continue
        trial = ca.jacobian(ca.vertcat(*(rows[item] for item in [*chosen, name])), unknowns)
        if ca.sprank(trial.sparsity()) == len(chosen) + 1:
            chosen.append(name)
    return chosen
