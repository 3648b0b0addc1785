"""Shares of several drives in one motion: bounds, weights, and the one solution there is."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from kingpost.control.allocation import allocation


def posed(rng, rows=3, drives=4):
    """A problem of the size of a crane: levers of metres and rates of a tenth, bounds of all kinds."""
    J = rng.normal(size=(rows, drives)) * rng.choice([0.6, 15.0, 30.0], drives)
    b = rng.normal(size=rows) * rng.choice([0.1, 1.0, 10.0])
    r, w = 0.01 * rng.normal(size=drives), 10.0 ** rng.uniform(-6, -2, drives)
    scale = rng.choice([0.1, 4.0], drives)
    return J, b, r, w, -scale * rng.uniform(0, 1, drives), scale * rng.uniform(0, 1, drives)


def objective(x, J, b, r, w):
    return np.sum((J @ x - b) ** 2) + np.sum(w * (x - r) ** 2)


@pytest.mark.parametrize(("rows", "drives"), [(3, 4), (3, 3), (2, 6), (3, 2)])
def test_bounds_hold_exactly_and_nothing_is_better(rows, drives):
    """Against SciPy's bounded least squares, and by the conditions of Karush, Kuhn and Tucker."""
    rng = np.random.default_rng(drives)
    solve = allocation(rows, drives)
    bound = 0
    for _ in range(150):
        J, b, r, w, low, high = posed(rng, rows, drives)
        x = np.asarray(solve(J, b, r, w, low, high)).ravel()
        assert (low <= x).all()
        assert (x <= high).all()
        bound += ((x == low) | (x == high)).any()
        A, c = np.vstack([J, np.diag(np.sqrt(w))]), np.concatenate([b, np.sqrt(w) * r])
        theirs = lsq_linear(A, c, (low, high), method="bvls", tol=1e-15, max_iter=500).x
        # Both end at rounding of squares of numbers of the size of b.
        assert objective(x, J, b, r, w) <= objective(theirs, J, b, r, w) + 1e-12 * (1 + b @ b)
        gradient = (A.T @ (A @ x - c)) / np.sqrt((A**2).sum(axis=0))
        small = 1e-9 * (1 + np.abs(b).max())
        assert (np.abs(gradient[(low < x) & (x < high)]) < small).all()
        assert (gradient[x == low] > -small).all()
        assert (gradient[x == high] < small).all()
    assert 30 < bound < 150


def test_without_bounds_it_is_the_weighted_least_norm_solution():
    """x = r + W^-1 J' (J W^-1 J')^-1 (b - J r), as far as the weights are small."""
    rng = np.random.default_rng(5)
    solve = allocation(3, 4)
    wide = np.full(4, 1e6)
    for _ in range(20):
        J, b, r, w, _, _ = posed(rng)
        w = 1e-10 * w / w.max()
        inverse = np.diag(1 / w)
        expected = r + inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, b - J @ r)
        x = np.asarray(solve(J, b, r, w, -wide, wide)).ravel()
        # The weights cost about their size over squared levers, and solving costs digits as the inverse of it.
        np.testing.assert_allclose(J @ x, b, atol=1e-6 * (1 + np.abs(b).max()))
        assert np.sum(w * (x - r) ** 2) <= np.sum(w * (expected - r) ** 2) * (1 + 1e-3)


def test_a_drive_without_room_stays_and_the_others_do_its_part():
    solve = allocation(1, 3)
    x = np.asarray(solve(np.array([[1.0, 1.0, 1.0]]), [2.0], np.zeros(3), np.full(3, 1e-9), [0, -5, -5], [0, 5, 5])).ravel()
    assert x[0] == 0.0
    np.testing.assert_allclose(x[1:], 1.0, atol=1e-8)


def test_what_cannot_be_done_is_done_as_far_as_bounds_allow():
    """One drive at its bound, and the other one for what is left; both at theirs if that is not enough."""
    solve = allocation(1, 2)
    J, w, zero = np.array([[10.0, 1.0]]), np.full(2, 1e-9), np.zeros(2)
    assert np.asarray(solve(J, [3.0], zero, w, [-0.2, -5], [0.2, 5])).ravel() == pytest.approx([0.2, 1.0], abs=1e-8)
    assert np.asarray(solve(J, [30.0], zero, w, [-0.2, -5], [0.2, 5])).ravel().tolist() == [0.2, 5.0]
