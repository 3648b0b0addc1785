"""Accelerations do not depend on how a machine is cut into subsystems, and are those of the other formulations."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, Closure, ForceElement, Group, Joint, Mechanism, PluginSet, RunSettings, SolverError, pose, simulate
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.modular.closing import row_margins
from kingpost.plugins.formulations.modular.nodes import node_tree
from kingpost.plugins.formulations.modular.recursion import NodePasses
from kingpost.testing import random_tree
from kingpost.testing.problems import parallelogram
from tests.plugins.formulations.modular.dividing import divided

PLUGINS = PluginSet(entry_points=False)
MODES = ("modular:mode=symbolic", "modular:mode=numeric")


def posed(machine, formulation):
    return pose(machine, RunSettings(formulation=formulation), plugins=PLUGINS)


def accelerations(problem, seed):
    """Return vdot at a random state near the start that the loops allow."""
    equations, rng = problem.equations, np.random.default_rng(seed)
    x = problem.x0.copy()
    v = slice(equations.nq, equations.nq + equations.nv)
    x[: equations.nq] += rng.uniform(-0.05, 0.05, equations.nq)
    x[v] += rng.uniform(-1.0, 1.0, equations.nv)
    if equations.constraints.count:
        x = np.asarray(equations.projected(problem.t_start, x, problem.u0, problem.p, 6)).ravel()
    return np.asarray(equations.rhs(problem.t_start, x, problem.u0, problem.p)).ravel()[v]


def assert_same(machine, cuts, tolerance=1e-11):
    """Compare some ways to cut a machine, in both modes, with `kane`; the error counts relative to the largest entry."""
    exact = accelerations(posed(machine, "kane"), 1)
    for cut in cuts:
        for mode in MODES:
            found = accelerations(posed(divided(machine, cut) if cut is not None else machine, mode), 1)
            np.testing.assert_allclose(found, exact, atol=tolerance * np.abs(exact).max(initial=1.0), rtol=0)


@pytest.mark.parametrize("seed", range(4))
def test_the_shape_of_the_tree_of_subsystems_changes_nothing(seed):
    # Sums of some 10 terms with conditions of some 100: 1e-13; the tolerance is the promise that is made.
    assert_same(random_tree(seed, bodies=4 + seed % 2), (2 * seed,))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 40))
def test_the_shape_of_the_tree_of_subsystems_changes_nothing_in_larger_trees(seed):
    assert_same(random_tree(seed, bodies=4 + seed % 12), (seed, seed + 100, seed + 200))


@pytest.mark.parametrize(
    "name", ["andrews-squeezer", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rotary-crane", "us-navy-crane-2d"))]
)
def test_closed_loops_are_the_same_however_they_are_cut(name):
    # Bodies without mass, ropes over winches, redundant rows, several loops that share bodies.
    assert_same(PLUGINS.models.get(name)().build(), (3,), tolerance=1e-10)


def rolling_ball():
    """A ball on a turning lever that rolls on the ground: its speeds are held, its place is not."""
    return Mechanism(
        "rolling",
        bodies=[Body("ball", mass=2.0, inertia=(0.3, 0.3, 0.3)), Body("rod", mass=1.0, com=(0, 0, 0.5), inertia=(1, 1, 1))],
        joints=[
            Joint("flight", "free", "world", "ball", start=(0, 0, 0.5, 1, 0, 0, 0)),
            Joint("hinge", "universal", "ball", "rod", axis=(1, 0, 0), axis2=(0, 1, 0), start=(0.2, 0.3)),
        ],
        closures=[Closure("ground", "rolling", "world", "ball", radius=0.5)],
        forces=[ForceElement("gravity")],
    )


def test_speeds_that_are_held_alone_are_held_too():
    assert_same(rolling_ball(), (0,))


def hanging_loop():
    """A four-bar linkage on a body that swings, with a pendulum on its coupler: a loop with a hub, and something outboard."""
    loop = parallelogram("revolute")
    moved = [dataclasses.replace(joint, parent="frame") if joint.parent == "world" else joint for joint in loop.joints]
    return dataclasses.replace(
        loop,
        name="hanging-loop",
        bodies=[
            Body("frame", mass=5.0, com=(1, 0, 0.2), inertia=(1, 2, 3)),
            *loop.bodies,
            Body("bob", mass=1.0, com=(0, 0.1, -1)),
        ],
        joints=[
            Joint("cardan", "universal", "world", "frame", axis=(1, 0, 0), axis2=(0, 1, 0), start=(0.3, 0.2)),
            *moved,
            Joint("pin", "revolute", "coupler", "bob", axis=(1, 0, 0), position=(0.5, 0.2, 0), start=0.4),
        ],
    )


def test_a_loop_is_condensed_to_the_body_that_it_hangs_from():
    assert_same(hanging_loop(), (1,))


def test_drives_with_rotors_are_solved_in_one_piece_with_what_they_turn():
    machine = random_tree(3, bodies=5, kinds=("revolute", "prismatic"))
    names = machine.rated_coordinates
    drives = [
        ForceElement("joint-inertia", name="a", coordinates=[names[0]], inertia=0.2, ratios=[3.0]),
        ForceElement("joint-inertia", name="b", coordinates=[names[1], names[-1]], inertia=0.1, ratios=[5.0, -2.0]),
    ]
    assert_same(dataclasses.replace(machine, forces=(*machine.forces, *drives)), (2,))


def test_friction_that_depends_on_loads_is_solved_with_the_accelerations():
    machine = parallelogram("point-on-line")
    bearing = ForceElement("bearing-friction", joint="a", mu=0.2, radius=0.1)
    moving = [dataclasses.replace(joint, start_rate=0.5 if joint.name != "b" else -0.5) for joint in machine.joints]
    assert_same(dataclasses.replace(machine, joints=moving, forces=(*machine.forces, bearing)), (1,))


def ring(count):
    """A closed ring of rods in a plane, one of them held: a loop too long for straight-line code."""
    angle = 2 * np.pi / count
    names = [f"rod{i}" for i in range(count - 1)]
    joints = [
        Joint(
            f"j{i}",
            "revolute",
            names[i - 1] if i else "world",
            name,
            axis=(0, 1, 0),
            position=(1.0 if i else 0.0, 0, 0),
            start=angle,
        )
        for i, name in enumerate(names)
    ]
    bodies = [Body(name, mass=1.0 + 0.1 * i, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)) for i, name in enumerate(names)]
    end = Closure("end", "revolute", "world", names[-1], axis=(0, 1, 0), position=(-1, 0, 0), child_position=(1, 0, 0))
    return Mechanism("ring", bodies, joints, closures=[end], forces=[ForceElement("gravity")])


@pytest.mark.slow
def test_long_loops_are_not_written_out():
    machine = ring(27)
    exact = accelerations(posed(machine, "recursive"), 1)
    found = accelerations(posed(divided(machine, 5), MODES[1]), 1)
    np.testing.assert_allclose(found, exact, atol=1e-9 * np.abs(exact).max(), rtol=0)


def test_errors_are_pulled_back_as_by_kane():
    machine, x = parallelogram("revolute"), np.array([0.9, 0.8, -0.85, 0.1, 0.3, -0.2])
    found = []
    for formulation in ("kane:baumgarte=7", *(f"{mode},baumgarte=7" for mode in MODES)):
        problem = posed(machine, formulation)
        found.append(np.asarray(problem.equations.rhs(0.0, x, problem.u0, problem.p)).ravel())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_it_moves_a_loop_as_kane_and_directors_do(mode):
    machine = divided(parallelogram("revolute"), 1)
    options = {"step": 0.005, "backend": "vm", "plugins": PLUGINS}
    ours = simulate(machine, 1.0, formulation=mode, loads=["a"], **options)
    kane = simulate(machine, 1.0, formulation="kane", loads=["a"], **options)
    # The same method on the same equations: rounding alone.
    for channel in ("a.angle", "d.angle.rate", "energy.total"):
        np.testing.assert_allclose(ours[channel], kane[channel], atol=1e-10)
    np.testing.assert_allclose(ours.loads("a").total, kane.loads("a").total, atol=1e-7)
    # rk4, here and in coordinates that are others: some (h w)^4 = 1e-8.
    directors = simulate(machine, 1.0, formulation="directors", **options)
    np.testing.assert_allclose(ours["a.angle"], directors["a.angle"], atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_independent_coordinates_and_implicit_methods_work_with_it(mode):
    machine = parallelogram("point-on-line")
    kane = simulate(machine, 0.5, formulation="kane", step=0.005, backend="vm", plugins=PLUGINS)
    free = simulate(machine, 0.5, formulation=f"{mode},independent=a.angle", step=0.005, backend="vm", plugins=PLUGINS)
    np.testing.assert_allclose(free["d.angle"], kane["d.angle"], atol=1e-7)
    dae = simulate(machine, 0.5, formulation=mode, integrator="generalized-alpha", step=0.001, backend="vm", plugins=PLUGINS)
    np.testing.assert_allclose(dae["d.angle"][-1], kane["d.angle"][-1], atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_a_dead_centre_stops_a_run_with_rank_and_margin(mode, integrator):
    # Where all bars are in line, nothing holds them along it, and the loop may go on in two ways.
    machine = parallelogram("point-on-line")
    starts = {"a": np.pi / 2, "d": np.pi / 2, "b": -np.pi / 2}
    flat = dataclasses.replace(
        machine, joints=[dataclasses.replace(joint, start=starts[joint.name]) for joint in machine.joints]
    )
    with pytest.raises(SolverError) as error:
        simulate(flat, 0.1, formulation=mode, integrator=integrator, backend="vm", plugins=PLUGINS)
    assert "the closures c hold 1 motions near t = 0 s instead of 2: a row of 'c' follows from those before" in str(error.value)
    assert "(ratio of pivots" in str(error.value)
    problem = posed(machine, mode)
    assert problem.equations.structure.road.explain(problem.equations, 0.2, [problem.x0], problem.p) == ""


def test_margins_are_ratios_of_pivots():
    np.testing.assert_allclose(row_margins(np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]])), [1.0, 0.5], atol=1e-15)
    assert (row_margins(np.ones((3, 2))) == 0.0).all()


def chain_in(links, parts):
    machine = PLUGINS.models.get("chain")(PLUGINS.models.get("chain").Options(links=links)).build()
    names = [joint.child for joint in machine.tree]
    size = links // parts
    return dataclasses.replace(machine, subsystems=[Group(f"s{i}", names[i * size : (i + 1) * size]) for i in range(parts)])


def test_subsystems_that_are_alike_share_their_code():
    lengths = []
    for links in (16, 24, 32):
        assembly = assemble(chain_in(links, links // 8), PLUGINS)
        passes = NodePasses(assembly, node_tree(assembly.mechanism), [])
        symbols = [passes.space.symbols[name] for name in "tqvup"]
        lengths.append(len(ca.Function("f", symbols, [passes.accelerations()]).serialize()))
    # A part more costs a few calls of functions that are there: less than what one part alone is, and always the same.
    first, second = lengths[1] - lengths[0], lengths[2] - lengths[1]
    assert second < 1.1 * first
    assert first < 0.2 * lengths[0]
