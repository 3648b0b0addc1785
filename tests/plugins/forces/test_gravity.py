"""Gravity against the parabola of a thrown body."""

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Joint,
    Mechanism,
    Output,
)
from tests.plugins.forces.deriving import FORMULATIONS, run
from tests.plugins.forces.machines import rk4_error


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_centre_of_a_thrown_spinning_body_follows_a_parabola(formulation):
    com, spin, velocity, g = np.array([0.3, -0.2, 0.1]), 1.5, np.array([2.0, -1.0, 3.0]), np.array([0.5, 0.0, -9.0])
    # The origin moves with the centre of mass less the turn about it; the axis of the turn is a principal one.
    origin_velocity = velocity - np.cross([0, 0, spin], com)
    thrown = Mechanism(
        "thrown",
        bodies=[Body("stick", mass=3.0, com=com, inertia=(0.4, 0.3, 0.2))],
        joints=[Joint("flight", "free", "world", "stick", start_rate=(0, 0, spin, *origin_velocity))],
        forces=[ForceElement("gravity", acceleration=g.tolist())],
        outputs=[Output("com", "stick", at=com)],
    )
    history = run(thrown, 1.0, 0.005, formulation=formulation)
    t = history.time[:, None]
    path = com + velocity * t + g * t**2 / 2
    # The speed in body axes, up to 12 m/s, turns with 1.5 rad/s.
    tolerance = 12 * rk4_error(spin, 1.0, 0.005)
    assert np.abs(history.select(["com.x", "com.y", "com.z"]) - path).max() < tolerance
    assert history["energy.potential"] == pytest.approx(-3.0 * path @ g, abs=3.0 * 9.1 * tolerance)
    assert np.ptp(history["energy.total"]) < 3.0 * 12 * tolerance
