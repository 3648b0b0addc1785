"""Descriptions of systems that contradict themselves."""

import pytest

from kingpost import KingpostError
from kingpost.fmu.cosim import (
    Component,
    Connection,
    CosimError,
    System,
    prepare_cosimulation,
)
from tests.fmu.cosim.wiring.pairs import pair


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb", None, 3])
def test_names_of_systems_are_one_line(name):
    with pytest.raises(CosimError, match="its name is a text of one line and not empty") as caught:
        System(name, (Component("a", fmu="a.fmu"),))
    assert caught.value.path == ("name",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": ((1, 2), (1, 3))}, "its table replaces a number by two others"),
        ({"table": ((1, 2),), "add": True}, "it has a table and is added to others"),
        ({"table": ((1,),)}, "table"),
    ],
)
def test_connections_are_checked(options, message):
    with pytest.raises(KingpostError, match=message):
        Connection("a.x", "b.y", **options)


def test_descriptions_are_checked(plugins):
    with pytest.raises(CosimError, match="has no components"):
        System("s", ())
    with pytest.raises(CosimError, match="two components are called 'a'"):
        System("s", (Component("a", fmu="a.fmu"), Component("a", fmu="b.fmu")))
    with pytest.raises(CosimError, match="order: there is no component 'three'"):
        pair(order=("one", "three"))
    with pytest.raises(CosimError, match="order must name each component once"):
        pair(order=("one",))
    with pytest.raises(CosimError, match="record: no variable matches 'one.z'"):
        prepare_cosimulation(pair(record=("one.z",)), plugins)
