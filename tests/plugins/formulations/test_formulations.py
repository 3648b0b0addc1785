"""Every formulation that can express a pendulum swings it as Jacobi's elliptic functions say."""

import dataclasses

import numpy as np
import pytest

from kingpost import Body, MechanismError, Output, PluginSet, simulate
from kingpost.testing.problems import PENDULUM_LENGTH, pendulum, pendulum_solution

PLUGINS = PluginSet(entry_points=False)
#: A pendulum of a body with volume, as long as the other, so that no coordinates are without inertia.
SHORT = PENDULUM_LENGTH / 2


def machine():
    # J / (m d) is the length of the simple pendulum: J = m d (length - d) about the centre of mass, with d half the length.
    moment = 3.0 * SHORT * (PENDULUM_LENGTH - SHORT)
    body = Body("bob", mass=3.0, com=(0, 0, -SHORT), inertia=(moment, moment, moment / 2))
    return dataclasses.replace(pendulum(), bodies=(body,), outputs=(Output("tip", "bob", at=(0, 0, -1)),))


@pytest.mark.parametrize("formulation", list(PLUGINS.formulations))
def test_a_pendulum_swings_by_its_closed_form(formulation):
    options = {"step": 1e-3, "formulation": formulation, "backend": "vm", "plugins": PLUGINS}
    if formulation == "quaternions":
        with pytest.raises(MechanismError, match="takes no revolute joint"):  # its bodies hang by balls or fly
            simulate(machine(), 1.0, **options)
        return
    history = simulate(machine(), 1.0, **options)
    angle = pendulum_solution(history.time)[:, 0]
    # Turned about y: at angle 0 the tip is below the pivot. rk4 on 2 rad/s in steps of 1 ms.
    np.testing.assert_allclose(history["tip.x"], -np.sin(angle), atol=1e-9)
    np.testing.assert_allclose(history["tip.z"], -np.cos(angle), atol=1e-9)
