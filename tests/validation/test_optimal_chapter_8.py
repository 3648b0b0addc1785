"""Optimal control of document 001, chapter 8: pendulum and particle, with numbers found from its data by other programs.

Costs and Hamiltonians are compared to the digits that were given: half a unit of the last one, and the tolerance of the solver.
The Hamiltonian is the discrete one of eq. (2.17). Physical inputs are the negative of the document's u.
"""

import casadi as ca
import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

from kingpost.plugins.optimal_control.discrete_gradients import gradient, quotient
from tests.validation.optimal_cases import GC, extrapolated, orders, solved

pytestmark = pytest.mark.xdist_group("optimal-chapter-8")
PENDULUM, PARTICLE = "mathematical-pendulum", "central-field-particle"
#: N: cost direct mid-point, direct Greenspan, indirect Greenspan; Hamiltonian indirect Greenspan, indirect mid-point; and the
#: range of the direct Greenspan Hamiltonian.
TABLE = {
    10: (7.8781341, 7.6995869, 7.7004001, 3.2812197, 3.2558773, 3.1599, 3.7009),
    20: (6.7581414, 6.7118699, 6.7119334, 1.8048054, 1.7866964, 1.7772, 1.9076),
    40: (6.5152160, 6.5035238, 6.5035280, 1.4702791, 1.4655966, 1.4640, 1.4960),
    80: (6.4563945, 6.4534637, 6.4534640, 1.3932366, 1.3920688, 1.3917, 1.3997),
    160: (6.4417997, 6.4410666, 6.4410666, 1.3744668, 1.3741752, 1.3741, 1.3761),
}
LIMIT, LIMIT_OF_H = 6.4369444, 1.36826
#: N: cost, Hamiltonian, and the averages of the third costates of place and momentum (eq. 8.58), by the indirect method.
PARTICLE_TABLE = {
    10: (0.7526709, 0.5709907, 0.3964851, 0.3051451),
    40: (0.7354174, 0.5723848, 0.3896183, 0.2983821),
    80: (0.7345810, 0.5724609, 0.3892833, 0.2980477),
    1280: (0.7343039, 0.5724864, 0.3891723, 0.2979368),
}
INDIRECT = "hamiltonian:states=gonzalez,sigma=1"


@pytest.mark.parametrize("N", TABLE)
def test_the_table_of_the_pendulum(N):
    mid, greenspan, indirect, H_greenspan, H_mid, low, high = TABLE[N]
    assert solved(PENDULUM, N).cost == pytest.approx(mid, abs=6e-8)
    direct = solved(PENDULUM, N, transcription="greenspan")
    assert direct.cost == pytest.approx(greenspan, abs=6e-8)
    assert (direct.hamiltonian.min(), direct.hamiltonian.max()) == pytest.approx((low, high), abs=6e-5)
    kept = solved(PENDULUM, N, transcription="hamiltonian:states=greenspan")
    assert kept.cost == pytest.approx(indirect, abs=6e-8)
    other = solved(PENDULUM, N, transcription="hamiltonian:states=midpoint")
    for found, value in ((kept, H_greenspan), (other, H_mid)):
        assert found.hamiltonian.mean() == pytest.approx(value, abs=6e-8)
        # Newton's method leaves round-off: some hundred numbers of the size 10, each to 1e-15.
        assert np.ptp(found.hamiltonian) < 1e-11


@pytest.mark.parametrize(
    "transcription", ["step", "greenspan", "hamiltonian:states=greenspan", "hamiltonian:states=midpoint", "gonzalez"]
)
def test_all_transcriptions_of_the_pendulum_converge_to_one_limit_with_order_two(transcription):
    costs = [solved(PENDULUM, N, transcription=transcription).cost for N in (20, 40, 80, 160)]
    # What order 4 leaves of an extrapolation from N = 80 and 160: a sixteenth of what is left from 40 and 80.
    left = abs(extrapolated(costs[:-1]) - LIMIT) / 16
    assert extrapolated(costs) == pytest.approx(LIMIT, abs=2 * left + 1e-7)
    assert orders(costs, LIMIT)[-1] == pytest.approx(2.0, abs=0.1)


def test_collocation_converges_to_the_limit_of_the_pendulum_too():
    """States are nearly exact, and held inputs leave order two in the cost."""
    for transcription in ("collocation", "collocation:degree=2,kind=legendre", "multiple-shooting"):
        costs = [solved(PENDULUM, N, transcription=transcription).cost for N in (20, 40, 80)]
        assert extrapolated(costs) == pytest.approx(LIMIT, abs=2e-4 * LIMIT)
        assert orders(costs, LIMIT)[-1] == pytest.approx(2.0, abs=0.1)


