"""Bodies in natural coordinates against the formulas of rigid bodies."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import Body, Joint, Mechanism
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.directors.bodies import (
    angular_momentum,
    body_at,
    body_between,
    body_mass_matrix,
    dual_basis,
    euler_tensor,
)

INERTIA = np.array([[0.9, 0.1, 0.05], [0.1, 1.0, -0.02], [0.05, -0.02, 0.8]])
R = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
PLACE, VELOCITY, SPIN = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.4, -0.7]), np.array([0.6, -1.1, 0.2])


def coordinates():
    """The twelve coordinates of a body and their rates, from its place, rotation, velocity and spin."""
    return np.concatenate([PLACE, R.T.ravel()]), np.concatenate([VELOCITY, np.cross(SPIN, R.T).ravel()])


@pytest.fixture
def space(plugins):
    entries = tuple(float(INERTIA[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    flying = Mechanism("flying", [Body("rock", mass=2.0, inertia=entries)], [Joint("flight", "free", "world", "rock")])
    return TreeKinematics(assemble(flying, plugins))


def number(expression):
    return np.asarray(ca.DM(expression))


def test_energy_and_angular_momentum_are_those_of_a_rigid_body(space):
    q, v = coordinates()
    M = ca.DM(body_mass_matrix(space, "rock"))
    inertia = R @ INERTIA @ R.T
    assert v @ number(M) @ v / 2 == pytest.approx(2.0 * VELOCITY @ VELOCITY / 2 + SPIN @ inertia @ SPIN / 2, rel=1e-14)
    expected = 2.0 * np.cross(PLACE, VELOCITY) + inertia @ SPIN
    np.testing.assert_allclose(number(angular_momentum(ca.SX(q), ca.SX(v), ca.SX(M))).ravel(), expected, atol=1e-14)


def test_the_euler_tensor_gives_the_inertia_back(space):
    E = number(euler_tensor(space, "rock"))
    np.testing.assert_allclose(np.trace(E) * np.eye(3) - E, INERTIA, atol=1e-15)


def test_rates_spin_power_and_constraints():
    q, v = coordinates()
    body = body_at(ca.SX(q), ca.SX(v))
    np.testing.assert_allclose(number(body.internal), 0, atol=1e-15)
    np.testing.assert_allclose(number(body.spin).ravel(), SPIN, atol=1e-15)
    np.testing.assert_allclose(number(body.motions) @ np.concatenate([SPIN, VELOCITY]), v, atol=1e-15)
    wrench = np.array([1.0, 2.0, -3.0, 0.5, -0.2, 4.0])
    assert number(body.generalized(ca.SX(wrench))).ravel() @ v == pytest.approx(wrench[:3] @ SPIN + wrench[3:] @ VELOCITY)


def test_the_dual_basis_is_the_inverse_transpose():
    D = np.random.default_rng(0).standard_normal((3, 3))
    np.testing.assert_allclose(number(dual_basis(ca.SX(D))), np.linalg.inv(D).T, atol=1e-13)


def test_between_two_places_the_axes_are_a_rotation_and_the_spin_is_felt():
    q, v = coordinates()
    later = np.concatenate([PLACE, Rotation.from_rotvec([0.1, 0.4, -0.2]).apply(R.T).ravel()])
    body = body_between(ca.SX((q + later) / 2), ca.SX(v))
    axes = number(body.axes)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    np.testing.assert_allclose(number(body.dual).T @ number(body.D), np.eye(3), atol=1e-14)
