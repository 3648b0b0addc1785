"""Closed loops in optimal control: the four-bar's crank brought to rest at the least effort, against one equation by hand.

All take inputs that are constant over intervals and rules of order two, whose errors are even in h. So costs tend to one limit
as h^2, and what Richardson's extrapolation leaves as h^4: from 20 and 40 intervals a fifteenth of what it differs by from that
from 10 and 20. Terms of order six are allowed to double it. By the same terms an order that is seen in three costs is off by
b h^2, so that this, too, shrinks to a quarter when all intervals are halved, and to a half at most with terms of order six.
"""

from dataclasses import replace
from math import pi

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError, OptimalTask, RunSettings, optimise
from kingpost.modelfiles.opened import open_model

TURN, TIME, RATE = 1.5, 1.0, 2.0
BEM = RunSettings(formulation="directors:planar=true", integrator="energy-momentum", backend="vm")
REM = RunSettings(formulation="nullspace", integrator="energy-momentum", backend="vm")
KANE = RunSettings(integrator="midpoint", backend="vm")
KANE_EM = RunSettings(integrator="energy-momentum", backend="vm")
MODULAR = RunSettings(formulation="modular", integrator="midpoint", backend="vm")


@pytest.fixture(scope="module")
def turned(plugins):
    mechanism, known = open_model("four-bar", plugins).mechanism, {}

    def solve(intervals, how=KANE, machine=mechanism):
        key = (intervals, how.formulation, how.integrator, id(machine))
        if key not in known:
            end = {"crank-pivot.angle": pi / 3 + TURN, "crank-pivot.angle.rate": 0.0}
            task = OptimalTask(("torque",), TIME, end=end, intervals=intervals, guess="line")
            known[key] = optimise(machine, task, how=how, plugins=plugins)
            assert known[key].status == "optimal"
        return known[key]

    return solve


def by_hand(intervals):
    """Return the least effort in the angle of the crank alone: I(a) a'' + I'(a) a'^2 / 2 + V'(a) = torque, mid-point rule."""
    a, b, c, d = 1.0, 3.0, 2.5, 3.0
    angle = ca.SX.sym("angle")
    pin = ca.vertcat(a * ca.cos(angle), a * ca.sin(angle))
    away = ca.vertcat(d, 0) - pin
    reach = ca.norm_2(away)
    coupler = ca.atan2(away[1], away[0]) + ca.acos((b**2 + reach**2 - c**2) / (2 * b * reach))
    end = pin + b * ca.vertcat(ca.cos(coupler), ca.sin(coupler))
    rocker = ca.atan2(end[1], end[0] - d)
    inertia, height = ca.SX(0), ca.SX(0)
    bodies = [(1.0, a, pin / 2, angle), (3.0, b, (pin + end) / 2, coupler), (2.0, c, (end + ca.vertcat(d, 0)) / 2, rocker)]
    for mass, length, middle, turn in bodies:
        inertia += mass * ca.sumsqr(ca.jacobian(middle, angle)) + mass * length**2 / 12 * ca.jacobian(turn, angle) ** 2
        height += mass * middle[1]
    rate, torque = ca.SX.sym("rate"), ca.SX.sym("torque")
    force = torque - ca.jacobian(inertia, angle) * rate**2 / 2 - 9.81 * ca.jacobian(height, angle)
    rates = ca.Function("rates", [angle, rate, torque], [ca.vertcat(rate, force / inertia)])
    h, x, u = TIME / intervals, ca.SX.sym("x", 2, intervals + 1), ca.SX.sym("u", intervals)
    rows = []
    for k in range(intervals):
        middle = (x[:, k] + x[:, k + 1]) / 2
        rows.append(x[:, k + 1] - x[:, k] - h * rates(middle[0], middle[1], u[k]))
    rows += [x[:, 0] - ca.DM([pi / 3, RATE]), x[:, -1] - ca.DM([pi / 3 + TURN, 0.0])]
    nlp = {"x": ca.vertcat(ca.vec(x), u), "f": h * ca.sumsqr(u) / 2, "g": ca.vertcat(*rows)}
    solver = ca.nlpsol(
        "by_hand", "ipopt", nlp, {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.tol": 1e-10}
    )
    line = np.vstack([pi / 3 + TURN * np.linspace(0, 1, intervals + 1), np.zeros(intervals + 1)])
    found = solver(x0=np.concatenate([line.T.ravel(), np.zeros(intervals)]), lbg=0, ubg=0)
    assert solver.stats()["success"]
    return float(found["f"])


def extrapolated(costs):
    coarse, fine = costs
    return fine + (fine - coarse) / 3


@pytest.fixture(scope="module")
def limit():
    return extrapolated([by_hand(40), by_hand(80)])


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "how", [KANE, pytest.param(KANE_EM, marks=SLOW), *(pytest.param(how, marks=SLOW) for how in (BEM, REM, MODULAR))]
)
def test_a_loop_tends_to_the_tree_by_hand(turned, limit, how):
    costs = [turned(intervals, how).cost for intervals in (10, 20, 40, 80)]
    coarse, fine = extrapolated(costs[:2]), extrapolated(costs[1:3])
    assert fine == pytest.approx(limit, abs=2 * abs(fine - coarse) / 15)
    changes = np.diff(costs)
    off, off_later = np.abs(np.log2(changes[:-1] / changes[1:]) - 2)
    # The solver leaves 1e-9 of the cost, 4e-7, in changes of 0.05 and more.
    assert off_later <= off / 2 + 3e-5


def test_the_guess_closes_its_loops(turned):
    """The rest follows from the crank: Newton's method of the program has little left to do."""
    assert turned(20).solution.iterations < 20
    assert [attempt.start for attempt in turned(20).attempts] == ["line"]


def test_the_torque_is_the_costate_of_the_crank(turned):
    """The speeds are redundant, and so are their costates; that of the driven one is the torque, as B' lambda says."""
    found = turned(20)
    assert found.costates.shape == (20, 3)
    assert found.costates[:, 0] == pytest.approx(found.inputs[:, 0], abs=1e-6)


def test_ends_that_follow_through_the_loop_are_named(plugins):
    end = {"crank-pivot.angle": 2.0, "rocker-pivot.angle": 2.0, "crank-pivot.angle.rate": 0.0}
    task = OptimalTask(("torque",), TIME, end=end, intervals=10, guess="line")
    with pytest.raises(MechanismError, match="1 of the 3 end conditions follow from the others, or contradict them"):
        optimise(open_model("four-bar", plugins).mechanism, task, how=KANE, plugins=plugins)


@pytest.mark.slow
def test_directors_and_their_null_space_agree_with_a_loop(turned):
    """The same discrete problem with and without the constraints of rigid bodies: to what is left of the solver's tolerance."""
    basic, reduced = turned(20, BEM), turned(20, REM)
    assert basic.cost == pytest.approx(reduced.cost, rel=1e-8)
    assert basic.inputs == pytest.approx(reduced.inputs, abs=1e-4)
    assert reduced.costates[:, 0] == pytest.approx(reduced.inputs[:, 0], abs=1e-5)


@pytest.mark.slow
def test_redundant_rows_of_a_loop_are_left_out(turned, plugins):
    """A pin that closes the loop in space, five rows of which three say nothing new, instead of a point on a line."""
    mechanism = open_model("four-bar", plugins).mechanism
    pin = replace(mechanism.closures[0], kind="revolute")
    found = turned(20, machine=replace(mechanism, closures=(pin,)))
    assert found.problem.equations.constraints.count == 2
    assert found.cost == pytest.approx(turned(20).cost, rel=1e-9)
