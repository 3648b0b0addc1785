"""Statements of documents 000 (chapters 4 to 7) and 003 that are wrong: each with a test that fails for what is printed.

Left out are slips of the pen that no number depends on: (6.107) writes gg3 for pg3, the text before (6.119) solves (6.104c) and
means (6.104a), and the last row of (A.5) and the radii of two winches in section 5.4.4 are missing.
"""

import functools

import casadi as ca
import numpy as np
import pytest

from kingpost import PluginSet, inverse, open_model
from kingpost.base.formulas import evaluate
from kingpost.control.servo.posing import pose_servo
from kingpost.equations.measures import measure_expression
from kingpost.mechanism.trajectories import RestToRest
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from tests.validation.named_tests import missing

HERE = "validation/test_servo_misprints.py::"
FORMS = "validation/test_servo_printed_forms.py::"
OVERHEAD = "plugins/models/test_overhead_crane.py::"
ARM = "plugins/models/test_passive_joint_arm.py::"
INDEX = "core/control/servo/index/test_analysis.py::"
EXTENSION = "plugins/feedback/test_dynamic_extension.py::"

#: What is printed, by document and equation or section, and the test that fails for it.
WRONG = {
    "000 (4.88): t / (tf - t0)": HERE + "test_eq_4_88_begins_at_zero",
    "000 (4.95): C can always be factorized so": HERE + "test_eq_4_95_needs_the_columns_of_the_load_at_the_end",
    "000 (4.106), (5.75), (5.83): f1": HERE + "test_eqs_4_106_and_5_75_have_the_signs_of_f1_reversed",
    "000 (4.115): l / rw": HERE + "test_eq_4_115_forgets_the_rope_at_the_start",
    "000 (4.120c): arctan": HERE + "test_eq_4_120_ends_on_the_other_side",
    "000 (4.126), (4.128), (5.100): 14/2 and 7/2": HERE + "test_eqs_4_126_and_4_128_are_not_continuous",
    "000 4.4.2: ALT is off by 0.1": HERE + "test_section_4_4_2_alt_has_no_offset",
    "000 (5.33), (5.35), (5.40): - B u": FORMS + "test_v27_the_flat_solution_solves_5_33_but_not_with_its_printed_sign",
    "000 (5.127): Jacobians": HERE + "test_eq_5_127_has_all_jacobians_reversed",
    "000 6.1.2: lam1 and lam3 from x and x''": HERE + "test_section_6_1_2_multipliers_need_the_fourth_derivative",
    "000 6.2.2: index 5": INDEX + "test_index_internal_states_and_rank",
    "000 (6.24), (6.49): 13.23 and 6.6144": HERE + "test_eqs_6_24_and_6_49_are_rounded_too_much_to_begin_with",
    "000 (6.90), (A.6), (A.7): gyroscopic terms": HERE + "test_eqs_6_90_and_a_6_are_not_the_gyroscopic_moment",
    "000 (6.97): 1 / sin s": "core/mechanism/test_paths.py::test_the_printed_axis_has_the_length_two",
    "000 (6.99): arccos": "core/mechanism/test_orientations.py::test_the_printed_bryant_angles_lose_their_signs",
    "000 6.3.7: inertias of winches": HERE + "test_section_6_3_7_prints_the_inertias_of_the_plate",
    "000 7: no projection with a singular mass matrix": HERE + "test_chapter_7_projections_take_singular_mass_matrices",
    "003 (24), (25)": ARM + "test_eqs_24_and_25_of_document_003_are_not_what_they_print",
    "003 (27): l^2": HERE + "test_eq_27_of_document_003_has_wrong_dimensions",
    "003 (28): signs": HERE + "test_eq_28_of_document_003_has_all_signs_reversed",
    "003 (29): signs": OVERHEAD + "test_the_matrix_of_realisation_has_rank_one_and_not_the_signs_that_document_003_prints",
    "003 4.1: small beta": ARM + "test_the_internal_motion_of_the_document_comes_out",
    "003 4.2: the last input is m g": HERE + "test_section_4_2_of_document_003_holds_the_load_by_a_torque",
    "003 4.3: index 5 with damping": INDEX + "test_index_internal_states_and_rank",
    "003 (33): right-hand plane": EXTENSION + "test_roots_in_the_right_hand_plane_let_errors_grow",
    "003 (33): static feedback of the crane": EXTENSION + "test_the_overhead_crane_of_document_003_with_its_load_behind",
}


