"""Kane's matrices as the paper has them."""

import casadi as ca
import numpy as np
import pytest

from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.kane import Kane, kane_matrices
from kingpost.testing import random_tree


def functions(mechanism, plugins):
    assembly = assemble(mechanism, plugins)
    matrices = kane_matrices(assembly)
    N = ca.jacobian(Kane().derive(assembly).kinematics(matrices.q, matrices.v, assembly.p), matrices.v)
    M, C = matrices.M, matrices.C
    Mdot = ca.reshape(ca.jtimes(ca.vec(ca.densify(M)), matrices.q, N @ matrices.v), *M.shape)
    literal = ca.SX(M.shape[0], M.shape[1])  # with W exactly as in eq. (35)
    for body, P in matrices.P.items():
        w_hat = ca.skew((P @ matrices.v)[:3])
        W = ca.diagcat(w_hat, w_hat)
        literal += P.T @ (matrices.D[body] @ matrices.Pdot[body] + W @ matrices.D[body] @ P)
    symbols = [matrices.q, matrices.v, assembly.p]
    return ca.Function("kane", symbols, [ca.densify(item) for item in (M, C, Mdot, literal)])


@pytest.fixture(params=["vessel-crane", "six-axis-arm", "branched", "random"])
def case(request, plugins):
    name = request.param
    mechanism = random_tree(4) if name == "random" else plugins.models.get(name)().build()
    p = list(resolve_values(mechanism, {}).parameters.values())
    rng = np.random.default_rng(5)
    sizes = len(mechanism.coordinates), len(mechanism.speeds)
    states = [(rng.uniform(0.3, 1.2, sizes[0]), rng.uniform(-2, 2, sizes[1])) for _ in range(5)]
    return functions(mechanism, plugins), states, p, Kane().derive(assemble(mechanism, plugins))


def test_mass_matrix_and_bias_are_those_of_the_formulation(case):
    evaluate, states, p, equations = case
    for q, v in states:
        M, C, _, literal = (np.asarray(item) for item in evaluate(q, v, p))
        zeros = np.zeros(equations.nu)
        M_formulation, f_moving, _ = (np.asarray(item) for item in equations.descriptor(0, q, v, zeros, p))
        f_resting = np.asarray(equations.descriptor(0, q, 0 * v, zeros, p)[1])
        scale = np.abs(M).max()
        assert np.abs(M - M_formulation).max() < 1e-13 * scale
        assert np.abs(C @ v - literal @ v).max() < 1e-12 * np.abs(C @ v).max()
        if equations.mechanism.name.startswith("random"):  # no dampers, so the speeds enter through C alone
            assert np.abs(C @ v + (f_moving - f_resting).ravel()).max() < 1e-11 * max(1.0, np.abs(C @ v).max())


def test_mdot_minus_2c_is_skew_symmetric(case):
    """With the gyroscopic block written as -hat(M w); as printed it is not, for unequal principal moments."""
    evaluate, states, p, _ = case
    for q, v in states:
        _, C, Mdot, literal = (np.asarray(item) for item in evaluate(q, v, p))
        S, S_literal = Mdot - 2 * C, Mdot - 2 * literal
        size = np.abs(S).max()
        assert np.abs(S + S.T).max() < 1e-12 * size
        assert np.abs(S_literal + S_literal.T).max() > 1e-4 * size
