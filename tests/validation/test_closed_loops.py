"""Closed loops against closed forms, against equations written down independently, and against published numbers."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kingpost import ForceElement, simulate
from kingpost.plugins.models.four_bar import coupler_and_rocker
from tests.validation.machines import model

G = 9.81


# --- four-bar


def test_four_bar_angles_are_those_of_its_geometry(plugins):
    history = simulate(model(plugins, "four-bar"), 5.0, plugins=plugins)
    crank, pin, rocker = (history[f"{name}.angle"] for name in ("crank-pivot", "crank-pin", "rocker-pivot"))
    assert np.ptp(crank) > 2 * np.pi  # it goes round
    exact = np.array([coupler_and_rocker(angle, 1.0, 3.0, 2.5, 3.0) for angle in crank])
    np.testing.assert_allclose(np.sin((crank + pin - exact[:, 0]) / 2), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.sin((rocker - exact[:, 1]) / 2), 0.0, atol=1e-13)


def planar_rods(masses, lengths, ground, g=G):
    """Return the accelerations of three rods in a plane, each by x, z and angle of its middle, held by pins; by KKT."""
    a, b, c = lengths
    M = np.diag([entry for m, l in zip(masses, lengths, strict=True) for entry in (m, m, m * l * l / 12)])
    weight = np.array([entry for m in masses for entry in (0.0, -m * g, 0.0)])

    def rate(t, y):
        q, v = y[:9], y[9:]
        J, bias = np.zeros((8, 9)), np.zeros(8)

        def end(row, i, s, sign):
            """Add the point at s along rod i, from its middle, to the pin equations of two rows."""
            angle, w = q[3 * i + 2], v[3 * i + 2]
            J[row, 3 * i] += sign
            J[row + 1, 3 * i + 1] += sign
            J[row, 3 * i + 2] -= sign * s * np.sin(angle)
            J[row + 1, 3 * i + 2] += sign * s * np.cos(angle)
            bias[row : row + 2] -= sign * s * w * w * np.array([np.cos(angle), np.sin(angle)])

        end(0, 0, -a / 2, 1)
        end(2, 0, a / 2, 1), end(2, 1, -b / 2, -1)
        end(4, 1, b / 2, 1), end(4, 2, c / 2, -1)
        end(6, 2, -c / 2, 1)
        K = np.block([[M, J.T], [J, np.zeros((8, 8))]])
        solution = np.linalg.solve(K, np.concatenate([weight, -bias]))
        return np.concatenate([v, solution[:9]]), solution[9:]

    return rate


def test_four_bar_moves_and_carries_as_three_rods_with_pins(plugins):
    """Nine coordinates and eight pin equations instead of three and two, with another integrator."""
    lengths, ground = (1.0, 3.0, 2.5), 3.0
    history = simulate(
        model(plugins, "four-bar"),
        2.0,
        integrator="dop853:rtol=1e-12,atol=1e-13",
        output_step=0.1,
        loads="all",
        plugins=plugins,
    )
    start = {name: history[name][0] for name in history.names}
    angles = [start["crank-pivot.angle"], start["crank-pivot.angle"] + start["crank-pin.angle"], start["rocker-pivot.angle"]]
    rates = [
        start["crank-pivot.angle.rate"],
        start["crank-pivot.angle.rate"] + start["crank-pin.angle.rate"],
        start["rocker-pivot.angle.rate"],
    ]
    feet = [(0.0, 0.0), (np.cos(angles[0]), np.sin(angles[0])), (ground, 0.0)]
    foot_rates = [(0.0, 0.0), (-rates[0] * np.sin(angles[0]), rates[0] * np.cos(angles[0])), (0.0, 0.0)]
    q, v = [], []
    for angle, w, length, (x, z), (vx, vz) in zip(angles, rates, lengths, feet, foot_rates, strict=True):
        q += [x + length / 2 * np.cos(angle), z + length / 2 * np.sin(angle), angle]
        v += [vx - w * length / 2 * np.sin(angle), vz + w * length / 2 * np.cos(angle), w]
    rate = planar_rods((1.0, 3.0, 2.0), lengths, ground)
    exact = solve_ivp(
        lambda t, y: rate(t, y)[0], (0, 2), [*q, *v], "DOP853", t_eval=history.time, rtol=1e-12, atol=1e-13
    ).y  # fmt: skip
    # Two runs at a tolerance of 1e-12, whose errors grow with the motion; the rods' pins drift by as much.
    np.testing.assert_allclose(history["crank-pivot.angle"], exact[2], atol=1e-9)
    np.testing.assert_allclose(history["rocker-pivot.angle.rate"], exact[17], atol=1e-9)
    forces = np.array([rate(t, y)[1] for t, y in zip(history.time, exact.T, strict=True)])
    # The KKT system reads M vdot + J' lam = f: lam of the pin between coupler and rocker acts on the coupler with -lam.
    pin = history.loads("rocker-pin", frame="world")
    np.testing.assert_allclose(pin.total[:, [3, 5]], -forces[:, 4:6], atol=1e-7)
    pivot = history.loads("crank-pivot", frame="world")
    np.testing.assert_allclose(pivot.total[:, [3, 5]], -forces[:, :2], atol=1e-7)
    rocker = history.loads("rocker-pivot", frame="world")
    np.testing.assert_allclose(rocker.total[:, [3, 5]], -forces[:, 6:8], atol=1e-7)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "rotary-crane"])
def test_energy_is_kept(name, plugins):
    """rk4 has an error of order four: a step of a half leaves no more than a tenth of it, and both are small."""
    cls = plugins.models.get(name)
    errors = []
    for step in (0.004, 0.002):
        total = simulate(cls().build(), 1.0, step=step, plugins=plugins)["energy.total"]
        errors.append(np.abs(total - total[0]).max() / np.abs(total[0]))
    assert errors[0] < 1e-4
    assert errors[1] < max(errors[0] / 10, 1e-13)


# --- slider-crank


def test_slider_crank_stroke(plugins):
    history = simulate(model(plugins, "slider-crank"), 1.0, plugins=plugins, loads="all")
    angle, w = history["shaft.angle"], history["shaft.angle.rate"]
    r, l = 0.1, 0.3
    root = np.sqrt(l**2 - (r * np.sin(angle)) ** 2)
    np.testing.assert_allclose(history["bore.displacement"], r * np.cos(angle) + root, atol=1e-13)
    speed = -r * w * np.sin(angle) * (1 + r * np.cos(angle) / root)
    np.testing.assert_allclose(history["bore.displacement.rate"], speed, atol=1e-12)
    # The pin pulls the piston, nothing else acts on it along the bore.
    pin = history.loads("piston-pin", frame="world", side="parent")
    acceleration = history.loads("bore", frame="world").acceleration[:, 0]
    np.testing.assert_allclose(pin.total[:, 3], 0.8 * acceleration, atol=1e-10)
    # Across the bore the cylinder wall holds piston and pin.
    wall = history.loads("bore", frame="world")
    np.testing.assert_allclose(wall.total[:, 5] + pin.total[:, 5], 0.8 * G, atol=1e-10)


# --- rotary crane


def test_rotary_crane_of_document_000(plugins):
    crane = model(plugins, "rotary-crane")
    for place, energy, momentum in ((1.5, -410.12, 160.76), (2.5, -284.12, 412.76)):
        history = simulate(crane, 1.0, settings={"travel.displacement": place}, step=1e-3, plugins=plugins, monitors=True)
        assert history["energy.total"][0] == pytest.approx(energy, abs=0.005)
        assert history["momentum.angular.z"][0] == pytest.approx(momentum, abs=0.005)
        np.testing.assert_allclose(history["momentum.angular.z"], history["momentum.angular.z"][0], rtol=1e-10)


def test_rotary_crane_is_that_of_its_energies(plugins):
    """Lagrange's equations of eqs. (2.79), (2.87), (2.88) in the five coordinates of document 000."""
    mu, nu = ca.SX.sym("mu", 5), ca.SX.sym("nu", 5)
    phi, s, l, across, along = ca.vertsplit(mu)
    dphi, ds, dl, _, _ = ca.vertsplit(nu)
    load = ca.vertcat(
        (s + l * ca.sin(along)) * ca.cos(phi) + l * ca.cos(along) * ca.sin(across) * ca.sin(phi),
        (s + l * ca.sin(along)) * ca.sin(phi) - l * ca.cos(along) * ca.sin(across) * ca.cos(phi),
        -l * ca.cos(along) * ca.cos(across),
    )
    velocity = ca.jtimes(load, mu, nu)
    kinetic = (16.67 + 2.08 + 0.26 + 53 * s**2) * dphi**2 / 2 + 53 * ds**2 / 2 + 0.02 * (dl / 0.1) ** 2 / 2
    kinetic += 10 * ca.dot(velocity, velocity) / 2
    potential = 10 * G * load[2]
    momentum = ca.gradient(kinetic, nu)
    right = ca.gradient(kinetic - potential, mu) - ca.jtimes(momentum, mu, nu)
    system = ca.Function("f", [mu, nu], [ca.solve(ca.jacobian(momentum, nu), right)])
    start = [0.0, 1.5, 5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    first = np.asarray(system(start[:5], start[5:])).ravel()
    np.testing.assert_allclose(first[1:3], [1.5, 8.175], atol=1e-12)  # of the document's seed notes
    exact = solve_ivp(
        lambda t, y: np.concatenate([y[5:], np.asarray(system(y[:5], y[5:])).ravel()]), (0, 1), start, "DOP853",
        t_eval=np.linspace(0, 1, 11), rtol=1e-12, atol=1e-13,
    ).y  # fmt: skip
    history = simulate(model(plugins, "rotary-crane"), 1.0, step=1e-3, output_step=0.1, plugins=plugins, loads="all")
    names = ("slew.angle", "travel.displacement", "reel.length", "swing.across", "swing.along")
    np.testing.assert_allclose(history.select(names).T, exact[:5], atol=1e-9)
    # The rope's pull on the load is the gear's effort, and turns the winch: T r = -J theta''.
    pull = history.loads("reel").closure[:, 5]
    torque = history.loads("winch-axle").closure[:, 1]
    np.testing.assert_allclose(torque, 0.1 * pull, rtol=1e-10)
    assert pull[0] == pytest.approx(10 * (G - 8.175), rel=1e-10)


# --- luffing crane


def test_luffing_crane_balances_power_and_its_cylinder_carries_axially(plugins):
    history = simulate(model(plugins, "luffing-crane"), 4.0, output_step=0.002, loads="all", plugins=plugins)
    # The cylinder's own spring has no potential in the energies: its work is the change of energy.
    force = history.loads("stroke").actuator[:, 3]
    power = force * history["stroke.length.rate"]
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * 0.002)])
    total = history["energy.total"] - history["energy.total"][0]
    # Trapezoidal rule: h^2 / 12 times the second derivative of power, in motions of some 20 rad/s, of 1e5 W.
    np.testing.assert_allclose(total, work, atol=2e-2 * np.abs(total).max())
    assert np.abs(total).max() > 1e3
    # Statics of the boom about its foot at the end of the first two seconds, when it hardly moves: within what its small
    # accelerations, some 0.3 m/s^2 at the tip, take.
    k = 1000
    boom = history["boom-foot.angle"][k]
    foot = np.array([1.0, -2.0])
    pin = 4.0 * np.array([np.cos(boom), np.sin(boom)])
    along = (pin - foot) / np.linalg.norm(pin - foot)
    lever = pin[0] * along[1] - pin[1] * along[0]
    needed = G * np.cos(boom) * (3000.0 * 7.5 + 2000.0 * 15.0) / lever
    eye = history.loads("cylinder-eye", frame="world", side="parent").total[k, 3:]
    assert np.linalg.norm(eye) == pytest.approx(needed, rel=0.05)
    assert history["loads.residual.force"].max() < 1e-12 * np.abs(history["boom-foot.Fx"]).max() * 100


