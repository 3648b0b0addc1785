"""Quadratic programs of a horizon against a dense active-set solver and against the equations of the optimum."""

import casadi as ca
import numpy as np
import pytest

from kingpost.control.receding.quadratic import HorizonProgram

N, STATES, INPUTS = 6, 3, 2
#: Both inputs from below and above, a mixed row, and a row of states; the last two are soft in most tests.
ROWS = 6
SOFT = np.array([0.0, 0.0, 0.0, 0.0, 1e-2, 1e-2])


@pytest.fixture(scope="module")
def program():
    return HorizonProgram(N, STATES, INPUTS, ROWS)


def random_data(seed, room=0.3):
    """Intervals whose own Hessians are positive semidefinite, some of them of rank one beside the inputs' own."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(N):
        root = rng.standard_normal((STATES + INPUTS, 1 if seed % 2 else 3))
        G = np.zeros((ROWS, STATES + INPUTS))
        for k in range(INPUTS):
            G[2 * k, STATES + k], G[2 * k + 1, STATES + k] = 1.0, -1.0
        G[4], G[5, :STATES] = rng.standard_normal(STATES + INPUTS), rng.standard_normal(STATES)
        found.append(
            {
                "A": np.eye(STATES) + 0.3 * rng.standard_normal((STATES, STATES)),
                "B": rng.standard_normal((STATES, INPUTS)),
                "c": 0.1 * rng.standard_normal(STATES),
                "H": root @ root.T + np.diag([0.0] * STATES + [0.1] * INPUTS),
                "g": rng.standard_normal(STATES + INPUTS),
                "G": G,
                "b": np.full(ROWS, room),
            }
        )
    return found, rng.standard_normal(STATES)


def solved(program, data, soft, s0):
    columns = [program.joined(**{name: ca.DM(value) for name, value in item.items()}).full().ravel() for item in data]
    u, s, lam, slack, _, good, iterations = (item.full() for item in program.solution(np.array(columns).T, soft, s0))
    return u, s, lam, slack, bool(good.item()), int(iterations.item())


def dense(data, soft, s0):
    """The same with all states and violations as unknowns, by qpOASES."""
    w, g, rows, low, high = [], ca.MX(0), [], [], []
    s = ca.MX(ca.DM(s0))
    inputs, constraints = [], []
    for k, item in enumerate(data):
        u, e = ca.MX.sym(f"u{k}", INPUTS), ca.MX.sym(f"e{k}", ROWS)
        z = ca.vertcat(s, u)
        g += ca.bilin(ca.DM(item["H"]), z, z) / 2 + ca.dot(ca.DM(item["g"]), z)
        g += sum(e[i] ** 2 / (2 * soft[i]) for i in range(ROWS) if soft[i])
        rows.append(ca.DM(item["G"]) @ z - e - ca.DM(item["b"]))
        w += [u, e]
        low += [*([-np.inf] * INPUTS), *(-np.inf if value else 0.0 for value in soft)]
        high += [*([np.inf] * INPUTS), *(np.inf if value else 0.0 for value in soft)]
        inputs.append(u)
        s = ca.DM(item["A"]) @ s + ca.DM(item["B"]) @ u + ca.DM(item["c"])
    constraints = ca.vertcat(*rows)
    solver = ca.qpsol("q", "qpoases", {"x": ca.vertcat(*w), "f": g, "g": constraints}, {"printLevel": "none"})
    found = solver(lbx=low, ubx=high, lbg=-np.inf, ubg=0.0)
    assert solver.stats()["success"]
    values = ca.Function("u", [ca.vertcat(*w)], [ca.horzcat(*inputs)])(found["x"])
    return values.full(), float(found["f"])


@pytest.mark.parametrize("seed", range(6))
def test_as_an_active_set_method(program, seed):
    data, s0 = random_data(seed)
    u, *_, good, iterations = solved(program, data, SOFT, s0)
    expected, _ = dense(data, SOFT, s0)
    assert good
    assert iterations < 30
    # Products of slack and multiplier end below 1e-11: inputs are off by the square root of that over a curvature of 0.1, where
    # a bound is just reached, and mostly by far less.
    np.testing.assert_allclose(u, expected, atol=2e-5)


def test_degenerate_programs(program):
    """Every row twice, bounds where the free optimum is, and rows of zeros."""
    data, s0 = random_data(3)
    free, *_ = solved(program, [item | {"b": np.full(ROWS, 1e3)} for item in data], SOFT, s0)
    for k, item in enumerate(data):
        # The optimum stays what it is when the bounds go through it: multipliers and slacks vanish together.
        item["G"][2:4] = item["G"][0:2]
        item["b"][0], item["b"][1] = free[0, k], 1e3
        item["b"][2], item["b"][3] = free[0, k], 1e3
        item["G"][4], item["G"][5] = 0.0, 0.0
    u, *_, good, _ = solved(program, data, SOFT, s0)
    assert good
    # Where slack = multiplier, both are the root of the last product, 1e-11 times the size of slopes.
    np.testing.assert_allclose(u, free, atol=2e-4)


def test_the_equations_of_the_optimum(program):
    data, s0 = random_data(2)
    u, s, lam, slack, good, _ = solved(program, data, SOFT, s0)
    assert good
    p = np.zeros(STATES)
    for k in reversed(range(N)):
        item, z = data[k], np.concatenate([s[:, k], u[:, k]])
        np.testing.assert_allclose(item["A"] @ s[:, k] + item["B"] @ u[:, k] + item["c"], s[:, k + 1], atol=1e-10)
        np.testing.assert_allclose(item["G"] @ z + slack[:, k] - SOFT * lam[:, k], item["b"], atol=1e-8)
        slope = item["g"] + item["H"] @ z + np.hstack([item["A"], item["B"]]).T @ p + item["G"].T @ lam[:, k]
        np.testing.assert_allclose(slope[STATES:], 0.0, atol=1e-7)
        p = slope[:STATES]
    assert (lam >= 0).all()
    assert (slack >= 0).all()
    assert (lam * slack).max() < 1e-9


def test_without_rows_one_solve_does():
    program = HorizonProgram(N, STATES, INPUTS, 0)
    data, s0 = random_data(4)
    data = [item | {"G": np.zeros((0, STATES + INPUTS)), "b": np.zeros(0)} for item in data]
    u, _, _, _, good, iterations = solved(program, data, np.zeros(0), s0)
    assert good
    assert iterations == 1
    wide, s0 = random_data(4, room=1e6)
    np.testing.assert_allclose(u, dense(wide, SOFT, s0)[0], atol=1e-6)


def test_rows_that_contradict_each_other_are_told(program):
    data, s0 = random_data(0)
    data[2]["b"][0], data[2]["b"][1] = -1.0, -1.0
    *_, good, iterations = solved(program, data, np.zeros(ROWS), s0)
    assert not good
    assert iterations <= 40


def test_what_is_not_convex_is_told(program):
    data, s0 = random_data(0)
    data[N - 1]["H"] = -np.eye(STATES + INPUTS)
    data[N - 1]["G"] = np.zeros((ROWS, STATES + INPUTS))
    *_, good, iterations = solved(program, data, SOFT, s0)
    assert not good
    assert iterations == 1


def test_what_is_no_number_is_told(program):
    data, s0 = random_data(0)
    assert not solved(program, data, SOFT, np.array([np.nan, 0.0, 0.0]))[4]
    assert s0.size == STATES
