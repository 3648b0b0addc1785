"""The targets of document 000, numbered V01 to V56: which test covers each, and those that no other test covers.

Values are those of closed forms and of an independent implementation of the document's schemes.
"""

import functools
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from kingpost import inverse, open_model, simulate
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.inverse import PreparedInverse
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.stepping import ServoStepperOptions
from kingpost.plugins.inverse_dynamics.minimal_extension import MinimalExtension
from kingpost.plugins.inverse_dynamics.steppers import BackwardEuler
from tests.plugins.models.test_overhead_crane import solution

TESTS = Path(__file__).parents[1]
HERE = "validation/test_servo_targets.py::"
FIGURES = "examples/test_examples.py::test_d2_cranes_000"
INDEX = "core/control/servo/index/test_analysis.py::"
PRINTED = "core/control/servo/index/test_printed_systems.py::"
INVERSE = "core/control/servo/test_inverse.py::"
PATHS = "core/mechanism/test_trajectories.py::"
NAVY = "plugins/models/test_us_navy_crane.py::"
CABLEV = "plugins/models/test_cablev.py::"
OVERHEAD = "plugins/models/test_overhead_crane.py::"
ROTARY = "plugins/models/test_rotary_crane.py::"
WINCHES = "plugins/models/test_rotary_crane_two_winches.py::"
PRINTED_FORMS = "validation/test_servo_printed_forms.py::"
DIRECTORS = "validation/test_directors.py::"
DAE = "validation/test_dae_integrators.py::"

COVERED = {
    "V01": [PATHS + "test_rest_to_rest_over_three_seconds_has_the_known_extremes"],
    "V02": [PATHS + "test_the_three_phases_join_with_four_derivatives_and_not_with_five"],
    "V03": [OVERHEAD + "test_the_flat_solution_has_the_values_of_the_notes"],
    "V04": [OVERHEAD + "test_the_crane_hangs_at_rest", OVERHEAD + "test_the_flat_solution_has_the_values_of_the_notes"],
    "V05": [ROTARY + "test_the_flat_solution_has_the_values_of_the_notes"],
    "V06": [ROTARY + "test_while_the_load_moves_uniformly_only_the_girder_takes_a_torque"],
    "V07": [FIGURES],
    "V08": [WINCHES + "test_the_reduced_mass_matrix_is_eq_5_136", FIGURES],
    "V09": [NAVY + "test_the_planar_crane_without_pulley_mass_has_the_values_of_the_notes"],
    "V10": [NAVY + "test_the_planar_crane_with_pulley_mass_has_the_values_of_the_notes"],
    "V11": [NAVY + "test_the_crane_in_space_without_pulley_mass_has_the_values_of_the_notes"],
    "V12": [CABLEV + "test_the_platform_hangs_at_rest", FIGURES],
    "V13": [CABLEV + "test_the_flat_solutions_have_the_values_of_the_notes", FIGURES],
    "V14": [CABLEV + "test_the_turn_of_the_third_task_is_that_of_the_notes", FIGURES],
    "V15": [HERE + "test_v15_inputs_do_the_work_that_loads_gain", FIGURES],
    "V20": [INDEX + "test_index_internal_states_and_rank"],
    "V21": [
        HERE + "test_v21_inputs_do_not_act_on_the_load_directly",
        HERE + "test_v21_inputs_do_not_act_on_the_load_of_the_rotary_crane",
    ],
    "V22": [
        HERE + "test_v22_printed_projections_are_across_the_constraints",
        HERE + "test_v22_the_projection_of_the_rotary_crane",
    ],
    "V24": [HERE + "test_v24_determinants", HERE + "test_v24_what_measures_tell_of_the_swing"],
    "V25": [PRINTED_FORMS + "test_v25_ranks_of_the_sufficient_condition"],
    "V27": [
        PRINTED_FORMS + "test_v27_the_index_1_system_has_four_equations_for_each_input",
        PRINTED_FORMS + "test_v27_backward_euler_in_dependent_coordinates",
    ],
    "V26": [HERE + "test_v26_degrees_of_freedom"],
    "V28": [HERE + "test_v40_v41_backward_euler_on_the_overhead_crane"],
    "V29": [OVERHEAD + "test_the_minimal_form_has_the_equations_of_the_documents"],
    "V31": [INDEX + "test_index_internal_states_and_rank", PRINTED + "test_index_and_internal_states"],
    "V32": [HERE + "test_v32_a_path_that_is_not_smooth_enough_gives_peaks_that_double"],
    "V40": [HERE + "test_v40_v41_backward_euler_on_the_overhead_crane", FIGURES],
    "V41": [HERE + "test_v40_v41_backward_euler_on_the_overhead_crane", FIGURES],
    "V42": [HERE + "test_v42_projection_is_minimal_extension_in_dependent_coordinates"],
    "V43": [FIGURES],
    "V44": [
        HERE + "test_v44_without_index_reduction_positions_err_too",
        HERE + "test_v44_without_index_reduction_rounding_takes_over",
    ],
    "V45": [HERE + "test_v45_the_mid_point_rule_rings"],
    "V46": [HERE + "test_v46_bdf2_has_order_two_inside"],
    "V47": [HERE + "test_v47_projections_hold_speeds_to_order_one", INVERSE + "test_the_path_is_followed_at_every_level"],
    "V56": [HERE + "test_v56_inputs_drive_the_machine_in_another_form"],
}
#: Forward dynamics and formulations, with the tests that are nearest.
FORWARD = {
    "V23": [DIRECTORS + "test_the_null_space_is_one"],
    "V30": [DIRECTORS + "test_the_closure_of_an_angle_keeps_full_rank_where_the_printed_one_loses_it"],
    "V48": ["validation/test_singular_bodies.py::test_the_rotary_crane_keeps_its_energy_at_large_steps"],
    "V49": ["validation/test_singular_bodies.py::test_the_rotary_crane_keeps_its_energy_at_large_steps"],
    "V50": [DIRECTORS + "test_motions_converge_to_those_in_joint_coordinates"],
    "V51": [DAE + "test_energy_momentum_keeps_the_energy_at_long_steps"],
    "V52": ["validation/test_squeezer.py::test_squeezer_reaches_the_published_end"],
    "V53": [DAE + "test_backward_euler_takes_energy_as_its_amplification_factor_says"],
    "V54": [DAE + "test_energy_momentum_keeps_the_energy_at_long_steps"],
    "V55": [DAE + "test_the_energy_error_of_the_variational_integrator_does_not_grow_on_a_closed_loop"],
}
#: Targets without a test, with the reason; none.
NOT_COVERED: dict[str, str] = {}