# --- three links and loads


def test_three_link_manipulator_of_document_001(plugins):
    history = simulate(model(plugins, "three-link-manipulator"), 0.5, plugins=plugins)
    assert history["energy.total"][0] == pytest.approx(3825.90, abs=0.005)
    np.testing.assert_allclose(history["energy.total"], 3825.90, atol=1e-5)
    np.testing.assert_allclose([history[f"tip.{axis}"][0] for axis in "xyz"], [6.0, 0.0, 15.0], atol=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "rotary-crane", "luffing-crane", "andrews-squeezer"])
def test_load_methods_agree_on_closed_loops(name, plugins):
    cls = plugins.models.get(name)
    options = {"t_end": 20 * cls.step, "step": cls.step, "output_step": cls.step, "loads": "all", "plugins": plugins}
    one, other = (simulate(cls().build(), load_method=method, **options) for method in ("auxiliary-speeds", "recursive"))
    scale = np.abs(one.values).max(axis=0) + 1.0
    assert (np.abs(one.values - other.values) / scale).max() < 1e-10
    for history in (one, other):
        largest = max(np.abs(history.loads(joint.name).total[:, 3:]).max() for joint in cls().build().joints)
        assert history["loads.residual.force"].max() < 1e-12 * max(1.0, largest)


def test_a_weight_on_the_closing_pin_changes_only_what_carries_it(plugins):
    """A force on the coupler is carried by its two pins: the sum of all forces on it is its mass times acceleration."""
    machine = model(plugins, "four-bar")
    pulled = replace(
        machine, forces=[*machine.forces, ForceElement("body-wrench", body="coupler", force=(30.0, 0, -50.0), frame="world")]
    )
    history = simulate(pulled, 1.0, plugins=plugins, loads="all")
    held = sum(history.loads(name, frame="world").total[:, 3:] for name in ("crank-pin", "rocker-pin"))
    pin = history.loads("crank-pin", frame="world")
    arm = np.column_stack([history[f"coupler-mid.{axis}"] for axis in "xyz"]) - np.column_stack(
        [np.cos(history["crank-pivot.angle"]), np.zeros(len(history)), np.sin(history["crank-pivot.angle"])]
    )
    alpha, w = pin.angular_acceleration, pin.angular_velocity
    middle = pin.acceleration + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
    np.testing.assert_allclose(held + [30.0, 0.0, -50.0 - 3 * G], 3.0 * middle, atol=1e-9)
