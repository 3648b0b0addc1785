"""The targets of document 002, numbered 1 to 48: which test covers each, and those that no other test covers.

Values are those of the document where it is right, of closed forms, and of an independent implementation. Where the document
prints something wrong, a test says that it is.
"""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, Joint, Mechanism, open_model
from kingpost.modular.system import build
from kingpost.modular.tree import assembled, given_at
from kingpost.multibody.assembly import assemble
from kingpost.plugins.models.two_rod_subsystems import in_points
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.problem import derive
from tests.core.modular.document_systems import quaternion_body, rolling_sphere, two_node_element
from tests.validation.named_tests import missing

HERE = "validation/test_modular_targets.py::"
LINKAGE = "validation/test_five_bar_002.py::"
LABELLED = "core/modular/test_labelled.py::"
COMPLEMENTS = "core/modular/test_complements.py::"
BODIES = "core/modular/test_bodies.py::"
TREE = "core/modular/test_tree.py::"
LINEAR = "core/modular/test_linearisation.py::"
FIVE_BAR = "plugins/models/test_subsystem_models.py::"
RING = "plugins/models/test_ring_and_disc.py::"
WHITWORTH = "plugins/models/test_whitworth.py::"
RRR = "plugins/models/test_rrr_parallel.py::"
PLANAR = "core/modular/test_planar.py::"
NODAL = "validation/test_planar_nodal.py::"
FORMALISMS = "plugins/formalisms/test_targets.py::"
SPHERE = "plugins/models/test_rolling_sphere.py::"
CRANK = "plugins/models/test_spatial_slider_crank.py::"
DISC = "plugins/models/test_knife_edge_disc.py::"
TRICYCLE = "plugins/models/test_tadpole_tricycle.py::"
BICYCLE = "plugins/models/test_whipple_bicycle.py::"
TRIPS = "validation/test_round_trips_002.py::"
PENDULUM = "plugins/models/test_pendulum_subsystems.py::"

