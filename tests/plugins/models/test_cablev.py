"""CABLEV against the equations of document 000, section 6.3, written out by hand in its axes with z down."""

import casadi as ca
import numpy as np
import pytest

from kingpost import simulate
from kingpost.plugins.models.cablev import BOTH, rotation_vector
from tests.plugins.models.flat import PLUGINS, Flat, Followed, Time, model, worst

M, G, L1, L2, R = 12.5, 9.81, 1.2, 0.6, 0.1
MASSES = (380.0, 35.0, 35.0, 35.0)
CORNERS = L1 * np.array([[1 / np.sqrt(3), 0, 0], [-1 / np.sqrt(12), 0.5, 0], [-1 / np.sqrt(12), -0.5, 0]])
PLATE = np.diag([0.75, 0.75, 1.5])
#: The document's "J1 = J2 = 0.75, J3 = 1.5" read as winches, as the notes have it for their torques.
WINCHES = (0.75, 0.75, 1.5)
CASES = ("rotation", "translation", "both")
SETTINGS = {f"winch{i}_inertia": J for i, J in enumerate(WINCHES, 1)}


def rodrigues(vector, angle):
    """Return the rotation about a fixed axis of length one."""
    hat = ca.skew(vector)
    return ca.SX.eye(3) + ca.sin(angle) * hat + (1 - ca.cos(angle)) * (hat @ hat)


def solution(case):
    """Return the flat solution: platform balance, cable lengths and the spread of the trolleys, solved at each time.

    Unknowns are p = (pg0, pg1, pg2, pg3, pc1, pc2, pc3) and lam of the document.
    """
    cablev = model("cablev")
    task = cablev.tasks()[f"000-6.3.7-{case}"]
    time = Time(10)
    t = time.t

    def of(name, order=0):
        return ca.SX(task.path[name].value(t, {}, order))

    down = np.diag([1.0, 1.0, -1.0])
    r, acceleration = (down @ ca.vertcat(*(of(f"load.{axis}", k) for axis in "xyz")) for k in (0, 2))
    # Rotations of the mirror image are pseudo-vectors.
    end = -down @ np.array([task.path[f"turn-{axis}"].value(1e3) for axis in "xyz"])
    size = float(np.linalg.norm(end))
    axis = end / size if size else np.array([0.0, 0.0, 1.0])
    ratio = ca.SX(0)
    if size:
        k = int(np.abs(end).argmax())
        letter = "xyz"[k]
        ratio = of(f"turn-{letter}") / task.path[f"turn-{letter}"].value(1e3)
    s = size * ratio
    R_0c = rodrigues(ca.SX(ca.DM(axis)), s)
    w, w1 = time.rate(s) * axis, time.rate(s, 2) * axis
    p, lam = time.w[:7], time.w[7:]
    places = [ca.vertcat(p[1], p[0], 0), ca.vertcat(p[2], p[0] + L2, 0), ca.vertcat(p[3], p[0] - L2, 0)]
    arms = [R_0c @ corner for corner in CORNERS]
    cables = [r + d - place for d, place in zip(arms, places, strict=True)]
    inertia = R_0c @ PLATE @ R_0c.T
    # Eqs. (6.88)-(6.91): rows of forces and of moments; eq. (6.90) prints a gyroscopic term for a diagonal J.
    force = M * acceleration - ca.vertcat(0, 0, M * G) - sum(lam[i] * cables[i] for i in range(3))
    moment = inertia @ w1 + ca.cross(w, inertia @ w) - sum(lam[i] * ca.cross(arms[i], cables[i]) for i in range(3))
    lengths = [(ca.dot(c, c) - p[4 + i] ** 2) / 2 for i, c in enumerate(cables)]
    time.fix(ca.vertcat(force, moment, *lengths, p[1] - (p[2] + p[3]) / 2 - np.sqrt(3) * L2))
    # Eqs. (6.85), (6.86), (6.79): forces of gantry and trolleys, torques of winches.
    inertias = [*MASSES, *(J / R**2 for J in WINCHES)]
    Gp = ca.SX(3, 7)
    for i, c in enumerate(cables):
        Gp[i, 0], Gp[i, 1 + i], Gp[i, 4 + i] = -c[1], -c[0], -p[4 + i]
    efforts = ca.diag(ca.DM(inertias)) @ time.rate(p, 2) - Gp.T @ lam
    bryant = (ca.atan2(-R_0c[1, 2], R_0c[2, 2]), ca.asin(R_0c[0, 2]), ca.atan2(-R_0c[0, 1], R_0c[0, 0]))
    coordinates = {
        "gantry-rail.y": p[0],
        **{f"trolley{i}.x": p[i] for i in (1, 2, 3)},
        **{f"winch{i}.angle": (p[3 + i] - 3.0) / R for i in (1, 2, 3)},
        **{"place.x": r[0], "place.y": r[1], "place.z": -r[2]},
        **{"attitude.roll": -bryant[0], "attitude.pitch": -bryant[1], "attitude.yaw": bryant[2]},
    }
    inputs = {"gantry_force": efforts[0], **{f"trolley{i}_force": efforts[i] for i in (1, 2, 3)}}
    inputs |= {f"winch{i}_torque": R * efforts[3 + i] for i in (1, 2, 3)}
    known = {**{f"p{i}": p[i] for i in range(7)}, **{f"lam{i}": lam[i - 1] for i in (1, 2, 3)}}
    ends = {
        "rotation": [1.2, 2.0392305, -1.078461, 3.078461, 3.078961, 3.515679, 3.304542, -13.625, -13.625, -13.625],
        "translation": [5, 4.0392305, 3, 3, 1, 1, 1, -40.875, -40.875, -40.875],
        "both": [5.243772, 3.466215, 1.089308, 3.764660, 1.165236, 2.517311, 0.519348, -40.776985, -9.985516, -131.271201],
    }
    begin = np.array([1.2, 1 + 0.6 * np.sqrt(3), 1, 1, 3, 3, 3, -13.625, -13.625, -13.625])

    def guess(instant):
        """Follow the solution from the start in steps."""
        found = begin
        for k in range(1, 9):
            found = time.solved(instant * k / 9, found)
        return found

    assert np.abs(time.solved(20.0, ends[case]) - ends[case]).max() < 2e-6 * 131
    return cablev, Flat(time, coordinates, inputs, known, guess)


