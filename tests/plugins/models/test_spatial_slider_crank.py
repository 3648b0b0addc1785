"""The spatial slider-crank against document 002, example 4.5: loop and forces in closed form, with and without friction."""

import casadi as ca
import numpy as np
import pytest

from kingpost import RunSettings, evaluate, inverse, simulate
from kingpost.plugins.models.spatial_slider_crank import START, loop, rod_angles
from kingpost.registry.selection import select
from tests.validation.natural import PLUGINS, derive

L1, L2, SHARE = 0.5, np.sqrt(2), np.sqrt(2) / 2
I1, I2, M2, M3, MU = 0.20, 0.10, 0.50, 2.0, 0.50
#: The table of the notes: t, s, chi, chi', u1, y3*, z3*, x3*.
TABLE = (
    (0.05, -0.07306, 0.93059, 8.1864, 27.44449, -5.80370, 17.38870, 9.16583),
    (0.10, -0.15591, 1.40334, 10.1080, 6.93901, -8.00520, 12.92572, 7.60193),
    (0.15, -0.25831, 1.90473, 9.6908, -8.25343, 6.97690, -3.80674, 3.97393),
    (0.40, -0.15591, 1.40334, -10.1080, 4.55973, -3.98349, 8.16715, -4.54342),
    (0.45, -0.07306, 0.93059, -8.1864, 25.09193, -3.44144, 12.68357, -6.57108),
)


def model(words="spatial-slider-crank"):
    return select(PLUGINS.models, words)


def _closed_form():
    """Return a function (t, mu) -> s, s', chi, chi', u1, y3*, z3*, x3*, kinetic energy, by Newton and Euler.

    The rod e from the pin p to the slider, l2 e = slider - p, has no spin. Its moments about its centre,
    (p - c) x (m2 a + f) - (slider - c) x f = I2 e x e'', with the force f of the rod on the slider, give
    f = -gamma2 m2 a - (I2 / l2) e'' + k e, and k follows from the slider along x: f_x = m3 s'' - x3*.
    """
    t, mu = ca.SX.sym("t"), ca.SX.sym("mu")

    def rate(expression, order=1):
        for _ in range(order):
            expression = ca.jacobian(expression, t)
        return expression

    s = -(1 - SHARE) * L2 * (1 + 8 * ca.sin(2 * ca.pi * t) ** 2) / 10
    chi = ca.acos(1 - (L2**2 - (L2 + s) ** 2) / (2 * L1**2))
    p = ca.vertcat(0, -L1 * ca.cos(chi), -L1 * ca.sin(chi))
    slider = ca.vertcat(L2 + s, -L1, 0)
    e = (slider - p) / L2
    centre = p + SHARE * L2 * e
    a, bend = rate(centre, 2), rate(e, 2)
    known = -SHARE * M2 * a - I2 / L2 * bend
    # f = f0 + x3* f1; on the slider y3* = -f_y and z3* = -f_z.
    f0 = known + (M3 * rate(s, 2) - known[0]) / e[0] * e
    f1 = -e / e[0]
    A, b = -f0[1:], -f1[1:]
    sign = ca.sign(rate(s))
    # N^2 = |A + b x|^2 with x = -mu sign N: one positive root, since mu |b| < 1.
    square, line = 1 - mu**2 * ca.dot(b, b), mu * sign * ca.dot(A, b)
    N = (-line + ca.sqrt(line**2 + square * ca.dot(A, A))) / square
    x3 = -mu * sign * N
    f = f0 + x3 * f1
    on_pin = M2 * a + f
    u1 = I1 * rate(chi, 2) + ca.cross(p, on_pin)[0]
    T = (I1 * rate(chi) ** 2 + M3 * rate(s) ** 2 + M2 * ca.dot(rate(centre), rate(centre)) + I2 * ca.dot(rate(e), rate(e))) / 2
    wanted = ca.vertcat(s, rate(s), chi, rate(chi), u1, -f[1], -f[2], x3, T, rate(T), rate(s, 2))
    return ca.Function("closed_form", [t, mu], [wanted])


CLOSED_FORM = _closed_form()
NAMES = ("s", "s_rate", "chi", "chi_rate", "u1", "y3", "z3", "x3", "T", "power", "s_second")


def exact(t, mu=MU):
    values = np.asarray(CLOSED_FORM(np.atleast_1d(t).reshape(1, -1), mu))
    return dict(zip(NAMES, values, strict=True))


@pytest.fixture(scope="module")
def found():
    """The inverse dynamics of the machine without friction."""
    crank = model()
    how = RunSettings(loads=("all",), backend="vm")
    return inverse(crank.build(), crank.tasks()["002"], stepper="bdf2:step=0.01", how=how, plugins=PLUGINS)


def test_the_closed_form_has_the_table_of_the_notes():
    for t, s, chi, rate, *forces in TABLE:
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
    equations = derive(model().build(), "kane")
    p = [parameter.default for parameter in model().build().parameters]
    q = [value for joint in model().build().joints for value in joint.start]
    assert np.abs(np.asarray(equations.constraint_residuals(0, q, np.zeros(4), p)[0])).max() < 1e-15