def test_every_target_has_a_test_or_a_reason():
    numbers = [*range(1, 16), *range(20, 33), *range(40, 57)]
    listed = [*COVERED, *FORWARD, *NOT_COVERED]
    assert sorted(listed) == [f"V{number:02d}" for number in numbers]


@pytest.mark.parametrize("target", [*COVERED, *FORWARD])
def test_the_tests_of_a_target_are_there(target):
    for place in {**COVERED, **FORWARD}[target]:
        file, _, name = place.partition("::")
        assert f"\ndef {name}(" in (TESTS / file).read_text(), place


def follow(model, task, method, stepper):
    opened = open_model(model)
    return inverse(opened.mechanism, opened.task(task), method=method, stepper=stepper)


@functools.cache
def closed_form():
    """Return the function of time: s, l, F, M of the overhead crane."""
    flat = solution("dependent", open_model("overhead-crane").task("000-4.4.1"))
    values = [flat.known["s"], flat.known["l"], flat.inputs["trolley_force"], flat.inputs["winch_torque"]]
    return ca.Function("crane", [flat.time.t], [ca.vertcat(*values)])


def errors(history):
    """Return the errors of s, l, F and M at every sample but the first."""
    wanted = np.asarray(closed_form().map(len(history.time))(history.time))
    length = history["reel.length"] if "reel.length" in history else 4 + 0.1 * history["drum.angle"]
    found = np.array([history["travel.displacement"], length, history["trolley_force"], history["winch_torque"]])
    return np.abs(found - wanted)[:, 1:]


