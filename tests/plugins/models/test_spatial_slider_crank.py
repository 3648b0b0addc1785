"""The spatial slider-crank against document 002, example 4.5: loop and forces in closed form, with and without friction."""

import re

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError, RunSettings, SolverError, evaluate, inverse, simulate
from kingpost.control.servo.index.report import IndexReport
from kingpost.control.servo.inverse import PreparedInverse
from kingpost.control.servo.posing import pose_servo
from kingpost.gallery.document_002.numbers import SLIDER_CRANK
from kingpost.plugins.models.spatial_slider_crank import START, loop, rod_angles
from kingpost.registry.selection import select
from tests.plugins.models.slider_crank_forces import L1, L2, slider_crank, slider_path
from tests.validation.natural import PLUGINS, derive

MU = 0.50
#: Parameters of a machine whose friction rises with the speed of the slider over a good part of the path.
SOFT = {"transition": 0.5}


def model(words="spatial-slider-crank"):
    return select(PLUGINS.models, words)


def smooth():
    """Return the machine without friction."""
    return model("spatial-slider-crank:friction=none")


def _closed_form():
    """Return a function (t, mu) -> what NAMES say, on the path of the task."""
    t, mu, at = ca.SX.sym("t"), ca.SX.sym("mu"), ca.SX.sym("motion", 3)
    path = [slider_path(t)]
    for _ in range(2):
        path.append(ca.jacobian(path[-1], t))
    x, v, a = ca.vertsplit(at)
    there = slider_crank(x, v, a, mu * ca.sign(v))
    turning = ca.jtimes(there.chi, x, v)
    moving = [x, v, there.chi, turning, there.torque, there.y3, there.z3, there.x3, there.energy]
    values = ca.substitute(ca.vertcat(*moving, a, there.slope), at, ca.vertcat(*path))
    power = ca.jacobian(values[8], t)
    return ca.Function("closed_form", [t, mu], [ca.vertcat(values[:9], power, values[9:])])


CLOSED_FORM = _closed_form()
NAMES = ("s", "s_rate", "chi", "chi_rate", "u1", "y3", "z3", "x3", "T", "power", "s_second", "slope")


def exact(t, mu=MU):
    values = np.asarray(CLOSED_FORM(np.atleast_1d(t).reshape(1, -1), np.broadcast_to(mu, np.shape(t)).reshape(1, -1)))
    return dict(zip(NAMES, values, strict=True))


def exact_smooth(t, transition):
    """Return the closed form with friction -mu tanh(s' / transition) N: at each time one of a smaller coefficient."""
    rate = exact(t)["s_rate"]
    return exact(t, MU * np.tanh(np.abs(rate) / transition))


def drive(crank, method, step=0.01, **settings):
    """Return the inverse dynamics of task 002 without the index analysis, which one test has done."""
    task = crank.tasks()["002"]
    problem = pose_servo(crank.build(), task, RunSettings(loads=("all",), backend="vm"), values=settings, plugins=PLUGINS)
    report = IndexReport(crank.name, task.name, task.measures, task.inputs)
    way = select(PLUGINS.of("inverse_dynamics"), method)
    return PreparedInverse(problem, way, select(PLUGINS.of("servo_steppers"), f"bdf2:step={step}"), report).run()


@pytest.fixture(scope="module")
def found():
    """The inverse dynamics of the document: the machine with friction."""
    crank = model()
    how = RunSettings(loads=("all",), backend="vm")
    return inverse(crank.build(), crank.tasks()["002"], method="modular", stepper="bdf2:step=0.01", how=how, plugins=PLUGINS)


@pytest.fixture(scope="module")
def soft():
    """The inverse dynamics with friction that rises slowly with the speed, so that splines can tell its torque."""
    return drive(model(), "computed-torque", 0.002, **SOFT)


@pytest.fixture(scope="module")
def frictionless():
    return drive(smooth(), "modular")


