"""Ranks by the widest gap."""

import numpy as np
import pytest

from kingpost.control.servo.index.ranks import equilibrated, null_space, rank_of, widest_gap


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_ranks_do_not_depend_on_units(rank):
    """Rows and columns in units that differ by 1e12 have a wide range of singular values, but one gap when scaled."""
    chance = np.random.default_rng(rank)
    J = chance.normal(size=(6, rank)) @ chance.normal(size=(rank, 6))
    units = np.logspace(-6, 6, 6)
    scaled, rows, columns = equilibrated(J * units[:, None] * chance.permutation(units))
    assert rank_of(scaled).rank == rank
    assert rank_of(scaled).width > 1e6
    np.testing.assert_allclose(np.abs(scaled).max(axis=0), 1.0, rtol=0.3)
    assert (rows > 0).all()
    assert (columns > 0).all()


def test_a_small_value_far_above_rounding_counts():
    gap = widest_gap(np.array([1.0, 0.3, 2.7e-3, 1e-14, 1e-16]), 5)
    assert (gap.rank, gap.nullity, gap.above) == (3, 2, 2.7e-3)
    assert gap.clear


def test_values_that_fall_evenly_decide_nothing():
    gap = widest_gap(np.logspace(0, -15, 16), 16)
    assert not gap.clear


def test_what_may_vanish_altogether_is_compared_with_what_it_could_be():
    assert widest_gap(np.array([3e-17]), 1, top=1.0).rank == 0
    assert widest_gap(np.array([3e-4]), 1, top=1.0).rank == 1
    assert widest_gap(np.array([0.9, 2e-16]), 2, top=1.0).rank == 1
    assert widest_gap(np.zeros(0), 0, top=1.0).rank == 0


def test_matrices_without_rows_or_entries():
    assert rank_of(np.zeros((0, 3))).nullity == 3
    assert rank_of(np.zeros((2, 3))).rank == 0
    assert null_space(np.zeros((0, 3)), 0).shape == (3, 3)


def test_null_space():
    J = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    N = null_space(J, 2)
    np.testing.assert_allclose(J @ N, 0.0, atol=1e-15)
    np.testing.assert_allclose(N.T @ N, np.eye(1), atol=1e-15)
