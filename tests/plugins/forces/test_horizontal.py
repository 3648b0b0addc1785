"""Forces in horizontal axes that turn with a hull, against their formulas and by what they do in waves."""

import numpy as np
import pytest

from kingpost import ForceElement
from kingpost.plugins.forces.horizontal import UPRIGHT
from tests.plugins.forces.deriving import applied
from tests.plugins.forces.floating import full_matrix, hat, rotation, shape, states, vessel

AT = np.array([0.3, -0.2, 0.4])


def axes(R):
    """R_HW of axes that turn with the yaw of a body."""
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def seen(R):
    """What makes of a twist the velocity of the point in these axes, surge to yaw."""
    R_HB = axes(R) @ R
    return np.block([[-R_HB @ hat(AT), R_HB], [R_HB, np.zeros((3, 3))]])


def test_damping_in_horizontal_axes():
    D, quadratic, current = full_matrix(5), np.array([0.3, 0.1, 0.7, 0.2, 0.5, 0.4]), np.array([0.4, -0.7, 0.2])
    force = ForceElement(
        "body-damping", body="hull", matrix=D.tolist(), quadratic=quadratic.tolist(), at=AT.tolist(),
        current=current.tolist(), axes="horizontal", transition=0.3,
    )  # fmt: skip
    mechanism = vessel(shape(0), shape(1), force)
    for q, v in states():
        R = rotation(q)
        n = seen(R) @ v[:6] - np.concatenate([axes(R) @ current, np.zeros(3)])
        exact = -seen(R).T @ (D @ n + quadratic * n**2 * np.tanh(n / 0.3))
        assert applied(mechanism, q, v)[:6] == pytest.approx(exact, abs=1e-10)


def test_a_wave_wrench_that_turns_with_the_hull():
    wrench = np.array([3.0, -2.0, 5.0, 1.0, 4.0, -6.0])
    force = ForceElement(
        "wave-excitation", body="hull", components=[(1.0, 0.8, 0.0)], transfer=[wrench.tolist()], at=AT.tolist(),
        follows_yaw=True, heading=0.4,
    )  # fmt: skip
    mechanism = vessel(shape(0), shape(1), force)
    for q, v in states():
        exact = seen(rotation(q)).T @ wrench
        assert applied(mechanism, q, v, 0.0)[:6] == pytest.approx(exact, abs=1e-10)


def test_upright_is_where_yaw_has_no_meaning():
    """With the bow straight up, the axes have no direction, and the wrench is finite all the same."""
    force = ForceElement("body-damping", body="hull", matrix=np.eye(6).tolist(), axes="horizontal")
    mechanism = vessel(shape(0), shape(1), force)
    q, v = next(states())
    q[3:7] = np.cos(np.pi / 4), 0.0, -np.sin(np.pi / 4), 0.0
    assert np.all(np.isfinite(applied(mechanism, q, v))) and UPRIGHT > 0
