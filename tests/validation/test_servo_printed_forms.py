"""Reduced forms of document 000 as they are printed: their sizes, the ranks they rest on, and that our solutions solve them."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost import inverse, open_model
from tests.plugins.models.test_overhead_crane import solution

GRAVITY, LOAD = 9.81, 100.0


def across(d):
    """Return columns that span what is across d, eq. (5.16): P2."""
    if d.numel() == 2:
        return ca.vertcat(-d[1], d[0])
    return ca.vertcat(ca.horzcat(-d[2], 0), ca.horzcat(0, -d[2]), ca.horzcat(d[0], d[1]))


def half(vector, length):
    return (ca.sumsqr(vector) - length**2) / 2


def condition(p, x, M1, B1, h, phi, numbers):
    """Return the ranks of M1 and of (5.109), with their sizes, for coordinates, the load and its accelerations in numbers."""
    a = ca.SX.sym("a", x.numel())
    up = ca.SX([0] * (x.numel() - 1) + [GRAVITY])
    G2 = ca.jacobian(phi, x)
    z = across(G2.T).T @ (-LOAD * (a + up))
    H1, G1, Z1 = ca.jacobian(h, p), ca.jacobian(phi, p), ca.jacobian(z, p)
    rows = ca.vertcat(Z1, G1, H1)
    M_hat = ca.vertcat(ca.horzcat(M1, -B1, H1.T), ca.horzcat(rows, ca.SX(rows.shape[0], B1.shape[1] + h.numel())))
    found = ca.Function("M_hat", [p, x, a], [ca.densify(M1), ca.densify(M_hat)]).call([ca.DM(item) for item in numbers])
    return [(int(np.linalg.matrix_rank(part.full())), part.shape[0]) for part in found]


def two_winches():
    """Eqs. (5.122) to (5.131), at a place that meets all constraints (5.135)."""
    Jb, r, m0, Jw, rw, alpha = 480.0, 4.0, 10.0, 0.1, 0.1, 0.5
    p, x = ca.SX.sym("p", 7), ca.SX.sym("x", 3)
    x2, y2, x0, y0, L1, L2, L0 = ca.vertsplit(p)
    trolley, end = ca.vertcat(x0, y0), ca.vertcat(x2, y2)
    h = ca.vertcat(half(trolley - alpha * end, L1), half(trolley - end, L0), half(end, r), x2 * y0 - x0 * y2)
    phi = half(x - ca.vertcat(x0, y0, 0), L2 - L0)
    M1 = ca.diag(ca.SX([Jb / r**2] * 2 + [m0] * 2 + [0] * 3))
    M1[4:6, 4:6] = Jw / rw**2 * ca.DM([[1, -1], [-1, 1]])
    B1 = ca.SX(7, 3)
    B1[4, 0] = B1[5, 1] = 1 / rw
    B1[0, 2], B1[1, 2] = -y2 / r**2, x2 / r**2
    angle, s, load = 0.3, 5.0, np.array([4.9, 1.4, -4.0])
    along = np.array([math.cos(angle), math.sin(angle)])
    rope = np.linalg.norm(load - [*(s * along), 0.0])
    place = [*(-r * along), *(s * along), s + alpha * r, s + r + rope, s + r]
    return p, x, M1, B1, h, phi, (place, load, [0.1, -0.2, 0.3])


def navy_2d():
    """Eqs. (A.2); the rank does not depend on where it is."""
    p, x = ca.SX.sym("p", 5), ca.SX.sym("x", 2)
    L1, L2, L0, x0, z0 = ca.vertsplit(p)
    pulley, A = ca.vertcat(x0, z0), -10 * np.array([math.sin(math.pi / 3), 0.5])
    h = ca.vertcat(half(pulley - A, L1), half(pulley, L0))
    M1 = ca.diag(ca.SX([10, 10, 0, 0, 0]))
    B1 = ca.SX(5, 2)
    B1[0, 0] = B1[1, 1] = 10.0
    return p, x, M1, B1, h, half(x - pulley, L2 - L0), ([7.0, 15.0, 5.5, -2.0, -5.4], [-1.0, -14.0], [0.3, 0.4])


def navy_3d():
    """Eqs. (A.4)."""
    p, x = ca.SX.sym("p", 8), ca.SX.sym("x", 3)
    L1, L3, L0, x0, y0, z0, x3, y3 = ca.vertsplit(p)
    pulley, P = ca.vertcat(x0, y0, z0), ca.vertcat(x3, y3, 5.0)
    radius = 5 * math.sqrt(3)
    h = ca.vertcat(half(pulley - P / 2, L1), half(pulley - P, L0), half(P[:2], radius))
    M1 = ca.diag(ca.SX([10, 10, 0, 0, 0, 0, 6.4, 6.4]))
    B1 = ca.SX(8, 3)
    B1[0, 0] = B1[1, 1] = 10.0
    B1[6, 2], B1[7, 2] = -y3 / radius**2, x3 / radius**2
    place = [4.0, 20.0, 3.0, 7.5, 2.0, 2.0, radius * math.cos(0.4), radius * math.sin(0.4)]
    return p, x, M1, B1, h, half(x - pulley, L3 - L0), (place, [6.0, 2.0, -14.0], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("printed", "inertia", "full"),
    [(two_winches, (5, 7), (14, 14)), (navy_2d, (2, 5), (8, 9)), (navy_3d, (4, 8), (12, 14))],
)
def test_v25_ranks_of_the_sufficient_condition(printed, inertia, full):
    """Theorem 5.2 holds for the rotary crane, whose M1 is singular; of massless pulleys it says nothing, yet their index is 5.

    Three massless coordinates of the planar crane feel only two constraints of the pole, and four of the other one two.
    """
    assert condition(*printed()) == [inertia, full]


def test_v25_a_pulley_with_mass_is_outside_of_the_theorem():
    """Its height is an output, which four constraints feel, and the load's place one of them: rank 2 of 3 and of 4 outputs."""
    z0 = ca.SX.sym("z0")
    for load in (ca.SX.sym("x", 2), ca.SX.sym("x", 3)):
        side = load.numel() - 1
        pulley = ca.vertcat(*([0.7] * side), z0)
        winches = [np.arange(side + 1) + k for k in (1.0, 2.5, 4.2)]
        phi = ca.vertcat(*(half(pulley - winch, 3.0) for winch in winches), half(load - pulley, 5.0))
        outputs = ca.vertcat(load, z0)
        G2 = ca.Function("G2", [outputs], [ca.jacobian(phi, outputs)])(np.arange(1.0, outputs.numel() + 1)).full()
        assert np.linalg.matrix_rank(G2) == 2 < min(G2.shape)


