"""Targets of document 000, V21 to V26: matrices, determinants and numbers of freedoms of its machines.

The table of all targets stands in test_servo_targets.py.
"""

import casadi as ca
import numpy as np
import pytest

from kingpost import open_model
from kingpost.control.servo.posing import pose_servo


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
