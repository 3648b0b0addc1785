"""Which formulation is taken where nobody says, and how good the estimate behind it is."""

import dataclasses

import pytest

from kingpost import Body, Closure, ForceElement, Joint, Mechanism, PluginSet
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.default_formulation import (
    CLOSED_OPERATION,
    chosen_formulation,
    default_formulation,
    kane_operations,
    recursive_operations,
)
from kingpost.simulation.problem import derive, pose
from kingpost.simulation.provenance import problem_record
from kingpost.simulation.settings import RunSettings

PLUGINS = PluginSet(entry_points=False)


def four_bars(count):
    """Return parallel rods with bars between their upper ends: as many loops as bars, each two links deep."""
    rod = {"mass": 1.0, "com": (0, 0, 0.5), "inertia": (0.083, 0.083, 0.001)}
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.001, 0.083, 0.083)}
    bodies, joints, closures = [], [], []
    turning = {"axis": (0, 1, 0)}
    for i in range(count + 1):
        bodies.append(Body(f"rod{i}", **rod))
        joints.append(Joint(f"foot{i}", "revolute", "world", f"rod{i}", position=(float(i), 0, 0), start=0.1, **turning))
    for i in range(count):
        bodies.append(Body(f"bar{i}", **bar))
        joints.append(Joint(f"head{i}", "revolute", f"rod{i}", f"bar{i}", position=(0, 0, 1), start=-0.1, **turning))
        places = {"position": (1, 0, 0), "child_position": (0, 0, 1)}
        closures.append(Closure(f"pin{i}", "point-on-line", f"bar{i}", f"rod{i + 1}", **places, **turning))
    parts = {"bodies": tuple(bodies), "joints": tuple(joints), "closures": tuple(closures)}
    return Mechanism(f"four-bars-{count}", **parts, forces=(ForceElement("gravity"),))


def on_a_hull(mechanism):
    """Return a machine on a floating body in the place of the world."""
    hull = Body("hull", mass=30.0, inertia=(9.0, 8.0, 7.0))
    carried = [dataclasses.replace(joint, parent="hull") if joint.parent == "world" else joint for joint in mechanism.joints]
    float_joint = Joint("float", "free", "world", "hull")
    return dataclasses.replace(mechanism, bodies=(hull, *mechanism.bodies), joints=(float_joint, *carried))


def star(arms, links):
    """Return a free hub with arms."""
    bodies = [Body("hub", mass=5.0, inertia=(1, 1, 1))]
    joints = [Joint("float", "free", "world", "hub")]
    for arm in range(arms):
        parent = "hub"
        for i in range(links):
            name = f"arm{arm}-{i}"
            bodies.append(Body(name, mass=1.0, com=(0, 0, -0.25), inertia=(0.02, 0.03, 0.01)))
            axis = (0, 1, 0) if i % 2 else (1, 0, 0)
            place = (0.3 * arm if parent == "hub" else 0, 0, -0.5)
            joints.append(Joint(f"joint{arm}-{i}", "revolute", parent, name, axis=axis, position=place))
            parent = name
    parts = {"bodies": tuple(bodies), "joints": tuple(joints)}
    return Mechanism(f"star-{arms}-{links}", **parts, forces=(ForceElement("gravity"),))


def machine(name):
    if name.startswith("four-bars:"):
        return four_bars(int(name.removeprefix("four-bars:")))
    if name.startswith("hull:"):
        return on_a_hull(four_bars(int(name.removeprefix("hull:"))))
    if name.startswith("star:"):
        return star(*(int(number) for number in name.removeprefix("star:").split("x")))
    return select(PLUGINS.models, name).build()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("double-pendulum", "kane"),
        ("six-axis-arm", "kane"),
        ("chain:links=10", "kane"),
        ("chain:links=12", "recursive"),
        ("chain:links=100", "recursive"),
        ("vessel-crane", "kane"),
        # More than ten speeds, but short branches, or loops, for which recursion has nothing to offer.
        ("offshore-crane-cylinder", "kane"),
        ("offshore-crane", "kane"),
        ("four-bars:5", "kane"),
        ("four-bars:10", "kane"),
        ("four-bars:40", "kane"),
        ("star:4x3", "kane"),
        ("star:16x2", "kane"),
        ("star:2x12", "recursive"),
    ],
)
def test_the_formulation_with_fewer_operations_is_taken(name, expected):
    mechanism = machine(name)
    assert default_formulation(mechanism) == expected


def test_it_is_the_one_that_a_problem_is_posed_in():
    assert pose(four_bars(6), plugins=PLUGINS).equations.formulation == "kane"
    assert pose(machine("chain:links=12"), plugins=PLUGINS).equations.formulation == "recursive"


def test_a_very_long_closed_chain_is_not_written_as_straight_line_code():
    chain = machine("chain:links=60")
    tie = Closure("tie", "spherical", "world", "link60", position=(0, 0, -20), child_position=(0, 0, -0.5))
    closed = dataclasses.replace(chain, closures=(tie,))
    choice = chosen_formulation(closed)
    assert choice.formulation == "recursive"
    assert choice.operations == {"kane": round(kane_operations(closed)), "recursive": round(recursive_operations(closed))}


def test_code_that_takes_too_long_to_compile_is_a_reason_of_its_own():
    choice = chosen_formulation(four_bars(140))
    assert choice.operations["kane"] < CLOSED_OPERATION * choice.operations["recursive"]
    assert choice.formulation == "recursive"
    assert choice.reason.startswith("built faster than kane")


def test_many_loops_on_one_floating_body_are_solved_one_by_one():
    assert default_formulation(on_a_hull(four_bars(4))) == "kane"
    assert default_formulation(on_a_hull(four_bars(20))) == "recursive"


def test_a_run_records_the_choice_and_its_reason():
    chosen = problem_record(pose(four_bars(2), plugins=PLUGINS))["formulation_choice"]
    assert chosen["reason"].startswith("faster than recursive: about ")
    assert set(chosen["estimated_operations"]) == {"kane", "recursive"}
    assert "formulation_choice" not in problem_record(pose(four_bars(2), RunSettings(formulation="kane"), plugins=PLUGINS))


TREES = ("chain:links=6", "chain:links=12", "six-axis-arm", "offshore-crane", "star:4x3", "star:8x2", "branched")


@pytest.mark.parametrize("name", [*TREES, "four-bars:5", "four-bars:10", "offshore-crane-cylinder"])
def test_estimates_of_kane_are_operations_within_a_factor_of_two(name):
    mechanism = machine(name)
    counted = derive(assemble(mechanism, PLUGINS), "kane", PLUGINS).accelerations.n_instructions()
    assert counted / 2 < kane_operations(mechanism) < 2 * counted


@pytest.mark.parametrize("name", [*TREES, "four-bars:5", "four-bars:10"])
def test_estimates_of_recursive_are_operations_within_a_factor_of_two(name):
    mechanism = machine(name)
    counted = derive(assemble(mechanism, PLUGINS), "recursive", PLUGINS).accelerations.expand().n_instructions()
    assert counted / 2 < recursive_operations(mechanism) < 2 * counted
