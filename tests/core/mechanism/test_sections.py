"""Bodies that are cut: what is refused, and names of their parts."""

import pytest

from kingpost import (
    Body,
    Joint,
    Mechanism,
    MechanismError,
    cut,
)


@pytest.mark.parametrize(
    ("body", "at", "options", "message"),
    [
        ("boom", 0.8, {}, r"has no body 'boom'.* Bodies: vessel, king, inner-boom, outer-boom"),
        ("inner-boom", 2.5, {}, r"would be cut at x = 2.5 m of its frame, outside it.* from 0 m to 2 m"),
        ("inner-boom", float("nan"), {}, "cannot be cut at nan"),
        ("inner-boom", 0.5, {"axis": "w"}, "cannot be cut along 'w'; choose x, y or z"),
        ("inner-boom", 0.0, {"axis": "y"}, "has no length along y that its mass and inertia would show"),
        ("inner-boom", 0.5, {"outboard": Body("part", mass=40.0)}, "has 30 kg, so the part beyond .* cannot have 40 kg"),
        ("inner-boom", 0.5, {"move": ["wind"]}, "has no force 'wind' to move"),
    ],
)
def test_bad_cuts_are_refused(crane, plugins, body, at, options, message):
    with pytest.raises(MechanismError, match=message):
        cut(crane, body, at, plugins=plugins, **options)


def test_a_body_with_products_of_inertia_needs_its_outer_part_given(plugins):
    machine = Mechanism(
        "block",
        bodies=(Body("block", mass=1.0, inertia=(1, 1, 1, 0.1, 0, 0)),),
        joints=(Joint("pivot", "revolute", "world", "block", axis=(0, 1, 0)),),
    )
    with pytest.raises(MechanismError, match=r"has products of inertia.*outboard=Body"):
        cut(machine, "block", 0.1, plugins=plugins)


def test_several_cuts_of_one_body_get_names_of_their_own(crane, plugins):
    twice = cut(cut(crane, "inner-boom", 1.5, plugins=plugins), "inner-boom", 0.5, plugins=plugins)
    assert [joint.name for joint in twice.joints if joint.kind == "weld"] == ["inner-boom-section2", "inner-boom-section"]
    assert sum(body.name.startswith("inner-boom") for body in twice.bodies) == 3
    assert cut(crane, "inner-boom", 1.5, name="root", plugins=plugins).joints[3].name == "root"