def test_stroke_and_speed_of_the_crank():
    """The notes give 0.693366 rad for the least angle, which is acos(1 - (l2^2 - (l2 + s)^2) / (2 l1^2)) = 0.693338."""
    at = exact(np.linspace(0, 0.25, 20001)[1:-1])
    assert [at["chi"].min(), at["chi"].max()] == pytest.approx([0.693338, 2.551488], abs=2e-6)
    assert np.abs(at["chi_rate"]).max() == pytest.approx(10.1516, abs=6e-5)


def test_inverse_dynamics_finds_torque_and_reactions(found):
    """Without friction. Rounding: forces of 60 N from accelerations of 60 m/s^2, and conditions of up to 1e2."""
    expected = exact(found.time, 0.0)
    for name, key in (("guide.displacement", "s"), ("shaft.angle", "chi"), ("shaft.angle.rate", "chi_rate"), ("torque", "u1")):
        np.testing.assert_allclose(found[name], expected[key], atol=1e-10, err_msg=name)
    for name, key in (("guide.Fy", "y3"), ("guide.Fz", "z3")):
        np.testing.assert_allclose(found[name], expected[key], atol=1e-10, err_msg=name)
    # A slider that is a point, on a ball: no moments in the guide.
    moments = found.select([f"guide.M{axis}" for axis in "xyz"])
    assert np.abs(moments).max() < 1e-10


def test_the_found_torque_leads_the_slider_along_its_path(found):
    """In a forward run. Between samples 10 ms apart the torque is a cubic spline: (4 pi h)^4 / 384 of it, 2e-6 of 50 N m."""
    there = simulate(model().build(), 0.5, inputs=found, step=0.001, output_step=0.05, plugins=PLUGINS, backend="vm")
    np.testing.assert_allclose(there["guide.displacement"], exact(there.time, 0.0)["s"], atol=1e-4)


def test_mobility_is_two_with_balls_at_both_ends():
    """Chebychev, Gruebler and Kutzbach: 6 * 3 - (5 * 2 + 3 * 2) = 2, one of them the spin of the rod."""
    assert 6 * 3 - (5 * 2 + 3 * 2) == 2
    for words, freedom in (("spatial-slider-crank:pin=ball", 2), ("spatial-slider-crank", 1)):
        mechanism = model(words).build()
        equations = derive(mechanism, "kane")
        p = [parameter.default for parameter in mechanism.parameters]
        q = np.array([value for joint in mechanism.joints for value in joint.start])
        A = ca.Function("A", [equations.q, equations.p], [ca.densify(equations.constraints.A)])(q, p)
        assert equations.nv - np.linalg.matrix_rank(np.asarray(A)) == freedom


def test_a_rod_that_may_spin_moves_the_machine_in_the_same_way():
    start = {"shaft.angle.rate": 4.0}
    options = {"step": 0.002, "output_step": 0.02, "plugins": PLUGINS, "backend": "vm"}
    one = simulate(model().build(), 0.2, settings=start, **options)
    other = simulate(
        model("spatial-slider-crank:pin=ball").build(), 0.2, settings=start | {"rod_axial_inertia": 1e-6}, close_loops=True,
        **options,
    )  # fmt: skip
    # A spin takes up 1e-6 kg m^2 of it: 1e-5 of the rod's inertia.
    np.testing.assert_allclose(other["guide.displacement"], one["guide.displacement"], atol=1e-5)


def test_stabilisation_of_baumgarte_reduces_the_drift_of_plain_integration():
    """Example 4.5, runs 1 and 2: with b1 = b2 = b3 = 1 1/s errors of the invariants stay, without they grow with the time."""
    drift = {}
    for rate in (0, 1):
        history = simulate(
            model().build(), 30.0, settings={"shaft.angle.rate": 2.0}, step=0.02, output_step=0.5, plugins=PLUGINS,
            backend="vm", formulation=f"kane:projection=false,baumgarte={rate}", monitors=True,
        )  # fmt: skip
        drift[rate] = history["constraints.position"][-10:].max()
    assert drift[1] < 0.5 * drift[0] and drift[0] > 1e-9


def test_energy_is_kept_without_a_torque():
    history = simulate(
        model().build(), 2.0, settings={"shaft.angle.rate": 4.0}, step=0.002, output_step=0.02, plugins=PLUGINS, backend="vm"
    )
    # rk4 with up to 10 rad/s: (0.02)^5 / 120 in each of 1000 steps.
    assert np.ptp(history["energy.total"]) < 1e-7 * history["energy.total"][0]


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_with_friction_the_torque_of_the_document_moves_the_slider_as_prescribed(formulation):
    """The rows of the table: state and torque in; acceleration, reactions and friction out. The smooth sign is 1 - 1e-300."""
    mechanism = model("spatial-slider-crank:friction=bearing").build()
    for t, *_, torque, y3, z3, x3 in TABLE if formulation == "kane" else TABLE[:1]:
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
        model("spatial-slider-crank:friction=bearing").build(), 0.3, settings={"torque": 8.0, "shaft.angle.rate": 3.0},
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
