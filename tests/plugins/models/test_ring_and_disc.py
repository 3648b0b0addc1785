"""The disc in the ring against document 002, examples 4.2 and 4.7, with closed forms and Lagrange's equations of its own."""

from functools import partial
from math import asin, atan, cos, degrees, radians, sin, sqrt

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

from kingpost import PluginSet, simulate
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive

PLUGINS = PluginSet(entry_points=False)
R1, R2, M1, G = 1.0, 0.3, 0.67, 9.8
SLOPE, STEADY, RATIO = asin(0.8), asin(0.6), 8 / 67
#: The document's variables in ours.
SPEEDS = {
    "u1": "centre.x", "v1": "centre.z", "w1": "ring.angle", "u2": "disc.x", "v2": "disc.z", "w2": "disc.angle",
}  # fmt: skip
#: Angle of the slope (degrees), then theta (degrees) and omega (rad/s) of the steady motion by mass ratio: figures 4.15, 4.16.
TABLE = {
    10: {0: (7.478, 3.0362), 8 / 67: (7.685, 3.1686), 0.5: (8.165, 3.5582), 1: (8.558, 4.0132), 5: (9.468, 6.6087)},
    30: {0: (21.869, 2.8865), 8 / 67: (22.525, 3.0074), 0.5: (24.056, 3.3654), 1: (25.316, 3.7863), 5: (28.264, 6.2077)},
    50: {0: (34.040, 2.5983), 8 / 67: (35.263, 2.6939), 0.5: (38.161, 2.9827), 1: (40.596, 3.3295), 5: (46.452, 5.3795)},
    70: {0: (39.896, 2.2274), 8 / 67: (41.828, 2.2780), 0.5: (46.613, 2.4426), 1: (50.880, 2.6554), 5: (62.224, 4.0436)},
}  # fmt: skip


class Moving:
    """The accelerations of the machine at rest, and what they change by with theta, in the document's variables."""

    def __init__(self, formulation="kane"):
        self.mechanism = PLUGINS.models.get("ring-and-disc")().build()
        self.equations = derive(assemble(self.mechanism, PLUGINS), formulation, PLUGINS)
        e = self.equations
        names = [quantity.name for quantity in self.mechanism.coordinates]
        theta = ca.SX.sym("theta")
        p = {parameter.name: e.p[i] for i, parameter in enumerate(self.mechanism.parameters)}
        far, down = p["ring_radius"] - p["disc_radius"], p["slope"] - theta
        places = {"centre.z": p["ring_radius"], "disc.x": far * ca.sin(down), "disc.z": p["ring_radius"] - far * ca.cos(down)}
        q = ca.vertcat(*(places.get(name, 0.0) for name in names))
        held, v = e.constraints, ca.SX.sym("v", e.nv)
        rate = ca.jtimes(held.A @ e.v, e.q, e.N @ e.v) if held.count else ca.SX(0, 1)
        parts = ca.Function("parts", [e.t, e.q, e.v, e.p], [e.M, e.f, held.A, rate])
        M, f, A, c = parts(0, q, v, e.p)
        # A row of the ground that keeps the ring in its plane follows from the joints, so the smallest multipliers are taken.
        self.parts = ca.Function("parts", [theta, v, e.p], [M, f, A, c])
        slopes = [ca.jacobian(ca.vec(ca.densify(part)), theta) for part in (M, f, A, c)]
        self.slopes = ca.Function("slopes", [theta, v, e.p], slopes)
        self.order = [names.index(name) for name in SPEEDS.values()]

    def numbers(self, **changes):
        return np.array([changes.get(parameter.name, parameter.default) for parameter in self.mechanism.parameters])

    def both(self, theta, **changes):
        """Return the accelerations at rest, and their derivatives with respect to theta, by name; theta'' among them."""
        p = self.numbers(**changes)
        at_rest = np.zeros(self.equations.nv)
        M, f, A, c = (np.asarray(part) for part in self.parts(theta, at_rest, p))
        dM, df, dA, dc = (
            np.asarray(part).reshape(whole.shape, order="F")
            for part, whole in zip(self.slopes(theta, at_rest, p), (M, f, A, c), strict=True)
        )
        n, m = len(M), len(A)
        saddle, by_theta = (np.block([[a, b.T], [b, np.zeros((m, m))]]) for a, b in ((M, A), (dM, dA)))
        solve = partial(np.linalg.lstsq, saddle, rcond=1e-12)
        x = solve(np.concatenate([f, -c]).ravel())[0]
        dx = solve(np.concatenate([df, -dc]).ravel() - by_theta @ x)[0]
        ours, slope = x[:n][self.order], dx[:n][self.order]
        found = dict(zip(SPEEDS, ours, strict=True)), dict(zip(SPEEDS, slope, strict=True))
        # (r1 - r2) theta'' along the direction in which theta grows, from the places of both centres.
        xi = changes.get("slope", SLOPE)
        c, s = cos(xi - theta), sin(xi - theta)
        a, da = ([item[k] for k in ("u1", "v1", "u2", "v2")] for item in found)
        apart, change = ((row[2] - row[0], row[3] - row[1]) for row in (a, da))
        far = R1 - R2
        found[0]["th'"] = -(c * apart[0] + s * apart[1]) / far
        found[1]["th'"] = -(c * change[0] + s * change[1] + s * apart[0] - c * apart[1]) / far
        return found


