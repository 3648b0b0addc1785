"""Loads that are turned and moved afterwards."""

import numpy as np
from scipy.spatial.transform import Rotation

from kingpost.results.joint_load_history import rotation_matrices


def test_quaternions_of_any_length_become_the_rotations_of_scipy():
    quaternions = np.random.default_rng(4).standard_normal((20, 4))
    expected = Rotation.from_quat(quaternions[:, [1, 2, 3, 0]]).as_matrix()  # SciPy has the scalar last
    np.testing.assert_allclose(rotation_matrices(quaternions), expected, atol=1e-14)