COVERED = {
    1: [HERE + "test_01_a_body_that_turns_steadily"],
    2: [HERE + "test_02_seven_maps_for_seven_coordinates"],
    3: [HERE + "test_03_05_ranks_of_the_two_rod_slider"],
    4: [HERE + "test_04_ranks_with_the_slider_off_the_axis"],
    5: [HERE + "test_03_05_ranks_of_the_two_rod_slider", HERE + "test_05_equal_rods_without_the_angle"],
    6: [HERE + "test_06_the_complement_of_example_2_4", HERE + "test_06_the_printed_complement_fails"],
    7: [HERE + "test_07_forces_at_the_contact_do_nothing"],
    8: [TREE + "test_complements_of_random_trees"],
    9: [LINKAGE + "test_09_complements_of_the_five_bar"],
    10: [
        LABELLED + "test_assembly_is_commutative_and_associative",
        LABELLED + "test_assembly_of_symbols_is_commutative_and_associative",
        LABELLED + "test_assembly_of_matrix_expressions_is_commutative_and_associative",
        LABELLED + "test_entries_are_sums_and_missing_ones_zero",
    ],
    11: [FORMALISMS + "test_target_11_maggis_identities_and_multipliers"],
    12: [FORMALISMS + "test_target_12_udwadia_and_kalaba_with_forces_of_constraints_that_are_not_ideal"],
    13: [FORMALISMS + "test_target_13_singular_mass_matrices", FORMALISMS + "test_target_13_redundant_rows"],
    14: [FORMALISMS + "test_target_14_projectors"],
    15: [
        FORMALISMS + "test_target_15_the_sleigh",
        FORMALISMS + "test_target_15_the_printed_form_of_boltzmann_and_hamel_fails_on_the_sleigh",
    ],
    16: [FORMALISMS + "test_target_16_gausss_compulsion_is_smallest_at_the_accelerations"],
    17: [
        FORMALISMS + "test_target_17_transformations_of_twists_and_wrenches",
        FORMALISMS + "test_target_17_newton_and_euler_with_screws_and_without",
    ],
    18: [PENDULUM + "test_all_variables_give_the_motion_of_the_notes"],
    19: [HERE + "test_19_inertia_forces_of_a_redundant_speed"],
    20: [HERE + "test_20_inertia_forces_of_appendix_a_are_one"],
    21: [RING + "test_the_mass_ratio_of_a_steady_angle"],
    22: [RING + "test_the_mass_ratio_of_a_steady_angle"],
    23: [RING + "test_the_linear_model"],
    24: [RING + "test_the_table_of_steady_angles_and_frequencies"],
    25: [RING + "test_the_motion_of_the_document"],
    26: [RING + "test_the_linear_model", RING + "test_speeds_do_not_enter_the_linear_model"],
    27: [
        LINKAGE + "test_27_forces_of_a_half",
        LINKAGE + "test_27_forces_of_the_five_bar_need_the_weight_of_the_payload",
        FIVE_BAR + "test_subsystems_and_bodies_accelerate_alike",
    ],
    28: [
        SPHERE + "test_the_table_of_the_notes",
        SPHERE + "test_the_last_row_of_the_table",
        SPHERE + "test_the_period_across_the_trough_and_that_of_the_height",
        SPHERE + "test_the_contact_stays_in_the_trough_and_the_energy_is_the_work",
    ],
    29: [SPHERE + "test_the_period_across_the_trough_and_that_of_the_height"],
    30: [
        CRANK + "test_the_closed_form_has_the_table_of_the_notes",
        CRANK + "test_inverse_dynamics_with_friction_has_the_table_of_the_document",
        CRANK + "test_power_of_torque_and_friction_is_the_rate_of_the_kinetic_energy",
        CRANK + "test_stroke_and_speed_of_the_crank",
    ],
    31: [CRANK + "test_the_loop_is_closed_at_the_start"],
    32: [CRANK + "test_stabilisation_of_baumgarte_reduces_the_drift_of_plain_integration"],
    33: [
        CRANK + "test_the_extremes_of_the_notes_and_jumps_only_where_the_slider_turns",
        CRANK + "test_the_torque_changes_quickly_within_the_transition_alone",
    ],
    34: [PLANAR + "test_mobility", CRANK + "test_mobility_is_two_with_balls_at_both_ends"],
    35: [
        LINEAR + "test_example_4_6_at_rest",
        LINEAR + "test_example_4_6_while_it_is_let_go",
        LINEAR + "test_eigenvalues_of_example_4_6",
    ],
    36: [
        LINEAR + "test_example_4_6_while_it_is_let_go",
        LINEAR + "test_the_printed_factor_of_prop_4_4_fails",
        LINEAR + "test_direct_is_automatic_around_moving_references",
        LINEAR + "test_it_is_what_linearize_finds_for_the_mechanism",
    ],
    37: [DISC + "test_the_centre_moves_as_document_002_says", HERE + "test_37_inertia_forces_of_a_knuckle"],
    38: [TRICYCLE + "test_structure_of_document_002", TRICYCLE + "test_the_matrices_are_those_of_the_notes"],
    39: [TRICYCLE + "test_the_matrices_have_the_form_of_eq_5_21"],
    40: [
        TRICYCLE + "test_the_picture_of_its_modes",
        TRICYCLE + "test_steer_to_lean_ratios",
        TRICYCLE + "test_capsize_settles_above_weave_and_keeps_its_phase",
        TRICYCLE + "test_low_speeds_of_the_document_belong_to_least_squares",
        BICYCLE + "test_steer_to_lean_ratios",
    ],
    41: [COMPLEMENTS + "test_least_squares_is_exact_where_constraints_are_compatible"],
    42: [PLANAR + "test_forces_along_nodes_are_those_of_virtual_power"],
    43: [WHITWORTH + "test_extrema_and_their_times", WHITWORTH + "test_starts_and_stroke"],
    44: [WHITWORTH + "test_a_turn_takes_no_work_and_power_is_the_rate_of_energy"],
    45: [
        RRR + "test_the_torques_of_the_table",
        RRR + "test_extrema",
        RRR + "test_inverse_and_back",
        NODAL + "test_3rrr_from_nodes",
    ],
    46: [WHITWORTH + "test_residuals_are_below_those_of_the_document", RRR + "test_the_torques_of_the_table"],
    47: [
        TRIPS + "test_torques_and_power_are_those_of_virtual_work",
        TRIPS + "test_the_torques_lead_another_formulation_along_the_path",
        RRR + "test_inverse_and_back",
    ],
    48: [TREE + "test_the_shape_of_the_tree_changes_nothing", BODIES + "test_groups_change_no_acceleration"],
}


