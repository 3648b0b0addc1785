"""Changes of the states of a tree that take errors of its invariants away: one step of Newton's method, order by order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kingpost.modular.labelled import Labelled
from kingpost.modular.partitions import independent_rows, unit_rows
from kingpost.modular.system import Invariant
from kingpost.symbols.straightline import solve_symmetric

if TYPE_CHECKING:
    from kingpost.modular.tree import Tree


def held_at(tree: Tree, order: int) -> list[Invariant]:
    """Return invariants up to an order that say, differentiated up to it, all that must hold of the variables of that order.

    What follows from others there is left out, as judged at the start. This is not what is left out of the accelerations: an
    invariant of order 0 may follow, in the accelerations, from one of order 1, which says nothing of coordinates; and the unit
    length of a quaternion, which its rates keep by themselves, is something to hold for coordinates alone.
    """
    system = tree.system
    rows = [item for item in system.invariants if item.order <= order]
    labels = system.symbols.of_order(order)
    if not rows or not labels:
        return []
    values = ca.vertcat(*(system.at_order(item, order) for item in rows))
    jacobian = ca.Function("kp_rows", system.arguments, [ca.densify(ca.jacobian(values, system.symbols.column(labels)))])
    numbers = np.asarray(jacobian(tree.t, tree.x, tree.u, tree.p).full())
    kept, _ = independent_rows(unit_rows(Labelled(numbers, tuple(item.label for item in rows), labels)))
    return [item for item in rows if item.label in kept]


def corrections(tree: Tree) -> ca.Function | None:
    """Return the function (t, x, u, p) -> smallest changes of the states by which all invariants vanish, to first order.

    Coordinates first, then speeds at the coordinates that are corrected already, and so on; each by J' (J J')^-1 of their
    invariants. Where it is applied again and again, the errors of all orders are squared each time. None if nothing is held.
    """
    system = tree.system
    own, states = system.symbols, system.states
    t, x, u, p = system.arguments
    here, anything = x, False
    for order in range(own.top):
        held = held_at(tree, order)
        if not held:
            continue
        anything = True
        labels = own.of_order(order)
        errors = ca.vertcat(*(system.at_order(item, order) for item in held))
        jacobian = ca.jacobian(errors, own.column(labels))
        change = -jacobian.T @ solve_symmetric(jacobian @ jacobian.T, errors)
        step = ca.Function("kp_step_of_order", system.arguments, [ca.densify(change)])
        places = [states.index(label) for label in labels]
        moved = ca.SX(here)
        moved[places] = here[places] + step(t, here, u, p)
        here = moved
    if not anything:
        return None
    return ca.Function("kp_mending", system.arguments, [ca.densify(here - x)], ["t", "x", "u", "p"], ["dx"])