def test_the_closed_form_has_the_table_of_the_notes():
    for t, s, chi, rate, *forces in SLIDER_CRANK:
        at = {name: value[0] for name, value in exact(t).items()}
        assert [at["s"], at["chi"]] == pytest.approx([s, chi], abs=6e-6)
        assert at["chi_rate"] == pytest.approx(rate, abs=6e-5)
        assert [at["u1"], at["y3"], at["z3"], at["x3"]] == pytest.approx(forces, abs=6e-6)


def test_the_extremes_of_the_notes_and_jumps_only_where_the_slider_turns():
    before, after = (exact(np.array([0.0, 0.25]) + d) for d in (-1e-9, 1e-9))
    assert after["u1"] == pytest.approx([57.81, -58.418], abs=6e-3)
    assert np.abs(after["u1"] - before["u1"]).min() > 0.1
    t = np.linspace(1e-4, 0.25 - 1e-4, 4001)
    assert np.abs(np.diff(exact(t)["u1"])).max() < 0.1
    assert [exact(t)["y3"].min(), exact(t)["z3"].max()] == pytest.approx([-8.862, 18.19], abs=6e-3)
    # Without friction nothing jumps.
    assert exact(np.array([1e-9]), 0.0)["u1"] == pytest.approx(exact(np.array([-1e-9]), 0.0)["u1"], abs=1e-5)


def test_power_balance_of_the_closed_form():
    at = exact(np.linspace(0.01, 0.24, 12))
    np.testing.assert_allclose(at["u1"] * at["chi_rate"] + at["x3"] * at["s_rate"], at["power"], rtol=1e-11, atol=1e-10)


def test_the_loop_is_closed_at_the_start():
    """The configuration invariants of example 4.5; the document's own start leaves 6.2e-17."""
    chi, psi, phi = loop(START)
    open_by = [
        L2 * (1 - np.cos(psi) * np.cos(phi)) + START,
        L1 * (1 - np.cos(chi)) + L2 * np.cos(phi) * np.sin(psi),
        L1 * np.sin(chi) + L2 * np.sin(phi),
    ]
    assert np.linalg.norm(open_by) < 3e-16
    equations = derive(smooth().build(), "kane")
    p = [parameter.default for parameter in smooth().build().parameters]
    q = [value for joint in smooth().build().joints for value in joint.start]
    assert np.abs(np.asarray(equations.constraint_residuals(0, q, np.zeros(4), p)[0])).max() < 1e-15


def test_stroke_and_speed_of_the_crank():
    """The notes give 0.693366 rad for the least angle, which is acos(1 - (l2^2 - (l2 + s)^2) / (2 l1^2)) = 0.693338."""
    at = exact(np.linspace(0, 0.25, 20001)[1:-1])
    assert [at["chi"].min(), at["chi"].max()] == pytest.approx([0.693338, 2.551488], abs=2e-6)
    assert np.abs(at["chi_rate"]).max() == pytest.approx(10.1516, abs=6e-5)


def moves(found):
    """Return where the slider is so fast that its smooth friction is that of Coulomb, tanh(50) = 1."""
    return np.abs(exact(found.time)["s_rate"]) > 0.05


def test_inverse_dynamics_with_friction_has_the_table_of_the_document(found):
    """In the five digits of the table: the slider moves with 1.2 m/s and more there, 1200 times the transition."""
    assert found.provenance["inverse"]["index"]["index"] == 3
    assert found.provenance["inverse"]["method"]["name"] == "modular"
    for t, s, chi, rate, *forces in SLIDER_CRANK:
        i = round(t / 0.01)
        assert [found[name][i] for name in ("guide.displacement", "shaft.angle")] == pytest.approx([s, chi], abs=6e-6)
        assert found["shaft.angle.rate"][i] == pytest.approx(rate, abs=6e-5)
        assert [found[name][i] for name in ("torque", "guide.Fy", "guide.Fz", "guide.Fx")] == pytest.approx(forces, abs=6e-6)
        assert found["guide.friction.Fx"][i] == pytest.approx(forces[-1], abs=6e-6)


