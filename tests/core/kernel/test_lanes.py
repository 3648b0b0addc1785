"""Several runs at once have the bits that each has on its own, whatever their functions are made of."""

import casadi as ca
import numpy as np
import pytest

from kingpost.kernel.kernel import Kernel, Status
from kingpost.kernel.lanes import LaneRun, Lanes

#: Operations that stand in generated code by themselves: (a, b) -> result, for a and b between 0.1 and 0.9.
OPERATIONS = {
    "arithmetic": lambda a, b: (a + b) * (a - b) / (2 * a) - (-b) + a**2 + 1 / b,
    "roots and powers": lambda a, b: ca.sqrt(a) + a**b + ca.exp(a) + ca.log(b),
    "circular": lambda a, b: ca.sin(a) + ca.cos(a) + ca.tan(b) + ca.asin(a) + ca.acos(b) + ca.atan(a) + ca.atan2(a, b),
    "hyperbolic": lambda a, b: ca.sinh(a) + ca.cosh(b) + ca.tanh(a) + ca.asinh(a) + ca.acosh(1 + b) + ca.atanh(a),
    "pieces": lambda a, b: ca.fabs(a - b) + ca.floor(10 * a) + ca.ceil(10 * b) + ca.fmod(a, b / 3) + ca.erf(a),
    "extremes": lambda a, b: ca.fmin(a, b) + 2 * ca.fmax(a, b) + ca.sign(a - b) + ca.copysign(a, b - 0.5),
    "choices": lambda a, b: ca.if_else(a < b, ca.sin(a), ca.cos(b)) + ca.if_else(ca.logic_and(a > 0.2, b <= 0.7), a, 2 * b),
    "nothing": lambda a, b: ca.if_else(a < 2.0, a, np.nan) + ca.fmin(b, np.inf),
    "truths": lambda a, b: ca.logic_or(a < 0.3, ca.logic_not(b < 0.5)) + (a == b) + (a != b),
}
STEPS, SUBSTEPS = 30, 3


def kernel_of(step, more=()):
    """Return a kernel whose step is x + h step(x, u, p), with two states, and outputs of them and of an input."""
    t, x, u, p, h = (ca.SX.sym(name, size) for name, size in (("t", 1), ("x", 2), ("u", 2), ("p", 1), ("h", 1)))
    following = x + h * step(t, x, u, p)
    observed = ca.vertcat(x, u[0] + t, p * x[0])
    functions = [ca.Function("kp_step", [t, x, u, p, h], [following]), ca.Function("kp_observe", [t, x, u, p], [observed])]
    return Kernel([*functions, *more], backend="c")


