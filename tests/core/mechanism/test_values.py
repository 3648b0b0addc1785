"""Numbers of parameters, inputs and start values."""

import dataclasses

import pytest

from kingpost import Input, MechanismError, Parameter
from kingpost.mechanism.values import check_values, resolve_values
from tests.core.mechanism.small import BOB, PIVOT, body, machine


@pytest.mark.parametrize(
    ("bodies", "settings", "message"),
    [
        ([body("bob", mass=-2)], {}, "body 'bob': mass is -2 kg; it cannot be negative"),
        ([body("bob", mass="m - 3")], {}, "body 'bob': mass is -2 kg ('m - 3' with m = 1); it cannot be negative"),
        ([body("bob", mass="m - 1")], {"m": -1.0}, "mass is -2 kg ('m - 1' with m = -1)"),
        ([body("bob", mass="1 / (m - 1)")], {}, "'1 / (m - 1)' divides by zero with m = 1.0"),
        ([body("bob", mass="sqrt(-m)")], {}, "mass is nan ('sqrt(-m)' with m = 1); it must be a finite number"),
        ([body("bob", inertia=(1, 1, 3))], {}, "the two smaller ones add up to 2, less than the largest"),
        ([body("bob", inertia=(1, 1, 1, 2, 0, 0))], {}, "the principal moments of inertia are -1, 1, 3"),
        ([BOB], {"mm": 1.0}, "'machine' has nothing called 'mm' that could be set; did you mean 'm'?"),
        ([BOB], {"m": float("nan")}, "'m' was set to nan; it must be finite"),
        ([BOB], {"m": "3"}, "'m' was set to '3', which is not a number"),
    ],
)
def test_numbers_that_no_machine_can_have_are_refused(bodies, settings, message):
    mechanism = machine(bodies=bodies, parameters=[Parameter("m", 1.0, "kg")])
    with pytest.raises(MechanismError) as error:
        resolve_values(mechanism, settings)
    assert message in str(error.value)


def test_a_direction_that_vanishes_with_its_parameter_is_refused():
    joint = dataclasses.replace(PIVOT, axis=("tilt", 0, 0))
    mechanism = machine(joints=[joint], parameters=[Parameter("tilt", 1.0, "1")])
    with pytest.raises(MechanismError, match=r"joint 'pivot': axis is zero \('tilt' with tilt = 0\)"):
        check_values(mechanism, {"tilt": 0.0})


def test_a_thin_rod_and_a_plate_are_possible_bodies():
    for inertia in [(0, 1, 1), (1, 1, 2), (0, 0, 0)]:
        check_values(machine(bodies=[body("bob", inertia=inertia)]), {})


def test_settings_reach_parameters_inputs_and_start_values():
    mechanism = machine(parameters=[Parameter("m", 1.0, "kg")], inputs=[Input("push", "N")])
    values = resolve_values(mechanism, {"m": 2, "push": 3.0, "pivot.angle": 0.5, "pivot.angle.rate": -1})
    assert values.parameters == {"m": 2.0}
    assert values.inputs == {"push": 3.0}
    assert values.start == {"pivot.angle": 0.5, "pivot.angle.rate": -1.0}
