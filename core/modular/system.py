"""A tree of subsystems in symbols: constraints of all orders, forces split by accelerations, and what follows by counting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.modular.labelled import VALUE, Labelled
from kingpost.modular.recursion import Given
from kingpost.modular.subsystem import Subsystem, rate_name, several
from kingpost.modular.symbols import Place, Symbols, declare, read, scope_of

#: Mechanics is about accelerations, unless a subsystem has variables of a higher order.
ACCELERATION = 2
#: Rates of invariants that are smaller than this, for variables of about 1, are zero but for rounding.
VANISHING = 1e-13


@dataclass(frozen=True)
class Invariant:
    """An expression that vanishes, of the order of the highest variable in it, and what its rates are if that is stated."""

    label: str
    order: int
    expression: ca.SX
    stated: tuple[ca.SX, ...] = ()

    def rates(self, symbols: Symbols, order: int) -> list[ca.SX]:
        """Return the expression and its rates up to an order: as they are stated, or as they follow."""
        found = [self.expression, *self.stated][: order - self.order + 1]
        while len(found) <= order - self.order:
            rate = symbols.rate(found[-1])
            found.append(ca.SX(1, 1) if _vanishes(rate) else rate)
        return found


def _vanishes(expression: ca.SX) -> bool:
    """Return whether an expression is zero whatever its symbols are, up to rounding, as the rate of a quaternion's length is.

    Rounding must not be taken for a constraint: a row of it has a direction, too.
    """
    symbols = ca.symvar(expression)
    value = ca.Function("kp_rate", [ca.vertcat(ca.SX(0, 1), *symbols)], [expression])
    places = np.random.default_rng(0).uniform(0.5, 1.5, (3, len(symbols)))
    return all(abs(float(value(place))) < VANISHING for place in places)


@dataclass(frozen=True, eq=False)
class System:
    """The symbols of a tree, and what each of its nodes brings (the first rows of Table 4.1)."""

    subsystem: Subsystem
    symbols: Symbols
    root: Place
    given: Given
    invariants: tuple[Invariant, ...]
    #: The rate (1/s) at which errors of invariants decay.
    pull: float = 0.0

    @property
    def q(self) -> tuple[str, ...]:
        """The variables of the highest order: accelerations, and rates of what has no coordinate."""
        return self.given.q

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(self.symbols.parameters)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of all inputs."""
        return tuple(self.symbols.inputs)

    @property
    def states(self) -> tuple[str, ...]:
        """The variables below the highest order."""
        return self.symbols.states

    @property
    def arguments(self) -> list[ca.SX]:
        """The symbols t, states, inputs, parameters."""
        own = self.symbols
        columns = [ca.vertcat(ca.SX(0, 1), *table.values()) for table in (own.inputs, own.parameters)]
        return [own.t, own.column(self.states), *columns]

    def at_order(self, invariant: Invariant, order: int) -> ca.SX:
        """Return an invariant differentiated up to an order (2.8)."""
        return invariant.rates(self.symbols, order)[-1]

    @cached_property
    def constraint_order(self) -> int:
        """The least order from which on constraints are affine and variables mere derivatives (Def. 2.3)."""
        own = self.symbols
        stated = max((invariant.order for invariant in self.invariants), default=0)
        mapped = max((own.orders[label] + 1 for label in self.states if own.highest(label) is None), default=0)
        for order in range(max(stated, mapped), own.top):
            q = own.column(own.of_order(order))
            rows = ca.vertcat(ca.SX(0, 1), *(self.at_order(invariant, order) for invariant in self.invariants))
            if not ca.depends_on(ca.jacobian(rows, q), q):
                return order
        return own.top

    @property
    def configuration(self) -> tuple[str, ...]:
        """The variables of the generalized configuration (Def. 2.4): those below the constraint order."""
        return tuple(label for label in self.states if self.symbols.orders[label] < self.constraint_order)


def build(subsystem: Subsystem, pull: float = 0.0) -> System:
    """Return the system of a tree of subsystems in symbols.

    ``pull`` (1/s) is the rate at which errors of invariants decay (Baumgarte's stabilisation): an invariant c of order 0 obeys
    c'' + 2 pull c' + pull^2 c = 0, one of order 1 c' + pull c = 0.
    """
    highest = max((order for part in _everyone(subsystem) for order in part.variables), default=0)
    symbols = Symbols(max(ACCELERATION, highest))
    root = declare(subsystem, symbols)
    invariants: list[Invariant] = []
    given = _given(root, symbols, invariants, pull)
    if not given.q:
        raise MechanismError(f"'{subsystem.name}' has no variables; list some by their order, e.g. variables = {{0: ('x',)}}")
    return System(subsystem, symbols, root, given, tuple(invariants), pull)


def _everyone(subsystem: Subsystem) -> Iterator[Subsystem]:
    yield subsystem
    for child in subsystem.children:
        yield from _everyone(child)


def _given(place: Place, symbols: Symbols, invariants: list[Invariant], pull: float) -> Given:
    children = tuple(_given(child, symbols, invariants, pull) for child in place.children)
    extra = tuple(label for label in place.labels if symbols.orders[label] == symbols.top)
    q = (*extra, *(label for child in children for label in child.q))
    own = _own_invariants(place, symbols)
    invariants += own
    A, b = _constraints(own, q, symbols, pull)
    M, g = _forces(place, q, symbols)
    return Given(place.path, extra, A, b, M, g, children, _independent(place, symbols))