def test_inverse_dynamics_with_friction_is_the_closed_form(found):
    """Wherever the slider moves. Rounding: forces of 60 N, conditions of up to 1e2, and 1 / (1 - 0.46) of the friction."""
    expected, there = exact(found.time), moves(found)
    assert there.sum() == len(found.time) - 3
    for name, key in (
        ("torque", "u1"),
        ("guide.Fy", "y3"),
        ("guide.Fz", "z3"),
        ("guide.Fx", "x3"),
        ("guide.friction.Fx", "x3"),
    ):
        np.testing.assert_allclose(found[name][there], expected[key][there], atol=1e-10, err_msg=name)
    # Forces in the guide across its axis are the constraint's, and friction is mu times their size.
    across = np.hypot(found["guide.constraint.Fy"], found["guide.constraint.Fz"])
    np.testing.assert_allclose(across, found["rub.load"], atol=1e-10)
    np.testing.assert_allclose(np.abs(found["guide.friction.Fx"])[there], MU * across[there], atol=1e-10)
    # Where it turns back it stands, and nothing rubs: s' = 0 but for 1e-14 m/s, 1e-11 of the transition.
    still = exact(found.time + 1e-12, 0.0)
    for name, key in (("torque", "u1"), ("guide.Fy", "y3"), ("guide.Fz", "z3")):
        np.testing.assert_allclose(found[name][~there], still[key][~there], atol=1e-7, err_msg=name)


def test_friction_is_solved_for_to_rounding_and_its_coupling_told(found):
    """The equations of motion ask for what the law says; the coupling is mu |b|, which decides the quadratic equation."""
    assert found["rub.residual"].max() < 1e-11
    expected, there = exact(found.time), moves(found)
    np.testing.assert_allclose(found["rub.coupling"][there], MU * expected["slope"][there], rtol=1e-10)
    np.testing.assert_allclose(found["rub.coupling"][~there], 0.0, atol=1e-9)


def test_power_of_torque_and_friction_is_the_rate_of_the_kinetic_energy(found):
    """u1 chi' + x3* s' = dT/dt, the latter from the motion alone; 60 W with the rounding of forces."""
    expected, there = exact(found.time), moves(found)
    power = found["torque"] * found["shaft.angle.rate"] + found["guide.friction.Fx"] * found["guide.displacement.rate"]
    np.testing.assert_allclose(power[there], expected["power"][there], atol=1e-8)
    np.testing.assert_allclose(found["servo.power"], found["torque"] * found["shaft.angle.rate"], atol=1e-10)
    # dT/dt is zero where the machine stands.
    np.testing.assert_allclose(power[~there], 0.0, atol=1e-9)


def test_smooth_friction_is_the_closed_form_with_a_smaller_coefficient(soft):
    """By the other method, at all times: so the torque jumps at the reversals alone, within what the transition allows."""
    inner = soft.time % 0.25 > 1e-9
    expected = exact_smooth(soft.time, SOFT["transition"])
    for name, key in (("torque", "u1"), ("guide.Fy", "y3"), ("guide.Fz", "z3"), ("guide.friction.Fx", "x3")):
        np.testing.assert_allclose(soft[name][inner], expected[key][inner], atol=1e-10, err_msg=name)
    assert soft["rub.residual"].max() < 1e-11


def test_the_torque_changes_quickly_within_the_transition_alone(found):
    """Beside a reversal, 1e-3 s before and after, it is what the closed form has on either side of its jump."""
    narrow = drive(model(), "computed-torque", 0.001)
    beside = np.array([249, 251])
    np.testing.assert_allclose(narrow["torque"][beside], exact(narrow.time[beside])["u1"], atol=1e-10)
    jump = np.abs(np.diff(narrow["torque"]))
    there = [0, 249, 250, 499]
    expected = exact(narrow.time[1:-1])["u1"]
    assert jump[there].min() > 0.4
    # Elsewhere its slope is that of the closed form.
    rest = np.setdiff1d(np.arange(1, 499), there)
    np.testing.assert_allclose(np.diff(narrow["torque"])[rest], np.diff(expected)[rest - 1], atol=1e-9)
    np.testing.assert_allclose(narrow["torque"][::10], found["torque"], atol=1e-9)