SCHEMES = {
    "GEN": ("overhead-crane", "projection", {0.1: 2.807, 0.02: 0.5868}),
    "RED": ("overhead-crane:form=dependent", "projection", {0.1: 3.844, 0.02: 0.8741}),
    "ALT": ("overhead-crane:form=dependent", "projection-dependent", {0.1: 2.496, 0.02: 0.5416}),
    "B1": ("overhead-crane:form=dependent", "minimal-extension", {0.1: 3.844, 0.02: 0.8741}),
    "B3": ("overhead-crane", "minimal-extension", {0.1: 2.299, 0.02: 0.5193}),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_v40_v41_backward_euler_on_the_overhead_crane(scheme):
    """Positions are exact whatever the step; largest errors of inputs to the digits of the notes' table."""
    model, method, torques = SCHEMES[scheme]
    for step, force in ((0.1, 70.04), (0.02, 20.78)):
        s, l, F, M = errors(follow(model, "000-4.4.1", method, f"backward-euler:step={step}"))
        assert max(s.max(), l.max()) < 1e-10
        assert F.max() == pytest.approx(force, rel=1e-3)
        assert M.max() == pytest.approx(torques[step], rel=1e-3)


def test_v42_projection_is_minimal_extension_in_dependent_coordinates():
    red, extended = (
        follow("overhead-crane:form=dependent", "000-4.4.1", method, "backward-euler:step=0.02")
        for method in ("projection", "minimal-extension")
    )
    for name in ("trolley_force", "winch_torque"):
        assert np.abs(red[name] - extended[name]).max() < 1e-9 * np.abs(red[name]).max()


def test_v44_without_index_reduction_positions_err_too():
    """Order one for s; F is worse than with any reduction, and rounding takes over: 3.56 N at 1 ms, 55 N at half of it."""
    found = {
        step: errors(follow("overhead-crane:form=dependent", "000-4.4.1", "direct", f"backward-euler:step={step}"))
        for step in (0.1, 0.01)
    }
    for step, s, F in ((0.1, 0.363, 115.8), (0.01, 0.0385, 22.2)):
        assert found[step][0].max() == pytest.approx(s, rel=0.01)
        assert found[step][2].max() == pytest.approx(F, rel=0.01)


@pytest.mark.slow
def test_v44_without_index_reduction_rounding_takes_over():
    """Below 1 ms errors of F grow: 3.56 N at 1 ms, and 55.2 N at half of it in the notes, with another order of sums."""
    F = {}
    for step in (0.001, 0.0005):
        found = errors(follow("overhead-crane:form=dependent", "000-4.4.1", "direct", f"backward-euler:step={step}"))
        F[step] = found[2].max()
        assert found[0].max() == pytest.approx(3.87 * step, rel=0.02)
    assert F[0.001] == pytest.approx(3.56, rel=0.3)
    # A first-order method would halve it.
    assert F[0.0005] > 2 * F[0.001]


def test_v45_the_mid_point_rule_rings():
    """Where places are exact, v1 + v0 = 2 (s1 - s0) / h: an error of v changes its sign from step to step, undamped.

    At the start the third derivative of s jumps to j = 126.85 m/s^3 (with the fifth of the path), which leaves j h^2 / 12 in v,
    and 2 / h of that times the mass of the trolley in F: 10 j h / 6 = 211 h; the notes have 212 h.
    """
    for step in (0.04, 0.02):
        history = follow("overhead-crane:form=dependent", "000-4.4.1", "projection", f"midpoint:step={step}")
        assert "makes inputs ring" in history.provenance["warnings"][0]
        wanted = np.asarray(closed_form().map(len(history.time))(history.time))[2]
        error = (history["trolley_force"] - wanted)[2:]
        # What changes its sign from step to step, without what is smooth.
        ripple = (2 * error[1:-1] - error[:-2] - error[2:]) / 4
        inside = ripple[(history.time[3:-1] > 0.5) & (history.time[3:-1] < 2.5)]
        assert (inside[1:] * inside[:-1] < 0).all()
        assert np.abs(inside).mean() == pytest.approx(10 * 126.85 / 6 * step, rel=0.05)
        assert np.abs(history["servo.position.load.x"]).max() < 1e-10


def test_v46_bdf2_has_order_two_inside():
    for step, wanted in ((0.02, 4 * 0.1669), (0.01, 0.1669)):
        history = follow("overhead-crane:form=dependent", "000-4.4.1", "minimal-extension", f"bdf2:step={step}")
        t = history.time[1:]
        # The notes have the error at 0.01 s; order two gives the other, with the next term a step's part of it.
        assert errors(history)[2][(t > 0.5) & (t < 2.5)].max() == pytest.approx(wanted, rel=0.05)


def test_v47_projections_hold_speeds_to_order_one():
    worst = []
    for step in (0.02, 0.01):
        history = follow("overhead-crane:form=dependent", "000-4.4.1", "projection", f"backward-euler:step={step}")
        assert np.abs(history["servo.position.load.x"]).max() < 1e-10
        worst.append(np.abs(history["servo.speed.load.x"]).max())
    # Speeds are backward differences of the path: h/2 max|x''| = h/2 * 5 * 1.0413307 m/s^2.
    assert worst[1] == pytest.approx(0.005 * 5 * 1.0413307, rel=0.05)
    assert worst[0] / worst[1] == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    ("model", "task", "joules"),
    [
        ("overhead-crane", "000-4.4.1", 2943.0),
        pytest.param("rotary-crane", "000-4.4.2", 294.3, marks=pytest.mark.slow),
        pytest.param("rotary-crane", "000-5.3.2", 2943.0, marks=pytest.mark.slow),
        pytest.param("us-navy-crane-2d:pulley=massless", "000-6.1.1", 2943.0, marks=pytest.mark.slow),
        pytest.param("us-navy-crane-2d", "000-6.1.2", 7848.0, marks=pytest.mark.slow),
        pytest.param("us-navy-crane-3d:pulley=massless", "000-6.2.1", 1962.0, marks=pytest.mark.slow),
        pytest.param("us-navy-crane-3d", "000-6.2.2-smooth", 1912.95, marks=pytest.mark.slow),
        pytest.param("cablev", "000-6.3.7-rotation", 0.0, marks=pytest.mark.slow),
        pytest.param("cablev", "000-6.3.7-translation", 245.25, marks=pytest.mark.slow),
        pytest.param("cablev", "000-6.3.7-both", 245.25, marks=pytest.mark.slow),
    ],
)
def test_v15_inputs_do_the_work_that_loads_gain(model, task, joules):
    length = open_model(model).task(task).t_end
    history = follow(model, task, "flat", f"backward-euler:step={length / 300}")
    # The energy is exact; the work is a quadrature of smooth powers over 300 samples.
    assert history["energy.total"][-1] - history["energy.total"][0] == pytest.approx(joules, rel=1e-9, abs=1e-6)
    assert history["servo.work"][-1] == pytest.approx(joules, rel=1e-3, abs=1e-3)


