"""Orthogonal bases and least squares in straight-line code, against numerical linear algebra."""

import casadi as ca
import numpy as np
import pytest

from kingpost.symbols.orthogonal import complement, least_squares, rest_of_space, row_basis, triangular

#: Ten numbers of the size one, condition numbers of some ten.
ROUNDING = 1e-13


def matrix(rows, columns, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (4, 4), (3, 4)])
def test_complement(rows, columns):
    A = matrix(rows, columns)
    Q, R, C = (np.asarray(part).reshape(shape) for part, shape in zip(
        complement(rows, columns)(A), ((columns, rows), (rows, rows), (columns, columns - rows)), strict=True))  # fmt: skip
    np.testing.assert_allclose(Q @ R, A.T, atol=ROUNDING)
    np.testing.assert_allclose(A @ C, 0, atol=ROUNDING)
    whole = np.hstack([Q, C])
    np.testing.assert_allclose(whole.T @ whole, np.eye(columns), atol=ROUNDING)


def test_rows_that_follow_from_others():
    A = matrix(3, 6)
    A = np.vstack([A[0], A[1], A[0] - 3 * A[1], A[2], np.zeros(6)])
    Q, L = (np.asarray(part) for part in row_basis(5, 6)(A))
    np.testing.assert_allclose(L @ Q, A, atol=ROUNDING)
    np.testing.assert_allclose(Q.T @ Q, np.linalg.pinv(A) @ A, atol=ROUNDING)
    assert np.flatnonzero(np.abs(Q).max(axis=1) == 0).tolist() == [2, 4]
    C = np.asarray(rest_of_space(5, 6)(Q))
    np.testing.assert_allclose(A @ C, 0, atol=ROUNDING)
    np.testing.assert_allclose(C @ C.T + Q.T @ Q, np.eye(6), atol=ROUNDING)
    wanted = A @ matrix(6, 1, 1).ravel()
    x = Q.T @ np.asarray(triangular(5, 1)(L, wanted)).ravel()
    np.testing.assert_allclose(x, np.linalg.pinv(A) @ wanted, atol=ROUNDING)


def test_triangular_systems():
    L, B = np.tril(matrix(4, 4)) + 3 * np.eye(4), matrix(4, 2)
    np.testing.assert_allclose(np.asarray(triangular(4, 2)(L, B)), np.linalg.solve(L, B), atol=ROUNDING)
    np.testing.assert_allclose(np.asarray(triangular(4, 2, True)(L, B)), np.linalg.solve(L.T, B), atol=ROUNDING)


def test_least_squares():
    A, b = matrix(7, 4), matrix(7, 1).ravel()
    x = np.asarray(least_squares(7, 4)(A, b)).ravel()
    np.testing.assert_allclose(x, np.linalg.lstsq(A, b, rcond=None)[0], atol=ROUNDING)


def test_no_choice_of_a_basis_shows_in_derivatives_of_what_does_not_depend_on_it():
    A = ca.MX.sym("A", 2, 4)
    C = complement(2, 4)(A)[2]
    slope = ca.Function("slope", [A], [ca.jacobian(ca.vec(C @ C.T), ca.vec(A))])
    at, h = matrix(2, 4), 1e-6
    project = ca.Function("project", [A], [C @ C.T])
    for k in range(8):
        step = np.zeros(8)
        step[k] = h
        moved = [np.asarray(project(at + sign * step.reshape((2, 4), order="F"))) for sign in (1, -1)]
        numeric = ((moved[0] - moved[1]) / (2 * h)).ravel(order="F")
        np.testing.assert_allclose(np.asarray(slope(at))[:, k], numeric, atol=1e-8)  # h^2 and rounding / h