def test_every_target_has_a_test():
    assert sorted(COVERED) == list(range(1, 49))


@pytest.mark.parametrize("target", COVERED)
def test_the_tests_of_a_target_are_there(target):
    assert missing(COVERED[target]) == []


def matrix_at(subsystem, **values):
    """All constraints A of a system at a state, closed or not; every order below the highest that is not given is zero."""
    system = build(subsystem)
    x = np.array([float(values.get(label, 0.0)) for label in system.states])
    p = np.array([float(values.get(name, value)) for name, value in system.symbols.values.items()])
    given = given_at(system, 0.0, x, np.zeros(len(system.inputs)), p)
    return given.A


def rank_at(subsystem, **values):
    return np.linalg.matrix_rank(matrix_at(subsystem, **values).matrix, tol=1e-9)


def test_01_a_body_that_turns_steadily():
    """Ex. 2.1 with the rate W about y in body axes: qy = sin(W t / 2), qt = cos(W t / 2)."""
    rate, tree = 1.7, assembled(quaternion_body(), {"wy": 1.7})
    states = tree.system.states
    # Classical Runge-Kutta: less than (h W / 2)^5 is lost in each of 400 steps, together 5.5e-10.
    x, h = tree.x.copy(), 0.005
    for _ in range(400):
        k = []
        for share, last in ((0, 0), (0.5, 0), (0.5, 1), (1, 2)):
            k.append(np.array(tree.rhs(0.0, x + (h * share * k[last] if share else 0), tree.u, tree.p)).ravel())
        x = x + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    final = dict(zip(states, x, strict=True))
    assert (final["qy"], final["qt"]) == pytest.approx((np.sin(rate), np.cos(rate)), abs=5.5e-10)
    assert (final["qx"], final["qz"]) == pytest.approx((0.0, 0.0), abs=1e-15)


def test_02_seven_maps_for_seven_coordinates():
    """max(7, 6) = 7 maps, of which none is left over; (h) of Ex. 2.1 is what they solve to, for a unit quaternion."""
    body = quaternion_body()
    assert len(body.maps) == 7
    system = build(body)
    assert system.invariants == ()
    e = np.array([0.1, -0.5, 0.3, 0.0])
    e[3] = np.sqrt(1 - e @ e)
    w = np.array([0.4, -0.2, 0.7])
    qx, qy, qz, qt = e
    expected = 0.5 * np.array([[qt, -qz, qy], [qz, qt, -qx], [-qy, qx, qt], [-qx, -qy, -qz]]) @ w
    tree = assembled(body, dict(zip(("qx", "qy", "qz", "qt", "wx", "wy", "wz"), (*e, *w), strict=True)))
    rates = np.array(tree.rhs(0.0, tree.x, tree.u, tree.p)).ravel()[:4]
    assert np.allclose(rates, expected, rtol=0, atol=1e-14)


SINGULAR = [(1, 3.0, 0.0), (-1, -3.0, 0.0), (1, -1.0, np.pi), (-1, 1.0, np.pi)]


@pytest.mark.parametrize(("x1", "x2", "theta"), SINGULAR)
def test_03_05_ranks_of_the_two_rod_slider(x1, x2, theta):
    """Rods of 1 and 2: rank 5 in general, 4 where they are in line; without the angle 4 there, too."""
    assert rank_at(in_points(), x1=x1, x2=x2, theta=theta) == 4
    assert rank_at(in_points(with_angle=False), x1=x1, x2=x2) == 4
    tree = assembled(in_points())
    assert tree.start.partition.rank == 5
    assert tree.degrees_of_freedom == 2
    assert assembled(in_points(with_angle=False)).start.partition.rank == 4