def posed(name, task):
    opened = open_model(name)
    return pose_servo(opened.mechanism, opened.task(task))


def numbers(problem, q, *expressions):
    s = problem.symbols
    function = ca.Function("at", [s.t, s.q, s.p], [ca.densify(expression) for expression in expressions])
    return [np.asarray(part.full()) for part in function.call([0.0, q, problem.p])]


def place(problem, values):
    """Return the coordinates by name."""
    return np.array([values[name] for name in problem.row_names["q"]])


def hanging_overhead(problem, s=0.3, x=1.1, z=-2.5):
    l = np.hypot(x - s, z)
    return place(problem, {"travel.displacement": s, "drum.angle": (l - 4.0) / 0.1, "hook.x": x, "hook.z": z}), l


def test_v21_inputs_do_not_act_on_the_load_directly():
    """C M^-1 B = 0 in dependent coordinates, eq. (4.48): only the rope carries them to the load."""
    problem = posed("overhead-crane:form=dependent", "000-4.4.1")
    H, M, B = numbers(problem, hanging_overhead(problem)[0], problem.H, problem.M, problem.B)
    assert np.abs(B).max() == 1.0
    assert np.abs(H @ np.linalg.solve(M, B)).max() == 0.0


def test_v21_inputs_do_not_act_on_the_load_of_the_rotary_crane():
    """The other crane of eq. (4.48)."""
    problem = posed("rotary-crane:form=rope", "000-4.4.2")
    H, M, B = numbers(problem, hanging_rotary(problem), problem.H, problem.M, problem.B)
    assert np.abs(H @ np.linalg.solve(M, B)).max() < 1e-12


