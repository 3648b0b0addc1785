"""The overhead crane against the equations of documents 000 and 003, written out by hand, and against its flat solution."""

import casadi as ca
import numpy as np
import pytest

from kingpost import simulate
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from tests.plugins.models.flat import PLUGINS, Flat, Followed, Time, jets, model, worst

MT, M, J, R, G = 10.0, 100.0, 0.1, 0.1, 9.81
FORMS = {
    "minimal": ("kane", "recursive", "directors:effort=angle"),
    "dependent": ("kane", "recursive", "directors", "nullspace"),
    "elastic": ("kane", "directors"),
}
CASES = [(form, formulation) for form, formulations in FORMS.items() for formulation in formulations]
#: Forces of some 1e3 N from trigonometric functions and their derivatives.
ROUNDING = 1e-9


def equations_of(form, formulation="kane"):
    mechanism = model(f"overhead-crane:form={form}").build()
    return derive(assemble(mechanism, PLUGINS), formulation, PLUGINS)


def defaults(equations, **changes):
    return np.array([changes.get(item.name, item.default) for item in equations.mechanism.parameters])


def solution(form, task, ds=0.0, dl=0.0, EA=1e6):
    """Return the flat solution: eqs. (4.78)-(4.83) of document 000, where z points down."""
    time = Time()
    t, rate = time.t, time.rate
    path = jets(task, t)
    x, z = path["load.x"], [-item for item in path["load.z"]]
    s = x[0] + z[0] * x[2] / (G - z[2])
    length = z[0] * ca.sqrt(x[2] ** 2 + (G - z[2]) ** 2) / (G - z[2])
    tension = M * ca.sqrt(x[2] ** 2 + (G - z[2]) ** 2)
    swing = ca.atan2(x[0] - s, z[0])
    unstretched = length * EA / (EA + tension) if form == "elastic" else length
    pull = tension * (1 + tension / (2 * EA)) if form == "elastic" else tension
    force = MT * rate(s, 2) + ds * rate(s) + tension * (s - x[0]) / length
    torque = R * (J / R**2 * rate(unstretched, 2) + dl * rate(unstretched) - pull)
    coordinates = {"travel.displacement": s}
    if form == "minimal":
        coordinates |= {"swing.angle": swing, "reel.length": length}
    else:
        coordinates |= {"drum.angle": (unstretched - 4.0) / R, "hook.x": x[0], "hook.z": -z[0]}
    known = {"s": s, "l": length, "phi": swing, "tension": tension, "lam": M * (G - z[2]) / (2 * z[0])}
    return Flat(time, coordinates, {"trolley_force": force, "winch_torque": torque}, known)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_the_minimal_form_has_the_equations_of_the_documents(formulation):
    """Document 003, eq. (27), with its slips put right: l th'^2 in k1 and k2, where it prints l^2."""
    equations = equations_of("minimal", formulation)
    rng = np.random.default_rng(1)
    ds, dl = 50.0, 30.0
    p = defaults(equations, trolley_damping=ds, winch_damping=dl)
    for _ in range(10):
        (s, th, l), (s1, th1, l1) = rng.uniform(0.5, 3, 3), rng.uniform(-2, 2, 3)
        F, Mw = rng.uniform(-100, 100, 2)
        sin, cos = np.sin(th), np.cos(th)
        mass = np.array([[MT + M, M * sin, M * l * cos], [M * sin, M + J / R**2, 0], [M * l * cos, 0, M * l**2]])
        k = np.array([2 * M * l1 * th1 * cos - M * l * th1**2 * sin, -M * l * th1**2, 2 * M * l * l1 * th1])
        g = np.array([-ds * s1, -dl * l1 + M * G * cos, -M * G * l * sin])
        B = np.array([[1, 0], [0, 1 / R], [0, 0]])
        order = [0, 2, 1]  # ours: s, th, l
        ours_M, ours_f, _ = equations.descriptor(0, [s, th, l], [s1, th1, l1], [F, Mw], p)
        assert np.asarray(ours_M) == pytest.approx(mass[np.ix_(order, order)], abs=1e-12 * 1e3)
        assert np.asarray(ours_f).ravel() == pytest.approx((g - k + B @ [F, Mw])[order], abs=1e-12 * 1e4)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_the_dependent_form_has_the_rope_of_the_documents(formulation):
    """Documents 000, section 4.4.1, and 001, eqs. (7.1)-(7.4): M = diag(mt, J, m, m), Phi = (x-s)^2 + z^2 - (r beta)^2."""
    equations = equations_of("dependent", formulation)
    held = equations.constraints
    parts = ca.Function("parts", [equations.t, equations.q, equations.p], [equations.M, held.phi, held.A])
    rng = np.random.default_rng(2)
    p = defaults(equations)
    for s, beta, x, z in rng.uniform(-2, 2, (10, 4)):
        mass, phi, A = (np.asarray(part) for part in parts(0, [s, beta, x, z], p))
        assert mass == pytest.approx(np.diag([MT, J, M, M]), abs=1e-12)
        length = 4.0 + R * beta
        assert phi.item() == pytest.approx(((x - s) ** 2 + z**2 - length**2) / (2 * 4.0))
        assert A.ravel() == pytest.approx(np.array([s - x, -R * length, x - s, z]) / 4.0)