def test_the_hamiltonian_of_the_pendulum_has_one_limit_and_direct_ones_a_spread_of_order_two():
    for states in ("greenspan", "midpoint"):
        values = [solved(PENDULUM, N, transcription=f"hamiltonian:states={states}").hamiltonian.mean() for N in (80, 160)]
        assert extrapolated(values) == pytest.approx(LIMIT_OF_H, abs=1e-4)
    for transcription in ("step", "greenspan"):
        spreads = [np.ptp(solved(PENDULUM, N, transcription=transcription).hamiltonian) for N in (40, 80, 160)]
        assert orders(spreads, 0.0) == pytest.approx([2.0, 2.0], abs=0.1)


def test_the_energy_of_the_pendulum():
    """T + V less the work of the torque is constant with Greenspan's quotient; the mid-point rule misses it by order two."""
    for transcription, N, size in (("greenspan", 20, 0.0), ("step", 20, 6.96e-2), ("step", 40, 1.80e-2)):
        found = solved(PENDULUM, N, transcription=transcription)
        q, v = found.states.T
        work = np.concatenate([[0.0], np.cumsum(found.inputs[:, 0] * np.diff(q))])
        assert np.ptp(v**2 / 2 - 9.81 * np.sin(q) - work) == pytest.approx(size, abs=1e-10 if not size else 5e-5)
    swung = solved(PENDULUM, 20)
    assert swung.states[:, 0].max() == pytest.approx(2.50, abs=0.02)


def test_newtons_method_on_the_conditions_of_an_optimum_finds_what_the_solver_finds():
    """Appendices A and B: the discrete necessary conditions as equations, from a disturbed motion and without multipliers."""
    found = solved(PENDULUM, 20)
    program = found.program
    f, theta = program.functions, program.theta
    free = program.low < program.high
    rng = np.random.default_rng(2)
    x = found.solution.w / program.scales
    x = x + 1e-2 * free * rng.normal(size=len(x))
    lam = np.zeros(program.rows)
    for _ in range(12):
        slope = np.asarray(f.gradient(x, theta)[1]).ravel()
        g, J = f.jacobian(x, theta)
        g, J = np.asarray(g).ravel(), J.sparse().tocsc()[:, free]
        H = f.hessian(x, theta, 1.0, lam).sparse()
        H = (H + sparse.triu(H, 1).T).tocsc()[free][:, free]
        matrix = sparse.bmat([[H, J.T], [J, None]], format="csc")
        change = spsolve(matrix, np.concatenate([-slope[free], -g]))
        x[free] += change[: free.sum()]
        lam = change[free.sum() :]
    assert np.abs(change[: free.sum()]).max() < 1e-10
    cost = float(f.gradient(x, theta)[0]) * program.cost_scale
    assert cost == pytest.approx(found.cost, rel=1e-9)
    assert lam * program.cost_scale == pytest.approx(found.solution.multipliers, abs=1e-6 * np.abs(lam).max())


def averages(found):
    """Return the cost, the Hamiltonian and the averages of eq. (8.58)."""
    n = 3
    lam = np.hstack([found.multipliers[:, :n], found.costates])
    return found.cost, found.hamiltonian.mean(), abs(lam[:, 2].mean()), abs(lam[:, 5].mean())


@pytest.mark.parametrize("N", [10, 40, 80])
def test_the_table_of_the_particle(N):
    found = solved(PARTICLE, N, transcription=INDIRECT)
    assert averages(found) == pytest.approx(PARTICLE_TABLE[N], abs=6e-8)
    assert np.ptp(found.hamiltonian) < 1e-11


def test_the_particle_at_twenty_intervals():
    direct = solved(PARTICLE, 20, transcription="gonzalez:sigma=1")
    assert direct.cost == pytest.approx(0.7387848, abs=6e-8)
    assert (direct.hamiltonian.min(), direct.hamiltonian.max()) == pytest.approx((0.5673, 0.5761), abs=6e-5)
    found = solved(PARTICLE, 20, transcription=INDIRECT)
    assert -found.inputs[0] == pytest.approx([-0.28153, -0.06962, -0.71613], abs=6e-6)
    assert -found.inputs[-1] == pytest.approx([-0.29801, 0.31420, 0.47105], abs=6e-6)
    # Work with the displacements balances the energy exactly; eq. (8.39), with the mean momentum, leaves 4.3e-4.
    q, v = found.states[:, :3], found.states[:, 3:]
    energy = (v**2).sum(axis=1) / 2 - 1 / np.linalg.norm(q, axis=1)
    means = found.h * (v[1:] + v[:-1]) / 2
    for moved, left in ((np.diff(q, axis=0), 0.0), (means, 4.3e-4)):
        work = np.concatenate([[0.0], np.cumsum((found.inputs * moved).sum(axis=1))])
        assert np.abs(energy - energy[0] - work).max() == pytest.approx(left, abs=1e-12 if not left else 6e-6)


def test_the_orders_of_the_particle():
    """Against N = 1280, as given: 2.03, 2.01, 2.01; 2.01, 2.00, 2.01; 1.90, 1.98, 2.00 for N from 10 to 80."""
    rows = np.array([averages(solved(PARTICLE, N, transcription=INDIRECT)) for N in (10, 20, 40, 80)])
    last = np.array(PARTICLE_TABLE[1280])
    assert orders(rows[:, 2], last[2]) == pytest.approx([2.03, 2.01, 2.01], abs=6e-3)
    assert orders(rows[:, 3], last[3]) == pytest.approx([2.01, 2.00, 2.01], abs=6e-3)
    assert orders(rows[:, 1], last[1]) == pytest.approx([1.90, 1.98, 2.00], abs=6e-3)