@pytest.fixture(scope="module")
def moving():
    return Moving()


def steady(moving, **changes):
    """Return the angle at which theta'' vanishes."""
    return brentq(lambda theta: moving.both(theta, **changes)[0]["th'"], 1e-3, changes.get("slope", SLOPE), xtol=1e-14)


def lagrange(theta, rate, xi=SLOPE, ratio=RATIO):
    """Return theta'' and w2' from Lagrange's equations in theta and the turn of the disc, written out by hand.

    With C of example 4.2: u1 = (r1-r2) th' - r2 w2, w1 = -u1/r1, u2 = u1 - (r1-r2) c th', v2 = -(r1-r2) s th'.
    """
    m1, m2, far = M1, M1 * ratio, R1 - R2
    c, s = cos(xi - theta), sin(xi - theta)
    rows = np.array([[far, -R2], [far * (1 - c), -R2], [-far * s, 0.0], [0.0, 1.0]])  # u1, u2, v2, w2 by th', w2
    masses = np.array([2 * m1, m2, m2, m2 * R2**2 / 2])  # that of the ring: m1 u1^2 + m1 r1^2 w1^2
    M = rows.T @ (masses[:, None] * rows)
    bias = np.array([0.0, -far * s * rate**2, far * c * rate**2, 0.0])
    forces = np.array([m1 * G * sin(xi), m2 * G * sin(xi), -m2 * G * cos(xi), 0.0])
    return np.linalg.solve(M, rows.T @ (forces - masses * bias))


def test_the_mass_ratio_of_a_steady_angle(moving):
    """m2/m1 = sin th / (2 sin xi cos(th - xi) - 3 sin th + sin xi) - 1 is 8/67 at (asin .8, asin .6)."""
    th, xi = STEADY, SLOPE
    assert sin(th) / (2 * sin(xi) * cos(th - xi) - 3 * sin(th) + sin(xi)) - 1 == pytest.approx(8 / 67, abs=1e-14)
    # 0.6 / 0.536 - 1: with sines and cosines of 3, 4 and 5 in whole numbers 75 / 67 - 67 / 67.
    assert steady(moving) == pytest.approx(STEADY, abs=1e-12)
    found, _ = moving.both(STEADY)
    assert abs(found["th'"]) < 1e-13
    assert found["u1"] == pytest.approx(2 * G * 0.6 / (2 * 0.96 + 1), abs=1e-12)
    assert found["u1"] == pytest.approx(4.027397, abs=5e-7)
    assert found["u2"] == pytest.approx(found["u1"], abs=1e-12)
    assert found["w1"] == pytest.approx(-found["u1"] / R1, abs=1e-12)
    assert found["w2"] == pytest.approx(-found["u1"] / R2, abs=1e-11)
    assert found["w2"] == pytest.approx(-13.424658, abs=5e-7)
    assert abs(found["v1"]) + abs(found["v2"]) < 1e-12


def test_the_linear_model(moving):
    """The column of theta in G, example 4.7; what the accelerations change by holds however fast the machine moves."""
    _, G_theta = moving.both(STEADY)
    wanted = {"u1": -0.388220, "v1": 0.0, "w1": 0.388220, "u2": 4.270423, "v2": 1.358771, "w2": -14.881778, "th'": -6.932505}
    for name, value in wanted.items():
        assert G_theta[name] == pytest.approx(value, abs=5e-7), name
    assert sqrt(-G_theta["th'"]) == pytest.approx(2.632965, abs=5e-7)
    # The state of the document: theta, the six speeds, theta'. Only theta acts, and theta' moves it.
    names = ["th", *SPEEDS, "th'"]
    whole = np.zeros((8, 8))
    whole[0, 7] = 1.0
    whole[1:, 0] = [G_theta[name] for name in names[1:]]
    values = np.sort_complex(np.linalg.eigvals(whole))
    w = sqrt(-G_theta["th'"])
    assert np.abs(values[[0, -1]].imag).max() < w + 1 and sum(abs(values) < 1e-7) == 6
    np.testing.assert_allclose(sorted(values.imag)[:: len(values) - 1], [-w, w], atol=1e-9)


def test_speeds_do_not_enter_the_linear_model(moving):
    """With theta at rest, rolling faster changes no acceleration; nor does a small theta', which enters by its square."""
    e, p = moving.equations, moving.numbers()
    names = [quantity.name for quantity in moving.mechanism.coordinates]
    rolling = {"centre.x": 5.0, "ring.angle": -5.0 / R1, "disc.x": 5.0, "disc.angle": -5.0 / R2}
    v = np.array([rolling.get(name, 0.0) for name in names])
    assert len(v) == e.nv

    def accelerations(v):
        M, f, A, c = (np.asarray(part) for part in moving.parts(STEADY, v, p))
        m = len(A)
        return np.linalg.lstsq(np.block([[M, A.T], [A, np.zeros((m, m))]]), np.concatenate([f, -c]).ravel(), rcond=1e-12)[0][
            : len(M)
        ]

    np.testing.assert_allclose(accelerations(v), accelerations(0 * v), atol=1e-12)


