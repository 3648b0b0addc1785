"""Inverse dynamics of machines whose friction depends on joint loads."""

import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, MechanismError
from tests.core.control.servo.machines import slide


def test_friction_that_depends_on_the_input_is_refused_by_name():
    machine = Mechanism(
        "arm",
        bodies=[Body("arm", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("pin", "revolute", "world", "arm", axis=(0, 1, 0))],
        inputs=[Input("torque", "N.m")],
        forces=[
            ForceElement("joint-effort", coordinate="pin.angle", effort="torque"),
            ForceElement("bearing-friction", name="journal", joint="pin", mu=0.1, radius=0.1),
        ],
    )
    with pytest.raises(MechanismError) as refused:
        slide(machine, ("pin.angle",), ("torque",))
    assert "force journal depends on joint loads, and these on torque" in str(refused.value)
    assert "give friction a load of its own ('joint-friction')" in str(refused.value)
