"""Machines of bodies by the general recursion: the accelerations of every other formulation, whatever the tree."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import Group, PluginSet, open_model
from kingpost.modular.bodies import bodies_of, node_of, rate_label, table_of_bodies
from kingpost.modular.recursion import accelerations, everyone
from kingpost.modular.table import chosen_nodes
from kingpost.multibody.assembly import assemble
from kingpost.simulation.verbs import situation

#: Products and solves of matrices of order 60, well conditioned, against accelerations of kane.
ROUNDING = 1e-9


def compared(opened, mechanism, seed=0):
    """Accelerations of the speeds by the recursion and by kane, at a state that moves where that can be closed."""
    rng = np.random.default_rng(seed)
    place = situation(mechanism, {}, plugins=opened.plugins, formulation="kane").fitted()
    n = place.equations.nv
    v = 0.3 * rng.standard_normal(n)
    place = situation(mechanism, {"v": v.tolist()}, plugins=opened.plugins, formulation="kane", close_loops=True).fitted()
    q, v = place.equations.split(place.x)
    u = place.equations.acting(place.u, place.x)
    assembly = place.problem.assembly
    root = node_of(assembly, place.t, q, v, u, place.p)
    labels = [rate_label(speed.name) for speed in mechanism.speeds]
    mine = accelerations(root).part(labels).matrix.ravel()
    expected = np.asarray(place.equations.accelerations(place.t, q, v, u, place.p)).ravel()
    return root, mine, expected


@pytest.mark.parametrize("name", ["vessel-crane", "double-pendulum", "slider-crank", "four-bar", "five-bar", "six-axis-arm"])
def test_the_recursion_gives_the_accelerations_of_kane(name):
    opened = open_model(name)
    root, mine, expected = compared(opened, opened.mechanism)
    assert mine == pytest.approx(expected, abs=ROUNDING * (1 + np.abs(expected).max()))
    for node in everyone(root):
        assert np.abs((node.A @ node.S).matrix).max(initial=0.0) < ROUNDING


@pytest.mark.parametrize("name", ["vessel-crane", "five-bar"])
def test_groups_change_no_acceleration(name):
    """Target 48 for machines of bodies: side by side, in two groups, and one group within the other."""
    opened = open_model(name)
    bodies = [joint.child for joint in opened.mechanism.tree]
    middle = len(bodies) // 2
    flat = compared(opened, replace(opened.mechanism, subsystems=()))[1]
    halves = (Group("first", tuple(bodies[:middle])), Group("second", tuple(bodies[middle:])))
    nested = (Group("outer", tuple(bodies[:1])), Group("inner", tuple(bodies[1:middle]), within="outer"))
    for groups in (halves, nested):
        root, mine, _ = compared(opened, replace(opened.mechanism, subsystems=groups))
        assert mine == pytest.approx(flat, abs=ROUNDING * (1 + np.abs(flat).max()))
        assert {group.name for group in groups} <= {node.given.name for node in everyone(root)}


def test_an_open_tree_has_the_rates_of_its_joints_for_independent_variables():
    opened = open_model("vessel-crane")
    assembly = assemble(opened.mechanism, PluginSet())
    place = situation(opened.mechanism, {}, plugins=opened.plugins)
    table = table_of_bodies(assembly, 0.0, place.x, place.u, place.p)
    assert set(table.independent) == {rate_label(speed.name) for speed in opened.mechanism.speeds}
    assert table.redundant == ()
    assert len(chosen_nodes(table)) == 1 + len(opened.mechanism.bodies)


def test_leaves_are_bodies_with_newton_euler_equations():
    """The leaf of a falling rod: mass times acceleration of the origin, and weight, in body axes."""
    opened = open_model("double-pendulum")
    assembly = assemble(opened.mechanism, PluginSet())
    place = situation(opened.mechanism, {}, plugins=opened.plugins)
    q, v = place.equations.split(place.x)
    given = bodies_of(assembly).at(0.0, q, 0 * v, place.u, place.p)
    (upper,) = (child for child in given.children if child.name == "upper")
    assert np.allclose(upper.M.matrix, upper.M.matrix.T, rtol=0, atol=1e-14)
    assert upper.M["upper.vx_dot", "upper.vx_dot"].matrix.item() == pytest.approx(1.0)
    weight = upper.g.part([f"upper.v{axis}_dot" for axis in "xyz"]).matrix
    assert np.linalg.norm(weight) == pytest.approx(9.81, abs=1e-12)
