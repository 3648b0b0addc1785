"""Closed loops inside the articulated-body algorithm, against Kane's equations with all multipliers at once."""

import dataclasses

import numpy as np
import pytest

from kingpost import Body, Closure, ForceElement, Joint, Mechanism, PluginSet
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, pose
from kingpost.simulation.settings import RunSettings
from tests.core.simulation.test_default_formulation import four_bars, on_a_hull

PLUGINS = PluginSet(entry_points=False)
JOINTS = ("revolute", "prismatic", "universal", "spherical", "cylindrical", "weld")
CLOSURES = ("point-on-line", "point-on-plane", "spherical", "distance")


def unit(rng):
    direction = rng.standard_normal(3)
    return tuple(float(value) for value in direction / np.linalg.norm(direction))


def place(rng, size=1.0):
    return tuple(float(value) for value in rng.uniform(-size, size, 3))


def random_machine(seed, bodies=9, closures=3, floating=False):
    """Return a random tree with closures between any of its bodies and the world, which overlap and end anywhere."""
    rng = np.random.default_rng(seed)
    names = [f"body{i}" for i in range(bodies)]
    joints = []
    for i, name in enumerate(names):
        parent = "world" if i == 0 or (rng.random() < 0.2 and not floating) else names[int(rng.integers(max(0, i - 4), i))]
        kind = "free" if floating and i == 0 else str(rng.choice(JOINTS))
        axes = {} if kind in ("spherical", "free", "weld") else {"axis": unit(rng)}
        if kind == "universal":
            axes["axis2"] = tuple(np.cross(axes["axis"], unit(rng)))
        joints.append(Joint(f"joint{i}", kind, parent, name, position=place(rng), rotation=place(rng), **axes))
    moments = rng.uniform(0.3, 0.6, (bodies, 3))
    parts = [
        Body(name, mass=float(rng.uniform(1, 3)), com=place(rng, 0.3), inertia=(*map(float, moments[i]), 0.02, -0.03, 0.01))
        for i, name in enumerate(names)
    ]
    ties = []
    for k in range(closures):
        kind = CLOSURES[k % len(CLOSURES)]
        first, second = rng.choice(["world", *names], 2, replace=False)
        axes = {"axis": unit(rng)} if kind in ("point-on-line", "point-on-plane") else {}
        far = {"length": 1.3} if kind == "distance" else {}
        spots = {"position": place(rng), "child_position": place(rng)}
        if second == "world":
            first, second = second, first
        ties.append(Closure(f"tie{k}", kind, str(first), str(second), **spots, **axes, **far))
    forces = (
        ForceElement("gravity"),
        ForceElement("body-wrench", body=names[-1], moment=(0.3, -0.2, 0.5), force=(1.0, 2.0, -1.5)),
    )
    return Mechanism(f"random-{seed}", tuple(parts), tuple(joints), forces, closures=tuple(ties))


def equations_of(mechanism, formulation):
    return derive(assemble(mechanism, PLUGINS), formulation, PLUGINS)


def compare(kane, recursive, q, v, digits=1e-13):
    """Assert that accelerations, multipliers and corrections are the same; return the condition of what they solve.

    Round-off of some 1e-16 in each of a few hundred operations, times the condition of the equations with their multipliers.
    """
    p = [parameter.default for parameter in kane.mechanism.parameters]
    M = kane.mass_at(np.concatenate([q, v]), np.array(p))
    u = np.zeros(kane.u.numel())
    A = np.asarray(kane.function("A", [kane.constraints.A])(0.0, q, v, u, p))
    scale = np.sqrt(np.diag(M))
    scaled = A / scale
    rows = np.linalg.norm(scaled, axis=1)
    condition = np.linalg.cond(scaled / rows[:, None]) ** 2 * np.linalg.cond(M / np.outer(scale, scale))
    bound = digits * condition
    for name, arguments in (("accelerations", (0.0, q, v, u, p)), ("multipliers", (0.0, q, v, u, p))):
        expected, found = (np.asarray(getattr(item, name)(*arguments)).ravel() for item in (kane, recursive))
        assert np.abs(found - expected).max() <= bound * np.abs(expected).max(), (name, condition)
    for expected, found in zip(kane.corrections(0.0, q, v, p), recursive.corrections(0.0, q, v, p), strict=True):
        expected, found = np.asarray(expected).ravel(), np.asarray(found).ravel()
        assert np.abs(found - expected).max() <= bound * np.abs(expected).max(), ("corrections", condition)
    return condition


def random_state(equations, rng):
    q, v = rng.uniform(-0.6, 0.6, equations.nq), rng.uniform(-1, 1, equations.nv)
    for first in equations.quaternions:
        q[first : first + 4] = rng.standard_normal(4)
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    return q, v


