"""Screw transformations: properties that hold for every pose, on numbers and on symbols."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kingpost.symbols.screws import (
    Pose,
    angles_rpy,
    hat,
    numeric,
    perpendicular,
    quaternion_rate,
    rotation_about,
    rotation_of_quaternion,
    rotation_rpy,
    shift_twist,
    shift_wrench,
    twist_cross,
    twist_matrix,
    twist_to,
    twist_to_point,
    wrench_to,
)

angle = st.floats(-3.1, 3.1)
length = st.floats(-10, 10)
vectors = st.tuples(length, length, length).map(ca.DM)
poses = st.builds(
    lambda roll, pitch, yaw, p: Pose(ca.DM(ca.evalf(rotation_rpy(roll, pitch, yaw))), p), angle, angle, angle, vectors
)
screws = st.tuples(*[length] * 6).map(ca.DM)
#: Six products of numbers up to 10 by 10 by 10, with some 1e-16 each.
ROUNDING = 1e-11


def close(a, b):
    return float(ca.mmax(ca.fabs(ca.DM(a) - ca.DM(b)))) < ROUNDING


@given(X=poses, t=screws, w=screws)
def test_power_does_not_depend_on_the_frame(X, t, w):
    assert float(ca.dot(twist_to(X) @ t, wrench_to(X) @ w)) == pytest.approx(float(ca.dot(t, w)), abs=1e-9)


@given(X=poses, Y=poses)
def test_transformations_compose_like_poses(X, Y):
    assert close(twist_to(X @ Y), twist_to(X) @ twist_to(Y))
    assert close(wrench_to(X @ Y), wrench_to(X) @ wrench_to(Y))
    assert close((X @ Y).matrix(), X.matrix() @ Y.matrix())


@given(X=poses)
def test_the_inverse_is_the_inverse(X):
    assert close(twist_to(X.inverse()) @ twist_to(X), ca.DM.eye(6))
    assert close(wrench_to(X.inverse()), twist_to(X).T)
    assert close((X @ X.inverse()).matrix(), ca.DM.eye(4))


@given(X=poses, t=screws)
def test_a_twist_moves_like_its_matrix(X, t):
    """Eq. (8): the matrix form of the transformed twist is T t-hat T^-1."""
    transformed = X.matrix() @ twist_matrix(t) @ X.inverse().matrix()
    assert close(twist_matrix(twist_to(X) @ t), transformed)


@given(p=vectors, t=screws, w=screws)
def test_moving_the_reference_point(p, t, w):
    """Eqs. (19), (20), (46): the velocity of the point p, and the same power of a wrench that acts there."""
    moved = shift_twist(p) @ t
    assert close(moved[3:], t[3:] + ca.cross(t[:3], p))
    assert float(ca.dot(moved, w)) == pytest.approx(float(ca.dot(t, shift_wrench(p) @ w)), abs=1e-9)


@given(X=poses, m=vectors, t=screws)
def test_v_is_both_in_one(X, m, t):
    """Eq. (26) with p_k+1,k and p_m,k+1 as the paper has them."""
    R = X.R
    p_from_child = -(X.R.T @ X.p)  # from the origin of k + 1 to that of k, in k: the negative of p_k,k+1
    paper = ca.blockcat(R, ca.DM(3, 3), hat(-m) @ R + R @ hat(-p_from_child), R)
    assert close(twist_to_point(X, m) @ t, paper @ t)


@given(t=screws, s=screws)
def test_the_bracket_is_antisymmetric_and_a_derivation(t, s):
    assert close(twist_cross(t) @ s, -twist_cross(s) @ t)
    matrices = twist_matrix(t) @ twist_matrix(s) - twist_matrix(s) @ twist_matrix(t)
    assert close(twist_matrix(twist_cross(t) @ s), matrices)


@given(e=st.tuples(*[st.floats(0.1, 2.0)] * 4).map(ca.DM), w=vectors)
def test_quaternions_rotate_whatever_their_length(e, w):
    R = rotation_of_quaternion(e)
    assert close(R @ R.T, ca.DM.eye(3))
    assert close(R, rotation_of_quaternion(3 * e))
    rate = quaternion_rate(e) @ w
    assert abs(float(ca.dot(e, rate))) < ROUNDING
    symbol = ca.SX.sym("e", 4)
    jacobian = ca.Function("j", [symbol], [ca.jacobian(ca.vec(rotation_of_quaternion(symbol)), symbol)])(e)
    assert close(ca.reshape(jacobian @ rate, 3, 3), R @ hat(w))


@example(direction=ca.DM([0, 2, 2.78399e-08]), turn=1.0)
@given(direction=vectors.filter(lambda v: float(ca.norm_2(v)) > 0.1), turn=angle)
def test_rotations_about_an_axis(direction, turn):
    axis = direction / ca.norm_2(direction)
    R = ca.evalf(rotation_about(axis, turn))
    assert close(R @ axis, axis)
    assert close(R @ R.T, ca.DM.eye(3))
    assert float(ca.trace(R)) == pytest.approx(1 + 2 * np.cos(turn), abs=1e-12)
    sides = ca.evalf(perpendicular(axis))
    assert close(sides.T @ sides, ca.DM.eye(2))
    assert close(ca.cross(sides[:, 0], sides[:, 1]), axis)


def test_symbols_and_numbers_give_the_same():
    q = ca.SX.sym("q", 4)
    X = Pose(rotation_rpy(q[0], q[1], q[2]), ca.vertcat(q[3], 1, q[0]))
    function = ca.Function("f", [q], [twist_to(X), wrench_to(X.inverse())])
    values = [0.3, -0.7, 1.9, 2.5]
    number = Pose(ca.evalf(rotation_rpy(*values[:3])), ca.DM([2.5, 1, 0.3]))
    symbolic = function(values)
    assert close(symbolic[0], twist_to(number))
    assert close(symbolic[1], wrench_to(number.inverse()))


def test_right_angles_are_exact():
    R = rotation_rpy(np.pi / 2, 0.0, np.pi / 2)
    assert R.nnz() == 3
    assert set(np.abs(np.asarray(ca.DM(ca.densify(R))).ravel())) == {0.0, 1.0}


@pytest.mark.parametrize("angles", [(0.3, -0.4, 0.5), (-3.0, 1.5, 3.1), (0.0, 0.0, 0.0), (2.0, -1.57, -2.5)])
def test_angles_of_a_rotation_make_it_again(angles):
    found = numeric(angles_rpy(rotation_rpy(*angles))).ravel()
    assert found == pytest.approx(angles, abs=1e-12)


def test_angles_at_a_right_angle_of_pitch_make_the_rotation_again():
    for pitch in (np.pi / 2, -np.pi / 2):
        R = numeric(rotation_rpy(0.4, pitch, 0.3))
        assert numeric(rotation_rpy(*numeric(angles_rpy(R)).ravel())) == pytest.approx(R, abs=1e-12)
