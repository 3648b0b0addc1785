"""Units that follow from those that are stated."""

import pytest

from kingpost import Subsystem
from kingpost.modular.dimensions import effort_units, state_units
from kingpost.modular.system import build
from kingpost.plugins.models.five_bar_parts import five_bar
from tests.core.modular.trees import pendulum


def units_of(**invariants):
    system = build(pendulum(invariants=invariants))
    return [effort_units(system)[f"bob.{name}"] for name in invariants]


def test_efforts_are_power_per_rate():
    """Along lengths N, along their squares N/m; along a rate, the same as along what changes."""
    assert units_of(a="x**2 + y**2 - l**2", b="x - l * sin(y / l)", c="sqrt(x**2 + y**2) - l", d="x_dot - y_dot") == [
        "N/m", "N", "N", "N",
    ]  # fmt: skip
    found = effort_units(build(five_bar()))
    assert (found["P.R.HL.joint_x"], found["P.R.HL.turn_U"], found["P.gear_L"], found["P.R.chi"]) == ("N", "N.m", "N.m", "N.m")


@pytest.mark.parametrize("text", ["x**2 + y**2 - 0.25", "x - l**2", "sin(x) - y / l", "x - m"])
def test_what_is_of_no_one_unit_has_none(text):
    assert units_of(wrong=text) == ["1"]


def test_where_a_unit_is_not_stated_or_is_no_base_unit_nothing_follows():
    for unit in ({}, {"x": "mm", "y": "mm", "l": "mm"}):
        assert effort_units(build(pendulum(units=unit)))["bob.circle"] == "1"


def test_units_in_between_are_spelled_out():
    """W over m2/s2 and over m, which are of order 1; J over m3 and m4, of order 0. The time counts, too."""
    assert units_of(a="x_dot**2 + y_dot**2 - 2 * g * l", b="x - t * x_dot", c="l**3 - x**2 * y", d="l**4 - x**2 * y**2") == [
        "N.s/m", "kg.m/s3", "N/m2", "N/m3",
    ]  # fmt: skip


def test_rates_have_the_units_of_what_changes():
    assert state_units(build(pendulum())) == {"x": "m", "y": "m", "x_dot": "m/s", "y_dot": "m/s"}
    slow = Subsystem(
        "s", variables={0: ("a", "b")}, forces={"a": "-a_ddot", "b": "-b_ddot"}, units={"a": "rad", "a_dot": "rpm"}
    )
    assert state_units(build(slow)) == {"a": "rad", "b": "1", "a_dot": "rpm", "b_dot": "1"}
