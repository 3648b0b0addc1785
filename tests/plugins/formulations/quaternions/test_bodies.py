"""The matrices of unit quaternions against SciPy's rotations and the formulas of rigid bodies."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost.plugins.formulations.quaternions.bodies import angular_momentum, convective, left, quaternion_mass_matrix, spatial

TURN, OTHER = Rotation.from_rotvec([0.3, -0.8, 0.5]), Rotation.from_rotvec([-0.6, 0.1, 0.9])
J = np.array([[0.9, 0.1, 0.05], [0.1, 1.0, -0.02], [0.05, -0.02, 0.8]])
SPIN = np.array([0.6, -1.1, 0.2])  # in body axes


def scalar_first(rotation):
    x, y, z, w = rotation.as_quat()
    return np.array([w, x, y, z])


def number(expression):
    return np.asarray(ca.DM(expression))


Q = scalar_first(TURN)
RATE = number(convective(ca.DM(Q))).T @ SPIN / 2


def test_products_and_rotations_are_those_of_scipy():
    found = number(left(ca.DM(Q))) @ scalar_first(OTHER)
    expected = scalar_first(TURN * OTHER)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-15)
    np.testing.assert_allclose(number(spatial(ca.DM(Q)) @ convective(ca.DM(Q)).T), TURN.as_matrix(), atol=1e-15)


def test_rates_are_those_of_the_spin_in_body_and_in_world_axes():
    ahead, behind = (scalar_first(TURN * Rotation.from_rotvec(s * SPIN)) for s in (1e-5, -1e-5))
    np.testing.assert_allclose(RATE, (ahead - behind) / 2e-5, atol=1e-10)
    np.testing.assert_allclose(2 * number(convective(ca.DM(Q))) @ RATE, SPIN, atol=1e-15)
    np.testing.assert_allclose(2 * number(spatial(ca.DM(Q))) @ RATE, TURN.apply(SPIN), atol=1e-15)


def test_the_mass_matrix_has_the_energy_and_the_momentum_of_a_body_that_turns():
    M = number(quaternion_mass_matrix(ca.DM(Q), ca.DM(J)))
    assert pytest.approx(SPIN @ J @ SPIN / 2, rel=1e-14) == RATE @ M @ RATE / 2
    np.testing.assert_allclose(number(angular_momentum(ca.DM(Q), ca.DM(M @ RATE))).ravel(), TURN.apply(J @ SPIN), atol=1e-14)
    assert np.linalg.eigvalsh(M).min() > 0