def test_the_found_torque_leads_the_slider_with_friction_along_its_path(soft):
    """In a forward run, with the loads of the inverse one.

    Between samples 2 ms apart the torque is a cubic spline. Friction changes with s'' / transition = 52 / s at most, its fourth
    derivative by 16 * 52^4 of 10 N m, so that the error is h^4 / 384 of it, 5e-5 N m: of 0.2 kg m^2 in 0.5 s at most 3e-5 rad,
    half as many metres. Loads change with the speed by mu N / transition, 1e2 N s/m, and are off by 1e-2 N for 1e-4 m/s.
    """
    there = simulate(
        model().build(), 0.5, inputs=soft, settings=SOFT, step=0.001, output_step=0.01, plugins=PLUGINS, backend="vm",
        loads=("guide",),
    )  # fmt: skip
    np.testing.assert_allclose(there["guide.displacement"], exact(there.time)["s"], atol=2e-5)
    for name in ("guide.Fy", "guide.Fz", "guide.friction.Fx"):
        np.testing.assert_allclose(there[name], soft[name][::5], atol=2e-2, err_msg=name)


def test_the_state_and_torque_of_the_inverse_give_its_accelerations_and_loads(found):
    """One state at a time, with the friction of the document: rounding of 60 N."""
    names = [item.name for joint in model().build().joints for item in joint.positions]
    i = 31
    state = {name: found[name][i] for name in (*names, *(f"{name}.rate" for name in names), "torque")}
    there = evaluate(model().build(), settings=state, loads=("guide",), plugins=PLUGINS)
    assert there["vdot"][3] == pytest.approx(exact(found.time[i])["s_second"][0], abs=1e-9)
    wrench = [found[f"guide.{part}"][i] for part in ("Fx", "Fy", "Fz")]
    assert there["loads"]["guide"]["wrench"][3:] == pytest.approx(wrench, abs=1e-9)


def test_friction_that_would_jam_the_guide_is_refused_with_its_number():
    """mu |b| grows to 1 on the way when mu is 1.2; the first sample at which it is beyond is named."""
    times = np.linspace(0.0, 0.5, 51)
    coupling = 1.2 * np.tanh(np.abs(exact(times)["s_rate"]) / 1e-3) * exact(times)["slope"]
    first = int(np.argmax(coupling >= 1))
    assert 0 < first < 25
    with pytest.raises(SolverError) as stopped:
        drive(model(), "computed-torque", friction=1.2)
    message = str(stopped.value)
    assert "the path of guide.displacement cannot be driven: friction that depends on loads has no unique solution" in message
    assert f"at t = {times[first]:.6g} s (rub)" in message
    assert f"{coupling[first]:.6g} units of friction, and this number must be less than 1" in message


STEPPED = ("direct", "projection", "minimal-extension", "output-input")


def test_a_stepped_method_finds_friction_with_everything_else():
    """Efforts are unknowns of its steps. Measures and constraints at acceleration level leave no error of steps: rounding."""
    found = drive(model(), "output-coordinates", **SOFT)
    expected, inner = exact_smooth(found.time, SOFT["transition"]), found.time % 0.25 > 1e-9
    for name, key in (("torque", "u1"), ("guide.Fy", "y3"), ("guide.Fz", "z3"), ("guide.friction.Fx", "x3")):
        np.testing.assert_allclose(found[name][inner], expected[key][inner], atol=1e-10, err_msg=name)
    assert found["rub.residual"].max() < 1e-11 and 0.4 < found["rub.coupling"].max() < 0.5