def test_the_flat_solution_has_the_values_of_the_notes():
    flat = solution("minimal", model("overhead-crane").tasks()["000-4.4.1"])
    for time, *row in (
        (0.0, 0, 4, 0, 122.625, 0, -98.1),
        (0.5, 0.9231627, 4.06909422, -0.21758704, 142.33471504, 246.45549092, -115.95326397),
        (1.0, 2.14158243, 3.83684950, -0.37836922, 180.65962040, 473.53046170, -144.73977526),
        (1.5, 2.5, 2.5, 0, 196.2, 6.87007359, -92.57521224),
        (2.0, 3.18534701, 1.80192175, 0.64994800, 234.82474501, -454.22114047, -88.56185802),
        (2.5, 4.64624628, 1.07233596, 0.29230388, 404.61876462, -308.43114132, -82.73602336),
        (3.0, 5, 1, 0, 490.5, 0, -98.1),
    ):
        found = flat.at(time)
        values = [found[name] for name in ("s", "l", "phi", "lam", "trolley_force", "winch_torque")]
        assert values == pytest.approx(row, abs=6e-9)
    flat = solution("minimal", model("overhead-crane").tasks()["003"])
    for time, *row in (
        (1.0, 2.23023959, 3.93729331, -0.39249941, 466.12438, -139.89379, 1338.87179),
        (2.0, 2.96032602, 2.27988287, 0.61502530, -438.81648, -93.61925),
    ):
        found = flat.at(time)
        values = [found[name] for name in ("s", "l", "phi", "trolley_force", "winch_torque", "tension")][: len(row)]
        assert values == pytest.approx(row, abs=6e-6)


@pytest.mark.parametrize("task", ["003", "000-4.4.1"])
@pytest.mark.parametrize(("form", "formulation"), CASES)
def test_the_flat_solution_solves_the_equations_of_motion(form, formulation, task):
    crane = model(f"overhead-crane:form={form}")
    damping = {"trolley_damping": 50.0, "winch_damping": 50.0} if task == "003" else {}
    flat = solution(form, crane.tasks()[task], *damping.values())
    residual, open_by = worst(Followed(crane.build(), formulation, flat, damping), np.linspace(0.1, 2.9, 8))
    # The law of the elastic rope is rounded off over w = 1e-4 m: its energy has k w^2 / 40 more, and its drum feels EA r w^2 /
    # (40 l^2) of it, with l of at least 1 m.
    assert residual < (1.1 * 1e6 * R * 1e-8 / 40 if form == "elastic" else ROUNDING)
    assert open_by < 1e-12


def test_the_multiplier_of_the_rope_is_its_tension():
    crane = model("overhead-crane:form=dependent")
    flat = solution("dependent", crane.tasks()["003"])
    followed = Followed(crane.build(), "kane", flat)
    for time in (0.0, 0.7, 1.0, 2.4):
        _, lam, _ = followed.residual(time)
        assert lam[0] * flat.at(time)["l"] / 4.0 == pytest.approx(flat.at(time)["tension"], rel=1e-12)


def test_the_matrix_of_realisation_has_rank_one_and_not_the_signs_that_document_003_prints():
    """Y = H M^-1 B for l = 3 m and z down: eq. (29) has the right values, all of them with the wrong sign."""
    equations = equations_of("minimal")
    p = defaults(equations)
    for degrees, printed in (
        (-10, [[-0.26681, 15.36501], [1.51316, -87.13928]]),
        (0, [[0, 0], [0, -90.90909]]),
        (10, [[-0.26681, -15.36501], [-1.51316, -87.13928]]),
    ):
        th, l = np.radians(degrees), 3.0
        mass = np.asarray(equations.descriptor(0, [0, th, l], np.zeros(3), [0, 0], p)[0])
        H = np.array([[1, l * np.cos(th), np.sin(th)], [0, -l * np.sin(th), np.cos(th)]])
        B = np.array([[1, 0], [0, 0], [0, 1 / R]])
        Y = 1e3 * H @ np.linalg.solve(mass, B)
        assert pytest.approx(-np.array(printed), abs=6e-6) == Y
        assert np.linalg.matrix_rank(Y, tol=1e-9) == 1


@pytest.mark.parametrize("form", FORMS)
def test_the_crane_hangs_at_rest(form):
    history = simulate(model(f"overhead-crane:form={form}").build(), 0.2, step=0.002, backend="vm", plugins=PLUGINS)
    assert max(np.ptp(history[f"load.{axis}"]) for axis in "xz") < 1e-8
    assert history["load.z"][0] == pytest.approx(-4.0 * (1 + (M * G / 1e6 if form == "elastic" else 0)))
