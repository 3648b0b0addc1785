"""Every way to find joint loads gives what holds a pendulum on its circle."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, PluginSet, simulate

PLUGINS = PluginSet(entry_points=False)
M, D, G = 2.0, 0.8, 9.81


@pytest.mark.parametrize("method", list(PLUGINS.joint_loads))
@pytest.mark.parametrize("formulation", ["kane", "directors"])
def test_the_pin_of_a_pendulum_carries_weight_and_centripetal_force(method, formulation):
    machine = Mechanism(
        "pendulum",
        bodies=[Body("bob", mass=M, com=(0, 0, -D), inertia=(0.2, 0.3, 0.1))],
        joints=[Joint("pin", "revolute", "world", "bob", axis=(0, 1, 0), start=1.2)],
        forces=[ForceElement("gravity")],
    )
    if PLUGINS.joint_loads.get(method).needs_multipliers and formulation == "kane":
        pytest.skip("joint coordinates leave no multiplier for a joint of the tree")
    options = {"loads": "pin:frame=world", "load_method": method, "formulation": formulation}
    history = simulate(machine, 0.5, step=1e-3, backend="vm", plugins=PLUGINS, **options)
    load, q, w = history.loads("pin").total, history["pin.angle"], history["pin.angle.rate"]
    alpha = -M * G * D * np.sin(q) / (0.3 + M * D**2)
    # The centre of mass is at -D (sin q, 0, cos q); the pin gives what its acceleration needs beside the weight.
    ax = -D * (alpha * np.cos(q) - w**2 * np.sin(q))
    az = D * (alpha * np.sin(q) + w**2 * np.cos(q))
    np.testing.assert_allclose(load[:, 3], M * ax, atol=1e-8)
    np.testing.assert_allclose(load[:, 5], M * (az + G), atol=1e-8)
    np.testing.assert_allclose(load[:, [1, 4]], 0, atol=1e-8)