@pytest.mark.slow
def test_the_orders_of_the_particle_over_all_grids_of_the_document():
    """N = 10 to 640 against 1280: order 2, and in the last ones what the error of the reference adds."""
    rows = np.array([averages(solved(PARTICLE, 10 * 2**i, transcription=INDIRECT)) for i in range(8)])
    assert rows[-1] == pytest.approx(PARTICLE_TABLE[1280], abs=6e-8)
    found = np.array([orders(rows[:-1, j], rows[-1, j]) for j in (1, 2, 3)])
    assert found[:, :-2] == pytest.approx(2.0, abs=0.11)
    # e(h) - e(1280) with e = h^2: log2((16 - 1)/(4 - 1)) = 2.32 from 320 to 640, log2(63/15) = 2.07 before.
    assert found[:, -1] == pytest.approx(np.log2(15 / 3), abs=0.02)
    assert found[:, -2] == pytest.approx(np.log2(63 / 15), abs=0.02)


@pytest.mark.parametrize("transcription", ["step", "greenspan", "gonzalez:sigma=1", INDIRECT, "collocation"])
def test_all_transcriptions_of_the_particle_converge_to_one_limit_with_order_two(transcription):
    """The cost of the continuous problem is 0.734302775: all extrapolations agree to what order four leaves of them."""
    costs = [solved(PARTICLE, N, transcription=transcription).cost for N in (20, 40, 80)]
    limit = 0.7343028
    left = abs(extrapolated(costs[:-1]) - limit) / 16
    assert extrapolated(costs) == pytest.approx(limit, abs=2 * left + 1e-7)
    assert orders(costs, limit) == pytest.approx([2.0, 2.0], abs=0.05)


def test_a_particle_without_thrust_goes_round():
    """Without conditions at the end nothing costs less than no thrust: half a circle, with the energy kept exactly."""
    task = (("inputs", ("thrust_x", "thrust_y", "thrust_z")), ("horizon", np.pi))
    ends = []
    for N in (40, 80):
        found = solved(PARTICLE, N, GC, task, "gonzalez:sigma=1")
        assert found.cost < 1e-15
        q, v = found.states[:, :3], found.states[:, 3:]
        # The solver leaves up to 1e-9 in every row; what the mid-point rule loses is of the size of h^2 = 1.5e-3.
        assert np.ptp((v**2).sum(axis=1) / 2 - 1 / np.linalg.norm(q, axis=1)) < 1e-9 * N
        ends.append(q[-1] - [-1.0, 0.0, 0.0])
    errors = np.linalg.norm(ends, axis=1)
    assert orders(errors, 0.0) == pytest.approx([2.0], abs=0.05)


def test_discrete_derivatives_are_exact_along_the_way_and_of_order_two():
    """Eqs. (8.9), (8.38) and (8.56), with a weighted metric, for random places of a Hamiltonian that is no polynomial."""
    rng = np.random.default_rng(4)
    n = 4

    def H(x):
        return ca.sin(x[0]) * x[2] ** 2 + ca.exp(x[1] / 3) * x[3] ** 2 + ca.cos(x[0] * x[1])

    x0, x1, x2 = (ca.SX.sym(f"x{i}", n) for i in range(3))
    weights = ca.DM([1.0, 1.0, 0.1, 0.1])
    value = ca.Function("H", [x0], [H(x0)])
    slope = ca.Function("slope", [x0, x1], [gradient(H, x0, x1, weights)])
    exact = ca.Function("exact", [x0], [ca.gradient(H(x0), x0)])
    base = ca.Function("base", [x0], [ca.hessian(H(x0), x0)[0]])
    moved = (x2 - x0) / 2
    change = slope(x1, x2) - slope(x0, x1)
    second = ca.Function("second", [x0, x1, x2], [base(x1) + (change - base(x1) @ moved) @ quotient(moved, weights).T])
    for _ in range(5):
        a, b, c = rng.normal(size=(3, n))
        assert float(slope(a, b).T @ (b - a)) == pytest.approx(float(value(b) - value(a)), abs=1e-12)
        along = np.asarray(second(a, b, c) @ ((c - a) / 2)).ravel()
        assert along == pytest.approx(np.asarray(slope(b, c) - slope(a, b)).ravel(), abs=1e-12)
    direction, middle = rng.normal(size=n), rng.normal(size=n)
    errors = []
    for h in (0.02, 0.01):
        found = np.asarray(slope(middle - h * direction, middle + h * direction) - exact(middle)).ravel()
        errors.append(np.linalg.norm(found))
    assert orders(errors, 0.0) == pytest.approx([2.0], abs=0.05)
