"""Targets 11 to 17 and 20 of document 002: identities and equivalences that its third chapter and its appendix state."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import sqrtm

from kingpost import Body, Joint, Mechanism
from kingpost.mechanism.closures import Closure
from kingpost.plugins.formalisms.accelerations import compulsion
from kingpost.plugins.formalisms.boltzmann_hamel import BoltzmannHamel
from kingpost.plugins.formalisms.formulation import formalism_equations
from kingpost.plugins.formalisms.treatments import augmented, maggi, udwadia_kalaba, udwadia_phohomsiri, udwadia_schutte
from kingpost.symbols.closure_kind import PAIR, ClosureKind
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.orthogonal import rest_of_space, row_basis
from kingpost.symbols.screws import Pose, rotation_rpy, twist_to, wrench_to
from kingpost.testing.problems import random_loop, random_tree
from tests.plugins.formalisms.machines import numbers, place

#: Ten numbers of the size one, condition numbers of some hundred.
ROUNDING = 1e-12


def system(rank=7, seed=0, rows=4):
    """Return M (7 x 7, of a rank), f, A and c with numbers of the size one."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(7, rank))
    return root @ root.T, rng.normal(size=7), rng.normal(size=(rows, 7)), rng.normal(size=rows)


def solved(way, M, f, A, c, **options):
    return tuple(numbers(part) for part in way(len(M), len(A), **options)(M, f, A, c))


def test_target_11_maggis_identities_and_multipliers():
    """Eqs. (3.118), and lambda of eq. (3.125) is that of eq. (3.95)."""
    M, f, A, c = system()
    Q, _ = row_basis(4, 7)(A)
    C_star = np.asarray(rest_of_space(4, 7)(Q))[:, :3]  # what is left of seven directions; the others are zero
    A_sharp = C_star.T
    whole = np.linalg.inv(np.vstack([A_sharp, A]))
    np.testing.assert_allclose(whole[:, :3], C_star, atol=ROUNDING)
    C_sharp = whole[:, 3:]
    np.testing.assert_allclose(A_sharp @ C_star, np.eye(3), atol=ROUNDING)
    np.testing.assert_allclose(A @ C_sharp, np.eye(4), atol=ROUNDING)
    np.testing.assert_allclose(A @ C_star, 0, atol=ROUNDING)
    np.testing.assert_allclose(A_sharp @ C_sharp, 0, atol=ROUNDING)
    np.testing.assert_allclose(C_star @ A_sharp + C_sharp @ A, np.eye(7), atol=ROUNDING)
    (x, lam), (right, exact) = solved(maggi, M, f, A, c), solved(augmented, M, f, A, c)
    np.testing.assert_allclose(x, right, atol=1e-11)
    np.testing.assert_allclose(lam, exact, atol=1e-11 * np.abs(exact).max())
    np.testing.assert_allclose(lam, C_sharp.T @ (f - M @ x), atol=1e-11 * np.abs(exact).max())


def test_target_12_udwadia_and_kalaba_with_forces_of_constraints_that_are_not_ideal():
    """Eq. (3.149) as printed, with M^1/2, is eq. (3.95) with Cf* among the forces, and eq. (3.150) is M qdd - f."""
    M, f, A, c = system()
    own = np.random.default_rng(5).normal(size=7)  # Cf*
    root = np.real(sqrtm(M))
    inverse = np.linalg.inv(root)
    scaled = A @ inverse
    pseudo, a, beside = np.linalg.pinv(scaled), np.linalg.solve(M, f), np.eye(7) - np.linalg.pinv(scaled) @ scaled
    printed = a - inverse @ pseudo @ (A @ a - c) + inverse @ beside @ inverse @ own
    forces = -root @ pseudo @ (A @ a - c) + root @ beside @ inverse @ own
    ours, exact = solved(udwadia_kalaba, M, f + own, A, c)[0], solved(augmented, M, f + own, A, c)[0]
    size = np.abs(exact).max() * np.linalg.cond(M)
    np.testing.assert_allclose(printed, exact, atol=1e-13 * size)
    np.testing.assert_allclose(ours, exact, atol=1e-13 * size)
    np.testing.assert_allclose(forces, M @ exact - f, atol=1e-13 * size * np.abs(M).max())


@pytest.mark.parametrize("alpha", [0.1, 1.0, -3.0, 30.0])
def test_target_13_singular_mass_matrices(alpha):
    """Eq. (3.155) and the variant with alpha are Maggi's equations for a mass matrix of rank 6, for any alpha."""
    M, f, A, c = system(rank=6)
    right = solved(maggi, M, f, A, c)[0]
    np.testing.assert_allclose(A @ right, c, atol=1e-11)
    np.testing.assert_allclose(solved(udwadia_phohomsiri, M, f, A, c)[0], right, atol=1e-11 * np.abs(right).max())
    # Masses of 900 beside those of size one, or of 0.01, cost three digits.
    allowed = 1e-11 * np.abs(right).max() * max(1.0, alpha**2, alpha**-2)
    np.testing.assert_allclose(solved(udwadia_schutte, M, f, A, c, alpha=alpha)[0], right, atol=allowed)


