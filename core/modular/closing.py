"""Start values of a system of subsystems: those that are not given are fitted so that all invariants vanish."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.formulas import evaluate
from kingpost.modular.partitions import margin_of, rank_of
from kingpost.modular.system import System

#: Newton steps before a system is said not to close, and values of invariants from which one more step is enough.
STEPS = 60
CLOSED = 1e-9
#: Errors of invariants at the start that are taken for the rounding of the values that were given.
OPEN = 1e-8


def values_of(system: System, given: Mapping[str, float] | None = None) -> tuple[FloatArray, FloatArray, FloatArray, set[str]]:
    """Return states (still open), inputs and parameters of a system, and which states were given."""
    own = system.symbols
    given = dict(given or {})
    known = (*system.states, *system.inputs, *system.parameters)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise MechanismError(
            f"'{system.subsystem.name}' has no state, input or parameter '{unknown[0]}'{closest(unknown[0], known)} "
            f"There are: {listed(known, 40)}."
        )
    parameters = {name: float(given.get(name, own.values[name])) for name in system.parameters}
    starts: dict[str, Any] = {**own.starts, **{name: given[name] for name in given if name in system.states}}
    begin = {**own.guesses, **starts}
    above = [name for name in begin if name not in system.states]
    if above:
        raise MechanismError(
            f"'{system.subsystem.name}': '{above[0]}' has no start value, since it is found from the others at every time"
        )
    x = np.array([float(evaluate(begin.get(name, 0.0), parameters)) for name in system.states])
    u = np.array([float(given.get(name, 0.0)) for name in system.inputs])
    return x, u, np.array(list(parameters.values())), set(starts)


def closed(system: System, t: float, x: FloatArray, u: FloatArray, p: FloatArray, held: Collection[str] = ()) -> FloatArray:
    """Return states near ``x`` in which every invariant of every order below the highest vanishes.

    Order by order, by Newton's method; states that are ``held`` stay as they are. A system that cannot be closed is refused
    with the invariant that stays open.
    """
    x = np.array(x, dtype=float)
    for order in range(system.symbols.top):
        rows = [invariant for invariant in system.invariants if invariant.order <= order]
        labels = [label for label in system.states if system.symbols.orders[label] == order and label not in held]
        if rows:
            x = _closed_at(system, order, rows, labels, t, x, u, p)
    return x


def residuals(system: System, order: int) -> ca.Function:
    """Return the function (t, x, u, p) -> invariants up to an order, differentiated up to it."""
    rows = [system.at_order(invariant, order) for invariant in system.invariants if invariant.order <= order]
    return ca.Function("kp_invariants", system.arguments, [ca.densify(ca.vertcat(ca.SX(0, 1), *rows))])


def _closed_at(
    system: System, order: int, rows: list[Any], labels: list[str], t: float, x: FloatArray, u: FloatArray, p: FloatArray
) -> FloatArray:
    expressions = ca.vertcat(*(system.at_order(invariant, order) for invariant in rows))
    free = system.symbols.column(tuple(labels))
    function = ca.Function(
        "kp_closing", system.arguments, [ca.densify(expressions), ca.densify(ca.jacobian(expressions, free))]
    )
    places = [system.states.index(label) for label in labels]
    near = False
    for _ in range(STEPS):
        errors, jacobian = (np.asarray(item.full()) for item in function(t, x, u, p))
        # One more step from near the solution, which squares what is left, takes it to rounding.
        if not np.isfinite(errors).all() or not places or near:
            break
        near = bool(np.abs(errors).max() <= CLOSED * (1 + np.abs(x).max(initial=0.0)))
        step = -np.linalg.lstsq(jacobian, errors.ravel(), rcond=1e-9)[0]
        # Long steps are cut, so that a bad guess does not jump to another way of assembling the machine.
        x[places] += step * min(1.0, (1 + np.abs(x[places]).max(initial=0.0)) / max(np.abs(step).max(), 1e-300))
    errors, jacobian = (np.asarray(item.full()) for item in function(t, x, u, p))
    if np.abs(errors).max() <= OPEN * (1 + np.abs(x).max(initial=0.0)):
        return x
    worst = int(np.argmax(np.where(np.isfinite(errors.ravel()), np.abs(errors.ravel()), np.inf)))
    rank = rank_of(jacobian) if np.isfinite(jacobian).all() else 0
    margin = margin_of(jacobian, jacobian, min(jacobian.shape)) if np.isfinite(jacobian).all() and jacobian.size else 0.0
    raise MechanismError(
        f"'{system.subsystem.name}' does not close: invariant '{rows[worst].label}' (order {rows[worst].order}, taken at order "
        f"{order}) stays at {errors.ravel()[worst]:.4g} whatever {listed(labels, 8)} are (rank {rank} of {len(rows)} "
        f"invariants, margin {margin:.3g}). Other start values may close it; values that are given are held"
    )
