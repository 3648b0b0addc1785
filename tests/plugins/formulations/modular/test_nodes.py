"""The tree of subsystems of a mechanism, and the loops in it."""

from kingpost import Body, Closure, Group, Joint, Mechanism
from kingpost.plugins.formulations.modular.loops import Loop, tied_loops
from kingpost.plugins.formulations.modular.nodes import closure_bodies, node_tree

TREE = {"a": "world", "b": "a", "c": "b", "d": "b", "e": "d", "f": "a"}


def machine(groups=(), closures=()):
    bodies = [Body(name, mass=1.0, inertia=(1, 1, 1)) for name in TREE]
    joints = [Joint(f"j{child}", "revolute", parent, child, axis=(0, 1, 0)) for child, parent in TREE.items()]
    return Mechanism("tree", bodies, joints, closures=closures, subsystems=groups)


def test_one_level_is_the_default():
    root = node_tree(machine())
    assert root.name == ""
    assert set(root.bodies) == set(TREE)
    assert [joint.child for joint in root.joints] == [joint.child for joint in machine().tree]
    assert not root.children


def test_joints_and_closures_belong_to_where_their_sides_meet():
    rod = Closure("rod", "distance", "c", "e", length=1.0)
    gear = Closure("gear", "gear", coordinates=("jf.angle", "jb.angle"), ratio=2.0)
    groups = [Group("outer", ["a"]), Group("inner", ["b", "d", "e"], within="outer"), Group("tip", ["c"])]
    tree = machine(groups, [rod, gear])
    root = node_tree(tree)
    assert {node.name: {joint.name for joint in node.joints} for node in root.walk()} == {
        "inner": {"jd", "je"},
        "outer": {"jb"},
        "tip": set(),
        "": {"ja", "jc", "jf"},
    }
    assert [node.name for node in root.walk()] == ["inner", "outer", "tip", ""]
    assert {node.name: [closure.name for closure in node.closures] for node in root.walk()}[""] == ["rod", "gear"]
    assert set(closure_bodies(tree, gear)) == {"a", "b", "f"}
    assert set(root.children[0].all_bodies) == {"a", "b", "d", "e"}


def test_a_loop_holds_all_between_its_bodies_and_the_one_that_carries_them():
    tree = machine()
    assert tied_loops(tree, [{"c", "e"}]) == [Loop(("c", "d", "e"), "b")]
    assert tied_loops(tree, [{"c"}, {"f"}]) == [Loop(("c",), "b"), Loop(("f",), "a")]
    assert tied_loops(tree, [{"b"}, {"c", "e"}]) == [Loop(("b",), "a"), Loop(("c", "d", "e"), "b")]


def test_loops_that_share_a_body_are_one_and_hang_from_the_inner_hub():
    assert tied_loops(machine(), [{"c", "e"}, {"f", "e"}]) == [Loop(("b", "f", "c", "d", "e"), "a")]
    assert tied_loops(machine(), [{"c", "e"}, {"a", "f"}, {"b", "f"}, {"d"}]) == [
        Loop(("a", "b", "f"), "world"),
        Loop(("c", "d", "e"), "b"),
    ]