@pytest.fixture(scope="module")
def crane():
    return open_model("overhead-crane:form=dependent")


def load_path(task, times, order=4):
    """Return the derivatives of x and z."""
    return [task.path[f"load.{axis}"].jets_at(times, order) for axis in "xz"]


def test_v27_backward_euler_in_dependent_coordinates(crane):
    """(5.38): 2n + m - a = 7 equations of the overhead crane, which our steps of 15 unknowns solve."""
    mt, J, r, h = 10.0, 0.1, 0.1, 0.1
    task = crane.task("000-4.4.1")
    found = inverse(crane.mechanism, task, method="minimal-extension", stepper=f"backward-euler:step={h}")
    (x, z) = (jets[:, 0] for jets in load_path(task, found.time))
    (ax, az) = (jets[:, 2] for jets in load_path(task, found.time))
    p = np.array([found["travel.displacement"], 4.0 + r * found["drum.angle"]])
    v = np.array([found["travel.displacement.rate"], r * found["drum.angle.rate"]])
    u = np.array([found["trolley_force"], found["winch_torque"] / r])
    s, l = p
    lam = found["rope.tension"] / l
    inertia = np.array([mt, J / r**2])[:, None]
    G1 = np.array([-(x - s), -l])
    now = slice(1, None)
    rows = [
        *(np.diff(p) / h - v[:, now]),
        *(inertia * np.diff(v) / h - u[:, now] + (G1 * lam)[:, now]),
        (LOAD * ax + (x - s) * lam)[now],
        (LOAD * (GRAVITY + az) + z * lam)[now],
        ((x - s) ** 2 + z**2 - l**2)[now] / 2,
    ]
    n, m, a = 4, 1, 2
    assert len(rows) == 2 * n + m - a
    # Of numbers up to 1e3 (N), with Newton's tolerance.
    assert np.abs(rows).max() < 1e-8


