"""Orthogonal complements: what they must satisfy, their margins, and choices that cannot be."""

import casadi as ca
import numpy as np
import pytest

from kingpost.modular.complements import least_squares, linearised, null, partitioned
from kingpost.modular.labelled import LabelError, Labelled
from kingpost.modular.partitions import SingularChoiceError, choose

VARIABLES = tuple("abcdef")
#: Rounding of products and solves with well-conditioned matrices of order 6.
ROUNDING = 1e-12


def constraints(rows=3, seed=0, variables=VARIABLES):
    rng = np.random.default_rng(seed)
    return Labelled(rng.standard_normal((rows, len(variables))), tuple(f"r{i}" for i in range(rows)), variables)


def residual(B, C):
    return np.abs((B @ C).matrix).max()


@pytest.mark.parametrize("seed", range(5))
def test_a_partitioned_complement_is_one_with_the_identity_on_the_chosen_variables(seed):
    B = constraints(seed=seed)
    found = partitioned(B, ("b", "d", "f"))
    assert residual(B, found.matrix) < ROUNDING * 100
    assert found.matrix.part(("b", "d", "f")).equals(Labelled.identity(("b", "d", "f")))
    assert found.matrix.rows == B.columns
    assert found.rank == 3
    assert 0 < found.margin <= 1
    assert found.residual < ROUNDING * 100


@pytest.mark.parametrize("method", ["svd", "qr"])
def test_all_complements_span_the_same_motions(method):
    B = constraints()
    basis = null(B, method=method)
    assert basis.matrix.columns == ("z1", "z2", "z3")
    assert np.allclose(basis.matrix.matrix.T @ basis.matrix.matrix, np.eye(3), rtol=0, atol=ROUNDING)
    assert basis.residual < ROUNDING
    chosen = partitioned(B, ("a", "b", "c")).matrix
    # Each column of one is a combination of those of the other.
    assert np.linalg.matrix_rank(np.hstack([basis.matrix.matrix, chosen.matrix]), tol=1e-9) == 3


def test_rows_that_follow_from_others_are_found_and_left_out():
    B = constraints()
    twice = Labelled(np.vstack([B.matrix, B.matrix[0] - 2 * B.matrix[2]]), (*B.rows, "follows"), B.columns)
    for found in (partitioned(twice, ("a", "b", "c")), null(twice), least_squares(twice, ("a", "b", "c"))):
        assert found.redundant == ("follows",)
        assert found.rank == 3
        assert found.residual < ROUNDING
    assert choose(twice, ("a", "b", "c")).rows == B.rows


def test_no_constraints_leave_everything_free():
    B = Labelled.zeros((), VARIABLES)
    assert partitioned(B).matrix.equals(Labelled.identity(VARIABLES))
    assert partitioned(B).margin == 1.0
    assert null(B).rank == 0


def test_a_singular_choice_is_refused_with_rank_margin_and_a_proposal():
    # x is fixed by the constraint alone, and y does not occur in it.
    B = Labelled([[1.0, 0.0, 1e-12]], ("held",), ("x", "y", "z"))
    with pytest.raises(SingularChoiceError, match=r"'arm': variables x cannot be the independent ones: .*rank 1 for") as caught:
        partitioned(Labelled([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], ("p", "q"), ("x", "y", "z")), ("x",), where="arm")
    assert caught.value.rank == 1
    assert caught.value.margin == 0.0
    assert caught.value.proposed == ("z",)
    with pytest.raises(SingularChoiceError) as caught:
        partitioned(B, ("x", "y"))
    assert caught.value.proposed == ("y", "z")
    assert partitioned(B, ("x", "y"), singular="pivot").independent == ("y", "z")
    assert choose(B, ("x", "y"), singular="pivot").given_up == ("x",)


