"""Straight-line code: the same numbers as NumPy, and nothing computed twice."""

import casadi as ca
import numpy as np
import pytest

from kingpost.symbols.straightline import expanded, fused, solve_symmetric


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_symmetric_systems_are_solved_as_by_numpy(kind):
    rng = np.random.default_rng(0)
    root, right = rng.standard_normal((5, 5)), rng.standard_normal((5, 2))
    matrix = root @ root.T + np.eye(5)
    A, b = kind.sym("A", 5, 5), kind.sym("b", 5, 2)
    solve = ca.Function("solve", [A, b], [solve_symmetric(A, b)])
    # A condition number below 100, and some hundred operations.
    np.testing.assert_allclose(np.asarray(solve(matrix, right)), np.linalg.solve(matrix, right), atol=1e-12)


def test_a_system_of_nothing_has_the_solution_nothing():
    assert solve_symmetric(ca.SX(0, 0), ca.SX(0, 1)).shape == (0, 1)


def test_nothing_is_computed_twice():
    x = ca.SX.sym("x")
    inner = ca.Function("inner", [x], [ca.sin(x)])
    y = ca.MX.sym("y")
    twice = ca.Function("twice", [y], [inner(y) + 1, inner(y) * 2])
    once = fused(twice)
    assert sum(once.instruction_id(i) == ca.OP_SIN for i in range(once.n_instructions())) == 1
    assert [float(part) for part in once(0.3)] == [np.sin(0.3) + 1, np.sin(0.3) * 2]


def test_functions_with_sparse_solvers_stay_as_they_are():
    A, b = ca.MX.sym("A", 2, 2), ca.MX.sym("b", 2)
    solving = ca.Function("solving", [A, b], [ca.solve(A, b, "qr")])
    assert expanded(solving) is None
    assert fused(solving) is solving
    assert expanded(ca.Function("product", [A, b], [A @ b])).is_a("SXFunction")
