"""Linear systems with side conditions, solved on the complement of these."""

import casadi as ca
import numpy as np
import pytest

from kingpost.symbols.projection import solve_on_complement


def solver(kind, size, rows, columns=2):
    M, f, B, d = (
        kind.sym(n, *s) for n, s in zip("MfBd", ((size, size), (size, columns), (rows, size), (rows, columns)), strict=True)
    )
    found = solve_on_complement(M, f, B, d)
    return ca.Function("solved", [M, f, B, d], [found.y, found.margin])


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize(("size", "rows"), [(6, 2), (5, 5), (4, 0)])
def test_it_is_the_solution_with_multipliers(kind, size, rows):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    M, f, B, d = (
        root @ root.T + np.eye(size),
        rng.normal(size=(size, 2)),
        rng.normal(size=(rows, size)),
        rng.normal(size=(rows, 2)),
    )
    whole = np.block([[M, B.T], [B, np.zeros((rows, rows))]])
    exact = np.linalg.solve(whole, np.vstack([f, -d]))[:size]
    y, margin = solver(kind, size, rows)(M, f, B, d)
    # Conditions of some 1e2: 1e-13 of numbers of the size of 1e1.
    np.testing.assert_allclose(np.asarray(y), exact, atol=1e-12 * max(1.0, np.abs(exact).max()) * np.linalg.cond(whole))
    assert 0.0 < float(margin) <= 1.0


def test_inertia_is_needed_only_along_what_is_allowed():
    # M has no inertia along x, but y = (1, z) is held there.
    y, _ = solver(ca.SX, 2, 1, 1)(np.diag([0.0, 2.0]), np.array([[5.0], [6.0]]), np.array([[2.0, 0.0]]), -2.0)
    np.testing.assert_allclose(np.asarray(y).ravel(), [1.0, 3.0], atol=1e-15)


def test_the_margin_tells_rows_that_depend_on_each_other():
    rows = np.array([[1.0, 2.0, 0.0], [2.0, 4.0 + 1e-9, 0.0]])
    margin = solver(ca.SX, 3, 2, 1)(np.eye(3), np.zeros((3, 1)), rows, np.zeros((2, 1)))[1]
    # The second row is 1e-9 / sqrt(5) beyond the first, and sqrt(20) long.
    assert float(margin) == pytest.approx(1e-10, rel=1e-6)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_derivatives_do_not_know_of_the_basis(kind):
    angle = kind.sym("angle")
    B, M, f = ca.horzcat(ca.cos(angle), ca.sin(angle)), ca.diag(ca.DM([1.0, 3.0])), ca.DM([1.0, 2.0])
    y = solve_on_complement(kind(M), kind(f), B, kind(1, 1)).y
    rate = ca.Function("rate", [angle], [ca.jacobian(y, angle)])
    value = ca.Function("value", [angle], [y])
    for at in (0.3, 1.6, 3.0):  # on both sides of where the reflection turns about
        difference = (np.asarray(value(at + 1e-6)) - np.asarray(value(at - 1e-6))) / 2e-6
        np.testing.assert_allclose(np.asarray(rate(at)), difference, atol=1e-8)