@pytest.mark.parametrize("statement", WRONG)
def test_every_wrong_statement_has_a_test(statement):
    assert missing([WRONG[statement]]) == []


@functools.cache
def posed(model, task):
    opened = open_model(model)
    return pose_servo(opened.mechanism, opened.task(task))


def defaults(mechanism):
    return {parameter.name: parameter.default for parameter in mechanism.parameters}


def forces(problem, q, v):
    """Return the applied forces by row, for coordinates and speeds by name, where others are zero."""
    s, names = problem.symbols, problem.row_names
    function = ca.Function("f", [s.t, s.q, s.v, s.z, s.p], [ca.densify(problem.f_without)])
    rows = function(0.0, *([at.get(name, 0.0) for name in names[k]] for k, at in (("q", q), ("v", v))), [], problem.p)
    return dict(zip(names["v"], rows.full().ravel(), strict=True))


def test_eq_4_88_begins_at_zero():
    """tau = t / (tf - t0) is 1/3 where a path from 1 s to 4 s begins, and 4/3 where it ends."""
    t0, tf = 1.0, 4.0

    def polynomial(tau):  # (4.87)
        return 70 * tau**9 - 315 * tau**8 + 540 * tau**7 - 420 * tau**6 + 126 * tau**5

    path = RestToRest(0.0, 1.0, t0, tf)
    assert [float(path.value(t)) for t in (t0, tf)] == pytest.approx([0.0, 1.0], abs=1e-14)
    assert float(path.value(2.0)) == pytest.approx(polynomial((2.0 - t0) / (tf - t0)), rel=1e-13)
    printed = [polynomial(t / (tf - t0)) for t in (t0, tf)]
    assert printed[0] > 0.1 and abs(printed[1] - 1.0) > 0.1


def test_eq_4_95_needs_the_columns_of_the_load_at_the_end():
    """The three last of 42 columns are those of angles and of s: W is zero, and D of (4.96) is there in another order only."""
    plugins = PluginSet(entry_points=False)
    crane = assemble(open_model("rotary-crane:form=rope").mechanism, plugins)
    equations = derive(crane, "directors:effort=angle,points=true", plugins)
    load = ca.vertcat(*(measure_expression(equations, f"load.{axis}") for axis in "xyz"))
    C = ca.evalf(ca.densify(ca.jacobian(load, equations.q))).full()
    assert np.array_equal(C, np.hstack([np.zeros((3, 36)), np.eye(3), np.zeros((3, 3))]))  # (4.94)
    assert np.linalg.matrix_rank(C[:, 39:]) == 0
    order = [*range(36), 39, 40, 41, 36, 37, 38]
    U, W = np.split(C[:, order], [39], axis=1)
    D = np.zeros((42, 39))
    D[order] = np.vstack([np.eye(39), -np.linalg.solve(W, U)])
    assert np.abs(C @ D).max() == 0.0
    assert np.linalg.matrix_rank(D) == 39