def test_a_choice_of_the_wrong_number_is_refused():
    with pytest.raises(SingularChoiceError, match=r"the 3 independent constraints leave 3 variable\(s\) free, not 2"):
        partitioned(constraints(), ("a", "b"))
    with pytest.raises(LabelError, match="'g' cannot be independent: it is not a variable"):
        partitioned(constraints(), ("a", "b", "g"))
    with pytest.raises(LabelError, match="an independent variable is named twice: a, a, b"):
        partitioned(constraints(), ("a", "a", "b"))


def test_coefficients_that_are_no_numbers_are_named():
    B = Labelled([[1.0, np.nan]], ("held",), ("x", "y"))
    with pytest.raises(Exception, match="constraint 'held' has the coefficient nan of 'y'"):
        partitioned(B, ("x",))


@pytest.mark.parametrize("seed", range(5))
def test_a_proposal_keeps_what_it_can(seed):
    B = constraints(seed=seed)
    changed = B.matrix.copy()
    changed[:, 0] = changed[:, 1]  # a and b cannot both follow, nor can both be held by c, d, e alone if f is wanted
    B = Labelled(changed, B.rows, B.columns)
    found = choose(B, ("c", "d", "e"), singular="pivot")
    assert len(found.independent) == 3
    assert found.margin > 1e-3
    assert len(set(found.independent) & {"c", "d", "e"}) == 2


def test_symbols_give_the_complement_for_every_state():
    x, y, z = (ca.SX.sym(name) for name in "xyz")
    sphere = Labelled(ca.horzcat(2 * x, 2 * y, 2 * z), ("length",), ("x", "y", "z"))
    C = partitioned(sphere, ("y", "z")).matrix
    at = ca.Function("C", [x, y, z], [ca.densify(C.matrix)])
    assert np.allclose(np.array(at(0.6, 0.8, 0.5)), [[-0.8 / 0.6, -0.5 / 0.6], [1, 0], [0, 1]], rtol=0, atol=1e-15)
    assert np.isnan(partitioned(sphere, ("y", "z")).residual)


def test_symbols_are_judged_by_numbers():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    B = Labelled(ca.vertcat(ca.horzcat(x, y), ca.horzcat(2 * x, 2 * y)), ("p", "q"), ("x", "y"))
    numbers = Labelled([[1.0, 2.0], [2.0, 4.0]], ("p", "q"), ("x", "y"))
    found = partitioned(B, ("y",), at=numbers)
    assert found.redundant == ("q",)
    assert np.allclose(np.array(ca.Function("C", [x, y], [found.matrix.matrix])(1.0, 2.0)), [[-2.0], [1.0]], rtol=0, atol=1e-15)
    with pytest.raises(LabelError, match=r"2 constraints in symbols \(p, q\) do not fit 1 dependent variables \(x\)"):
        partitioned(B, ("y",))
    with pytest.raises(LabelError, match="say which variables are independent, or give numbers"):
        partitioned(B)
    for other in (null, lambda X: least_squares(X, ("y",)), choose):
        with pytest.raises(LabelError):
            other(B)


def test_least_squares_is_exact_where_constraints_are_compatible():
    """Target 41."""
    B = constraints()
    mixed = np.random.default_rng(3).standard_normal((6, 3)) @ B.matrix
    more = Labelled(mixed, tuple(f"m{i}" for i in range(6)), B.columns)
    exact = partitioned(B, ("a", "c", "e")).matrix
    for weights in (None, {"m0": 7.0, "m4": 0.01}):
        found = least_squares(more, ("a", "c", "e"), weights=weights)
        assert found.matrix.equals(exact, 1e-11)
        assert found.residual < 1e-11
        assert len(found.redundant) == 3


def test_incompatible_constraints_are_spread_by_weights():
    # y = x and y = 2 x at once: the weighted mean of the two slopes.
    B = Labelled([[-1.0, 1.0], [-2.0, 1.0]], ("one", "two"), ("x", "y"))
    assert least_squares(B, ("x",)).matrix["y", "x"].matrix.item() == pytest.approx(1.5, abs=1e-14)
    found = least_squares(B, ("x",), weights={"two": 3.0})
    assert found.matrix["y", "x"].matrix.item() == pytest.approx(1.75, abs=1e-14)
    assert found.residual > 0.1
    with pytest.raises(SingularChoiceError, match=r"do not determine the others: the constraints have rank 1 for 2 variables"):
        least_squares(Labelled([[1.0, 1.0, 1.0]], ("p",), ("x", "y", "z")), ("x",))


