"""Linear equations in straight-line code."""

import casadi as ca
import numpy as np
import pytest

from kingpost.base.errors import SolverError
from kingpost.symbols.linear_solvers import solve_blocks


@pytest.mark.parametrize("seed", range(8))
def test_sparse_systems_are_solved_block_by_block(seed):
    rng = np.random.default_rng(seed)
    # A permutation with twos makes them regular; its other entries are at most 1.
    A = rng.uniform(-0.3, 0.3, (6, 6)) * (rng.random((6, 6)) < 0.3) + 2 * np.eye(6)[rng.permutation(6)]
    b = rng.standard_normal((6, 2))
    symbol = ca.SX.sym("A", ca.sparsify(ca.DM(A)).sparsity())
    solve = ca.Function("solve", [symbol], [solve_blocks(symbol, ca.SX(ca.DM(b)))])
    assert np.allclose(np.array(solve(A)), np.linalg.solve(A, b), rtol=0, atol=1e-13)


def test_a_triangular_system_takes_only_substitutions():
    n = 12
    symbol = ca.SX.sym("A", ca.Sparsity.lower(n))
    solve = ca.Function("solve", [symbol], [solve_blocks(symbol, ca.SX.ones(n))])
    # A division for each row, a product and a sum for each entry below the diagonal, and copies.
    assert solve.n_nodes() < 8 * n * (n + 1) / 2


def test_a_system_that_is_always_singular_is_refused():
    symbol = ca.SX.sym("A", ca.Sparsity.triplet(3, 3, [0, 1, 2], [0, 0, 2]))
    with pytest.raises(SolverError, match="3 linear equations are singular whatever their entries are: their rank is 2"):
        solve_blocks(symbol, ca.SX.ones(3))