def hanging_rotary(problem, phi=0.4, s=2.0, load=(2.3, 0.5, -3.0)):
    below = np.array([s * np.cos(phi), s * np.sin(phi), 0.0])
    length = np.linalg.norm(np.array(load) - below)
    at = dict(zip(("hook.x", "hook.y", "hook.z"), load, strict=True))
    return place(problem, {"slew.angle": phi, "travel.displacement": s, "winch-axle.angle": (length - 5.0) / 0.1, **at})


def test_v22_the_projection_of_the_rotary_crane():
    """A D = 0 and C D = 0 with D of (4.108): the load stands still while girder and trolley move, and the rope follows."""
    problem = posed("rotary-crane:form=rope", "000-4.4.2")
    q = hanging_rotary(problem)
    phi, s, (x, y, z) = 0.4, 2.0, (2.3, 0.5, -3.0)
    L = np.linalg.norm([x - s * np.cos(phi), y - s * np.sin(phi), z])
    H, A = numbers(problem, q, problem.H, problem.A)
    across = [
        {"slew.angle.rate": 1.0, "winch-axle.angle.rate": (x * np.sin(phi) - y * np.cos(phi)) * s / L / 0.1},
        {"travel.displacement.rate": 1.0, "winch-axle.angle.rate": (s - x * np.cos(phi) - y * np.sin(phi)) / L / 0.1},
    ]
    D = np.array([[row.get(name, 0.0) for name in problem.row_names["v"]] for row in across]).T
    assert np.abs(np.vstack([H, A]) @ D).max() < 1e-12 * max(1.0, np.abs(A).max())


def test_v24_what_measures_tell_of_the_swing():
    """det D2 phi2 = l for the overhead crane, and -l^2 cos(theta2) for the rotary crane, in size."""
    problem = posed("overhead-crane", "000-4.4.1")
    q = place(problem, {"travel.displacement": 0.3, "swing.angle": 0.4, "reel.length": 2.7})
    columns = [problem.row_names["v"].index(name) for name in ("reel.length.rate", "swing.angle.rate")]
    assert abs(np.linalg.det(numbers(problem, q, problem.H)[0][:, columns])) == pytest.approx(2.7, rel=1e-12)
    problem = posed("rotary-crane", "000-4.4.2")
    at = {"slew.angle": 0.3, "travel.displacement": 2.0, "winch-axle.angle": -20.0, "reel.length": 3.0}
    q = place(problem, {**at, "swing.across": 0.2, "swing.along": -0.35})
    columns = [problem.row_names["v"].index(name) for name in ("reel.length.rate", "swing.across.rate", "swing.along.rate")]
    found = abs(np.linalg.det(numbers(problem, q, problem.H)[0][:, columns]))
    assert found == pytest.approx(3.0**2 * np.cos(-0.35), rel=1e-12)


def test_v22_printed_projections_are_across_the_constraints():
    """A D = 0 with D of (4.68), and C D = 0 with D of (4.77)."""
    problem = posed("overhead-crane:form=dependent", "000-4.4.1")
    q, l = hanging_overhead(problem)
    H, A = numbers(problem, q, problem.H, problem.A)
    across = {
        "travel.displacement.rate": 1.0,
        "drum.angle.rate": (0.3 - 1.1) / (0.1 * l),
        "hook.x.rate": 0.0,
        "hook.z.rate": 0.0,
    }
    D = np.array([across[name] for name in problem.row_names["v"]])
    assert np.abs(np.vstack([H, A]) @ D).max() < 1e-12 * np.abs(A).max()
    problem = posed("overhead-crane", "000-4.4.1")
    angle, length = 0.4, 2.7
    q = place(problem, {"travel.displacement": 0.3, "swing.angle": angle, "reel.length": length})
    across = {"travel.displacement.rate": -1.0, "reel.length.rate": np.sin(angle), "swing.angle.rate": np.cos(angle) / length}
    D = np.array([across[name] for name in problem.row_names["v"]])
    assert np.abs(numbers(problem, q, problem.H)[0] @ D).max() < 1e-14


