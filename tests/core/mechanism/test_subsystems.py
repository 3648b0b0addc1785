"""Subsystems of a mechanism: what is accepted, what is refused, and where joints and closures meet."""

import dataclasses

import pytest

from kingpost import Body, Group, Joint, Mechanism, MechanismError, cut, read_model
from kingpost.mechanism.subsystems import chain_of, innermost, meeting
from kingpost.modelfiles.toml_model import mechanism_from_dict

NAMES = ("a", "b", "c", "d")


def chain(*groups):
    """Return a chain of four bodies with these subsystems."""
    bodies = [Body(name, mass=1.0, inertia=(1, 1, 1)) for name in NAMES]
    parents = ("world", *NAMES)
    joints = [Joint(f"j{name}", "revolute", parents[i], name, axis=(0, 1, 0)) for i, name in enumerate(NAMES)]
    return Mechanism("chain", bodies, joints, subsystems=groups)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([Group("x", ["e"])], "subsystem 'x': 'e' is not a body"),
        ([Group("x", ["world"])], "subsystem 'x': 'world' is not a body"),
        ([Group("x", ["a"]), Group("y", ["b", "a"])], "body 'a' is in 'x' and in 'y'; a body belongs to one subsystem"),
        ([Group("x", ["a", "a"])], "body 'a' is twice in 'x'"),
        ([Group("x", ["a"], within="z")], "subsystem 'x' is within 'z', which is not a subsystem"),
        ([Group("x", ["a"], within="x")], "the subsystems x -> x are within each other"),
        (
            [Group("w", ["c"], within="x"), Group("x", ["a"], within="y"), Group("y", ["b"], within="x")],
            "the subsystems x -> y -> x are within each other; take 'within' from one of them",
        ),
        ([Group("x", ["a"]), Group("x", ["b"])], "two subsystems are called 'x'"),
        ([Group("x")], "subsystem 'x' is empty; give it bodies"),
        ([("x", ["a"])], "subsystems[0] is ('x', ['a']), expected a Group"),
    ],
)
def test_bad_subsystems_are_refused_by_name(groups, message):
    with pytest.raises(MechanismError) as error:
        chain(*groups)
    assert message in str(error.value)


def test_a_subsystem_has_a_name_and_texts():
    with pytest.raises(MechanismError, match="subsystem name 'my part': use a letter"):
        Group("my part")
    with pytest.raises(MechanismError, match="subsystem 'x': bodies: expected a list, got 'a'"):
        Group("x", "a")


def test_joints_and_closures_meet_in_the_innermost_subsystem_that_holds_both_sides():
    groups = chain(Group("outer"), Group("x", ["a", "b"], within="outer"), Group("y", ["c"], within="outer")).subsystems
    assert innermost(groups) == {"a": "x", "b": "x", "c": "y"}
    assert chain_of(groups, "x") == ("x", "outer", "")
    assert meeting(groups, ["a", "b"]) == "x"
    assert meeting(groups, ["b", "c"]) == "outer"
    assert meeting(groups, ["c", "d"]) == meeting(groups, ["world", "a"]) == meeting(groups, []) == ""


def test_subsystems_go_to_plain_data_and_back():
    machine = chain(Group("outer"), Group("x", ["a", "b"], within="outer"), Group("y", ["c"], within="outer"))
    assert machine.to_dict()["subsystems"][:2] == [{"name": "outer"}, {"name": "x", "bodies": ["a", "b"], "within": "outer"}]
    assert mechanism_from_dict(machine.to_dict()) == machine
    assert machine.digest() != dataclasses.replace(machine, subsystems=()).digest()
    assert "subsystems" not in chain().to_dict()


TEXT = """
name = "pair"
[[bodies]]
name = "a"
mass = 1.0
[[joints]]
name = "j"
kind = "revolute"
parent = "world"
child = "a"
axis = [0, 1, 0]
[[subsystems]]
name = "x"
bodies = ["{body}"]
{more}
"""


def test_subsystems_are_read_from_a_file_with_their_line(tmp_path):
    file = tmp_path / "pair.toml"
    file.write_text(TEXT.format(body="a", more=""))
    assert read_model(file).subsystems == (Group("x", ("a",)),)
    file.write_text(TEXT.format(body="b", more=""))
    with pytest.raises(MechanismError, match=r"pair\.toml:14: subsystem 'x': 'b' is not a body"):
        read_model(file)
    file.write_text(TEXT.format(body="a", more="parent = 'y'"))
    with pytest.raises(MechanismError, match=r"pair\.toml:15: subsystem 'x' has no 'parent'"):
        read_model(file)


def test_both_halves_of_a_body_that_is_cut_stay_in_its_subsystem():
    machine = chain(Group("x", ["a", "b"]))
    bar = dataclasses.replace(machine.bodies[1], com=(0.5, 0, 0), inertia=(0.0, 1 / 12, 1 / 12))
    machine = dataclasses.replace(machine, bodies=(machine.bodies[0], bar, *machine.bodies[2:]))
    assert cut(machine, "b", at=0.5).subsystems == (Group("x", ("a", "b", "b-section-outer")),)
