"""The public names: the table that loads them, and what type checkers are told."""

import ast
from pathlib import Path

import pytest

import kingpost

STUB = Path(__file__).parents[2] / "core" / "__init__.pyi"


def declared():
    """Return name and module of everything that the stub passes on."""
    return {
        (alias.asname, node.module)
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }


def test_type_checkers_are_told_what_the_table_says():
    table = {(name, f"kingpost.{place}") for place, names in kingpost.PLACES.items() for name in names}
    assert declared() == table | {("__version__", "kingpost.base.version")}


@pytest.mark.parametrize("name", kingpost.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name):
    value = getattr(kingpost, name)
    if isinstance(value, type) or type(value).__name__ == "function":
        assert value.__doc__


def test_they_are_listed():
    assert set(kingpost.__all__) <= set(dir(kingpost))
    assert len(kingpost.__all__) == len(set(kingpost.__all__))


def test_what_is_not_public_is_said_to_be_missing():
    with pytest.raises(AttributeError, match="module 'kingpost' has no attribute 'simulat'"):
        _ = kingpost.simulat
