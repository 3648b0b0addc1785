"""Bodies, joints, closures and parameters of a mechanism by their names."""

import dataclasses

import pytest

from kingpost import Body, Closure, Joint, Mechanism, MechanismError, Parameter

MECHANISM = Mechanism(
    "linkage",
    bodies=[Body("crank", 1.0), Body("rocker", 2.0)],
    joints=[
        Joint("pivot", "revolute", "world", "crank", axis=(0, 1, 0)),
        Joint("hinge", "revolute", "crank", "rocker", axis=(0, 1, 0)),
    ],
    closures=[Closure("pin", "spherical", "world", "rocker")],
    parameters=[Parameter("length", 0.5, "m")],
)


def test_what_is_there_is_found():
    assert MECHANISM.body("rocker") is MECHANISM.bodies[1]
    assert MECHANISM.joint("hinge") is MECHANISM.joints[1]
    assert MECHANISM.closure("pin") is MECHANISM.closures[0]
    assert MECHANISM.parameter("length") is MECHANISM.parameters[0]


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("body", "roker", "'linkage' has no body 'roker'; did you mean 'rocker'? Bodies: crank, rocker."),
        ("body", "nobody", "'linkage' has no body 'nobody'. Bodies: crank, rocker."),
        ("joint", "hing", "'linkage' has no joint 'hing'; did you mean 'hinge'? Joints: pivot, hinge."),
        ("closure", "pins", "'linkage' has no closure 'pins'; did you mean 'pin'? Closures: pin."),
        ("parameter", "lenght", "'linkage' has no parameter 'lenght'; did you mean 'length'? Parameters: length."),
    ],
)
def test_what_is_not_there_is_answered_with_the_nearest_name(kind, name, message):
    with pytest.raises(MechanismError) as error:
        getattr(MECHANISM, kind)(name)
    assert str(error.value) == message


def test_an_error_in_a_generator_does_not_end_it_silently():
    """A bare StopIteration, as there was, ends the loop around it."""
    with pytest.raises(MechanismError, match="has no body 'nobody'"):
        list(map(MECHANISM.body, ["crank", "nobody", "rocker"]))


def test_lookups_change_neither_equality_nor_copies():
    MECHANISM.body("crank")
    other = dataclasses.replace(MECHANISM, bodies=[Body("crank", 3.0), Body("rocker", 2.0)])
    assert other.body("crank").mass == 3.0
    assert dataclasses.replace(MECHANISM) == MECHANISM != other
    assert dataclasses.replace(MECHANISM).digest() == MECHANISM.digest()