def _own_invariants(place: Place, symbols: Symbols) -> list[Invariant]:
    rows = {
        name: [read(formula, scope_of(place, symbols, f"invariant '{name}'")) for formula in several(entry)]
        for name, entry in place.subsystem.invariants.items()
    }
    rows |= {name: [expression] for name, expression in place.leftover.items()}
    found = []
    for name, expressions in rows.items():
        if any(expression.numel() != 1 for expression in expressions):
            raise MechanismError(f"'{place.path}': invariant '{name}' has several entries; give every row a name")
        order = symbols.order_of(expressions[0])
        if order < 0:
            raise MechanismError(f"'{place.path}': invariant '{name}' depends on no variable, so that nothing can keep it")
        for above, expression in enumerate(expressions[1:], start=order + 1):
            if symbols.order_of(expression) != above:
                raise MechanismError(
                    f"'{place.path}': invariant '{name}' is of order {order}, so that rate number {above - order} of it must "
                    f"be of order {above}; what is given for it is of order {symbols.order_of(expression)}"
                )
        found.append(Invariant(f"{place.path}.{name}", order, expressions[0], tuple(expressions[1:])))
    return found


def _constraints(own: list[Invariant], q: tuple[str, ...], symbols: Symbols, pull: float) -> tuple[Labelled, Labelled]:
    """Return A and b of A q + b = 0 (2.11) for own invariants, at the highest order."""
    labels = tuple(invariant.label for invariant in own)
    rows = ca.vertcat(ca.SX(0, 1), *(_pulled(invariant.rates(symbols, symbols.top), pull) for invariant in own))
    A, b = _affine(rows, symbols.column(q))
    for i, label in enumerate(labels):
        if ca.depends_on(A[i, :], symbols.column(q)):
            raise MechanismError(
                f"invariant '{label}' is not affine in the variables of order {symbols.top}; constraints of that order must be"
            )
    return Labelled(A, labels, q), Labelled(b, labels)


def _pulled(rates: list[ca.SX], pull: float) -> ca.SX:
    """Return (d/dt + pull)^n c of an invariant c with n rates; pull (1/s) is Baumgarte's."""
    n = len(rates) - 1
    return rates[n] if not pull else sum((comb(n, k) * pull ** (n - k) * rate for k, rate in enumerate(rates)), ca.SX(0))


def _affine(rows: ca.SX, unknowns: ca.SX) -> tuple[ca.SX, ca.SX]:
    jacobian = ca.jacobian(rows, unknowns)
    return jacobian, ca.substitute(rows, unknowns, ca.SX.zeros(unknowns.shape))


def _forces(place: Place, q: tuple[str, ...], symbols: Symbols) -> tuple[Labelled, Labelled]:
    """Return M and g of the forces V' f' = g - M q (4.7) that a subsystem brings along its motion variables."""
    subsystem = place.subsystem
    unknowns = symbols.column(q)
    motions = {
        name: read(formula, scope_of(place, symbols, f"motion variable '{name}'")) for name, formula in subsystem.motion.items()
    }
    moving = _with_rates(motions, symbols)
    columns, forces = [], []
    for name, formula in subsystem.forces.items():
        columns.append(_direction(place, name, motions, unknowns, symbols))
        forces.append(read(formula, scope_of(place, symbols, f"force along '{name}'", moving)))
    for name, along in subsystem.inputs.items():
        if along:
            columns.append(_direction(place, along, motions, unknowns, symbols))
            forces.append(symbols.inputs[place.known[name]])
    # V of (2.21), row by row: what a change of the accelerations is along each motion variable.
    V = ca.vertcat(ca.SX(0, len(q)), *columns)
    primed = ca.vertcat(ca.SX(0, 1), *forces)
    slope, rest = _affine(primed, unknowns)
    if ca.depends_on(slope, unknowns):
        raise MechanismError(
            f"'{place.path}': a force is not affine in the variables of order {symbols.top} ({listed(q, 8)}); inertia forces "
            "are"
        )
    M = ca.sparsify(ca.simplify(-V.T @ slope))
    return Labelled(M, q, q), Labelled(V.T @ rest, q, (VALUE,))


def _with_rates(motions: dict[str, ca.SX], symbols: Symbols) -> dict[str, ca.SX]:
    """Return motion variables and their rates up to the highest order, by name, for the formulas of forces."""
    found = {}
    for name, expression in motions.items():
        for times in range(symbols.top + 1 - max(symbols.order_of(expression), 0)):
            found[rate_name(name, times)] = expression
            expression = expression if symbols.order_of(expression) >= symbols.top else symbols.rate(expression)
    return found


def _direction(place: Place, name: str, motions: dict[str, ca.SX], unknowns: ca.SX, symbols: Symbols) -> ca.SX:
    if name not in motions and place.known.get(name) not in symbols.variables:
        known = [*motions, *(item for item, label in place.known.items() if label in symbols.variables)]
        raise MechanismError(
            f"'{place.path}': a force or input acts along '{name}', which is neither a variable nor a motion variable"
            f"{closest(name, known)} Known: {listed(known, 40)}."
        )
    motion = motions.get(name, symbols.variables.get(place.known.get(name, ""), ca.SX(0)))
    return ca.jacobian(symbols.lifted(motion, symbols.order_of(motion)), unknowns)


def _independent(place: Place, symbols: Symbols) -> tuple[str, ...] | None:
    """Return the variables of the highest order for those that a subsystem calls independent."""
    if place.subsystem.independent is None:
        return None
    found = []
    for name in place.subsystem.independent:
        label = place.known.get(name)
        if label not in symbols.variables:
            raise MechanismError(
                f"'{place.path}': '{name}' cannot be independent: it is not a variable{closest(name, place.known)}"
            )
        highest = symbols.highest(label)
        if highest is None:
            raise MechanismError(
                f"'{place.path}': '{name}' cannot be independent, since its rates are other variables; name one of these"
            )
        found.append(highest)
    return tuple(found)