def test_target_13_redundant_rows():
    """Rows that follow from others change nothing for the three that need no inverse."""
    M, f, A, c = system(rank=6)
    mixed, wanted = np.vstack([A, A[0] - 2 * A[2]]), np.append(c, c[0] - 2 * c[2])
    right = solved(maggi, M, f, A, c)[0]
    for way in (maggi, udwadia_phohomsiri, udwadia_schutte):
        np.testing.assert_allclose(solved(way, M, f, mixed, wanted)[0], right, atol=1e-11 * np.abs(right).max())


def test_target_14_projectors():
    """Eq. (3.144): 1 - X^P X is symmetric, idempotent, and takes X^P away; with rows that follow from others, too."""
    A = system()[2]
    for X in (A, np.vstack([A, A[0] + A[1]])):
        Q = np.asarray(row_basis(*X.shape)(X)[0])
        beside = np.eye(7) - Q.T @ Q
        np.testing.assert_allclose(beside, beside.T, atol=ROUNDING)
        np.testing.assert_allclose(beside @ beside, beside, atol=ROUNDING)
        np.testing.assert_allclose(beside @ np.linalg.pinv(X), 0, atol=ROUNDING)
        np.testing.assert_allclose(beside, np.eye(7) - np.linalg.pinv(X) @ X, atol=ROUNDING)


class KnifeEdge(ClosureKind):
    """The origin of M does not move along the y axis of M."""

    kind = "knife-edge-of-a-sleigh"
    needs = PAIR

    def positions(self, place):
        return ca.SX(0, 1)

    def speeds(self, place):
        return place.t_FM[4]


MASS, REACH, MOMENT = 3.0, 0.7, 0.4


@pytest.fixture
def sleigh(monkeypatch):
    """Chaplygin's sleigh: a plate that slides on the plane, a knife edge at its origin, its centre of mass ahead of it."""
    monkeypatch.setitem(CLOSURE_KINDS, KnifeEdge.kind, KnifeEdge())
    mechanism = Mechanism(
        "sleigh",
        bodies=(Body("plate", mass=MASS, com=(REACH, 0, 0), inertia=(MOMENT, MOMENT, MOMENT)),),
        joints=(Joint("plane", "planar", "world", "plate", axis=(0, 0, 1), axis2=(1, 0, 0), start=(0, 0, 0.6)),),
        closures=(Closure("edge", KnifeEdge.kind, "world", "plate"),),
    )
    speed, turning = 1.3, 0.8
    rates = {"plane.x.rate": speed * np.cos(0.6), "plane.y.rate": speed * np.sin(0.6), "plane.angle.rate": turning}
    return place(mechanism, rates)


def along(vdot):
    """Return udot, along the edge, and wdot of the sleigh."""
    return np.array([vdot[0] * np.cos(0.6) + vdot[1] * np.sin(0.6), vdot[2]])


RIGHT = np.array([REACH * 0.8**2, -MASS * REACH * 1.3 * 0.8 / (MOMENT + MASS * REACH**2)])


@pytest.mark.parametrize("name", ["boltzmann-hamel", "kane", "gibbs-appell", "maggi", "gauss", "newton-euler", "lagrange"])
def test_target_15_the_sleigh(name, sleigh):
    """m (udot - a w^2) = 0, (I + m a^2) wdot + m a u w = 0."""
    np.testing.assert_allclose(along(sleigh.found(name)[0]), RIGHT, atol=ROUNDING)


def test_target_15_the_printed_form_of_boltzmann_and_hamel_fails_on_the_sleigh(sleigh):
    """With the index # at every factor, eq. (3.127) says m udot = 0, (I + m a^2) wdot = 0: wrong."""

    class Printed(BoltzmannHamel):
        full = False

    equations = formalism_equations(Printed(), sleigh.machine)
    found = along(numbers(equations.accelerations(*sleigh.row)))
    np.testing.assert_allclose(found, 0, atol=ROUNDING)
    assert np.abs(found - RIGHT).min() > 0.4


def test_target_16_gausss_compulsion_is_smallest_at_the_accelerations():
    here = place(random_loop(4, bodies=2))
    machine = here.machine
    known = [machine.t, machine.q, machine.v, machine.u, machine.p, machine.vdot]
    Z = ca.Function("Z", known, [compulsion(machine)])
    A = ca.Function("A", [machine.q, machine.p], [ca.densify(machine.constraints.A)])
    rows = np.asarray(A(here.row[1], here.row[4]))
    vdot = here.found("gauss")[0]
    least = float(Z(*here.row, vdot))
    rng = np.random.default_rng(0)
    for size in (1e-2, 1.0, 100.0):
        for _ in range(10):
            step = rng.normal(size=len(vdot))
            admissible = size * (step - np.linalg.pinv(rows) @ (rows @ step))
            assert float(Z(*here.row, vdot + admissible)) > least
    # Without constraints Z would be smaller still.
    H, slope = ca.hessian(compulsion(machine), machine.vdot)
    parts = ca.Function("parts", known, [H, slope])
    H_now, slope_now = (np.asarray(part) for part in parts(*here.row, np.zeros(len(vdot))))
    assert float(Z(*here.row, -np.linalg.solve(H_now, slope_now.ravel()))) < least