def test_eqs_4_106_and_5_75_have_the_signs_of_f1_reversed():
    """Lagrange's equations of T = (Jb + mt s^2) phi'^2 / 2 + mt s'^2 / 2, and our crane; (5.137) is right."""
    mt, s, turning, sliding = 53.0, 2.0, 0.7, -0.4
    problem = posed("rotary-crane:form=rope", "000-4.4.2")
    found = forces(
        problem,
        {"travel.displacement": s, "hook.x": s, "hook.z": -5.0},
        {"slew.angle.rate": turning, "travel.displacement.rate": sliding},
    )
    place, rate = ca.SX.sym("place", 2), ca.SX.sym("rate", 2)
    energy = (19.01 + mt * place[1] ** 2) * rate[0] ** 2 / 2 + mt * rate[1] ** 2 / 2
    lagrange = ca.gradient(energy, place) - ca.jtimes(ca.gradient(energy, rate), place, rate)
    derived = ca.Function("derived", [place, rate], [lagrange])([0.0, s], [turning, sliding]).full().ravel()
    assert [found["slew.angle.rate"], found["travel.displacement.rate"]] == pytest.approx(derived, rel=1e-12)
    printed = np.array([2 * mt * s * sliding * turning, -mt * s * turning**2])
    assert derived == pytest.approx(-printed, rel=1e-12)


def test_eq_4_115_forgets_the_rope_at_the_start():
    """With theta = l / rw the rope of (2.101), of the length rw theta + l0, is longer than l by the l0 of the start."""
    problem = posed("rotary-crane:form=rope", "000-4.4.2")
    symbols, rw, l0, l, s = problem.symbols, 0.1, 5.0, 3.0, 2.0
    function = ca.Function("phi", [symbols.t, symbols.q, symbols.p], [problem.phi])

    def open_by(angle):
        at = {"travel.displacement": s, "winch-axle.angle": angle, "hook.x": s, "hook.z": -l}
        return np.abs(function(0.0, [at.get(name, 0.0) for name in problem.row_names["q"]], problem.p).full()).max()

    assert open_by((l - l0) / rw) < 1e-12
    # A rope is held at half the square of its length, over that at the start.
    assert open_by(l / rw) == pytest.approx(((l + l0) ** 2 - l**2) / (2 * l0), rel=1e-12)


def test_eq_4_120_ends_on_the_other_side():
    """The load ends at (-2, 2); arctan(-1) is -45 degrees, and puts the trolley at (2, -2)."""
    task = open_model("rotary-crane").task("000-4.4.2")
    x, y = (float(task.path[f"load.{axis}"].value(task.t_end)) for axis in "xy")
    for angle, place in ((np.arctan(y / x), [2.0, -2.0]), (np.arctan2(y, x), [x, y])):
        assert np.hypot(x, y) * np.array([np.cos(angle), np.sin(angle)]) == pytest.approx(place, abs=1e-12)
    assert [x, y] == pytest.approx([-2.0, 2.0], abs=1e-12)


def test_eqs_4_126_and_4_128_are_not_continuous():
    """Printed, c comes to 4/3 at 5 s instead of 1/6, where the middle begins, and goes on from 7/3 instead of 5/6 at 15 s."""
    tau, tau0 = 20.0, 5.0

    def first(t, below):
        terms = -5 * t**8 / (2 * tau0**7) + 10 * t**7 / tau0**6 - 14 * t**6 / (below * tau0**5) + 7 * t**5 / (below * tau0**4)
        return terms / (tau - tau0)

    assert first(tau0, 2) == pytest.approx(4 / 3, rel=1e-14)
    assert 1 + first(tau - 15.0, 2) == pytest.approx(7 / 3, rel=1e-14)
    path = open_model("rotary-crane").task("000-4.4.2").path["load.x"]
    values = [(float(path.value(t)) - 5.0) / -7.0 for t in (3.0, 5.0, 15.0, 17.0)]
    assert values == pytest.approx([first(3.0, 1), 1 / 6, 5 / 6, 1 - first(3.0, 1)], abs=1e-14)


