"""Straight-line code in pieces of a few kinds."""

import casadi as ca
import numpy as np

from kingpost.symbols.kinds import in_kinds


def chain(count):
    """Return a function of a chain of masses that differ in one number each, and its rows in pieces."""
    y, t = ca.SX.sym("y", count), ca.SX.sym("t")
    rows = []
    for k in range(count):
        left = y[k - 1] if k else ca.SX(0)
        right = y[k + 1] if k < count - 1 else ca.SX(0)
        rows.append((2.5 + 0.25 * k) * ca.sin(y[k] - left) + (y[k] - right) ** 3 * t)
    return ca.Function("kp_equations", [y, t], [ca.vertcat(*rows)]), [[k] for k in range(count)]


def test_pieces_that_differ_in_numbers_are_one_function_with_the_same_values_and_slopes():
    function, groups = chain(12)
    residual, matrix = in_kinds(function, groups, "kp_matrix")
    y = np.linspace(-1.0, 2.0, 12)
    J = ca.Function("J", function.sx_in(), [ca.jacobian(function(*function.sx_in()), function.sx_in()[0])])
    found, beside = matrix(y, 0.7)
    np.testing.assert_array_equal(np.asarray(residual(y, 0.7)), np.asarray(function(y, 0.7)))
    np.testing.assert_array_equal(np.asarray(beside), np.asarray(function(y, 0.7)))
    np.testing.assert_allclose(np.asarray(found.full()), np.asarray(J(y, 0.7).full()), rtol=1e-15, atol=1e-15)
    # The two ends, and all between them.
    assert len(matrix.find_functions(1)) == 3


def test_more_pieces_are_no_more_kinds():
    kinds = [len(in_kinds(*chain(count), "kp_matrix")[1].find_functions(1)) for count in (5, 10, 20)]
    assert kinds == [3, 3, 3]
