"""Fields of dataclasses from what a user wrote."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from kingpost import Expression, MechanismError
from kingpost.base.fields import convert, describe_fields, fill
from kingpost.base.formulas import Scalar, Scalars


@dataclass(frozen=True)
class Lamp:
    colour: Literal["red", "green"]
    power: Scalar = 5.0
    size: tuple[float, float] = (1.0, 2.0)
    tags: tuple[str, ...] = field(default_factory=tuple)
    age: int | None = None


def test_values_become_what_the_types_say():
    lamp = fill(Lamp, {"colour": "red", "power": "2 * a", "size": [3, 4], "tags": ["x", "y"], "age": 7}, "lamp")
    assert lamp == Lamp("red", Expression("2 * a"), (3.0, 4.0), ("x", "y"), 7)
    assert isinstance(lamp.size[0], float)
    assert convert(Scalars, 3) == (3.0,) and convert(Scalars, [1, "b"]) == (1.0, Expression("b"))
    assert convert(int | None, None) is None


@pytest.mark.parametrize(
    ("values", "message", "path"),
    [
        ({"colour": "blue"}, "lamp: colour: expected one of 'red', 'green', got 'blue'", ("colour",)),
        ({"color": "red"}, "lamp has no 'color'; did you mean 'colour'? It takes: colour (required), power = 5.0", ("color",)),
        ({}, "lamp lacks 'colour'. It takes:", ()),
        ({"colour": "red", "size": [1]}, "lamp: size: expected 2 entries, got 1: [1]", ("size",)),
        ({"colour": "red", "size": 1}, "lamp: size: expected a list, got 1", ("size",)),
        ({"colour": "red", "tags": [1]}, "lamp: tags: expected a text, got 1", ("tags",)),
        ({"colour": "red", "age": True}, "lamp: age: expected a whole number, got True", ("age",)),
        ({"colour": "red", "size": ["a", 1]}, "lamp: size: expected a number, got the formula 'a'", ("size",)),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(values, message, path):
    with pytest.raises(MechanismError) as error:
        fill(Lamp, values, "lamp")
    assert str(error.value).startswith(message)
    assert error.value.path == path


def test_fields_are_described_with_their_defaults():
    told = describe_fields(Lamp)
    assert told == "colour (required), power = 5.0, size = (1.0, 2.0), tags = (), age = None"
