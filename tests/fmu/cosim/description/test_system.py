"""Descriptions of systems that contradict themselves."""

import pytest

from kingpost.fmu.cosim import (
    Component,
    CosimError,
    System,
    prepare_cosimulation,
)
from tests.fmu.cosim.wiring.pairs import pair


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