@pytest.mark.parametrize(
    ("place", "rank"),
    [
        ({"x1": -2 * np.sqrt(2) / 3, "y1": 1 / 3, "x2": -2 * np.sqrt(2), "y2": 1.0, "theta": 0.0}, 4),
        ({"x1": 2 * np.sqrt(2) / 3, "y1": 1 / 3, "x2": 2 * np.sqrt(2), "y2": 1.0, "theta": 0.0}, 4),
        ({"x1": 0.0, "y1": -1.0, "x2": 0.0, "y2": 1.0, "theta": np.pi}, 3),
    ],
)
def test_04_ranks_with_the_slider_off_the_axis(place, rank):
    """Ex. 2.3: l1 = 1, l2 = 2, slider on y = 1."""
    system = in_points(line=1.0)
    assert rank_at(system, **place) == rank
    own = build(system)
    x = np.array([place.get(label, 0.0) for label in own.states])
    values = [ca.Function("c", own.arguments, [item.expression]) for item in own.invariants]
    p = np.array(list(own.symbols.values.values()))
    assert max(abs(float(value(0.0, x, 0.0, p))) for value in values) < 1e-14


def test_05_equal_rods_without_the_angle():
    """The document says full rank everywhere; not with equal rods folded onto each other."""
    equal = in_points(with_angle=False, l2=1.0)
    assert rank_at(equal, y1=1.0) == 3
    assert rank_at(equal, x1=0.6, y1=0.8, x2=1.2) == 4


def document_complement(place, sign):
    """(a) of Ex. 2.4, rows x1' y1' z1' x2' y2' z2' theta', columns z1' x2'; dependent rows with the printed sign or not."""
    x1, y1, z1, x2, z2, theta = (place[name] for name in ("x1", "y1", "z1", "x2", "z2", "theta"))
    rows = np.zeros((7, 2))
    rows[2, 0] = rows[3, 1] = 1
    rows[0] = sign * np.array([z2 / x2, x1 / x2 - 1])
    rows[1] = sign * np.array([(z1 * x2 - x1 * z2) / (y1 * x2), x1 * (x2 - x1) / (y1 * x2)])
    rows[6] = sign * np.array([0.0, x2 / (1.0 * 2.0 * np.sin(theta))])
    return rows


def generic_slider():
    tree = assembled(in_points())
    return tree, dict(zip(tree.system.states, tree.x, strict=True))


def test_06_the_complement_of_example_2_4():
    tree, place = generic_slider()
    labels = [f"{name}_ddot" for name in ("x1", "y1", "z1", "x2", "y2", "z2", "theta")]
    S = tree.start.S.part(labels, ["z1_ddot", "x2_ddot"]).matrix
    assert np.allclose(S, document_complement(place, -1.0), rtol=0, atol=1e-12)
    assert np.abs(tree.start.A.part(..., labels).matrix @ S).max() < 1e-12


def test_06_the_printed_complement_fails():
    """The document prints the dependent rows with the opposite sign."""
    tree, place = generic_slider()
    labels = [f"{name}_ddot" for name in ("x1", "y1", "z1", "x2", "y2", "z2", "theta")]
    assert np.abs(tree.start.A.part(..., labels).matrix @ document_complement(place, 1.0)).max() > 0.1


def test_07_forces_at_the_contact_do_nothing():
    """V S = 0 for the point b where it is the contact: whatever acts there has no share in the equations of motion."""
    at_contact = {"y": 0.0, "z": 0.0}
    force = {"Fx": 1.0, "Fy": -2.0, "Fz": 3.0}
    without, pushed = (assembled(rolling_sphere(), {**at_contact, **given}).start.hb for given in ({}, force))
    assert np.abs((pushed - without).matrix).max() < 1e-15
    away = [assembled(rolling_sphere(), given).start.hb for given in ({}, force)]
    assert np.abs((away[1] - away[0]).matrix).max() > 1e-4


