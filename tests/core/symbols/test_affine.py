"""Affine parts of expressions: what they are, and Hessians by them."""

import casadi as ca
import numpy as np
import pytest

from kingpost.symbols.affine import affine_parts


def both(expressions, weights, variables, others):
    """Return Hessians by affine parts and by CasADi alone, as functions."""
    parts = affine_parts(expressions, variables, others)
    assert parts is not None
    plain = ca.hessian(ca.dot(weights, expressions), variables)[0]
    given = [variables, weights, *others]
    return [ca.Function("found", given, ca.cse([ca.densify(item)])) for item in (parts.hessian(weights, variables), plain)]


def test_a_part_is_what_enters_something_curved_and_is_made_of_no_other_part():
    w, p = ca.SX.sym("w", 4), ca.SX.sym("p")
    middle, change = (w[0] + w[1]) / 2, p * (w[1] - w[0])
    found = affine_parts(ca.vertcat(ca.sin(middle) * change, ca.cos(middle + change), w[2] - 3 * p, w[3]), w, [p])
    # The sum of both is made of them, and what is affine as a whole has no parts.
    assert (found.parts.numel(), found.outer[2:].is_zero()) == (2, True)
    at = ca.Function("parts", [w, p], [found.parts])(np.array([1.0, 3.0, 0.0, 0.0]), 10.0)
    assert sorted(np.asarray(at).ravel().tolist()) == [2.0, 20.0]


def test_a_quotient_is_affine_in_its_numerator_alone_and_powers_are_not():
    w, p = ca.SX.sym("w", 2), ca.SX.sym("p")
    assert affine_parts(ca.vertcat(w[0] / p, w[0] * ca.sqrt(p), -w[1] + 2 * w[1]), w, [p]).parts.numel() == 0
    assert affine_parts(ca.vertcat(p / w[0], w[1] ** 2), w, [p]).parts.numel() == 2


@pytest.mark.parametrize("seed", range(3))
def test_hessians_are_those_of_casadi(seed):
    rng = np.random.default_rng(seed)
    w, p, lam = ca.SX.sym("w", 6), ca.SX.sym("p", 2), ca.SX.sym("lam", 4)
    middle, change = (w[:3] + w[3:]) / 2, (w[3:] - w[:3]) * p[0]
    rows = ca.vertcat(
        ca.dot(ca.sin(middle), change) ** 3 + w[0],
        ca.fmax(middle[0], p[1]) * change[1] / (2 + middle[2] ** 2),
        ca.if_else(middle[1] > 0.1, w[2] * w[5], ca.sqrt(1 + change[0] ** 2)),
        ca.sum1(w) - p[1],
    )
    ours, theirs = both(rows, lam, w, [p])
    at = [rng.normal(size=item.numel()) for item in (w, lam, p)]
    # Round-off alone: some hundred operations on numbers below some ten.
    assert np.asarray(ours(*at)) == pytest.approx(np.asarray(theirs(*at)), rel=1e-12, abs=1e-12)


def test_what_calls_functions_is_left_to_casadi():
    w = ca.SX.sym("w", 2)
    hidden = ca.Function("hidden", [w], [w[0] * w[1]], {"never_inline": True})
    assert affine_parts(hidden(w), w, []) is None


def test_a_matrix_of_expressions_may_be_sparse():
    w = ca.SX.sym("w", 2)
    expressions = ca.SX(3, 1)
    expressions[1] = w[0] * w[1]
    ours, theirs = both(expressions, ca.SX.sym("lam", 3), w, [])
    assert np.asarray(ours([2.0, 3.0], [1.0, 5.0, 7.0])) == pytest.approx(np.asarray(theirs([2.0, 3.0], [1.0, 5.0, 7.0])))
