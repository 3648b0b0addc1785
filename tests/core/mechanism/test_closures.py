"""What closures refuse, and what their documentation says."""

import dataclasses
import re

import pytest

from kingpost import MechanismError, Parameter
from kingpost.base.toml import tomllib
from kingpost.mechanism.closures import Closure
from tests.core.mechanism.closed import CONTACT, FREEDOM, floating

ROLLS = {
    "kind": "rolling-surface", "parent": "one", "child": "two", "radius": 0.2, "surface": "z - x*y", "coordinates": CONTACT,
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


def test_a_parameter_must_not_have_the_name_of_a_place_on_a_surface():
    machine = floating(Closure("tie", **ROLLS))
    with pytest.raises(MechanismError, match="in its surface 'x' is the place of a point, and a parameter has the same name"):
        dataclasses.replace(machine, parameters=[Parameter("x", 1.0, "m", "something else")])


def test_the_closures_of_the_docs(root):
    section = (root / "docs" / "model-files.md").read_text().split("## Closures")[1].split("\n## ")[0]
    entries = tomllib.loads(section.split("```")[1])["closures"]
    assert [Closure(**entry).kind for entry in entries] == ["point-on-line", "gear"]
    for kind, freedom in FREEDOM.items():
        row = next(line for line in section.splitlines() if line.startswith("|") and f"`{kind}`" in line)
        names, numbers = re.findall(r"`([a-z-]+)`", row.split("|")[1]), row.split("|")[3].split(",")
        assert sum(int(number) for number in numbers[names.index(kind)].split("+")) == 6 - freedom