def test_the_turn_of_the_third_task_is_that_of_the_notes():
    """Eq. (6.97) prints 1 / sin(s) for 1 / (2 sin(s)): an axis of length two."""
    vector = rotation_vector(BOTH)
    assert np.linalg.norm(vector) == pytest.approx(1.5244035, abs=6e-8)
    assert vector / np.linalg.norm(vector) == pytest.approx([0.5675524, 0.2904527, 0.7704035], abs=6e-8)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors"])
@pytest.mark.parametrize("case", CASES)
def test_the_flat_solution_solves_the_equations_of_motion(case, formulation):
    cablev, flat = solution(case)
    followed = Followed(cablev.build(), formulation, flat, SETTINGS)
    residual, open_by = worst(followed, (1.0, 2.5, 7.0, 12.0, 17.5))
    assert residual < 1e-9
    assert open_by < 1e-11
    _, lam, _ = followed.residual(7.0)
    if formulation == "kane":
        found = flat.at(7.0)
        # A rope of the length L at the start has the tension lam L(t) / L, and -lam L(t) in the document's chapter 6.
        assert lam / 3.0 == pytest.approx([-found[f"lam{i}"] for i in (1, 2, 3)], rel=1e-9)
        tensions = followed.tensions(7.0)
        assert tensions["cable2.tension"] == pytest.approx(-found["lam2"] * found["p5"], rel=1e-9)


