"""Labelled matrices: Def. 2.9 and the algebra on it, with numbers and symbols."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kingpost.modular.labelled import LabelError, Labelled, assemble

NAMES = ("a", "b", "c", "d")
labels = st.lists(st.sampled_from(NAMES), unique=True, max_size=4).map(tuple)
#: Whole numbers, whose sums do not depend on their order.
entries = st.integers(-9, 9)


@st.composite
def matrices(draw):
    rows, columns = draw(labels), draw(labels)
    numbers = [[float(draw(entries)) for _ in columns] for _ in rows]
    return Labelled(np.array(numbers).reshape(len(rows), len(columns)), rows, columns)


#: Time is no part of what is tested, and other programs may take it.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
SCALE = ca.SX.sym("scale")


def symbols(X):
    """The same matrix, times a symbol."""
    return Labelled(SCALE * ca.SX(ca.DM(X.matrix)), X.rows, X.columns)


def numbers(X, value=1.0):
    """What a matrix of SX with that symbol is for a value of it."""
    return Labelled(ca.Function("X", [SCALE], [ca.densify(X.matrix)])(value), X.rows, X.columns)


@PATIENT
@given(matrices(), matrices(), matrices())
def test_assembly_is_commutative_and_associative(X, Y, Z):
    assert assemble(X, Y).equals(assemble(Y, X))
    assert assemble(assemble(X, Y), Z).equals(assemble(X, assemble(Y, Z)))
    assert assemble(assemble(X, Y), Z).equals(assemble(X, Y, Z))


@PATIENT
@given(matrices(), matrices(), matrices())
def test_assembly_of_symbols_is_commutative_and_associative(X, Y, Z):
    x, y, z = map(symbols, (X, Y, Z))
    whole = assemble(X, Y, Z)
    for assembled in (assemble(x, y, z), assemble(z, assemble(y, x)), assemble(assemble(x, z), y)):
        assert numbers(assembled, 3.0).equals(whole * 3.0)
    # Numbers among symbols are taken as they are.
    assert numbers(assemble(x, Y, z), 1.0).equals(whole)


MATRIX_SCALE = ca.MX.sym("scale")


def matrix_expression(X):
    """The same matrix as an MX, whose entries are no expressions of their own, times a symbol."""
    return Labelled(MATRIX_SCALE * ca.MX(ca.DM(X.matrix)), X.rows, X.columns)


@PATIENT
@given(matrices(), matrices(), matrices())
def test_assembly_of_matrix_expressions_is_commutative_and_associative(X, Y, Z):
    x, y, z = map(matrix_expression, (X, Y, Z))
    whole = assemble(X, Y, Z)

    def at(W, value):
        matrix = ca.MX(W.matrix) if not isinstance(W.matrix, ca.MX) else W.matrix
        return Labelled(ca.Function("X", [MATRIX_SCALE], [ca.densify(matrix)])(value), W.rows, W.columns)

    for assembled in (assemble(x, y, z), assemble(z, assemble(y, x)), assemble(assemble(x, z), y)):
        assert at(assembled, 3.0).equals(whole * 3.0)
    assert at(assemble(x, Y, z), 1.0).equals(whole)


@PATIENT
@given(matrices(), matrices())
def test_entries_are_sums_and_missing_ones_zero(X, Y):
    W = assemble(X, Y)
    assert set(W.rows) == set(X.rows) | set(Y.rows)
    assert set(W.columns) == set(X.columns) | set(Y.columns)
    for i in W.rows:
        for j in W.columns:
            expected = sum(Z.part(i, j).matrix.item() for Z in (X, Y) if i in Z.rows and j in Z.columns)
            assert W[i, j].matrix.item() == expected


@PATIENT
@given(matrices())
def test_nothing_is_neutral_and_transposing_goes_through(X):
    assert assemble(X, Labelled.zeros((), ())).equals(X)
    assert assemble(X, X.T).T.equals(assemble(X.T, X))


def test_disjoint_labels_make_a_block_diagonal():
    W = assemble(Labelled([[1.0]], ("p",), ("x",)), Labelled([[2.0, 3.0]], ("q",), ("y", "z")))
    assert np.array_equal(W.matrix, [[1, 0, 0], [0, 2, 3]])


def test_parts_are_taken_by_labels():
    X = Labelled(np.arange(6.0).reshape(2, 3), ("p", "q"), ("x", "y", "z"))
    assert np.array_equal(X["q"].matrix, [[3, 4, 5]])
    assert np.array_equal(X[..., "y"].matrix, [[1], [4]])
    assert np.array_equal(X[["q", "p"], ["z", "x"]].matrix, [[5, 3], [2, 0]])
    assert np.array_equal(X.without(rows=["p"], columns=["y"]).matrix, [[3, 5]])


def test_products_go_by_labels_and_not_by_order():
    X = Labelled([[1.0, 2.0]], ("p",), ("x", "y"))
    Y = Labelled([[30.0], [10.0]], ("y", "x"), ("n",))
    assert (X @ Y).matrix.item() == 1 * 10 + 2 * 30
    assert numbers(symbols(X) @ Y, 2.0).matrix.item() == 140
    assert numbers(X @ symbols(Y), 2.0).matrix.item() == 140


def test_a_product_of_other_labels_names_them():
    X, Y = Labelled([[1.0, 2.0]], ("p",), ("x", "y")), Labelled([[1.0], [1.0]], ("x", "z"), ("n",))
    with pytest.raises(LabelError, match=r"'y' only in the first, 'z' only in the second"):
        X @ Y
    with pytest.raises(LabelError, match=r"a sum needs the same rows: 'p' only in the first, 'q' only in the second"):
        X + X.renamed({"p": "q"})


def test_mx_entries_are_assembled_and_solved():
    m = ca.MX.sym("m", 2, 2)
    X = assemble(Labelled(m, ("p", "q"), ("x", "y")), Labelled([[5.0]], ("p",), ("y",)))
    right = Labelled([1.0, 2.0], ("p", "q"))
    values = np.array([[2.0, 1.0], [1.0, 4.0]])
    solved = ca.Function("s", [m], [X.solve(right).matrix])(values)
    assert np.allclose(np.array([[2.0, 6.0], [1.0, 4.0]]) @ np.array(solved), [[1.0], [2.0]], rtol=0, atol=1e-14)


def test_sx_and_mx_do_not_mix():
    with pytest.raises(LabelError, match="SX and MX entries cannot be in one matrix"):
        assemble(Labelled(ca.SX.sym("x"), ("a",), ("b",)), Labelled(ca.MX.sym("x"), ("a",), ("b",)))


def test_jacobians_are_labelled_by_what_depends_on_what():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    f = Labelled(ca.vertcat(x * y, ca.sin(x)), ("product", "sine"))
    J = Labelled.jacobian(f, {"x": x, "y": y})
    at = Labelled(ca.Function("J", [x, y], [ca.densify(J.matrix)])(0.5, 2.0), J.rows, J.columns)
    assert at["product", "x"].matrix.item() == 2.0
    assert at["sine", "x"].matrix.item() == pytest.approx(np.cos(0.5), abs=1e-15)
    assert at["sine", "y"].matrix.item() == 0.0
    assert Labelled.jacobian(Labelled([1.0], ("constant",)), {"x": x}).matrix.item() == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_solving_takes_rows_to_columns(seed):
    rng = np.random.default_rng(seed)
    rows, columns = ("p", "q", "r", "s"), ("w", "x", "y", "z")
    A = rng.standard_normal((4, 4)) * (rng.random((4, 4)) < 0.6) + 2 * np.eye(4)[rng.permutation(4)]
    X, right = Labelled(A, rows, columns), Labelled(rng.standard_normal((4, 2)), rows[::-1], ("m", "n"))
    solved = X.solve(right)
    assert solved.rows == columns
    assert (X @ solved).equals(right, 1e-12)
    sparse = Labelled(SCALE * ca.SX(ca.sparsify(ca.DM(A))), rows, columns)
    # Householder's method on blocks, and elimination with pivots: both to rounding.
    assert numbers(sparse.solve(right), 0.5).equals(solved * 2.0, 1e-11)


def test_systems_that_cannot_be_solved_are_named():
    X = Labelled([[1.0, 2.0], [2.0, 4.0]], ("p", "q"), ("x", "y"))
    with pytest.raises(LabelError, match="the equations p, q do not determine x, y: their rank is 1 of 2"):
        X.solve(Labelled([1.0, 1.0], ("p", "q")))
    with pytest.raises(LabelError, match=r"1 equations \(p\) cannot be solved for 2 unknowns \(x, y\)"):
        X["p"].solve(Labelled([1.0], ("p",)))
    with pytest.raises(LabelError, match="both sides of equations need the same rows"):
        X.solve(Labelled([1.0, 1.0], ("p", "z")))
    empty = Labelled(ca.SX(ca.DM([[1.0, 0.0], [1.0, 0.0]])), ("p", "q"), ("x", "y"))
    with pytest.raises(LabelError, match="their rank is 1 of 2"):
        Labelled(ca.sparsify(empty.matrix), ("p", "q"), ("x", "y")).solve(Labelled([1.0, 1.0], ("p", "q")))


def test_least_squares_weigh_rows():
    X, right = Labelled([[1.0], [1.0]], ("p", "q"), ("x",)), Labelled([0.0, 1.0], ("p", "q"))
    assert X.lstsq(right).matrix.item() == pytest.approx(0.5, abs=1e-15)
    # The mean of 0 and 1 with weights 1 and 3.
    assert X.lstsq(right, {"q": 3.0}).matrix.item() == pytest.approx(0.75, abs=1e-15)
    assert numbers(symbols(X).lstsq(right, {"q": 3.0})).matrix.item() == pytest.approx(0.75, abs=1e-15)
    with pytest.raises(LabelError, match=r"the weight of row 'q' is -1.0; weights must be positive"):
        X.lstsq(right, {"q": -1.0})
    with pytest.raises(LabelError, match="there is no row 'r'"):
        X.lstsq(right, {"r": 1.0})


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3)])
def test_the_moore_penrose_inverse_has_its_four_properties(shape):
    rng = np.random.default_rng(1)
    X = Labelled(rng.standard_normal(shape), tuple("pqrs"[: shape[0]]), tuple("wxyz"[: shape[1]]))
    for P in (X.pinv(), numbers(symbols(X).pinv(), 1.0)):
        assert (X @ P @ X).equals(X, 1e-12)
        assert (P @ X @ P).equals(P, 1e-12)
        for projector in (X @ P, P @ X):
            assert projector.equals(projector.T, 1e-12)


def test_labels_are_renamed():
    X = Labelled([[1.0, 2.0]], ("p",), ("x", "y"))
    assert X.renamed(columns={"x": "left.x"}).columns == ("left.x", "y")
    assert X.renamed(lambda label: f"left.{label}").rows == ("left.p",)
    with pytest.raises(LabelError, match="column label 'y' occurs more than once; rename one of them"):
        X.renamed(columns={"x": "y"})


def test_labels_that_clash_or_do_not_fit_are_refused():
    with pytest.raises(LabelError, match="row label 'a' occurs more than once"):
        Labelled(np.eye(2), ("a", "a"), ("b", "c"))
    with pytest.raises(LabelError, match=r"a matrix of 2 x 2 entries got 1 row labels \(a\) and 2 column labels \(b, c\)"):
        Labelled(np.eye(2), ("a",), ("b", "c"))
    with pytest.raises(LabelError, match=r"there is no column 'speed_x'; did you mean 'speed_y'\? The columns are: speed_y."):
        Labelled([[1.0]], ("a",), ("speed_y",))[..., "speed_x"]


def test_a_matrix_is_shown_as_a_table():
    x = ca.SX.sym("x")
    assert str(Labelled(ca.horzcat(x, 2), ("p",), ("a", "b"))).splitlines() == ["   a  b", "p  x  2"]
    assert str(Labelled([[0.5, 1e-9]], ("p",), ("a", "b"))).splitlines() == ["     a      b", "p  0.5  1e-09"]


def test_wide_matrices_are_shown_in_blocks_with_dots_for_zeros():
    wide = Labelled([[1.0, 0.0, 1e-17], [0.0, -2.5, 3.0]], ("p", "longer"), ("a", "b", "c"))
    assert wide.lines(width=16, dot=True) == [
        "        a     b", "     p  1     .", "longer  .  -2.5",
        "        c", "     p  .", "longer  3",
    ]  # fmt: skip
    assert wide.lines(dot=True)[1].split() == ["p", "1", ".", "."]
    assert str(wide).splitlines()[1].split() == ["p", "1", "0", "1e-17"]
    assert Labelled.zeros(("p",), ()).lines() == [" ", "p"]
