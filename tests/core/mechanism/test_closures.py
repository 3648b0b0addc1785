"""What closures refuse, and what their documentation says."""

import re
from dataclasses import replace

import pytest

from kingpost import MechanismError, Parameter
from kingpost.base.toml import tomllib
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.values import resolve_values
from tests.core.mechanism.closed import CONTACT, FREEDOM, floating

ROLLS = {
    "kind": "rolling-surface", "parent": "one", "child": "two", "radius": 0.2, "surface": "z - x*y", "coordinates": CONTACT,
}  # fmt: skip

WHEELS = {
    "kind": "rolling-wheels", "parent": "one", "child": "two", "axis": (0, 0, 1), "radius": 0.5, "child_radius": 0.2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "revolut"}, "unknown kind 'revolut'; did you mean 'revolute'?"),
        ({"kind": "revolute", "parent": "one", "child": "two"}, "is revolute and lacks 'axis', e.g. [0, 0, 1]"),
        ({"kind": "distance", "parent": "one", "child": "two"}, "is distance and lacks 'length', e.g. 1.5"),
        ({"kind": "weld", "parent": "one", "child": "two", "radius": 1.0}, "is weld and has no 'radius'; remove it"),
        ({"kind": "distance", "parent": "one", "child": "two", "length": 0}, "length is 0 m; it must be positive"),
        ({"kind": "weld", "child": "two"}, "lacks 'parent', e.g. \"world\""),
        ({"kind": "revolute", "parent": "one", "child": "two", "axis": (0, 0, 0)}, "axis is [0, 0, 0]; give a direction"),
        (
            {"kind": "gear", "coordinates": ("spin1.angle",), "ratio": 2.0},
            "a gear closure ties 2 coordinate(s), got spin1.angle",
        ),
        ({**WHEELS, "coordinates": ("a.angle",)}, "has 'coordinates' and lacks 'axis2', e.g. [1, 0, 0]; rolling that is held"),
        ({**WHEELS, "axis2": (1, 0, 0)}, "has 'axis2' and lacks 'coordinates', e.g. [\"crank.angle\", \"wheel.angle\"]"),
        ({**WHEELS, "offset": 0.2}, "has no phase without 'coordinates', so 'offset' means nothing; remove it"),
        (
            {**WHEELS, "axis2": (1, 0, 0), "coordinates": ("a.angle", "b.angle", "c.angle")},
            "a rolling-wheels closure ties 1 or 2 coordinate(s), got a.angle, b.angle, c.angle",
        ),
        ({**ROLLS, "surface": None}, "is rolling-surface and lacks 'surface', e.g. \"z - y**2 / 2\""),
        ({**ROLLS, "surface": "2 * depth"}, "surface = '2 * depth' does not depend on x, y or z, so nothing lies on it"),
        ({**ROLLS, "surface": 3.0}, "surface = '3.0' does not depend on x, y or z"),
        ({**ROLLS, "radius": -1.0}, "radius is -1 m; it must be positive"),
        ({**ROLLS, "coordinates": CONTACT[:2]}, "a rolling-surface closure ties 3 coordinate(s), got touch.x, touch.y"),
        ({**ROLLS, "coordinates": ("touch.x", "touch.y", "touch.x")}, "the point of contact has three different ones"),
        ({**ROLLS, "length": 1.0}, "is rolling-surface and has no 'length'; remove it"),
        ({"kind": "weld", "parent": "one", "child": "two", "surface": "z"}, "is weld and has no 'surface'; remove it"),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(MechanismError) as error:
        Closure("tie", **fields)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        (Closure("tie", "weld", "one", "one"), "closure 'tie' ties body 'one' to itself"),
        (Closure("tie", "weld", "one", "tow"), "its child 'tow' is not a body; did you mean 'two'?"),
        (
            Closure("tie", "gear", coordinates=("spin1.angle", "spin.angle"), ratio=1.0),
            "'spin.angle' is not a joint coordinate",
        ),
        (Closure("free1", "weld", "one", "two"), "two joints or closures are called 'free1'"),
        (Closure("tie", "distance", "one", "two", length="2 * lenght"), "uses 'lenght', which is not declared"),
        (Closure("tie", "distance", "one", "two", length="2 * x"), "uses 'x', which is not declared"),
        (Closure("tie", **{**ROLLS, "surface": "z - depht"}), "uses 'depht', which is not declared. Known here: x, y, z."),
    ],
)
def test_wrong_references_are_refused(closure, message):
    with pytest.raises(MechanismError) as error:
        floating(closure)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        ((0.0, 0.2), "radius = 0 m and child_radius = 0.2 m; a wheel has a positive one, a ring a negative one"),
        ((-1.0, -0.5), "are both those of rings, which cannot touch from within; make that of the inner one positive"),
        ((-0.5, 0.5), "a wheel that fills its ring cannot roll in it; make one of them smaller"),
        ((-0.5, 0.7), "a wheel in a ring is smaller than the ring"),
        ((-0.5, "2 * size"), "child_radius = 0.8 m ('2 * size' with size = 0.4); a wheel in a ring is smaller than the ring"),
    ],
)
def test_wheels_that_cannot_touch_are_refused(radii, message):
    wheels = Closure("tie", **(WHEELS | {"radius": radii[0], "child_radius": radii[1]}))
    sized = replace(floating(Closure("tie", **WHEELS)), parameters=(Parameter("size", 0.4, "m"),))
    machine = replace(sized, closures=(wheels,))
    with pytest.raises(MechanismError) as error:
        resolve_values(machine, {})
    assert message in str(error.value)
    assert error.value.path[:2] == ("closures", 0)


def test_a_slot_that_is_not_across_its_pin_is_refused():
    slot = Closure("tie", "slot", "one", "two", axis=(1, 0, 0), axis2=(1, 0, 1))
    with pytest.raises(MechanismError, match="closure 'tie': axis2 is 45 degrees from 'axis'; it must be 90"):
        resolve_values(floating(slot), {})


def test_a_parameter_must_not_have_the_name_of_a_place_on_a_surface():
    machine = floating(Closure("tie", **ROLLS))
    with pytest.raises(MechanismError, match="in its surface 'x' is the place of a point, and a parameter has the same name"):
        replace(machine, parameters=[Parameter("x", 1.0, "m", "something else")])


def test_the_closures_of_the_docs(root):
    section = (root / "docs" / "model-files.md").read_text().split("## Closures")[1].split("\n## ")[0]
    entries = tomllib.loads(section.split("```")[1].removeprefix("toml\n"))["closures"]
    assert [Closure(**entry).kind for entry in entries] == ["point-on-line", "gear"]
    for kind, freedom in FREEDOM.items():
        row = next(line for line in section.splitlines() if line.startswith("|") and f"`{kind}`" in line)
        names, numbers = re.findall(r"`([a-z-]+)`", row.split("|")[1]), row.split("|")[3].split(",")
        assert sum(int(number) for number in numbers[names.index(kind)].split("+")) == 6 - freedom