def test_the_flat_solutions_have_the_values_of_the_notes():
    _, flat = solution("rotation")
    for time, *row in (
        (10, 0.307180, 1.692820, 3.021360, 3.042570, 3.021360, 1.2647, -6.2997, 5.0350, -4.1116, -4.1090, -4.0830),
        (15, -0.430104, 2.430104, 3.056620, 3.229152, 3.117622, 3.3720, -16.0896, 12.7176, -4.1611, -4.2242, -3.9947),
        (20, -1.078461, 3.078461, 3.078961, 3.515679, 3.304542, 4.7198, -23.5992, 18.8794, -4.1951, -4.7901, -4.5024),
    ):
        found = flat.at(float(time))
        assert [found[f"p{i}"] for i in (2, 3, 4, 5, 6)] == pytest.approx(row[:5], abs=6e-7)
        inputs = [found[f"trolley{i}_force"] for i in (1, 2, 3)] + [found[f"winch{i}_torque"] for i in (1, 2, 3)]
        assert inputs == pytest.approx(row[5:], abs=6e-5)
        constant = [found["p0"], found["p1"], *(found[f"lam{i}"] for i in (1, 2, 3)), found["gantry_force"]]
        assert constant == pytest.approx([1.2, 2.0392304845, -13.625, -13.625, -13.625, 0.0], abs=1e-9)
    _, flat = solution("translation")
    for time, p, lam, gantry, trolley in (
        (2.5, [1.319770, 2.102268, 1.063037, 1.063037, 2.954665, 2.954665, 2.954665], -13.917438, 31.220, 1.6893),
        (17.5, [4.901528, 3.987403, 2.948173, 2.948173, 1.045659, 1.045659, 1.045659], -38.860938, -39.393, -2.0855),
    ):
        found = flat.at(time)
        assert [found[f"p{i}"] for i in range(7)] == pytest.approx(p, abs=6e-7)
        assert [found[f"lam{i}"] for i in (1, 2, 3)] == pytest.approx([lam] * 3, abs=6e-7)
        assert [found["gantry_force"], found["trolley1_force"]] == pytest.approx([gantry, trolley], abs=6e-4)
    found = flat.at(9.0)
    forces = [found["gantry_force"], *(found[f"trolley{i}_force"] for i in (1, 2, 3))]
    assert forces == pytest.approx([0.0] * 4, abs=1e-10)
    assert [found[f"winch{i}_torque"] for i in (1, 2, 3)] == pytest.approx([-4.0875] * 3, rel=1e-12)
    _, flat = solution("both")
    for time, p, lam, inputs in (
        (
            10,
            [3.141008, 2.954896, 1.105689, 2.725642, 1.978273, 2.426804, 1.795826],
            [-22.772053, -15.207538, -24.703367],
            [1.6197, 0.5987, -10.5058, 8.5874],
        ),
        (
            17.5,
            [5.136886, 3.430850, 1.050363, 3.732877, 1.204232, 2.513509, 0.578237],
            [-39.414738, -10.161066, -115.259038],
            [-45.6948, -5.7505, -17.6560, 20.9413],
        ),
    ):
        found = flat.at(float(time))
        assert [found[f"p{i}"] for i in range(7)] == pytest.approx(p, abs=6e-7)
        assert [found[f"lam{i}"] for i in (1, 2, 3)] == pytest.approx(lam, abs=2e-6)
        forces = [found["gantry_force"], *(found[f"trolley{i}_force"] for i in (1, 2, 3))]
        assert forces == pytest.approx(inputs, abs=6e-5)


def test_the_measures_are_on_the_path_of_a_task():
    """At the flat solution the measures and outputs of a run have the values that the task wants."""
    cablev, flat = solution("both")
    mechanism = cablev.build()
    task = cablev.tasks()["000-6.3.7-both"]
    followed = Followed(mechanism, "kane", flat, SETTINGS)
    names = [channel.name for channel in followed.equations.channels]
    for time in (2.5, 9.0, 17.5):
        q, v, _, u = followed.state(time)
        values = np.asarray(followed.equations.observe(time, np.concatenate([q, v]), u, followed.p)).ravel()
        shown = dict(zip(names, values, strict=True))
        for name, trajectory in task.path.items():
            assert shown[name] == pytest.approx(trajectory.value(time), abs=1e-11), name


def test_the_platform_hangs_at_rest():
    mechanism = model("cablev").build()
    assert len(mechanism.coordinates) - len(mechanism.closures) == 10
    assert len(mechanism.inputs) == 7
    history = simulate(mechanism, 0.1, step=0.002, backend="vm", plugins=PLUGINS)
    assert max(np.ptp(history[f"load.{axis}"]) for axis in "xyz") < 1e-12
    assert history["cable1.tension"][0] == pytest.approx(40.875, rel=1e-12)
    assert history["spread"][0] == pytest.approx(np.sqrt(3) * L2, rel=1e-14)
