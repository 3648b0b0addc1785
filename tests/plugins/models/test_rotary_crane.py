"""The rotary crane and its tasks against document 000, sections 4.4.2 and 5.3.2, written out by hand."""

import casadi as ca
import numpy as np
import pytest

from kingpost import simulate
from kingpost.mechanism.values import resolve_values
from tests.plugins.models.flat import PLUGINS, Flat, Followed, Time, jets, model, worst

FORMULATIONS = ("kane", "recursive", "directors", "nullspace")
G = 9.81
#: m, mt, Jb, Jw, rw.
DATA = {"000-4.4.2": (10.0, 53.0, 19.01, 0.02, 0.1), "000-5.3.2": (100.0, 10.0, 480.0, 0.1, 0.1)}


def solution(name, form="swing"):
    """Return the flat solution: eqs. (4.118)-(4.122), with atan2 for arctan and the signs of eq. (5.137) in f1."""
    m, mt, Jb, Jw, rw = DATA[name]
    time = Time()
    t, rate = time.t, time.rate
    x, y, z = jets(model("rotary-crane").tasks()[name], t).values()
    lift = G + z[2]
    Ax, Ay = x[0] - z[0] * x[2] / lift, y[0] - z[0] * y[2] / lift
    s, phi = ca.sqrt(Ax**2 + Ay**2), ca.atan2(Ay, Ax)
    length = -z[0] * ca.sqrt(x[2] ** 2 + y[2] ** 2 + lift**2) / lift
    lam = m * ca.sqrt(x[2] ** 2 + y[2] ** 2 + lift**2)
    s1, phi1 = rate(s), rate(phi)
    Mb = (Jb + mt * s**2) * rate(phi, 2) + 2 * mt * s * s1 * phi1
    Mb = Mb + lam * s * (x[0] * ca.sin(phi) - y[0] * ca.cos(phi)) / length
    Ft = mt * rate(s, 2) - mt * s * phi1**2 + lam * (s - x[0] * ca.cos(phi) - y[0] * ca.sin(phi)) / length
    Mw = rw * (Jw / rw**2 * rate(length, 2) - lam)
    # Eq. (2.79) solved for the two angles of the rope.
    along = x[0] * ca.cos(phi) + y[0] * ca.sin(phi) - s
    across = x[0] * ca.sin(phi) - y[0] * ca.cos(phi)
    th2, th1 = ca.asin(along / length), ca.atan2(across, -z[0])
    coordinates = {
        "slew.angle": phi,
        "travel.displacement": s,
        "winch-axle.angle": (length - 5.0) / rw,
        "swing.across": th1,
        "swing.along": th2,
        "reel.length": length,
    }
    if form == "rope":
        coordinates |= {"hook.x": x[0], "hook.y": y[0], "hook.z": z[0]}
    inputs = {"slew_torque": Mb, "trolley_force": Ft, "winch_torque": Mw}
    return Flat(time, coordinates, inputs, {"phi": phi, "s": s, "l": length, "th1": th1, "th2": th2, "tension": lam})


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "000-4.4.2",
            (
                (0.0, 0, 0, -9.81),
                (2.5, 11.064159, -7.6012451, -9.9177133),
                (10.0, 1.3598212, 0, -9.81),
                (17.5, -16.109033, -9.5378280, -9.7075053),
            ),
        ),
        (
            "000-5.3.2",
            (
                (0.0, 0, 0, -98.1),
                (2.5, 34.583302, -21.373025, -99.087454),
                (10.0, 34.335306, 0, -98.1),
                (17.5, -51.213008, -19.605317, -97.161619),
            ),
        ),
    ],
)
def test_the_flat_solution_has_the_values_of_the_notes(name, rows):
    flat = solution(name)
    for time, *row in rows:
        found = flat.at(time)
        inputs = [found[signal] for signal in ("slew_torque", "trolley_force", "winch_torque")]
        assert inputs == pytest.approx(row, rel=6e-8, abs=1e-9)
    shape = flat.at(17.5)
    assert [shape[key] for key in ("phi", "s", "l", "th1", "th2")] == pytest.approx(
        [2.3174458, 2.6459134, 2.0688526, -0.01133743, 0.018662763], abs=6e-8
    )


@pytest.mark.parametrize("name", DATA)
def test_while_the_load_moves_uniformly_only_the_girder_takes_a_torque(name):
    """For 5 to 15 s: no swing, Ft = 0, Mw = -m g rw, Mb = Jb phi''. The printed signs of f1, (5.75), would break this."""
    m, _, Jb, _, rw = DATA[name]
    flat = solution(name)
    turn = ca.Function("phi", [flat.time.t, flat.time.w], [flat.time.rate(flat.coordinates["slew.angle"], 2)])
    for time in np.linspace(5.1, 14.9, 7):
        found = flat.at(time)
        assert [found["th1"], found["th2"], found["trolley_force"]] == pytest.approx([0, 0, 0], abs=1e-11)
        assert found["winch_torque"] == pytest.approx(-m * G * rw, rel=1e-13)
        assert found["slew_torque"] == pytest.approx(Jb * float(turn(time, [])), abs=1e-11)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", DATA)
def test_the_flat_solution_solves_the_equations_of_motion(name, formulation):
    crane = model("rotary-crane")
    followed = Followed(crane.build(), formulation, solution(name), crane.tasks()[name].settings)
    residual, open_by = worst(followed, (0.5, 2.5, 4.0, 9.0, 12.5, 16.0, 19.0))
    assert residual < 1e-9
    assert open_by < 1e-11


@pytest.mark.parametrize("formulation", [*FORMULATIONS, "directors:effort=angle,points=true"])
@pytest.mark.parametrize("name", DATA)
def test_the_flat_solution_solves_the_equations_of_a_load_on_a_rope(name, formulation):
    """Of the last formulation, with the 42 coordinates of section 2.4.2."""
    crane = model("rotary-crane:form=rope")
    flat = solution(name, "rope")
    followed = Followed(crane.build(), formulation, flat, crane.tasks()[name].settings)
    residual, open_by = worst(followed, (0.5, 2.5, 4.0, 9.0, 12.5, 16.0, 19.0))
    assert residual < 1e-9
    assert open_by < 1e-11
    assert followed.tensions(2.5)["winding.tension"] == pytest.approx(flat.at(2.5)["tension"], rel=1e-10)


@pytest.mark.parametrize("form", ["swing", "rope"])
def test_a_task_starts_on_its_path(form):
    crane = model(f"rotary-crane:form={form}")
    for task in crane.tasks().values():
        history = simulate(crane.build(), 0.01, step=0.01, settings=task.settings, backend="vm", plugins=PLUGINS)
        for axis in "xyz":
            assert history[f"load.{axis}"][0] == pytest.approx(task.path[f"load.{axis}"].value(0.0), abs=1e-12)


@pytest.mark.parametrize("name", DATA)
def test_a_task_sets_the_data_of_its_section(name):
    """Of the machine that the settings make: the mass that moves along the girder, and what turns with it."""
    crane = model("rotary-crane")
    mechanism = crane.build()
    values = resolve_values(mechanism, crane.tasks()[name].settings)
    m, mt, Jb, Jw, _ = DATA[name]
    p = values.parameters
    assert p["trolley_mass"] + p["winch_mass"] == mt
    assert p["load_mass"] == m
    assert p["girder_inertia"] + 2.08 + 0.26 == pytest.approx(Jb, abs=1e-12)
    assert p["winch_inertia"] == Jw
