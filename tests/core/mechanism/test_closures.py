"""What closures refuse, and what their documentation says."""

import re

import pytest

from kingpost import MechanismError
from kingpost.base.toml import tomllib
from kingpost.mechanism.closures import Closure
from tests.core.mechanism.closed import FREEDOM, floating


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
    ],
)
def test_wrong_references_are_refused(closure, message):
    with pytest.raises(MechanismError) as error:
        floating(closure)
    assert message in str(error.value)


def test_the_closures_of_the_docs(root):
    section = (root / "docs" / "model-files.md").read_text().split("## Closures")[1].split("\n## ")[0]
    entries = tomllib.loads(section.split("```")[1])["closures"]
    assert [Closure(**entry).kind for entry in entries] == ["point-on-line", "gear"]
    for kind, freedom in FREEDOM.items():
        row = next(line for line in section.splitlines() if line.startswith("|") and f"`{kind}`" in line)
        names, numbers = re.findall(r"`([a-z-]+)`", row.split("|")[1]), row.split("|")[3].split(",")
        assert sum(int(number) for number in numbers[names.index(kind)].split("+")) == 6 - freedom
