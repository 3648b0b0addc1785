"""Small motions: bases of free motions, modes, and the longest stable step, against linear algebra and closed forms."""

import numpy as np
import pytest

from kingpost.statics.linearize import independent_motions, linearize, longest_stable_step, tangent_basis
from kingpost.testing.problems import oscillator
from tests.validation.machines import place


@pytest.fixture
def rows_and_mass():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((5, 5))
    return rng.standard_normal((2, 5)), root @ root.T + np.eye(5)


def test_free_motions_break_no_constraint_and_have_unit_energy(rows_and_mass):
    A, M = rows_and_mass
    T = tangent_basis(A, M)
    assert T.shape == (5, 3)
    np.testing.assert_allclose(A @ T, 0, atol=1e-13)
    np.testing.assert_allclose(T.T @ M @ T, np.eye(3), atol=1e-13)


def test_motions_by_independent_coordinates(rows_and_mass):
    A, M = rows_and_mass
    chosen, T = independent_motions(A, M)
    assert len(chosen) == 3 and chosen == sorted(chosen)
    np.testing.assert_allclose(T[chosen], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(A @ T, 0, atol=1e-12)


def test_motions_without_inertia_are_described_by_their_own_coordinates(rows_and_mass):
    """Two coordinates without inertia, which other rows make regular: one more is needed than those with inertia can tell."""
    A, M = rows_and_mass
    M[3:, :], M[:, 3:] = 0.0, 0.0
    more = np.vstack([A, np.array([[0.3, -1.2, 0.4, 1.0, 0.2], [0.7, 0.1, -0.5, -0.4, 1.0]])])
    chosen, T = independent_motions(A[:1], M, M + more.T @ more)
    assert chosen[:3] == [0, 1, 2] and len(chosen) == 4
    np.testing.assert_allclose(T[chosen], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(A[:1] @ T, 0, atol=1e-12)
    assert np.abs(T).max() < 100.0
    # Where those with inertia are enough, none of the others is chosen.
    chosen, _ = independent_motions(A, M, M + more.T @ more)
    assert chosen == [0, 1, 2]


def test_an_oscillator_of_two_radians_per_second(plugins):
    equations, x, u, p = place(oscillator(), plugins)
    system = linearize(equations, 0.0, x, u, p)
    np.testing.assert_allclose(system.A, [[0, 1], [-4, 0]], atol=1e-14)
    (mode,) = system.modes
    assert mode.eigenvalue == pytest.approx(2j, abs=1e-14)
    assert mode.frequency == pytest.approx(1 / np.pi, rel=1e-14)
    assert mode.damping == pytest.approx(0.0, abs=1e-14)
    assert system.states == ("displacement of rail.displacement", "rail.displacement.rate")


def test_the_longest_stable_step_of_rk4_is_known():
    """On x'' = -w^2 x, rk4 does not grow up to w h = sqrt(8); errors may grow by 1 % here, which is little more."""
    w = 3.0
    A = np.array([[0.0, 1.0], [-w * w, 0.0]])

    def step(x, h):
        z = h * A
        return x + z @ x + z @ z @ x / 2 + z @ z @ z @ x / 6 + z @ z @ z @ z @ x / 24

    found = longest_stable_step(step, lambda x: A @ x, np.array([1.0, 0.0]), 2.0)
    assert found is not None
    assert found == pytest.approx(np.sqrt(8) / w, rel=0.01)
    assert longest_stable_step(step, lambda x: A @ x, np.array([1.0, 0.0]), 0.9 * found) is None