def test_v27_the_index_1_system_has_four_equations_for_each_input(crane):
    """(5.25): 4a = 8 equations for p, its two derivatives and u, which the flat solution solves."""
    mt, J, r, m, g = 10.0, 0.1, 0.1, LOAD, GRAVITY
    task = crane.task("000-4.4.1")
    found = inverse(crane.mechanism, task, method="flat", stepper="backward-euler:step=0.2")
    jets = ca.SX.sym("jets", 2, 5)
    p, rate, acceleration, u = (ca.SX.sym(name, 2) for name in ("p", "v", "a", "u"))
    (x, z), (ax, az) = ca.vertsplit(jets[:, 0]), ca.vertsplit(jets[:, 2])
    s, l = ca.vertsplit(p)
    h = ca.vertcat(((x - s) ** 2 + z**2 - l**2) / 2, m * (z * ax - (x - s) * (g + az)))

    def along(expression):
        """Return the derivative by the time while p stands still."""
        flow = ca.horzcat(jets[:, 1:], ca.SX(2, 1))
        return ca.jtimes(expression, jets, ca.densify(flow))

    H = ca.jacobian(h, p)
    first = H @ rate + along(h)
    eta = ca.jtimes(H @ rate, p, rate) + 2 * along(H @ rate) + along(along(h))
    f = m / l**2 * ((x - s) * ax + z * (g + az)) * ca.vertcat(-(x - s), -l)
    forces = ca.vertcat(mt, J / r**2) * acceleration - f - ca.vertcat(u[0], u[1] / r)
    rows = ca.vertcat(forces, h, first, H @ acceleration + eta)
    assert rows.numel() == 4 * 2 == 3 * p.numel() + u.numel()
    residual = ca.Function("residual", [jets, p, rate, acceleration, u], [rows])
    path = np.stack(load_path(task, found.time))
    for k in range(1, len(found.time) - 1):
        places = [found["travel.displacement"][k], 4.0 + r * found["drum.angle"][k]]
        speeds = [found["travel.displacement.rate"][k], r * found["drum.angle.rate"][k]]
        inputs = [found["trolley_force"][k], found["winch_torque"][k]]
        # Accelerations are no channels of a history: the first two rows give them, and the last two must agree.
        left = residual(path[:, k], places, speeds, [0.0, 0.0], inputs).full().ravel()
        accelerations = -left[:2] / np.array([mt, J / r**2])
        assert np.abs(residual(path[:, k], places, speeds, accelerations, inputs).full()).max() < 1e-6  # of some 1e4


def test_v27_backward_euler_of_alt_in_dependent_coordinates(crane):
    """(4.50): 2n - a + m = 7 equations in the document's chapter 4, with z down and - u, which our steps solve."""
    mt, J, r, m, g, h = 10.0, 0.1, 0.1, LOAD, GRAVITY, 0.1
    task = crane.task("000-4.4.1")
    found = inverse(crane.mechanism, task, method="projection-dependent", stepper=f"backward-euler:step={h}")
    (x, x1, x2), (z, z1, z2) = (jets.T[:3] for jets in load_path(task, found.time))
    z, z1, z2 = -z, -z1, -z2
    s, s1 = found["travel.displacement"], found["travel.displacement.rate"]
    beta, beta1 = 4.0 / r + found["drum.angle"], found["drum.angle.rate"]
    F, M = found["trolley_force"], found["winch_torque"]
    lam = found["rope.tension"] / (2 * r * beta)
    G = 2 * np.array([s - x, -(r**2) * beta, x - s, z])
    forces = np.array([-F, -M, 0 * x, 0 * x - m * g]) + G * lam  # grad V + G' lam + B' u
    masses = np.array([mt, J, m, m])[:, None]
    xi = 2 * ((s1 - x1) * s1 - r**2 * beta1**2 + (x1 - s1) * x1 + z1**2)  # (4.69)
    D = np.array([1 + 0 * s, (s - x) / (r**2 * beta)])  # (4.68)
    now = slice(1, None)
    w = np.diff([s1, beta1]) / h
    rows = [
        *(np.diff([s, beta]) / h - [s1[now], beta1[now]]),
        (D[:, now] * (masses[:2] * w - np.array([F, M])[:, now])).sum(axis=0),
        *(np.array([x2, z2]) + (forces / masses)[2:])[:, now],
        (-xi + (G * forces / masses).sum(axis=0))[now],
        ((x - s) ** 2 + z**2 - (r * beta) ** 2)[now],
    ]
    n, constraints, a = 4, 1, 2
    assert len(rows) == 2 * n - a + constraints
    # The row of G is of some 2 l r^2 beta T / (l J) = 1e3 m^2/s^2, the others of less, in Newton's tolerance.
    assert np.abs(rows).max() < 1e-8


