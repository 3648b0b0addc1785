"""Errors of invariants are taken away by changes of the states: of all orders, as small as can be, squared each time."""

import numpy as np
import pytest

from kingpost.modular.mending import held_at
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar
from kingpost.plugins.models.pendulum_subsystems import with_speed_square
from kingpost.plugins.models.two_rod_subsystems import in_points
from tests.core.modular.trees import arm, breathing, led, pendulum, skate, top, tree_of

#: How far states are moved; Newton's method leaves the square of it, times curvatures, which are some 10 at most here.
MOVED, CURVED = 1e-4, 100.0
ROUNDING = 1e-13
TREES = {
    "pendulum": pendulum, "arm": arm, "skate": skate, "top": top, "breathing": breathing, "led": led,
    "speed square": with_speed_square, "two rods": in_points, "five-bar": five_bar,
}  # fmt: skip


def errors(tree, x, t=0.0):
    found = [np.array(tree.invariants(order)(t, x, tree.u, tree.p)).ravel() for order in range(tree.system.symbols.top)]
    return np.abs(np.concatenate(found)).max(initial=0.0)


def mended(tree, x, t=0.0):
    return x + np.array(tree.corrections(t, x, tree.u, tree.p)).ravel()


@pytest.mark.parametrize("name", TREES)
def test_errors_of_all_orders_are_squared(name):
    """Redundant invariants included: all of them vanish where those that are held do."""
    tree = tree_of(TREES[name])
    x = tree.x + MOVED * np.random.default_rng(0).uniform(-1, 1, tree.x.size)
    before, once = errors(tree, x), mended(tree, x)
    assert before > 0.1 * MOVED
    assert errors(tree, once) <= CURVED * MOVED**2
    assert errors(tree, mended(tree, once)) <= ROUNDING * (1 + np.abs(tree.x).max())
    assert np.abs(once - x).max() <= CURVED * MOVED


def test_what_is_held_is_held_at_the_time_it_is_asked_for():
    tree = tree_of(breathing)
    x, t = tree.x, 1e-4  # half of the length's change in a step
    assert errors(tree, x, t) > 1e-6
    assert errors(tree, mended(tree, mended(tree, x, t), t), t) <= ROUNDING


def test_changes_are_the_smallest():
    """Along the radius, for a place beside the circle; speeds then along the radius that was found."""
    tree = tree_of(pendulum)
    x = tree.x + np.array([1e-3, 2e-3, 3e-3, -4e-3])
    change = np.array(tree.corrections(0.0, x, tree.u, tree.p)).ravel()
    assert change[0] * x[1] - change[1] * x[0] == pytest.approx(0.0, abs=1e-16)
    place = x[:2] + change[:2]
    assert change[2] * place[1] - change[3] * place[0] == pytest.approx(0.0, abs=1e-16)
    assert np.linalg.norm(change[2:]) > 1e-3


def test_every_order_has_its_own_invariants():
    """Where nodes are follows from speeds at higher orders, and is held at order 0; lengths of quaternions only there."""
    tree = tree_of(five_bar)
    left_out = set(tree.redundant)
    assert {"P.R.HL.place_Ux", "P.R.HR.place_By"} <= left_out
    assert left_out <= {item.label for item in held_at(tree, 0)}
    turning = tree_of(top)
    assert [[item.label for item in held_at(turning, order)] for order in (0, 1)] == [["top.unit"], []]
    sliding = tree_of(skate)
    assert [[item.label for item in held_at(sliding, order)] for order in (0, 1)] == [[], ["skate.edge"]]


def test_a_tree_without_invariants_has_nothing_to_mend():
    assert assembled(pendulum(invariants={}, independent=None)).corrections is None