def marched(kernel, count, x0, u, p, every=SUBSTEPS):
    """Return the outputs of runs one by one and at once, and how both ended."""
    shape = (count, STEPS // SUBSTEPS, 4)
    alone, together = np.full(shape, np.nan), np.full(shape, np.nan)
    ends = [kernel.march(alone[k], SUBSTEPS, 0.5, 0.01, x0[k], u[k], p[k], at_once=True, every=every) for k in range(count)]
    lanes = kernel.side_by_side
    assert isinstance(lanes, Lanes), lanes
    found = []
    for first in range(0, count, lanes.count):
        some = range(count)[first : first + lanes.count]
        found += lanes.march([LaneRun(x0[k], u[k], p[k], together[k]) for k in some], SUBSTEPS, every, 0.5, 0.01)
    assert [(end.status, end.steps) for end in found] == [(end.status, end.steps) for end in ends]
    assert [end.t for end in found if end.status] == [end.t for end in ends if end.status]
    return alone, together, found


def numbers(count, rows=1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 0.9, (count, 2)), rng.uniform(0.1, 0.9, (count, rows, 2)), rng.uniform(0.1, 0.9, (count, 1))


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_lane_computes_the_same_bits_as_a_run_on_its_own(name):
    step = OPERATIONS[name]
    kernel = kernel_of(lambda t, x, u, p: 1e-3 * ca.vertcat(step(u[0], u[1]), step(p, u[0]) + step(u[1], t) + x[0]))
    # Eleven runs leave lanes over, whatever their number; equal numbers are among them.
    x0, u, p = numbers(11)
    u[3, 0, 1] = u[3, 0, 0]
    alone, together, _ = marched(kernel, 11, x0, u, p)
    assert np.isfinite(alone).all()
    assert np.array_equal(alone, together)
    assert len(np.unique(alone[:, -1, 0])) == 11


def test_rows_of_inputs_are_taken_in_turn_and_functions_call_each_other():
    x = ca.SX.sym("x", 2)
    inner = ca.Function("inner", [x], [ca.sin(x), ca.vertcat(1.5, -2.5)])
    t, state, u, p, h = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", 2), ("u", 2), ("p", 1), ("h", 1)))
    rate, constant = inner(state)
    matrix = ca.DM([[1.0, 0.5], [-0.5, 2.0]])
    following = state + h * (rate * u + constant * p + ca.mtimes(matrix, u) * ca.dot(u, state))
    observed = ca.vertcat(state, u)
    kernel = Kernel(
        [ca.Function("kp_step", [t, state, u, p, h], [following]), ca.Function("kp_observe", [t, state, u, p], [observed])],
        backend="c",
    )
    x0, u_rows, p_rows = numbers(5, rows=STEPS + 1)
    u_rows[2] = u_rows[2, :1]
    alone, together, _ = marched(kernel, 5, x0, u_rows, p_rows, every=1)
    assert np.array_equal(alone, together)


def test_a_run_that_stops_leaves_the_others_alone():
    x = ca.SX.sym("x", 2)
    guard = ca.Function("kp_guard", [x], [2.0 - x[1]])
    kernel = kernel_of(lambda t, x, u, p: ca.vertcat(ca.log(u[0] - 10 * (t - 0.5)), 10 * p), [guard])
    # The first state is lost once 10 (t - 0.5) is above the input, in run 4 after 20 steps; the second passes 2 in run 6.
    count = 9
    x0, u, p = np.zeros((count, 2)), np.full((count, 1, 2), 9.0), np.full((count, 1), 0.1)
    u[4, 0, 0] = 2.0
    p[6, 0] = 10.0
    alone, together, ends = marched(kernel, count, x0, u, p)
    assert [end.status for end in ends] == [Status.OK] * 4 + [Status.NOT_FINITE, Status.OK, Status.SINGULAR] + [Status.OK] * 2
    for k, end in enumerate(ends):
        rows = end.steps // SUBSTEPS
        assert np.array_equal(alone[k, :rows], together[k, :rows])
        assert np.isnan(together[k, rows:]).all()


def test_a_solver_inside_is_named():
    x = ca.SX.sym("x")
    root = ca.rootfinder("root", "fast_newton", {"x": x, "p": ca.SX.sym("u", 0), "g": ca.exp(x) - 2})
    state = ca.MX.sym("x", 1)
    others = [ca.MX.sym(name, size) for name, size in (("t", 1), ("u", 0), ("p", 0), ("h", 1))]
    step = ca.Function("kp_step", [others[0], state, *others[1:]], [root(x0=state, p=others[1])["x"]])
    observe = ca.Function("kp_observe", [others[0], state, *others[1:3]], [state])
    assert "a step has a solver inside" in Kernel([step, observe], backend="c").side_by_side
    assert Kernel([step, observe], backend="vm").side_by_side == "interpreter, as asked"


def test_code_that_has_no_form_for_lanes_is_named_and_does_not_compile():
    t, x, u, p, h = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", 2), ("u", 2), ("p", 1), ("h", 1)))
    branch = ca.if_else(p > 0.5, x, 2 * x, True)  # one of them is computed, and not the other
    step = ca.Function("kp_step", [t, x, u, p, h], [branch])
    kernel = Kernel([step, ca.Function("kp_observe", [t, x, u, p], [x])], backend="c")
    assert "has parts without a form for several runs at once" in kernel.side_by_side