def test_symmetry_makes_both_sides_alike():
    # The left side follows x with slope 1, the right one with 2: the mirror asks for the mean.
    B = Labelled([[-1.0, 1.0, 0.0], [-2.0, 0.0, 1.0]], ("left", "right"), ("x", "yL", "yR"))
    mirror = {"yL": "yR", "yR": "yL"}
    C = least_squares(B, ("x",), symmetry=mirror).matrix
    assert C.equals(Labelled([[1.0], [1.5], [1.5]], ("x", "yL", "yR"), ("x",)), 1e-14)
    # Against the mirror: the sides move oppositely, so that slopes 1 and 2 leave half their difference.
    C = least_squares(B, ("x",), symmetry={"yL": "-yR", "yR": "-yL"}).matrix
    assert C.equals(Labelled([[1.0], [-0.5], [0.5]], ("x", "yL", "yR"), ("x",)), 1e-14)


def test_mirrors_that_are_none_are_refused():
    B = Labelled([[1.0, 1.0, 1.0]] * 2 + [[1.0, 2.0, 4.0]], ("p", "q", "r"), ("x", "y", "z"))
    with pytest.raises(LabelError, match="symmetry names 'w', which is not a variable"):
        least_squares(B, ("x",), symmetry={"x": "w"})
    with pytest.raises(LabelError, match="a mirror used twice must change nothing"):
        least_squares(B, ("x",), symmetry={"y": "z"})
    with pytest.raises(LabelError, match=r"must take independent variables \(x\) to independent ones"):
        least_squares(B, ("x",), symmetry={"x": "y", "y": "x"})


@pytest.mark.parametrize("weights", [None, {"r1": 5.0}])
@pytest.mark.parametrize("rows", [3, 5])
def test_a_linearised_complement_is_the_derivative(rows, weights):
    """Both ways of Prop. 4.4: exactly, and by differences with 1/(2 g) whose error is g^2 times third derivatives."""
    B0, B1 = constraints(rows, 1), constraints(rows, 2)
    free = ("a", "c", "e")
    exact = linearised(B0, {"x": B1}, free, weights=weights)
    C0, C1 = exact.reference.matrix, exact.changes["x"]
    step = 1e-4
    by_steps = linearised(B0, {"x": B1}, free, step=step, weights=weights).changes["x"]
    third = 3 * _third_difference(B0, B1, free, weights)
    assert C1.equals(by_steps, third * step**2 / 6 + 1e-10)
    printed = by_steps * 2.0  # (4.21) divides by g alone
    assert not C1.equals(printed, 0.1 * np.abs(C1.matrix).max())
    if rows == 3:  # necessary conditions
        assert np.abs((B0 @ C0).matrix).max() < ROUNDING * 10
        assert np.abs((B0 @ C1 + B1 @ C0).matrix).max() < ROUNDING * 100


def _third_difference(B0, B1, free, weights, h=0.02):
    values = [least_squares(B0 + B1 * (k * h), free, weights=weights).matrix.matrix for k in (-2, -1, 1, 2)]
    return np.abs(-values[0] + 2 * values[1] - 2 * values[2] + values[3]).max() / (2 * h**3)


def test_steps_can_be_given_for_each_variable():
    B0, B1 = constraints(3, 1), constraints(3, 2)
    free = ("a", "c", "e")
    one = linearised(B0, {"x": B1, "y": B1 * 1e3}, free, step={"x": 1e-5, "y": 1e-8})
    assert (one.changes["x"] * 1e3).equals(one.changes["y"], 1e-3 * np.abs(one.changes["y"].matrix).max())