def minimal(l, angle, rate, acceleration, trolley, inputs, path):
    """Return the rows of (5.33) for the overhead crane, (5.62) to (5.66), and B' u in the first two of them.

    ``rate`` and ``acceleration`` are those of mu2 = (l, phi), as unknowns of their own; ``trolley`` is mu1 = s, and ``path``
    where the load is, (x, z), each with two derivatives.
    """
    mt, J, r, m, g = 10.0, 0.1, 0.1, LOAD, GRAVITY
    (s, s1, s2), (l1, turning), sin, cos = trolley, rate, np.sin(angle), np.cos(angle)
    D2 = np.array([[sin, l * cos], [-cos, l * sin]])
    g2 = [2 * turning * l1 * cos - l * turning**2 * sin, 2 * turning * l1 * sin + l * turning**2 * cos]
    M12, M22 = m * np.array([sin, l * cos]), np.diag([m + J / r**2, m * l**2])
    h1 = m * l * turning**2 * sin - 2 * m * turning * l1 * cos
    h2 = [m * l * turning**2 + m * g * cos, -m * l * (g * sin + 2 * turning * l1)]
    Bu = np.array([inputs[0], inputs[1] / r, 0.0])
    rows = [
        (mt + m) * s2 - h1 + M12 @ acceleration - Bu[0],
        *(M12 * s2 - h2 + M22 @ acceleration - Bu[1:]),
        *(np.array([s2, 0.0]) - path[:, 2] + g2 + D2 @ acceleration),
        *(np.array([s1, 0.0]) + D2 @ rate - path[:, 1]),
        *([s + l * sin, -l * cos] - path[:, 0]),
    ]
    return np.array(rows), Bu, D2


def test_v27_the_flat_solution_solves_5_33_but_not_with_its_printed_sign():
    """(5.33): f + 3a = 9 equations. (5.33a,b), (5.35a) and (5.40b,c) print - B' u, which (5.34c) contradicts."""
    opened = open_model("overhead-crane")
    task = opened.task("000-5.3.1")
    found = inverse(opened.mechanism, task, method="flat", stepper="backward-euler:step=0.25")
    flat = solution("minimal", task)
    names = ("travel.displacement", "reel.length", "swing.angle")
    coordinates = ca.vertcat(*(flat.coordinates[name] for name in names))
    motion = ca.Function("motion", [flat.time.t], [ca.horzcat(*(flat.time.rate(coordinates, k) for k in (1, 2)))])
    path = np.stack(load_path(task, found.time))
    for k in range(1, len(found.time) - 1):
        s, l, angle = (found[name][k] for name in names)
        rates, accelerations = motion(found.time[k]).full().T
        inputs = [found["trolley_force"][k], found["winch_torque"][k]]
        along = (s, rates[0], accelerations[0])
        rows, Bu, _ = minimal(l, angle, rates[1:], accelerations[1:], along, inputs, path[:, k])
        f, a = 3, 2
        assert len(rows) == f + 3 * a
        # Coordinates are right to 1e-9, and rows change by up to m l phi'' and m g, 1e3 N, for each m and rad.
        assert np.abs(rows).max() < 1e-6
        assert np.abs(rows[:3] + 2 * Bu).max() > 100.0  # with the printed sign


def test_v27_backward_euler_in_minimal_coordinates():
    """(5.40): 2 (f + a) = 10 equations; those of (5.40d) give mu2~, which is no channel, and our steps solve the others."""
    h = 0.1
    opened = open_model("overhead-crane")
    task = opened.task("000-5.3.1")
    found = inverse(opened.mechanism, task, method="minimal-extension", stepper=f"backward-euler:step={h}")
    path = np.stack(load_path(task, found.time))
    s, s1 = found["travel.displacement"], found["travel.displacement.rate"]
    for k in range(1, len(found.time)):
        l, angle = found["reel.length"][k], found["swing.angle"][k]
        rate = np.array([found["reel.length.rate"][k], found["swing.angle.rate"][k]])
        inputs = [found["trolley_force"][k], found["winch_torque"][k]]
        along = (s[k], s1[k], (s1[k] - s1[k - 1]) / h)
        rows, _, D2 = minimal(l, angle, rate, np.zeros(2), along, inputs, path[:, k])
        acceleration = np.linalg.solve(D2, -rows[3:5])
        rows, _, _ = minimal(l, angle, rate, acceleration, along, inputs, path[:, k])
        rows = np.array([(s[k] - s[k - 1]) / h - s1[k], *rows])
        f, a = 3, 2
        assert len(rows) == 2 * (f + a)
        # Of some 1e3 N, with Newton's tolerance.
        assert np.abs(rows).max() < 1e-8