@pytest.mark.slow
def test_a_stepped_method_refuses_friction_that_would_jam():
    with pytest.raises(
        SolverError, match=r"cannot be driven: friction that depends on loads has no unique solution at t = 0\."
    ):
        drive(model(), "output-coordinates", friction=1.2)


@pytest.mark.slow
@pytest.mark.parametrize("method", STEPPED)
def test_friction_has_the_error_of_the_steps_of_other_methods(method):
    """Steps of bdf2: errors of accelerations, and so of forces, are of second order; the law is met to rounding."""
    errors = []
    for step in (0.005, 0.0025):
        found = drive(model(), method, step, **SOFT)
        expected, inner = exact_smooth(found.time, SOFT["transition"]), found.time % 0.25 > 1e-9
        forces = ((found[name] - expected[key])[inner] for name, key in (("torque", "u1"), ("guide.friction.Fx", "x3")))
        errors.append([np.abs(error).max() for error in forces])
        assert found["rub.residual"].max() < 1e-11
    ratios = np.array(errors[0]) / errors[1]
    assert np.all(ratios > 2**1.7) and np.all(ratios < 2**2.5)


@pytest.mark.parametrize("method", ["minimal-extension:twice=true", "stable-inversion"])
def test_methods_that_take_no_friction_by_loads_name_those_that_do(method):
    with pytest.raises(MechanismError) as refused:
        inverse(model().build(), model().tasks()["002"], method=method, plugins=PLUGINS)
    message = r"method '.*' takes no forces that depend on joint loads, and 'spatial-slider-crank' has rub. Methods that do: "
    assert re.search(message + "computed-torque, direct, minimal-extension, modular, ", str(refused.value))


def test_inverse_dynamics_without_friction(frictionless):
    """Rounding: forces of 60 N from accelerations of 60 m/s^2, and conditions of up to 1e2."""
    found = frictionless
    expected = exact(found.time, 0.0)
    for name, key in (("guide.displacement", "s"), ("shaft.angle", "chi"), ("shaft.angle.rate", "chi_rate"), ("torque", "u1")):
        np.testing.assert_allclose(found[name], expected[key], atol=1e-10, err_msg=name)
    for name, key in (("guide.Fy", "y3"), ("guide.Fz", "z3")):
        np.testing.assert_allclose(found[name], expected[key], atol=1e-10, err_msg=name)
    # A slider that is a point, on a ball: no moments in the guide.
    moments = found.select([f"guide.M{axis}" for axis in "xyz"])
    assert np.abs(moments).max() < 1e-10


def test_mobility_is_two_with_balls_at_both_ends():
    """Chebychev, Gruebler and Kutzbach: 6 * 3 - (5 * 2 + 3 * 2) = 2, one of them the spin of the rod."""
    assert 6 * 3 - (5 * 2 + 3 * 2) == 2
    for words, freedom in (("pin=ball,", 2), ("", 1)):
        mechanism = model(f"spatial-slider-crank:{words}friction=none").build()
        equations = derive(mechanism, "kane")
        p = [parameter.default for parameter in mechanism.parameters]
        q = np.array([value for joint in mechanism.joints for value in joint.start])
        A = ca.Function("A", [equations.q, equations.p], [ca.densify(equations.constraints.A)])(q, p)
        assert equations.nv - np.linalg.matrix_rank(np.asarray(A)) == freedom


def test_a_rod_that_may_spin_moves_the_machine_in_the_same_way():
    start = {"shaft.angle.rate": 4.0}
    options = {"step": 0.002, "output_step": 0.02, "plugins": PLUGINS, "backend": "vm"}
    one = simulate(smooth().build(), 0.2, settings=start, **options)
    other = simulate(
        model("spatial-slider-crank:pin=ball,friction=none").build(), 0.2, settings=start | {"rod_axial_inertia": 1e-6},
        close_loops=True, **options,
    )  # fmt: skip
    # A spin takes up 1e-6 kg m^2 of it: 1e-5 of the rod's inertia.
    np.testing.assert_allclose(other["guide.displacement"], one["guide.displacement"], atol=1e-5)