def test_ex_2_6_velocities_of_nodes():
    """The rows of Ex. 2.6 for a node: (1, 0, (1-g) p_iy + g p_jy + rho (p_jx - p_ix) - p_ky), and the one for y."""
    tree = assembled(two_node_element())
    state = dict(zip(tree.system.states, tree.x, strict=True))
    gamma, rho = 0.35, -0.2
    (x1, y1), (x2, y2) = ((state[f"x{k}"], state[f"y{k}"]) for k in "12")
    for k in "12":
        xk, yk = state[f"x{k}"], state[f"y{k}"]
        rows = tree.start.S.part([f"x{k}_ddot", f"y{k}_ddot"], ["vx_dot", "vy_dot", "w_dot"]).matrix
        expected = [
            [1, 0, (1 - gamma) * y1 + gamma * y2 + rho * (x2 - x1) - yk],
            [0, 1, -(1 - gamma) * x1 - gamma * x2 + rho * (y2 - y1) + xk],
        ]
        assert np.allclose(rows, expected, rtol=0, atol=1e-14)


def test_19_inertia_forces_of_a_redundant_speed():
    """Ex. A.1: T = m u / 2 with u = x'^2 + y'^2 + z'^2 among the speeds gives (-m x'', -m y'', -m z'', 0) by (A.7)."""
    m = 1.3
    qd, qdd, w = ca.SX.sym("qd", 3), ca.SX.sym("qdd", 3), ca.SX.sym("w", 4)
    speeds = ca.vertcat(qd, ca.sumsqr(qd))
    J = ca.jacobian(speeds, qd)
    Ji = ca.horzcat(ca.SX.eye(3), ca.SX(3, 1))
    T = m * w[3] / 2
    turning = ca.jtimes(J.reshape((-1, 1)), qd, qdd).reshape(J.shape)
    dT = ca.gradient(T, w)
    # N00 dT/dq and N11 d/dt dT/dw vanish: T depends on neither q nor, twice, on w.
    found = (-turning @ Ji).T @ dT
    values = np.array(ca.Function("f", [qd, qdd], [found])([0.3, -0.2, 0.9], [1.0, 2.0, 3.0])).ravel()
    assert np.allclose(values, [-m, -2 * m, -3 * m, 0.0], rtol=0, atol=1e-15)


def test_20_inertia_forces_of_appendix_a_are_one():
    """(A.1) = (A.2) = (A.7) = (A.11) for r = 1, 2 = (A.47), with affine quasi-velocities that turn with the configuration."""
    q, qd, qdd = (ca.SX.sym(name, 2) for name in ("q", "qd", "qdd"))
    w, wd, wdd = (ca.SX.sym(name, 2) for name in ("w", "wd", "wdd"))
    masses = (1.2, 0.7)
    places = (
        ca.vertcat(ca.cos(q[0]), ca.sin(q[0]), 0.3 * q[1] ** 2),
        ca.vertcat(ca.cos(q[0]) + q[1] * ca.sin(q[0]), ca.sin(q[0]) - q[1] * ca.cos(q[0]), q[1]),
    )
    J = ca.vertcat(ca.horzcat(1 + q[1] ** 2, ca.sin(q[0])), ca.horzcat(0.2 * q[0], 2 - ca.cos(q[1])))
    offset = ca.vertcat(0.3 * q[0], ca.sin(q[1]))
    speeds = J @ qd + offset
    Ji = ca.inv(J)

    def rate(expression):
        return ca.jtimes(expression, q, qd) + ca.jtimes(expression, qd, qdd)

    velocities = [ca.jtimes(place, q, qd) for place in places]
    accelerations = [rate(velocity) for velocity in velocities]
    T_dot = sum(m * ca.sumsqr(v) / 2 for m, v in zip(masses, velocities, strict=True))
    # (A.47): every particle along its partial velocity.
    kane = -sum(m * (ca.jacobian(v, qd) @ Ji).T @ a for m, v, a in zip(masses, velocities, accelerations, strict=True))
    # (A.2)
    lagrange = -Ji.T @ (rate(ca.gradient(T_dot, qd)) - ca.gradient(T_dot, q))
    # (A.1): Gibbs' function by the rates of the quasi-velocities; qdd = Ji (wd - J' qd - offset').
    gibbs_dot = sum(m * ca.sumsqr(a) / 2 for m, a in zip(masses, accelerations, strict=True))
    appell = -Ji.T @ ca.gradient(gibbs_dot, qdd)
    # T in quasi-velocities, and its rates in q, w, w', w''.
    qd_of_w = Ji @ (w - offset)
    T = ca.substitute(T_dot, qd, qd_of_w)

    def rate_in_w(expression):
        return ca.jtimes(expression, q, qd_of_w) + ca.jtimes(expression, w, wd) + ca.jtimes(expression, wd, wdd)

    turning = ca.jtimes(J.reshape((-1, 1)), q, qd).reshape(J.shape)
    N01 = ((ca.jacobian(speeds, q) - turning) @ Ji).T
    hamel = Ji.T @ ca.gradient(T, q) + N01 @ ca.gradient(T, w) - rate_in_w(ca.gradient(T, w))
    T1 = rate_in_w(T)
    T2 = rate_in_w(T1)
    nielsen = [
        (1 + 1 / r) * Ji.T @ ca.gradient(T, q) + N01 @ ca.gradient(T, w) - ca.gradient(Tr, by) / r
        for r, Tr, by in ((1, T1, w), (2, T2, wd))
    ]
    rng = np.random.default_rng(2)
    values = {name: rng.uniform(0.3, 1.0, 2) for name in ("q", "qd", "qdd", "wdd")}
    kinematics = ca.Function("w", [q, qd, qdd], [speeds, rate(speeds)])
    w_now, wd_now = kinematics(values["q"], values["qd"], values["qdd"])
    every = ca.Function("f", [q, qd, qdd, w, wd, wdd], [kane, lagrange, appell, hamel, *nielsen])
    found = [np.array(item).ravel() for item in every(*(values[n] for n in ("q", "qd", "qdd")), w_now, wd_now, values["wdd"])]
    for other in found[1:]:
        assert np.allclose(other, found[0], rtol=0, atol=1e-12)
    # (A.13), (A.14): the inertia matrix is symmetric and positive.
    inertia = ca.Function("M", [q, qd, qdd, w, wd], [-ca.jacobian(hamel, wd)])
    slope = np.array(inertia(*(values[n] for n in ("q", "qd", "qdd")), w_now, wd_now))
    assert np.allclose(slope, slope.T, rtol=0, atol=1e-13)
    assert np.linalg.eigvalsh(slope).min() > 0


