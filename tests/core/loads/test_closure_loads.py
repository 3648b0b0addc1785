"""Loads of closures, and what closures without a wrench do to joints."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, simulate
from kingpost.mechanism.closures import Closure
from tests.core.mechanism.closed import PARALLEL, PLUGINS, bar


def test_a_gear_has_efforts_but_no_wrench():
    machine = Mechanism(
        "gears",
        bodies=[Body("small", mass=1.0, inertia=(1.0, 1.0, 0.5)), Body("large", mass=1.0, inertia=(2.0, 2.0, 4.0))],
        joints=[
            Joint("pinion", "revolute", "world", "small", axis=(0, 0, 1)),
            Joint("wheel", "revolute", "world", "large", axis=(0, 0, 1)),
        ],
        forces=[ForceElement("joint-effort", coordinate="pinion.angle", effort=3.0)],
        closures=[Closure("mesh", "gear", coordinates=("pinion.angle", "wheel.angle"), ratio=-4.0, offset=0.0)],
    )
    history = simulate(machine, 1.0, plugins=PLUGINS, loads="all")
    # Reduced to the pinion: (J1 + J2 / 16) times its acceleration is the torque.
    acceleration = 3.0 / (0.5 + 4.0 / 16)
    assert history["pinion.angle"][-1] == pytest.approx(acceleration / 2, rel=1e-12)
    assert history["wheel.angle"][-1] == pytest.approx(-acceleration / 8, rel=1e-12)
    pinion, wheel = history.loads("pinion"), history.loads("wheel")
    np.testing.assert_allclose(pinion.closure[:, 2], 0.5 * acceleration - 3.0, atol=1e-12)
    np.testing.assert_allclose(wheel.closure[:, 2], -4.0 * acceleration / 4, atol=1e-12)
    np.testing.assert_allclose(pinion.total, pinion.constraint + pinion.actuator + pinion.friction + pinion.closure)
    with pytest.raises(KingpostError, match="closure 'mesh' ties coordinates, not bodies, and has no wrench"):
        simulate(machine, 0.1, plugins=PLUGINS, loads=["mesh"])
    with pytest.raises(KingpostError, match=r"no joint 'pinon' whose load could be given.*Joints and closures: pinion"):
        simulate(machine, 0.1, plugins=PLUGINS, loads=["pinon"])


def test_loads_of_closures_alone_and_converted_afterwards():
    machine = bar(*PARALLEL)
    options = {"plugins": PLUGINS, "settings": {"one.angle.rate": 1.5}}
    asked = simulate(machine, 0.2, loads=["pin:frame=world,side=parent,at=0.1/0/0.2"], load_method="multipliers", **options)
    stored = simulate(machine, 0.2, loads="all", **options)
    turned = stored.loads("pin", frame="world", side="parent", at=(0.1, 0.0, 0.2))
    np.testing.assert_allclose(asked.loads("pin").total, turned.total, atol=1e-12)
    assert turned.body == "rocker"
    assert np.abs(turned.total[:, :3]).max() > 0.1
    assert stored["loads.residual.force"].max() < 1e-12
    assert "loads.residual.force" not in asked.names
    back = asked.loads("pin", frame="child", side="child")
    np.testing.assert_allclose(back.total, stored.loads("pin").total, atol=1e-12)