def test_v24_determinants():
    """P = H M1^-1 B1 of (5.19), from (5.16) to (5.18), for both cranes: not 0 where the rope pulls, and s is not 0."""
    rng = np.random.default_rng(0)
    m, mt, J, Jb, r, g = 100.0, 10.0, 0.1, 480.0, 0.1, 9.81
    p, y, a = ca.SX.sym("p", 3), ca.SX.sym("y", 3), ca.SX.sym("a", 3)
    phi, s, l = ca.vertsplit(p)
    up = g + a[2]
    d = y - ca.vertcat(s * ca.cos(phi), s * ca.sin(phi), 0)
    h = ca.vertcat((ca.sumsqr(d) - l**2) / 2, m * (y[2] * a[0] - d[0] * up), m * (y[2] * a[1] - d[1] * up))
    inverse_masses = ca.diag(ca.vertcat(1 / (Jb + mt * s**2), 1 / mt, r**2 / J))
    P = ca.jacobian(h, p) @ inverse_masses @ ca.diag(ca.DM([1, 1, 1 / r]))
    rotary = ca.det(P) - m**2 * l * r * s * up**2 / (J * mt * (Jb + mt * s**2))
    flat = ca.substitute(ca.vertcat(h[0], h[1]), ca.vertcat(phi, y[1]), ca.DM.zeros(2))
    P = ca.jacobian(flat, ca.vertcat(s, l)) @ ca.diag(ca.vertcat(1 / mt, r**2 / J)) @ ca.diag(ca.DM([1, 1 / r]))
    overhead = ca.det(P) - m * l * r * up / (mt * J)
    function = ca.Function("dets", [p, y, a], [rotary, overhead])
    for _ in range(5):
        for found in function.call([rng.uniform(1, 4, 3), rng.uniform(-4, 4, 3), rng.uniform(-1, 1, 3)]):
            assert abs(float(found)) < 1e-6  # of some 1e4 to 1e6


@pytest.mark.parametrize(
    ("model", "task", "freedoms", "inputs"),
    [
        ("overhead-crane:form=dependent", "000-4.4.1", 3, 2),
        ("rotary-crane:form=rope", "000-4.4.2", 5, 3),
        ("rotary-crane-two-winches", "000-5.4.4", 5, 3),
        ("us-navy-crane-2d:pulley=massless", "000-6.1.1", 4, 2),
        ("us-navy-crane-2d", "000-6.1.2", 4, 3),
        ("us-navy-crane-3d:pulley=massless", "000-6.2.1", 7, 3),
        ("us-navy-crane-3d", "000-6.2.2", 7, 4),
        ("cablev", "000-6.3.7-both", 10, 7),
    ],
)
def test_v26_degrees_of_freedom(model, task, freedoms, inputs):
    problem = posed(model, task)
    assert problem.equations.nv - problem.equations.constraints.count == freedoms
    assert problem.outputs == len(problem.driven) == inputs


@pytest.mark.slow
def test_v32_a_path_that_is_not_smooth_enough_gives_peaks_that_double():
    """The index is 7 and the path C^4: impulses of the slewing torque where the fifth derivative jumps, at 15 s.

    Runs refuse this; what they would give is computed without asking. The document's 0.1 s hide it.
    """
    problem = posed("us-navy-crane-3d", "000-6.2.2")
    report = analyse(problem)
    peaks = []
    for step in (0.025, 0.0125):
        stepper = BackwardEuler(ServoStepperOptions(step=step))
        history = PreparedInverse(problem, MinimalExtension(), stepper, report).run()
        # Further on, the torque that a smooth path needs takes over.
        after = (history.time > 15.0) & (history.time < 15.1)
        peaks.append(history["slew_torque"][after].min())
    # The notes have -111.8 at half the second step again: what is not part of the peak counts less and less.
    assert peaks == pytest.approx([-38.3, -61.8], abs=0.06)


def test_v56_inputs_drive_the_machine_in_another_form():
    """Inputs of the minimal form, without errors of steps, drive the form with a rope: only what is between samples is left."""
    wanted = follow("overhead-crane", "000-4.4.1", "flat", "backward-euler:step=0.005")
    there = simulate(open_model("overhead-crane:form=dependent").mechanism, 3.0, inputs=wanted)
    # Linear between samples, F errs by h^2/8 |F''| < 0.03 N of 100 kg over 3 s; cubic by far less.
    assert there["load.x"][-1] == pytest.approx(5.0, abs=1e-3)
    assert there["load.z"][-1] == pytest.approx(-1.0, abs=1e-3)
