"""Derivative arrays: residuals and Jacobians against independent derivatives, consistent points, and what counts as a state."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost.control.servo.derivative_array import DerivativeArray, FirstOrder
from kingpost.control.servo.index.walk import Walk
from kingpost.control.servo.posing import pose_servo
from kingpost.mechanism.tasks import ServoTask
from tests.core.control.servo.machines import floating_block, move, posed
from tests.core.control.servo.systems import navy_2d, navy_3d, navy_3d_with_mass


@pytest.fixture(scope="module")
def crane():
    return FirstOrder(posed("overhead-crane"))


@pytest.fixture(scope="module")
def point(crane):
    chance = np.random.default_rng(1)
    return chance.uniform(-0.4, 0.4, (crane.size, 6)) + np.outer(crane.start, np.eye(6)[0])


def test_residual_against_nested_derivatives(crane, point):
    """All derivatives of F along a polynomial, by CasADi's differentiation with respect to the time alone."""
    tau, t, order = 0.7, 1.1, 4
    array = DerivativeArray(crane, order, tau)
    signals = array.signals(t)
    s = ca.SX.sym("s")
    x = sum((ca.SX(point[:, k]) * s**k for k in range(6)), ca.SX.zeros(crane.size))
    known = sum((ca.SX(signals[:, k]) * s**k for k in range(order + 1)), ca.SX.zeros(len(signals)))
    value = crane.function(t + tau * s, x, ca.jacobian(x, s) / tau, known, crane.known.p)
    expected = []
    for k in range(order + 1):
        expected.append(np.array(ca.Function("f", [s], [value])(0.0)).ravel() / math.factorial(k))
        value = ca.jacobian(value, s)
    found = array.residual(t, point, signals).reshape(order + 1, crane.size)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_jacobian_against_differences(crane, point):
    array = DerivativeArray(crane, 3, 0.7)
    x, t, h = point[:, :5], 1.1, 1e-6
    signals = array.signals(t)
    J = array.jacobian(t, x, signals)
    expected = np.zeros_like(J)
    for column in range(J.shape[1]):
        step = np.zeros(J.shape[1])
        step[column] = h
        step = step.reshape(5, crane.size).T
        difference = array.residual(t, x + step, signals) - array.residual(t, x - step, signals)
        expected[:, column] = difference / (2 * h)
    # Central differences: rounding 1e-16 |F| / h, with |F| up to 1e4.
    np.testing.assert_allclose(J, expected, atol=1e-5 * np.abs(J).max())


def test_flat_inputs_of_the_rotary_crane():
    """The closed form of document 000, eqs. (4.118)-(4.122), at 2.5 s."""
    system = FirstOrder(posed("rotary-crane", "000-4.4.2"))
    walk = Walk.from_rest(system, 1.0, 0.0, system.start, 4)
    walk.to(2.5)
    at = system.unknowns
    np.testing.assert_allclose(walk.state[at.u], [11.06415869, -7.60124507, -9.9177133], rtol=1e-9)


#: Document 000, section 6: closed forms that were evaluated apart from this program, to the digits that are known.
NAVY = {
    "2d": (navy_2d, 1.0, 4, {"L1": 4.4152890, "L2": 16.6989154, "L0": 7.0556353, "u1": -119.531360, "u2": -160.134936}),
    "3d": (navy_3d, 2.5, 4, {"L1": 3.589575, "L3": 20.065716, "z0": 2.094352, "u1": -28.05181, "u3": 164.30906}),
}


@pytest.mark.parametrize("name", NAVY)
def test_flat_inputs_of_printed_equations(name):
    make, t, order, values = NAVY[name]
    printed = make()
    walk = Walk.from_rest(printed.system, printed.t_end / 10, 0.0, printed.start, order)
    walk.to(t)
    for unknown, value in values.items():
        assert walk.state[printed.place(unknown)] == pytest.approx(value, rel=2e-7), unknown


def test_statics_at_a_singular_start():
    """Massless pulley, guide rope slack: the place of the pulley is not determined there, and stays what it was."""
    printed = navy_3d()
    walk = Walk.from_rest(printed.system, 2.0, 0.0, printed.start, 4)
    np.testing.assert_allclose(walk.state[:11], printed.start[:11], atol=1e-9)
    np.testing.assert_allclose(walk.state[-3:], [0.0, -98.1, 0.0], atol=1e-9)


def test_statics_of_a_pulley_with_mass():
    """lam and u of document 000, section 6.2.2, at the start."""
    printed = navy_3d_with_mass()
    walk = Walk.from_rest(printed.system, 2.0, 0.0, printed.start, 2)
    np.testing.assert_allclose(walk.state[-9:-4], [4.905, -9.81, -9.81, -392.4, -56.0571429], rtol=1e-5)
    np.testing.assert_allclose(walk.state[-4:], [-4.2479, -6.4887, -98.1, 0.0], atol=3e-3)


def test_a_quaternion_is_no_state_of_its_own():
    """The length of a quaternion is 1; its multiplier makes seven coordinates of six degrees of freedom."""
    measures = ("centre.x", "centre.y", "centre.z", "rotation_x", "rotation_y", "rotation_z")
    inputs = tuple(f"{what}_{axis}" for what in ("push", "turn") for axis in "xyz")
    problem = pose_servo(floating_block(), ServoTask(move(*measures, by=0.3), inputs, 2.0))
    system = FirstOrder(problem)
    assert system.names[-1] == "length of quaternion 1"
    walk = Walk.from_rest(system, 0.2, 0.0, system.start, 3)
    walk.to(0.8)
    J = DerivativeArray(system, 3, 0.2).jacobian(0.8, walk.x, DerivativeArray(system, 3, 0.2).signals(0.8))
    n = system.size
    ranks = [np.linalg.matrix_rank(J[:, first * n :], tol=1e-9) for first in range(2)]
    # Nothing is free: with and without x_0 the null space has the same dimension.
    assert J.shape[1] - ranks[0] == J.shape[1] - n - ranks[1]
    assert np.linalg.norm(walk.state[problem.equations.quaternions[0] :][:4]) == pytest.approx(1.0, abs=1e-12)


def test_a_start_far_from_the_path_is_found_or_refused(crane):
    """Newton's method shortens its steps; a path out of reach leaves a residual that is told."""
    array = DerivativeArray(crane, 0, 0.3)
    x, left = array.consistent(0.0, np.column_stack([crane.start + 1.0, np.zeros(crane.size)]))
    assert left < 1e-12
    assert np.abs(array.residual(0.0, x, array.signals(0.0))).max() < 1e-9
