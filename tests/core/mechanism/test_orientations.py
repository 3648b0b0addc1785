"""Orientations in numbers, and what document 000 prints about them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingpost import MechanismError
from kingpost.mechanism.orientations import (
    bryant_angles,
    orientation,
    quaternion,
    rotation_bryant,
    rotation_of_vector,
    rotation_vector,
    rpy_angles,
)

scipy_rotation = pytest.importorskip("scipy.spatial.transform").Rotation
EPS = np.finfo(float).eps
ANGLES = st.tuples(*[st.floats(-math.pi, math.pi)] * 3)
UNIT = (
    st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1).map(lambda v: np.array(v) / np.linalg.norm(v))
)


@given(angles=ANGLES)
def test_orientations_are_those_of_scipy(angles):
    # Each entry is a sum of two products of three sines: a few roundings of numbers up to 1.
    close = {"abs": 8 * EPS}
    assert orientation(list(angles)) == pytest.approx(scipy_rotation.from_euler("xyz", angles).as_matrix(), **close)
    reference = scipy_rotation.from_euler("XYZ", angles)
    assert rotation_bryant(*angles) == pytest.approx(reference.as_matrix(), **close)
    assert orientation({"bryant": angles}) == pytest.approx(reference.as_matrix(), **close)
    e = reference.as_quat()
    assert orientation([3 * e[3], *(3 * e[:3])]) == pytest.approx(reference.as_matrix(), **close)
    assert orientation(reference.as_matrix()) == pytest.approx(reference.as_matrix(), **close)


@given(axis=UNIT, angle=st.floats(0.0, math.pi) | st.sampled_from([0.0, 1e-300, 1e-9, math.pi, math.pi - 1e-9]))
def test_rotation_vectors_go_there_and_back(axis, angle):
    R = rotation_of_vector(axis * angle)
    # Entries up to 1 of some roundings each, in sums of three products.
    assert pytest.approx(np.eye(3), abs=16 * EPS) == R.T @ R
    back = rotation_vector(R)
    # At half a turn the axis and its opposite are the same.
    back = -back if back @ axis < 0 and angle > math.pi - 1e-6 else back
    assert np.linalg.norm(back - axis * angle) <= 20 * EPS * max(angle, 1.0)
    assert scipy_rotation.from_matrix(R).magnitude() == pytest.approx(np.linalg.norm(back), abs=1e-7)
    assert np.linalg.norm(quaternion(R)) == pytest.approx(1.0, abs=4 * EPS)


def test_arccos_of_the_trace_loses_half_of_the_digits():
    # Document 000, eq. (6.96).
    angle = 1e-9
    R = rotation_of_vector(np.array([0.0, 0.6, 0.8]) * angle)
    printed = math.acos(min(1.0, (np.trace(R) - 1) / 2))
    assert printed == 0.0
    assert np.linalg.norm(rotation_vector(R)) == pytest.approx(angle, rel=4 * EPS)


@given(phi=st.tuples(st.floats(-3.1, 3.1), st.floats(-1.55, 1.55), st.floats(-3.1, 3.1)))
def test_bryant_angles_come_back(phi):
    # Rounding of 4 eps in entries of size cos phi2 moves the other two angles by as much more.
    bound = 8 * EPS / math.cos(phi[1])
    assert bryant_angles(rotation_bryant(*phi)) == pytest.approx(phi, abs=bound)
    assert rpy_angles(orientation(phi)) == pytest.approx(phi, abs=bound)


@pytest.mark.parametrize("phi", [(0.3, math.pi / 2, 0.2), (-0.7, -math.pi / 2, 0.4)])
def test_bryant_angles_where_only_a_sum_counts(phi):
    R = rotation_bryant(*phi)
    found = bryant_angles(R)
    assert found[2] == 0.0
    assert rotation_bryant(*found) == pytest.approx(R, abs=8 * EPS)


def test_the_printed_bryant_angles_lose_their_signs():
    # Document 000, eq. (6.99): right only where no angle is negative.
    def printed(R):
        phi2 = math.acos(math.sqrt(1 - R[0, 2] ** 2))
        return math.acos(R[2, 2] / math.cos(phi2)), phi2, math.acos(R[0, 0] / math.cos(phi2))

    good, bad = (math.pi / 6, math.pi / 4, math.pi / 3), (-math.pi / 6, -math.pi / 4, -math.pi / 3)
    assert printed(rotation_bryant(*good)) == pytest.approx(good, abs=1e-14)
    assert printed(rotation_bryant(*bad)) == pytest.approx(good, abs=1e-14)
    assert bryant_angles(rotation_bryant(*bad)) == pytest.approx(bad, abs=1e-15)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (1.0, "expected roll, pitch, yaw, a quaternion, or a matrix, got 1.0"),
        ([1, 2], "rpy: expected 3 numbers, got [1, 2]"),
        ([], "rpy: expected 3 numbers, got []"),
        ([1, 2, math.nan], "rpy: expected a finite number, got nan"),
        (["a", 0, 0], "rpy: expected a number, got the formula 'a'"),
        ([0, 0, 0, 0], "quaternion: [0.0, 0.0, 0.0, 0.0] has the length 0.0; it says no orientation"),
        ([[1, 0, 0], [0, 1, 0]], "matrix: expected three rows of three numbers, got [[1, 0, 0], [0, 1, 0]]"),
        ([[1, 0, 0], [0, 1, 0], [0, 0, -1]], "is not a rotation: it mirrors (determinant -1)"),
        ([[1, 0, 0], [0, 1, 0], [0, 0.1, 1]], "is not a rotation: R'R is off the unit matrix by 0.1"),
        ([[1e200, 0, 0], [0, 1, 0], [0, 0, 1]], "is not a rotation: R'R is off the unit matrix by inf"),
        ({"rpy": [0, 0, 0], "bryant": [0, 0, 0]}, "an orientation is given by one of rpy, bryant, quaternion, matrix, got rpy"),
        ({"briant": [0, 0, 0]}, "an orientation is not given by 'briant'; did you mean 'bryant'? Known: rpy, bryant,"),
    ],
)
def test_what_is_no_orientation_is_refused(data, message):
    with pytest.raises(MechanismError) as error:
        orientation(data)
    assert message in str(error.value)


def test_a_matrix_written_to_six_digits_is_taken_for_the_nearest_rotation():
    R = rotation_bryant(0.3, -0.2, 1.0)
    found = orientation(np.round(R, 6).tolist())
    assert found == pytest.approx(R, abs=1e-6)
    assert found.T @ found == pytest.approx(np.eye(3), abs=8 * EPS)