@pytest.mark.slow
def test_section_4_4_2_alt_has_no_offset():
    """The document reports 0.1 between ALT and the others that no step takes away; our notes found 1.3e-5 to 6.4e-5 at 5 ms."""
    opened = open_model("rotary-crane:form=rope")
    task = opened.task("000-4.4.2")
    largest = []
    for step in (0.01, 0.005):
        alt, red = (
            inverse(opened.mechanism, task, method=method, stepper=f"backward-euler:step={step}")
            for method in ("projection-dependent", "projection")
        )
        largest.append([np.abs(alt[name] - red[name]).max() for name in task.inputs])
    # Two digits are given.
    assert largest[1] == pytest.approx([1.3e-5, 9e-6, 6.4e-5], rel=0.06)
    # Both have errors of order one or higher.
    assert (np.array(largest[0]) > 1.9 * np.array(largest[1])).all()


def test_eq_5_127_has_all_jacobians_reversed():
    """Of (5.122) to (5.124); and alpha1 stands for alpha in one place."""
    x2, y2, x0, y0, L1, L2, L0, x, y, z = symbols = ca.vertsplit(ca.SX.sym("q", 10))
    alpha, r = 0.5, 4.0
    h = ca.vertcat(
        ((x0 - alpha * x2) ** 2 + (y0 - alpha * y2) ** 2 - L1**2) / 2,
        ((x0 - x2) ** 2 + (y0 - y2) ** 2 - L0**2) / 2,
        (x2**2 + y2**2 - r**2) / 2,
        x2 * y0 - x0 * y2,
    )
    phi = ((x - x0) ** 2 + (y - y0) ** 2 + z**2 - (L2 - L0) ** 2) / 2
    H1 = ca.vertcat(
        ca.horzcat(alpha * (x0 - alpha * x2), x0 - x2, -x2, -y0),
        ca.horzcat(alpha * (y0 - alpha * y2), y0 - y2, -y2, x0),
        ca.horzcat(alpha * x2 - x0, x2 - x0, 0, y2),
        ca.horzcat(alpha * y2 - y0, y2 - y0, 0, -x2),
        ca.horzcat(L1, 0, 0, 0),
        ca.SX(1, 4),
        ca.horzcat(0, L0, 0, 0),
    ).T
    G1, G2 = ca.horzcat(0, 0, x - x0, y - y0, 0, L2 - L0, L0 - L2), ca.horzcat(x0 - x, y0 - y, -z)
    p, load = ca.vertcat(*symbols[:7]), ca.vertcat(*symbols[7:])
    at = np.random.default_rng(0).uniform(0.5, 3.0, 10)
    for printed, true in ((H1, ca.jacobian(h, p)), (G1, ca.jacobian(phi, p)), (G2, ca.jacobian(phi, load))):
        found = ca.Function("found", [ca.vertcat(*symbols)], [ca.densify(printed), ca.densify(true)])
        one, other = (part.full() for part in found(at))
        assert one == pytest.approx(-other, abs=1e-14)
        assert np.abs(one - other).max() > 0.5


def test_section_6_1_2_multipliers_need_the_fourth_derivative():
    """The load gives x0 = x - x'' (z - z0) / (z'' + g): m0 x0'' in the balance of the pulley holds a fourth derivative."""
    m0, g = 150.0, 9.81
    x, z, z0 = (ca.SX.sym(name, 5) for name in ("x", "z", "z0"))

    def rate(expression):
        return sum(ca.jtimes(expression, jets[:4], jets[1:]) for jets in (x, z, z0))

    inertia = m0 * rate(rate(x[0] - x[2] * (z[0] - z0[0]) / (z[2] + g)))
    slope = ca.Function("slope", [x, z, z0], [ca.gradient(inertia, x)])
    found = slope([-4.0, 0.1, 0.2, 0.1, 0.0], [-20.0, 0.1, 0.3, 0.1, 0.0], [-12.0, 0.1, 0.2, 0.1, 0.0]).full().ravel()
    assert found[4] == pytest.approx(m0 * 8.0 / (0.3 + g), rel=1e-12)  # N for each m/s^4


