"""Sparse equations solved in their own order, by tables."""

import casadi as ca
import numpy as np
import pytest

from kingpost.kernel.codegen import ORDERED, generated
from kingpost.kernel.compiler import CompilerError, build_cached, find_compiler
from kingpost.kernel.elimination import elimination, with_eliminations

COMPILER = find_compiler()


def saddle(bodies, rng):
    """Return a chain's matrix in the order of elimination: 3 motions of each body, then 2 rows that tie it to the next."""
    size = 5 * bodies
    A = np.zeros((size, size))
    for k in range(bodies):
        own, rows, after = 5 * k + np.arange(3), 5 * k + 3 + np.arange(2), 5 * k + 5 + np.arange(3)
        root = rng.standard_normal((3, 3))
        A[np.ix_(own, own)] = root @ root.T + np.eye(3)
        for other in (own, after) if k < bodies - 1 else (own,):
            tie = rng.standard_normal((2, 3))
            A[np.ix_(rows, other)], A[np.ix_(other, rows)] = tie, tie.T
    return A


def factorised(matrix, tables):
    """Return the factors as the C code finds them."""
    factors = np.zeros(len(tables.columns))
    factors[list(tables.places)] = ca.sparsify(ca.DM(matrix)).nonzeros()
    n = len(matrix)
    for i in range(n):
        row = np.zeros(n)
        own = range(tables.starts[i], tables.starts[i + 1])
        row[[tables.columns[k] for k in own]] = [factors[k] for k in own]
        for k in range(tables.starts[i], tables.pivots[i]):
            j = tables.columns[k]
            row[j] /= factors[tables.pivots[j]]
            for s in range(tables.pivots[j] + 1, tables.starts[j + 1]):
                assert tables.columns[s] in [tables.columns[k] for k in own], "an entry that elimination fills has no place"
                row[tables.columns[s]] -= row[j] * factors[s]
        for k in own:
            factors[k] = row[tables.columns[k]]
    return factors


def test_tables_hold_what_elimination_fills():
    A = saddle(4, np.random.default_rng(1))
    tables = elimination(ca.sparsify(ca.DM(A)).sparsity())
    factors = factorised(A, tables)
    L, U = np.eye(len(A)), np.zeros_like(A)
    for i in range(len(A)):
        for k in range(tables.starts[i], tables.starts[i + 1]):
            (L if k < tables.pivots[i] else U)[i, tables.columns[k]] = factors[k]
    np.testing.assert_allclose(L @ U, A, atol=1e-12 * np.abs(L).max() * np.abs(U).max())


def test_work_grows_with_the_number_of_bodies():
    rng = np.random.default_rng(1)
    work = [elimination(ca.sparsify(ca.DM(saddle(n, rng))).sparsity()).operations for n in (10, 20, 40)]
    assert work[2] - work[1] == 2 * (work[1] - work[0])


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_compiled_solution_is_that_of_a_search_for_pivots_also_where_a_pivot_vanishes(tmp_path):
    """In the order of elimination, and in one that begins with a zero pivot, so that the QR that stays is taken."""
    A = saddle(3, np.random.default_rng(2))
    wrong = np.roll(np.arange(len(A)), 2)
    functions = []
    for name, order in (("kp_good", np.arange(len(A))), ("kp_bad", wrong)):
        entries = ca.MX.sym("entries", ca.sparsify(ca.DM(A[np.ix_(order, order)])).sparsity())
        right = ca.MX.sym("right", len(A))
        inner = ca.Function(f"{ORDERED}_{name}", [entries, right], [ca.solve(entries, right, "qr")], {"never_inline": True})
        functions.append(ca.Function(name, [entries, right], [inner(entries, right)]))
    source = generated("solutions", functions)
    assert source.count("if (kp_eliminated(") == 2
    library = build_cached(source, COMPILER, tmp_path, level="1").library
    right = np.arange(1.0, len(A) + 1)
    for name, order in (("kp_good", np.arange(len(A))), ("kp_bad", wrong)):
        found = np.asarray(ca.external(name, str(library))(ca.sparsify(ca.DM(A[np.ix_(order, order)])), right[order])).ravel()
        np.testing.assert_allclose(A @ found[np.argsort(order)], right, atol=1e-12 * np.linalg.cond(A) * right.max())


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_compiled_iteration_goes_on_with_its_factors_and_finds_the_root(tmp_path):
    A = saddle(3, np.random.default_rng(3))
    y, target = ca.SX.sym("y", len(A)), ca.SX.sym("target", len(A))
    residual = ca.Function("kp_equations", [y, target], [ca.sparsify(ca.DM(A)) @ y + 0.01 * y**3 - target])
    names = residual.name_in(), residual.name_out(0)
    matrix = residual.factory("kp_matrix", names[0], [f"jac:{names[1]}:{names[0][0]}", names[1]])
    options = {"abstol": 1e-16, "abstolStep": 1e-10, "max_iter": 20, "error_on_fail": False, "jacobian_function": matrix}
    finder = ca.rootfinder(f"{ORDERED}_newton", "fast_newton", residual, options)
    b = ca.MX.sym("b", len(A))
    found = finder(ca.MX.zeros(len(A)), b)
    step = ca.Function("kp_root", [b], [found, residual(found, b)])
    source = generated("root", [step])
    assert "if (kept) {" in source
    library = build_cached(source, COMPILER, tmp_path, level="1").library
    wanted = 0.01 * np.arange(1.0, len(A) + 1)
    root, left = (np.asarray(item).ravel() for item in ca.external("kp_root", str(library))(wanted))
    np.testing.assert_allclose(left, 0.0, atol=1e-14)
    np.testing.assert_allclose(root, np.asarray(step(wanted)[0]).ravel(), atol=1e-13)


def test_code_without_such_equations_stays_and_code_of_another_shape_is_refused():
    assert with_eliminations("int main(void);") == "int main(void);"
    with pytest.raises(CompilerError, match="cannot be replaced"):
        with_eliminations(f"/* {ORDERED}_x:(i0)->(o0) */\nint f(void) {{ casadi_qr(other); }}\n")