def test_target_17_transformations_of_twists_and_wrenches():
    """[1*]' [1] = 1, eqs. (3.29), (3.30): power does not depend on where and in which axes it is counted."""
    rng = np.random.default_rng(1)
    X = Pose(rotation_rpy(*(ca.SX(float(angle)) for angle in rng.uniform(-3, 3, 3))), ca.SX(ca.DM(rng.normal(size=3))))
    product = np.asarray(ca.DM(wrench_to(X).T @ twist_to(X)))
    np.testing.assert_allclose(product, np.eye(6), atol=1e-15)


def test_target_17_newton_and_euler_with_screws_and_without():
    """Eq. (3.37) about the origin of each body is eqs. (3.11), (3.12) about its centre of mass, in world axes."""
    here = place(random_tree(3, bodies=2))
    screws, classical = here.found("newton-euler")[0], here.found("virtual-power")[0]
    np.testing.assert_allclose(screws, classical, atol=1e-12 * here.size)


def test_target_20_inertia_forces_from_energies_of_every_order():
    """Eqs. (A.1), (A.2), (A.7), (A.11) with r = 1 and 2, and (A.47) agree in quasi-velocities w = J(q) q' + y(q)."""
    q, w, wdot = ca.SX.sym("q", 2), ca.SX.sym("w", 2), ca.SX.sym("wdot", 2)
    masses = (1.7, 0.6)
    points = [ca.vertcat(q[0], 0.3 * q[0] ** 2), ca.vertcat(q[0] + 0.9 * ca.sin(q[1]), -0.9 * ca.cos(q[1]))]
    J = ca.vertcat(ca.horzcat(1 + 0.2 * ca.sin(q[1]), 0.3), ca.horzcat(0.1 * q[0], 1 + 0.5 * q[0] ** 2))
    y = ca.vertcat(0.4 * q[1], ca.cos(q[0]))
    Ji = ca.inv(J)
    qdot = Ji @ (w - y)

    def rate(expression, jerk=None):
        changed = ca.jtimes(expression, q, qdot) + ca.jtimes(expression, w, wdot)
        return changed if jerk is None else changed + ca.jtimes(expression, wdot, jerk)

    def transposed(matrix, vector):
        return matrix.T @ vector

    velocities = [rate(point) for point in points]
    accelerations = [rate(velocity) for velocity in velocities]
    T = sum(m * ca.sumsqr(v) / 2 for m, v in zip(masses, velocities, strict=True))
    S = sum(m * ca.sumsqr(a) / 2 for m, a in zip(masses, accelerations, strict=True))
    by_gibbs = -ca.gradient(S, wdot)  # (A.1)
    partial = [ca.jacobian(velocity, w) for velocity in velocities]
    by_partial = -sum(transposed(P, m * a) for P, m, a in zip(partial, masses, accelerations, strict=True))  # (A.47)
    # (A.2), with T of q and q'
    s = ca.SX.sym("s", 2)
    T_dot = sum(m * ca.sumsqr(ca.jtimes(point, q, s)) / 2 for m, point in zip(masses, points, strict=True))
    momenta, slope = (ca.substitute(ca.gradient(T_dot, item), s, qdot) for item in (s, q))
    by_lagrange = -transposed(Ji, rate(momenta) - slope)
    # (A.7)
    dJ = ca.reshape(rate(ca.vec(J)), 2, 2)
    dw_dq = ca.substitute(ca.jacobian(J @ s + y, q), s, qdot)
    N00, N01, N11 = Ji.T, ((dw_dq - dJ) @ Ji).T, -(J @ Ji).T
    dT_dq, dT_dw = ca.gradient(T, q), ca.gradient(T, w)
    by_hamel = N00 @ dT_dq + N01 @ dT_dw + N11 @ rate(dT_dw)
    # (A.11)
    T1 = rate(T)
    T2 = rate(T1)  # what wddot adds does not depend on wdot
    of_order = {
        r: (Ji + Ji @ J @ Ji / r).T @ dT_dq + N01 @ dT_dw - (J @ Ji).T @ ca.gradient(top, item) / r
        for r, top, item in ((1, T1, w), (2, T2, wdot))
    }
    M = -ca.jacobian(by_gibbs, wdot)
    found = ca.Function("found", [q, w, wdot], [by_gibbs, by_partial, by_lagrange, by_hamel, *of_order.values(), M])
    *forces, mass = (np.asarray(item) for item in found([0.4, 0.7], [0.9, -1.1], [0.3, 1.6]))
    for force in forces[1:]:
        np.testing.assert_allclose(force, forces[0], atol=ROUNDING)
    np.testing.assert_allclose(mass, mass.T, atol=ROUNDING)  # (A.14)