def test_eqs_6_24_and_6_49_are_rounded_too_much_to_begin_with():
    """Ropes of 13.23 m and 6.6144 m do not close where the machines begin; sqrt(175) and sqrt(43.75) do."""
    plane, space = 2.5 * np.sqrt(3.0), 5.0 * np.sqrt(3.0)
    pulleys = {"2d": (np.array([-plane, 0, -12.5]), np.zeros(3)), "3d": (np.array([space, 0, 2.5]), [1.5 * space, 0, 7.5])}
    for form, square, printed in (("2d", 175.0, 13.23), ("3d", 43.75, 6.6144)):
        pulley, winch = pulleys[form]
        assert np.sum((pulley - winch) ** 2) == pytest.approx(square, rel=1e-14)
        assert abs(printed**2 - square) > 1e-4  # a start is consistent to 1e-9
        mechanism = open_model(f"us-navy-crane-{form}").mechanism
        (rope,) = (item for item in mechanism.closures if item.name == "suspension-rope")
        assert evaluate(rope.length, defaults(mechanism)) == pytest.approx(np.sqrt(square), rel=1e-14)


def test_eqs_6_90_and_a_6_are_not_the_gyroscopic_moment():
    """J = R Jp R' changes with the attitude: w x J w is not the form of a diagonal J, and (A.6) has Jx - Jy for Jz - Jy."""
    Jp, w, h = np.diag([0.75, 0.75, 1.5]), np.array([0.3, -0.5, 0.4]), 1e-3
    speed = np.linalg.norm(w)
    hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]) / speed
    first = np.linalg.qr(np.array([[1.0, 0.4, 0.2], [-0.3, 1.0, 0.5], [0.1, -0.6, 1.0]]))[0]

    def inertia(t):
        """J in the world, while the body turns about w."""
        R = (np.eye(3) + np.sin(speed * t) * hat + (1 - np.cos(speed * t)) * hat @ hat) @ first
        return R @ Jp @ R.T

    def printed(J):
        return np.array([(J[2] - J[1]) * w[1] * w[2], (J[0] - J[2]) * w[2] * w[0], (J[1] - J[0]) * w[0] * w[1]])

    rate = (8 * (inertia(h) - inertia(-h)) - (inertia(2 * h) - inertia(-2 * h))) @ w / (12 * h)
    # Fourth order: h^4 / 30 of a fifth derivative below 1 N m/s^4, and rounding over h.
    assert np.cross(w, inertia(0.0) @ w) == pytest.approx(rate, abs=1e-12)
    assert np.abs(printed(np.diag(inertia(0.0))) - rate).max() > 0.02
    # In the axes of the body (6.90) would be right; the first row of (A.6) is not even there.
    inside = np.cross(w, Jp @ w)
    assert inside == pytest.approx(printed(np.diag(Jp)), abs=1e-15)
    assert abs(inside[0] - (Jp[0, 0] - Jp[1, 1]) * w[1] * w[2]) > 0.1


def test_section_6_3_7_prints_the_inertias_of_the_plate():
    """Ropes that hang straight down want a triangle with sides of 1.2 m; its inertias are what is printed for winches."""
    mass, trolleys = 12.5, np.array([[1 + 0.6 * np.sqrt(3), 1.2], [1.0, 1.8], [1.0, 0.6]])
    sides = [np.linalg.norm(trolleys[i] - trolleys[j]) for i, j in ((0, 1), (1, 2), (2, 0))]
    assert sides == pytest.approx([1.2] * 3, rel=1e-14)
    plate = mass * 1.2**2 * np.array([1 / 24, 1 / 24, 1 / 12])
    assert plate == pytest.approx([0.75, 0.75, 1.5], rel=1e-14)
    mechanism = open_model("cablev").mechanism
    (platform,) = (body for body in mechanism.bodies if body.name == "platform")
    found = [evaluate(value, defaults(mechanism)) for value in platform.inertia[:3]]
    assert found == pytest.approx(plate, rel=1e-12)


