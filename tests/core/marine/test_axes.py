"""Conversions between axes with z up and z down, on known static loads, motions and energies."""

import doctest

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kingpost.marine.axes
import kingpost.marine.waves
from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, PluginSet
from kingpost.marine.axes import (
    FLIP,
    flip_angles,
    flip_matrices,
    flip_quaternions,
    flip_rotations,
    flip_screws,
    flip_vectors,
    reorder_matrices,
    reorder_screws,
)
from kingpost.multibody.assembly import assemble

RNG = np.random.default_rng(1)
#: Products and sums of a few numbers of order 1.
ROUNDING = 1e-14


def rotation(angles):
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return Rotation.from_euler("ZYX", np.asarray(angles)[..., ::-1]).as_matrix()


def test_angles_quaternions_and_matrices_are_of_one_rotation():
    angles = RNG.uniform(-1.4, 1.4, (20, 3))
    R = rotation(angles)
    flipped = np.array([FLIP @ matrix @ FLIP for matrix in R])
    assert flip_rotations(R) == pytest.approx(flipped, abs=ROUNDING)
    assert rotation(flip_angles(angles)) == pytest.approx(flipped, abs=ROUNDING)
    w_first = Rotation.from_matrix(R).as_quat()[:, [3, 0, 1, 2]]
    back = Rotation.from_quat(flip_quaternions(w_first)[:, [1, 2, 3, 0]]).as_matrix()
    assert back == pytest.approx(flipped, abs=ROUNDING)


def test_a_point_of_a_moving_vessel_is_the_same_point_in_both_axes():
    for angles, p, v, w, at in RNG.uniform(-1, 1, (10, 5, 3)):
        R = rotation(angles)
        position, velocity = p + R @ at, R @ (v + np.cross(w, at))
        R_down = rotation(flip_angles(angles))
        twist = flip_screws(np.concatenate([w, v]))
        at_down = flip_vectors(at)
        assert flip_vectors(p) + R_down @ at_down == pytest.approx(flip_vectors(position), abs=ROUNDING)
        carried = R_down @ (twist[3:] + np.cross(twist[:3], at_down))
        assert carried == pytest.approx(flip_vectors(velocity), abs=ROUNDING)


@pytest.mark.parametrize(
    ("place", "down"),
    [
        # Forward, to starboard and down of the vessel; the moments of a weight of 1 N there about forward, starboard, down.
        ((0, 5, 0), (5, 0, 0)),  # on starboard: it heels to starboard, roll is positive
        ((0, -5, -2), (-5, 0, 0)),
        ((30, 0, -3), (0, -30, 0)),  # on the bow: pitch, positive bow up, is negative
        ((-30, 2, 0), (2, 30, 0)),
    ],
)
def test_the_moment_of_a_weight_has_the_signs_that_seamen_know(place, down):
    # The weight through the whole of Kingpost, with z up: the generalized forces of a free body are [moment; force].
    vessel = Mechanism(
        "vessel",
        bodies=[Body("hull", mass=1.0, com=flip_vectors(place).tolist(), inertia=(1, 1, 1))],
        joints=[Joint("sea", "free", "world", "hull")],
        forces=[ForceElement("gravity", acceleration=(0, 0, -1))],
    )
    plugins = PluginSet(entry_points=False)
    equations = plugins.formulations.get("kane")().derive(assemble(vessel, plugins))
    wrench = np.asarray(equations.descriptor(0, [0, 0, 0, 1, 0, 0, 0], np.zeros(6), [], [])[1]).ravel()
    assert flip_screws(wrench) == pytest.approx([*down, 0, 0, 1], abs=ROUNDING)
    # The force is down, so the forces come last in a wrench and first in the marine order.
    assert reorder_screws(flip_screws(wrench))[2] == 1


def test_a_matrix_gives_the_same_energy_and_the_turned_wrench():
    A = RNG.uniform(-1, 1, (6, 6))
    motion = RNG.uniform(-1, 1, 6)
    wrench = flip_matrices(A) @ flip_screws(motion)
    assert wrench == pytest.approx(flip_screws(A @ motion), abs=ROUNDING)
    assert wrench @ flip_screws(motion) == pytest.approx(motion @ A @ motion, abs=ROUNDING)
    assert reorder_matrices(A) @ reorder_screws(motion) == pytest.approx(reorder_screws(A @ motion), abs=ROUNDING)
    # Sway and roll are coupled with opposite signs in the two axes, surge and heave too; heave and pitch are not.
    signs = flip_matrices(np.ones((6, 6)))
    assert (signs[1, 3], signs[0, 2], signs[2, 4], signs[0, 4]) == (-1, -1, 1, -1)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (flip_vectors, (7, 3)),
        (flip_screws, (7, 6)),
        (flip_angles, (7, 3)),
        (flip_rotations, (7, 3, 3)),
        (flip_quaternions, (7, 4)),
        (flip_matrices, (7, 6, 6)),
        (reorder_screws, (7, 6)),
        (reorder_matrices, (7, 6, 6)),
    ],
)
def test_every_conversion_is_its_own_inverse_and_refuses_other_shapes(function, shape):
    values = RNG.uniform(-1, 1, shape)
    before = values.copy()
    assert (function(function(values)) == values).all()
    assert not (function(values) == values).all()
    assert (values == before).all()
    with pytest.raises(KingpostError, match=r"expected an array with shape \(\.\.\., \d.*\), got \(7, 5\)"):
        function(np.zeros((7, 5)))


@pytest.mark.parametrize("module", [kingpost.marine.axes, kingpost.marine.waves])
def test_the_examples_in_the_documentation_run(module):
    assert doctest.testmod(module).attempted > 0
    assert doctest.testmod(module).failed == 0
