"""The rotation vector of a rotation matrix, with derivatives of all orders that servo-constraints need, also at no rotation."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost.symbols.screws import rotation_about, rotation_vector

#: Of the path whose derivatives are wanted.
ORDER = 8


def exponential(r):
    """The rotation matrix of a rotation vector, by the power series of the matrix exponential: no branch, no angle."""
    K = ca.skew(r)
    R = term = ca.SX.eye(3)
    for n in range(1, 36):
        term = term @ K / n
        R = R + term
    return R


def derivatives(expression, s, *symbols):
    """The function (s, symbols) -> an expression and its derivatives by s, as columns."""
    columns = [ca.densify(expression)]
    for _ in range(ORDER):
        expression = ca.cse(ca.jtimes(expression, s, ca.SX(1)))
        columns.append(ca.densify(expression))
    function = ca.Function("derivatives", [s, *symbols], [ca.cse(ca.horzcat(*columns))])
    return lambda *values: np.asarray(function(*values)).T


@pytest.fixture(scope="module")
def along_parabola():
    """A path of rotation vectors whose derivatives are known, start + slope s + bend s^2, made a matrix and read back."""
    s, start, slope, bend = ca.SX.sym("s"), *(ca.SX.sym(name, 3) for name in ("start", "slope", "bend"))
    return derivatives(rotation_vector(exponential(start + slope * s + bend * s**2)), s, start, slope, bend)


@pytest.fixture(scope="module")
def along_turn():
    s, axis = ca.SX.sym("s"), ca.SX.sym("axis", 3)
    return derivatives(rotation_vector(rotation_about(axis, s)), s, axis)


SLOPE, BEND = np.array([0.3, -0.5, 0.8]), np.array([0.2, 0.1, -0.4])


@pytest.mark.parametrize("start", [(0, 0, 0), (1e-9, 0, 0), (0, -1e-4, 2e-4), (1e-2, 0.03, 0), (1, 1, 1), (2, 1, 2.15)])
@pytest.mark.parametrize("slope", [SLOPE, 0 * SLOPE], ids=["moving", "resting"])
def test_derivatives_up_to_the_eighth_order_are_those_of_the_vector(start, slope, along_parabola):
    exact = np.zeros((ORDER + 1, 3))
    exact[:3] = start, slope, 2 * BEND
    # Each order amplifies rounding about tenfold; formulas with the sine of the angle are 0 / 0 at no rotation.
    allowed = 1e-15 * 10.0 ** np.arange(1, ORDER + 2)
    assert (np.abs(along_parabola(0.0, start, slope, BEND) - exact).max(axis=1) < allowed).all()


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 0, -1), (0.48, -0.6, 0.64)])
@pytest.mark.parametrize("angle", [0.0, 1e-12, -0.3, 3.0])
def test_a_turn_about_a_fixed_axis_is_the_axis_times_the_angle(axis, angle, along_turn):
    exact = np.zeros((ORDER + 1, 3))
    exact[0], exact[1] = angle * np.array(axis), axis
    allowed = 1e-15 * 10.0 ** np.arange(1, ORDER + 2)
    assert (np.abs(along_turn(angle, axis) - exact).max(axis=1) < allowed).all()


def test_any_rotation_is_that_of_scipy_up_to_half_a_turn():
    R = ca.SX.sym("R", 3, 3)
    function = ca.Function("log", [R], [rotation_vector(R)])
    rng = np.random.default_rng(5)
    axes = rng.normal(size=(200, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles = np.concatenate(
        [rng.uniform(0, np.pi, 150), 10.0 ** rng.uniform(-16, -1, 25), np.pi - 10.0 ** rng.uniform(-9, -1, 25)]
    )
    for axis, angle in zip(axes, angles, strict=True):
        found = np.asarray(function(Rotation.from_rotvec(angle * axis).as_matrix())).ravel()
        # Entries of R are rounded, so an angle is known to some eps only.
        assert np.abs(found - angle * axis).max() < 5e-15, angle


def test_at_half_a_turn_it_is_a_vector_of_that_length():
    R = ca.SX.sym("R", 3, 3)
    function = ca.Function("log", [R], [rotation_vector(R)])
    for sign in np.eye(3):
        found = np.asarray(function(2 * np.outer(sign, sign) - np.eye(3))).ravel()
        assert np.abs(found) == pytest.approx(np.pi * sign, abs=1e-15)