@pytest.mark.parametrize("slope", TABLE)
def test_the_table_of_steady_angles_and_frequencies(moving, slope):
    for ratio, (theta, omega) in TABLE[slope].items():
        # A disc without mass leaves its swing open; the limit is what the table has, and changes by as much as the ratio.
        changes = {"slope": radians(slope), "mass_ratio": ratio or 1e-8}
        found = steady(moving, **changes)
        assert degrees(found) == pytest.approx(theta, abs=6e-4)
        assert sqrt(-moving.both(found, **changes)[1]["th'"]) == pytest.approx(omega, abs=6e-5)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_the_motion_of_the_document(formulation):
    mechanism = PLUGINS.models.get("ring-and-disc")().build()
    backend = "c" if formulation == "kane" else "vm"
    history = simulate(
        mechanism, 5.0, step=0.001 if formulation == "kane" else 0.005, output_step=0.005, formulation=formulation,
        backend=backend, monitors=True, plugins=PLUGINS,
    )  # fmt: skip
    theta, t = history["theta"], history.time
    assert degrees(theta[0]) == pytest.approx(66.8699, abs=5e-5)
    for time, value in ((1.0, 0.228206), (2.0, 0.883813), (5.0, 1.143761)):
        assert theta[np.argmin(np.abs(t - time))] == pytest.approx(value, abs=6e-7)
    # The lowest sample is less than half a step from the turning point: theta'' h^2 / 8 = 3e-5 rad too high at most.
    assert degrees(theta.min()) == pytest.approx(8.4108, abs=2e-3)
    rates = np.diff(theta)
    turns = t[1:-1][rates[1:] * rates[:-1] < 0]
    np.testing.assert_allclose(np.diff([0.0, *turns]), 1.2195, atol=0.0051)
    # rk4: 1000 steps of 5 ms on a motion of 13 rad/s, (0.07)^5 / 120 each, for energies of 100 J.
    assert np.abs(history["energy.error"]).max() < 1e-5
    assert history["constraints.speed"].max() < 1e-11


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_accelerations_are_those_of_lagrange(formulation):
    moving = Moving(formulation)
    rng = np.random.default_rng(5)
    for _ in range(5):
        theta, xi, ratio = rng.uniform(-1, 2), rng.uniform(0.1, 1.4), rng.uniform(0.05, 4)
        found, _ = moving.both(theta, slope=xi, mass_ratio=ratio)
        swing, spin = lagrange(theta, 0.0, xi, ratio)
        assert found["th'"] == pytest.approx(swing, abs=1e-10)
        assert found["w2"] == pytest.approx(spin, abs=1e-10)


def test_the_contact_carries_what_newton_asks_for():
    """The force of the ring on the disc is m2 times its acceleration less that of gravity, by differences of its speed."""
    mechanism = PLUGINS.models.get("ring-and-disc")().build()
    history = simulate(mechanism, 0.5, step=0.001, output_step=0.001, loads="all", backend="vm", plugins=PLUGINS)
    m2 = M1 * RATIO
    force = history.loads("contact", frame="world").total[1:-1, 3:]
    speed = np.column_stack([history["disc.x.rate"], history["disc.z.rate"]])
    acceleration = (speed[2:] - speed[:-2]) / 0.002
    # Third derivatives of speeds of some 3^3 m/s^4 times h^2 / 6.
    wanted = m2 * (acceleration - [G * sin(SLOPE), -G * cos(SLOPE)])
    np.testing.assert_allclose(force[:, [0, 2]], wanted, atol=1e-5)
    # And friction turns it: I2 w2' is the moment about its centre.
    moment = history.loads("contact", frame="world").total[1:-1, 1]
    turning = (history["disc.angle.rate"][2:] - history["disc.angle.rate"][:-2]) / 0.002
    np.testing.assert_allclose(-moment, m2 * R2**2 / 2 * turning, atol=1e-5)


def test_the_angle_at_which_gravity_is_along_the_line_is_zero():
    """theta is from the direction of gravity, positive up the slope: the disc at the lowest place of the ring by weight."""
    mechanism = PLUGINS.models.get("ring-and-disc")().build()
    for start in (0.0, 0.7, -0.4):
        history = simulate(mechanism, 0.001, settings={"start_angle": start}, backend="vm", plugins=PLUGINS)
        x, z = history["disc.x"][0] - history["centre.x"][0], history["disc.z"][0] - history["centre.z"][0]
        assert history["theta"][0] == pytest.approx(start, abs=1e-12)
        assert atan(-x / z) == pytest.approx(SLOPE - start, abs=1e-12)