def test_37_inertia_forces_of_a_knuckle():
    """(5.15) for a body without any symmetry is -(I w' + w x I w), and what a free body of a machine feels."""
    inertia = (0.002, 0.0015, 0.003, 0.0003, -0.0005, 0.0001)
    xx, yy, zz, xy, xz, yz = inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rng = np.random.default_rng(37)
    w, wd = rng.uniform(-3, 3, 3), rng.uniform(-3, 3, 3)
    printed = [
        -tensor[b, c] * w[b] ** 2 - tensor[a, c] * w[a] * w[b] + tensor[b, b] * w[c] * w[b]
        - tensor[c, c] * w[c] * w[b] + tensor[b, c] * w[c] ** 2 + tensor[a, b] * w[a] * w[c]
        - tensor[a, a] * wd[a] - tensor[a, b] * wd[b] - tensor[a, c] * wd[c]
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    ]  # fmt: skip
    # Rounding of sums of some 1e-2 N m: a few times 2e-18.
    np.testing.assert_allclose(printed, -(tensor @ wd + np.cross(w, tensor @ w)), rtol=0, atol=1e-16)
    body = Mechanism("knuckle", bodies=(Body("K", mass=0.5, inertia=inertia),), joints=(Joint("motion", "free", "world", "K"),))
    equations = derive(assemble(body, PluginSet()), "kane", PluginSet())
    felt = ca.Function("felt", [equations.q, equations.v], [equations.M, equations.f])
    M, f = (np.asarray(part) for part in felt(np.zeros(equations.nq), [*w, 0.3, -0.2, 0.1]))
    rows = [[item.name for item in equations.speed_quantities].index(f"motion.w{axis}") for axis in "xyz"]
    np.testing.assert_allclose(f.ravel()[rows] - M[np.ix_(rows, rows)] @ wd, printed, rtol=0, atol=1e-16)


@pytest.mark.parametrize("name", ["spherical-pendulum", "two-rod-slider", "five-bar"])
def test_models_of_the_document_are_there(name):
    for form in (name, f"{name}-subsystems"):
        assert open_model(form).mechanism.name == form