@pytest.mark.parametrize(
    ("seed", "bodies", "closures", "floating"),
    # Of those whose rows are far from dependent: where they are not, the bound says nothing.
    [
        (0, 6, 2, False),
        (0, 8, 3, False),
        (2, 8, 3, True),
        pytest.param(1, 9, 4, False, marks=pytest.mark.slow),
        pytest.param(0, 6, 2, True, marks=pytest.mark.slow),
        pytest.param(2, 9, 4, True, marks=pytest.mark.slow),
    ],
)
def test_random_machines_move_as_with_all_multipliers_at_once(seed, bodies, closures, floating):
    mechanism = random_machine(seed, bodies, closures, floating)
    kane, recursive = (equations_of(mechanism, name) for name in ("kane", "recursive"))
    for state in (seed, seed + 50):
        assert compare(kane, recursive, *random_state(kane, np.random.default_rng(state))) < 1e7


@pytest.mark.parametrize("carried", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["on the ground", "on a hull"])
def test_loops_that_share_bodies_side_by_side(carried):
    mechanism = on_a_hull(four_bars(7)) if carried else four_bars(7)
    kane, recursive = (equations_of(mechanism, name) for name in ("kane", "recursive"))
    assert compare(kane, recursive, *random_state(kane, np.random.default_rng(3))) < 1e9


def test_redundant_rows_are_left_out_of_both():
    # Plane loops that are closed by ball joints: what holds them in their plane is held by the hinges already.
    plane = four_bars(3)
    balls = tuple(
        Closure(tie.name, "spherical", tie.parent, tie.child, position=(1, 0, 0), child_position=(0, 0, 1))
        for tie in plane.closures
    )
    mechanism = dataclasses.replace(plane, closures=balls)
    kane, recursive = (pose(mechanism, RunSettings(formulation=name), plugins=PLUGINS) for name in ("kane", "recursive"))
    assert kane.equations.constraints.redundant == recursive.equations.constraints.redundant != ()
    assert recursive.equations.constraints.count == 6
    q, v = kane.equations.split(kane.x0)
    compare(kane.equations, recursive.equations, q + 0.01, v + 0.1)


def test_without_any_row_left_the_tree_moves_alone():
    mechanism = four_bars(2)
    recursive = equations_of(mechanism, "recursive")
    held = recursive.constraints
    empty = dataclasses.replace(
        held, phi=held.phi[:0], A=held.A[:0, :], b=held.b[:0], lam=held.lam[:0], owners=(), reactions={}
    )
    open_tree = equations_of(dataclasses.replace(mechanism, closures=()), "kane")
    arguments = 0.0, np.full(5, 0.2), np.full(5, 0.3), [], []
    found = np.asarray(dataclasses.replace(recursive, constraints=empty).accelerations(*arguments))
    # Round-off of a few hundred operations.
    assert found == pytest.approx(np.asarray(open_tree.accelerations(*arguments)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("what", ["accelerations", "corrections"])
def test_work_grows_with_the_number_of_loops_and_not_faster(what):
    counts = []
    for loops in (5, 7, 11):
        recursive = equations_of(four_bars(loops), "recursive")
        counts.append(getattr(recursive, what).expand().n_instructions())
    first, second = np.diff(counts)
    assert second == pytest.approx(2 * first, rel=0.02)


def test_loops_on_a_hull_are_eliminated_before_it():
    counts = [
        equations_of(on_a_hull(four_bars(loops)), "recursive").accelerations.expand().n_instructions() for loops in (3, 5, 9)
    ]
    first, second = np.diff(counts)
    assert second == pytest.approx(2 * first, rel=0.05)


def test_friction_that_depends_on_loads_works_in_loops():
    mechanism = four_bars(2)
    bearing = ForceElement("bearing-friction", joint="head0", radius=0.05, mu=0.1)
    loaded = dataclasses.replace(mechanism, forces=(*mechanism.forces, bearing))
    found = []
    for name in ("kane", "recursive"):
        problem = pose(loaded, RunSettings(formulation=name), plugins=PLUGINS)
        q, v = problem.equations.split(problem.x0)
        found.append(np.asarray(problem.equations.accelerations(0.0, q, v, [], [])).ravel())
    # The same fixed point, to round-off of a few thousand operations.
    assert np.allclose(*found, rtol=1e-9, atol=1e-11)


@pytest.mark.slow
def test_inertia_that_forces_add_counts_in_loops():
    mechanism = select(PLUGINS.models, "offshore-crane-cylinder").build()
    kane, recursive = (pose(mechanism, RunSettings(formulation=name), plugins=PLUGINS) for name in ("kane", "recursive"))
    assert np.abs(kane.x0 - recursive.x0).max() < 1e-9
    q, v = kane.equations.split(kane.x0)
    for name in ("accelerations", "multipliers"):
        expected, found = (
            np.asarray(getattr(item.equations, name)(0.0, q, v + 0.05, item.u0, item.p)).ravel() for item in (kane, recursive)
        )
        # Round-off of some thousand operations, with masses from 1e2 to 1e6 kg.
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max(), name