def test_stabilisation_of_baumgarte_reduces_the_drift_of_plain_integration():
    """Example 4.5, runs 1 and 2: with b1 = b2 = b3 = 1 1/s errors of the invariants stay, without they grow with the time."""
    drift = {}
    for rate in (0, 1):
        history = simulate(
            smooth().build(), 30.0, settings={"shaft.angle.rate": 2.0}, step=0.02, output_step=0.5, plugins=PLUGINS,
            backend="vm", formulation=f"kane:projection=false,baumgarte={rate}", monitors=True,
        )  # fmt: skip
        drift[rate] = history["constraints.position"][-10:].max()
    assert drift[1] < 0.5 * drift[0] and drift[0] > 1e-9


def test_energy_is_kept_without_a_torque():
    history = simulate(
        smooth().build(), 2.0, settings={"shaft.angle.rate": 4.0}, step=0.002, output_step=0.02, plugins=PLUGINS, backend="vm"
    )
    # rk4 with up to 10 rad/s: (0.02)^5 / 120 in each of 1000 steps.
    assert np.ptp(history["energy.total"]) < 1e-7 * history["energy.total"][0]


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_with_friction_the_torque_of_the_document_moves_the_slider_as_prescribed(formulation):
    """The rows of the table: state and torque in; acceleration, reactions and friction out. The smooth sign is 1 - 1e-300."""
    mechanism = model().build()
    for t, *_, torque, y3, z3, x3 in SLIDER_CRANK if formulation == "kane" else SLIDER_CRANK[:1]:
        at = {name: value[0] for name, value in exact(t).items()}
        chi, psi, phi = loop(at["s"])
        first, second = rod_angles(chi, psi, phi)
        state = {"shaft.angle": chi, "pin.first": first, "pin.second": second, "guide.displacement": at["s"]}
        settings = state | {"shaft.angle.rate": at["chi_rate"], "torque": at["u1"]}
        found = evaluate(mechanism, settings=settings, loads=("guide",), formulation=formulation, plugins=PLUGINS)
        assert found["vdot"][3] == pytest.approx(at["s_second"], abs=1e-9)
        assert found["loads"]["guide"]["wrench"][3:] == pytest.approx([at["x3"], at["y3"], at["z3"]], abs=1e-9)
        assert found["loads"]["guide"]["parts"]["friction"][3] == pytest.approx(x3, abs=6e-6)
        assert [at["u1"], at["y3"], at["z3"]] == pytest.approx([torque, y3, z3], abs=6e-6)


def test_what_friction_takes_is_the_work_of_the_torque():
    """Over a stroke with a constant torque: energy balance of the run, by Hermite's rule over samples 1 ms apart."""
    history = simulate(
        model().build(), 0.3, settings={"torque": 8.0, "shaft.angle.rate": 3.0},
        step=5e-4, output_step=1e-3, plugins=PLUGINS, backend="vm", monitors=True, loads=("guide",),
    )  # fmt: skip
    chi, s = history["shaft.angle"], history["guide.displacement.rate"]
    rubbed = history.loads("guide").friction[:, 3] * s
    assert rubbed.max() <= 0.0 and rubbed.min() < -1.0
    lost = np.concatenate([[0.0], np.cumsum((rubbed[1:] + rubbed[:-1]) / 2 * np.diff(history.time))])
    gained = history["energy.total"] - history["energy.total"][0]
    # The trapezoidal rule: h^2 / 12 of a power whose second derivative is some 1e4 W/s^2, 3e-4 J in 0.3 s; jumps of up to 20 W
    # where the slider turns back cost h of them, 2e-2 J each.
    np.testing.assert_allclose(gained, 8.0 * (chi - chi[0]) + lost, atol=3e-2)
