"""Loops that share joints, found the same wherever they are cut."""

from kingpost import Body, Joint, Mechanism
from kingpost.loads.loops import loops_that_share_edges
from kingpost.mechanism.closures import Closure
from tests.core.loads.redundant import four_bar, two_loops


def names(mechanism):
    return sorted(sorted(edge.name for edge in edges) for edges in loops_that_share_edges(mechanism))


def test_the_cut_does_not_matter():
    for name in "OABC":
        assert names(four_bar().cut(name)) == [["A", "B", "C", "O"]]
    for cut in (("B", "D"), ("A", "E"), ("O", "F")):
        assert names(two_loops().cut(*cut)) == [["A", "B", "C", "D", "E", "F", "O"]]


def test_loops_on_one_body_and_what_hangs_on_them_are_apart():
    """A hinge of a door that hangs twice, a chain beyond it, and another door: two loops, which share the frame only."""
    pin = {"axis": (0, 0, 1)}
    machine = Mechanism(
        "doors",
        [Body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("door", "handle", "other", "flap")],
        [
            Joint("lower", "revolute", "world", "door", **pin),
            Joint("turn", "revolute", "door", "handle", **pin),
            Joint("foot", "revolute", "world", "other", **pin),
            Joint("loose", "free", "world", "flap"),
        ],
        closures=[
            Closure("upper", "revolute", "world", "door", **pin, position=(0, 0, 1), child_position=(0, 0, 1)),
            Closure("head", "revolute", "world", "other", **pin, position=(0, 0, 1), child_position=(0, 0, 1)),
            Closure("hung", "spherical", "other", "flap"),
        ],
    )
    assert names(machine) == [["foot", "head"], ["lower", "upper"]]


def test_gears_tie_the_loops_of_their_joints():
    pin = {"axis": (0, 0, 1)}
    machine = Mechanism(
        "pair",
        [Body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("one", "two")],
        [Joint("a", "revolute", "world", "one", **pin), Joint("b", "revolute", "world", "two", **pin)],
        closures=[Closure("gear", "gear", coordinates=("a.angle", "b.angle"), ratio=2.0)],
    )
    assert names(machine) == [["a", "b", "gear"]]
