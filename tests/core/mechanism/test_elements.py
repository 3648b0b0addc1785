"""Bodies, joints and forces as they are described."""

import dataclasses

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Joint,
    Mechanism,
    MechanismError,
    Parameter,
    simulate,
)
from kingpost.testing.problems import pendulum
from tests.core.symbols.falling import falling


def test_arrays_can_be_given_as_options(plugins):
    gravity = ForceElement("gravity", acceleration=np.array([0.0, 0.0, -1.0]))
    assert gravity == ForceElement("gravity", acceleration=(0.0, 0.0, -1.0))
    simulate(dataclasses.replace(pendulum(), forces=(gravity,)), 0.1, plugins=plugins)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "universal", "axis": (1, 0, 0)}, "is universal and lacks 'axis2', e.g. [1, 0, 0]"),
        ({"kind": "screw", "axis": (1, 0, 0)}, "is screw and lacks 'pitch', e.g. 0.01"),
        ({"kind": "gimbal"}, "is gimbal and lacks 'sequence'"),
        ({"kind": "gimbal", "sequence": "xxy"}, "sequence is 'xxy'; give three axes from x, y, z with no two equal in a row"),
        ({"kind": "gimbal", "sequence": "xy"}, "sequence is 'xy'"),
        ({"kind": "weld", "axis": (1, 0, 0)}, "is weld and has no 'axis'; remove it"),
        ({"kind": "spherical", "start": (1, 0, 0)}, "start has 3 entries, but a spherical joint has 4"),
        ({"kind": "spherical", "start_rate": (1, 0, 0, 0)}, "start_rate has 4 entries, but a spherical joint has 3"),
        ({"kind": "cardan", "coordinates": ("a", "b", "a")}, "two coordinates have the same name: a, b, a"),
        ({"kind": "universal", "axis": (1, 0, 0), "axis2": (2, 0, 0)}, "its two axes are parallel (0 degrees apart)"),
        (
            {"kind": "planar", "axis": (0, 0, 1), "axis2": (1, 0, 1)},
            "axis2, the first direction in the plane, is 45 degrees from the normal 'axis'; it must be 90",
        ),
        ({"kind": "screw", "axis": (1, 0, 0), "pitch": "1 / zero"}, "'1 / zero' divides by zero with zero = 0.0"),
        ({"kind": "spherical", "start": (0, 0, 0, 0)}, "starts at zero, which is no rotation"),
    ],
)
def test_a_joint_that_makes_no_sense_is_refused(fields, message, plugins):
    def run():
        mechanism = Mechanism(
            "machine",
            parameters=[Parameter("zero", 0.0, "1")],
            bodies=[Body("body", mass=1.0, inertia=(1, 1, 1))],
            joints=[Joint("joint", parent="world", child="body", **fields)],
        )
        simulate(mechanism, 1.0, plugins=plugins)

    with pytest.raises(MechanismError) as error:
        run()
    assert message in str(error.value)


def test_own_names_for_coordinates(plugins):
    mechanism = falling("cardan", coordinates=("heel", "trim", "heading"))
    history = simulate(mechanism, 0.1, plugins=plugins)
    assert history.names[:6] == (
        "joint.heel", "joint.trim", "joint.heading", "joint.heel.rate", "joint.trim.rate", "joint.heading.rate",
    )  # fmt: skip
