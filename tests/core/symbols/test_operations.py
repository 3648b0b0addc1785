"""Operations of functions are counted, also of those inside them."""

import casadi as ca

from kingpost.symbols.operations import operations


def test_operations_of_scalars_of_calls_and_of_systems():
    x = ca.SX.sym("x", 2)
    inner = ca.Function("inner", [x], [ca.vertcat(ca.sin(x[0]) * x[1], x[0] + 3)])
    assert operations(inner) == 3
    y = ca.MX.sym("y", 2)
    assert operations(ca.Function("twice", [y], [inner(inner(y))])) == 6
    A, b = ca.MX.sym("A", 3, 3), ca.MX.sym("b", 3)
    product = ca.Function("product", [A, b], [ca.mtimes(A, b)])
    assert operations(product) in range(18, 22)  # 9 products, 9 sums
    solve = operations(ca.Function("solve", [A, b], [ca.solve(A, b, "qr")]))
    assert 4 * 3**3 / 3 < solve < 8 * 3**3  # a factorisation of 4 n^3 / 3, and triangles
    sparse = ca.MX.sym("S", ca.Sparsity.diag(3))
    assert operations(ca.Function("diagonal", [sparse, b], [ca.solve(sparse, b, "qr")])) < solve / 2