@pytest.mark.slow
def test_chapter_7_projections_take_singular_mass_matrices():
    """Massless coordinates make C M^-1 impossible, not the idea: where M is not inverted, the same inputs come out."""
    opened = open_model("us-navy-crane-2d:pulley=massless")
    task = opened.task("000-6.1.1")
    problem = pose_servo(opened.mechanism, task)
    s = problem.symbols
    M = ca.Function("M", [s.t, s.q, s.p], [ca.densify(problem.M)])(0.0, problem.posed.x0[: problem.equations.nq], problem.p)
    assert np.linalg.matrix_rank(M.full()) < problem.equations.nv
    one, other = (
        inverse(opened.mechanism, task, method=method, stepper="backward-euler:step=0.1")
        for method in ("projection", "minimal-extension")
    )
    for name in task.inputs:
        # Places to 1e-9 m, in second differences over 0.1 s, with 0.1 kg m^2 on a drum of 0.1 m.
        assert one[name] == pytest.approx(other[name], abs=4 * 1e-9 / 0.1**2 * 0.1 / 0.1)


def test_eq_27_of_document_003_has_wrong_dimensions():
    """It prints l^2 th'^2 where forces along s and l are of l th'^2: right only for a rope of 1 m."""
    problem, m, angle, turning = posed("overhead-crane", "003"), 100.0, 0.4, 0.6
    for l in (1.0, 2.7):
        q = {"swing.angle": angle, "reel.length": l}
        moving, standing = (forces(problem, q, {"swing.angle.rate": rate}) for rate in (turning, 0.0))
        found = [moving[name] - standing[name] for name in ("travel.displacement.rate", "reel.length.rate")]
        true, printed = (m * size * turning**2 * np.array([np.sin(angle), 1.0]) for size in (l, l**2))
        assert found == pytest.approx(true, rel=1e-11)
        assert np.allclose(found, printed) == (l == 1.0)


def test_eq_28_of_document_003_has_all_signs_reversed():
    """Accelerations of the load that speeds alone give are 2 l' th' cos - l th'^2 sin along x; (28) prints the opposite."""
    problem = posed("overhead-crane", "003")
    s, names = problem.symbols, problem.row_names
    angle, length, turning, reeling = 0.4, 2.7, 0.6, -0.3
    q = [{"swing.angle": angle, "reel.length": length}.get(name, 0.0) for name in names["q"]]
    v = [{"swing.angle.rate": turning, "reel.length.rate": reeling}.get(name, 0.0) for name in names["v"]]
    function = ca.Function("h", [s.t, s.q, s.v, s.a, s.signals[2], s.p], [problem.servo_accelerations])
    along, up = function(0.0, q, v, np.zeros(3), np.zeros(2), problem.p).full().ravel()
    want = 2 * reeling * turning * np.cos(angle) - length * turning**2 * np.sin(angle)
    down = -2 * reeling * turning * np.sin(angle) - length * turning**2 * np.cos(angle)
    assert (along, -up) == pytest.approx((want, down), rel=1e-12)
    assert abs(along - -want) > 1.0


def test_section_4_2_of_document_003_holds_the_load_by_a_torque():
    """The text ends with u = (0, m g), which is the tension; with the load at rest, f + B u = 0 for a torque of - m g r."""
    problem = posed("overhead-crane", "003")
    standing = forces(problem, {"reel.length": 1.5}, {})
    B = ca.Function("B", [problem.symbols.p], [ca.densify(problem.B)])(problem.p).full()
    B = dict(zip(problem.row_names["v"], B, strict=True))
    for u, rest in (((0.0, -100.0 * 9.81 * 0.1), True), ((0.0, 100.0 * 9.81), False)):
        left = max(abs(standing[name] + B[name] @ u) for name in standing)
        assert (left < 1e-10) == rest
