"""Set-points that become inputs."""

import dataclasses

import pytest

from kingpost import ExportError, ForceElement
from kingpost.fmu.interface.setpoints import with_setpoint_inputs
from tests.fmu.hosting import Hosted
from tests.fmu.machines import rig


def test_set_points_become_inputs(machine, plugins, native):
    crane = with_setpoint_inputs(machine("vessel-crane"), plugins)
    added = [signal for signal in crane.inputs if signal not in machine("vessel-crane").inputs]
    assert [(signal.name, signal.unit) for signal in added] == [
        (f"{joint}_drive_{what}", unit)
        for joint in ("slew", "luff", "knuckle")
        for what, unit in (("target", "rad"), ("target_rate", "rad/s"))
    ]
    assert [signal.default for signal in added] == pytest.approx([0, 0, 0, 0, -2.356194490192345, 0])
    # The arm's set-points are inputs already; a wheel with an idle drive has one set-point to offer.
    with pytest.raises(ExportError, match="'six-axis-arm' has no force with a set-point that is not an input already"):
        with_setpoint_inputs(machine("six-axis-arm"), plugins)
    driven = dataclasses.replace(
        rig(),
        forces=(
            *rig().forces[:1],
            ForceElement(
                "joint-actuator", name="servo", coordinate="pivot.angle", stiffness=500, damping=50, target="2 * tilt"
            ),
        ),
    )
    steered = with_setpoint_inputs(driven, plugins, {"tilt": 0.1})
    assert steered.inputs[-2].default == 0.2
    with Hosted(native(steered)) as fmu:
        fmu.initialize({"servo_target": 0.4, "gravity": 0.0})
        fmu.step(0.0, 20.0)
        assert fmu.get("pivot.angle") == pytest.approx(0.4, abs=1e-6)
