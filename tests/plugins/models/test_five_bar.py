"""The five-bar linkage with motors against Lagrange's equations in the angles of its cranks, and C_R of document 002."""

from math import pi

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from kingpost import PluginSet, simulate
from kingpost.multibody.assembly import assemble
from kingpost.plugins.models.five_bar import holding_torque, rod_angles
from kingpost.simulation.problem import derive

PLUGINS = PluginSet(entry_points=False)
D, A, B, MC, MR, ML, BC = 0.2, 0.15, 0.25, 0.2, 0.15, 0.5, 0.01
N, K, E, R, L, J, BM, G = 50.0, 0.03, 0.03, 1.0, 5e-3, 1e-5, 1e-6, 9.81


class Lagrange:
    """T and V in the angles of the cranks alone; the place of the payload is where two circles meet."""

    def __init__(self):
        self.theta, self.rate = ca.SX.sym("theta", 2), ca.SX.sym("rate", 2)
        x, z, angles, places = self.geometry(self.theta)
        moving = [(ML, 0.0, ca.vertcat(x, z), ca.SX(0))]
        for k in range(2):
            pivot = ca.vertcat((-1, 1)[k] * D / 2, 0)
            out = ca.vertcat(ca.cos(self.theta[k]), ca.sin(self.theta[k]))
            moving.append((MC, MC * A**2 / 12, pivot + A / 2 * out, self.theta[k]))
            moving.append((MR, MR * B**2 / 12, (places[k] + ca.vertcat(x, z)) / 2, angles[k]))
            moving.append((0.0, J, ca.SX(2, 1), N * self.theta[k]))
        T, V = ca.SX(0), ca.SX(0)
        for mass, moment, at, turn in moving:
            v, w = (ca.jacobian(item, self.theta) @ self.rate for item in (at, turn))
            T += mass * ca.sumsqr(v) / 2 + moment * ca.sumsqr(w) / 2
            V += mass * G * at[1]
        self.T, self.V = T, V
        self.place, self.angles = ca.vertcat(x, z), ca.vertcat(*angles)

    def geometry(self, theta):
        elbows = [ca.vertcat((-1, 1)[k] * D / 2 + A * ca.cos(theta[k]), A * ca.sin(theta[k])) for k in range(2)]
        apart = elbows[1] - elbows[0]
        half = ca.norm_2(apart) / 2
        above = ca.vertcat(-apart[1], apart[0]) / (2 * half)
        payload = (elbows[0] + elbows[1]) / 2 + above * ca.sqrt(B**2 - half**2)
        angles = [ca.atan2(*ca.vertsplit(payload - elbow)[::-1]) for elbow in elbows]
        return payload[0], payload[1], angles, elbows

    def accelerations(self):
        """Return a function (theta, rates, currents, voltages) -> accelerations, rates of currents, and T + V."""
        i, u = ca.SX.sym("i", 2), ca.SX.sym("u", 2)
        p = ca.gradient(self.T, self.rate)
        forces = N * (K * i - BM * N * self.rate) - BC * self.rate
        right = forces + ca.gradient(self.T - self.V, self.theta) - ca.jtimes(p, self.theta, self.rate)
        a = ca.solve(ca.jacobian(p, self.rate), right)
        return ca.Function("a", [self.theta, self.rate, i, u], [a, (u - R * i - E * N * self.rate) / L, self.T + self.V])


@pytest.fixture(scope="module")
def lagrange():
    return Lagrange()


@pytest.fixture(scope="module")
def machine():
    return PLUGINS.models.get("five-bar")().build()


def states(machine, lagrange, theta, rate):
    """Return coordinates and speeds of the model at angles and rates of the cranks."""
    x, z, angles, _ = lagrange.geometry(lagrange.theta)
    th = lagrange.theta
    own = ca.vertcat(x, z, th[0], angles[0] - th[0], th[1], angles[1] - th[1])
    function = ca.Function("q", [th, lagrange.rate], [own, ca.jacobian(own, th) @ lagrange.rate])
    names = ["payload.x", "payload.z", "left-crank.angle", "left-elbow.angle", "right-crank.angle", "right-elbow.angle"]
    assert [quantity.name for quantity in machine.coordinates] == names
    return [np.asarray(part).ravel() for part in function(theta, rate)]


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_accelerations_are_those_of_lagrange(machine, lagrange, formulation):
    equations = derive(assemble(machine, PLUGINS), formulation, PLUGINS)
    reference = lagrange.accelerations()
    p = [parameter.default for parameter in machine.parameters]
    rng = np.random.default_rng(4)
    for _ in range(6):
        theta = np.array([2.2, pi - 2.2]) + rng.uniform(-0.3, 0.3, 2)
        rate, current, voltage = rng.uniform(-2, 2, 2), rng.uniform(-3, 3, 2), rng.uniform(-12, 12, 2)
        q, v = states(machine, lagrange, theta, rate)
        vdot = np.asarray(equations.accelerations(0, q, v, [*voltage, *current], p)).ravel()
        wanted, charging, _ = (np.asarray(part).ravel() for part in reference(theta, rate, current, voltage))
        np.testing.assert_allclose(vdot[[2, 4]], wanted, rtol=1e-9, atol=1e-9)
        rates = np.asarray(equations.state_rates(0, q, v, [*voltage, *current], p)).ravel()
        np.testing.assert_allclose(rates, charging, rtol=1e-12)


def test_the_payload_follows_the_cranks_by_the_complement_of_the_document(lagrange):
    """C_R of example 2.7, by the derivatives of where two circles meet."""
    J = ca.Function("J", [lagrange.theta], [ca.jacobian(ca.vertcat(lagrange.place, lagrange.angles), lagrange.theta)])
    for thL, thR in ((2.2, 0.9), (2.5, 1.1), (1.9, 0.6)):
        phL, phR = rod_angles(thL, thR)
        s = np.sin(phR - phL)
        C = np.array([
            [-np.sin(thL - phL) * np.sin(phR) * A, np.sin(phL) * np.sin(thR - phR) * A],
            [np.cos(phR) * np.sin(thL - phL) * A, -np.cos(phL) * np.sin(thR - phR) * A],
            [np.sin(thL - phR) * A / B, -np.sin(thR - phR) * A / B],
            [np.sin(thL - phL) * A / B, -np.sin(thR - phL) * A / B],
        ]) / s  # fmt: skip
        np.testing.assert_allclose(np.asarray(J([thL, thR])), C, atol=1e-13)


def test_the_voltages_hold_the_start(machine, lagrange):
    slope = ca.Function("V", [lagrange.theta], [ca.gradient(lagrange.V, lagrange.theta)])
    np.testing.assert_allclose(np.asarray(slope([2.2, pi - 2.2])).ravel(), [holding_torque(), -holding_torque()], atol=1e-14)
    history = simulate(machine, 0.5, step=0.001, output_step=0.1, backend="vm", plugins=PLUGINS)
    assert np.ptp(history["payload.z"]) < 1e-12


def test_energy_in_the_linkage_is_what_the_motors_leave(machine):
    """Electric power goes into heat, fields, dampers and the linkage; with k = e nothing is lost between them."""
    drive = {"voltage_left": 8.0, "voltage_right": -2.0}
    history = simulate(
        machine, 0.4, settings=drive, step=0.0005, output_step=0.0005, monitors=True, backend="vm", plugins=PLUGINS
    )
    t = history.time
    rates = [history[f"{side}-crank.angle.rate"] for side in ("left", "right")]
    power = sum(history[f"{side}-motor.power"] - history[f"{side}-motor.heat"] for side in ("left", "right"))
    power = power - sum((BC + BM * N**2) * rate**2 for rate in rates)
    whole = history["energy.total"] + sum(history[f"{side}-motor.field_energy"] for side in ("left", "right"))
    work = CubicSpline(t, power).antiderivative()(t)
    # Currents, and with them the power, follow within tau = L / R = 5 ms. A spline through the power is off by
    # 5/384 (h / tau)^4 of its range for some four tau; rk4 by (h / tau)^4 / 120 of it.
    tau, h = L / R, t[1] - t[0]
    off = (5 / 384 + 1 / 120) * (h / tau) ** 4 * np.ptp(power) * 4 * tau
    assert off < 1e-5
    np.testing.assert_allclose(whole - whole[0], work, atol=off)
    assert np.ptp(whole) > 0.1
    assert np.abs(history["energy.error"]).max() < 1e-6
    np.testing.assert_allclose(history["left-motor.current"] ** 2 * R, history["left-motor.heat"], atol=1e-12)


def test_a_motor_alone_has_the_closed_form_of_its_equations():
    """J w' = k i, L i' = V - R i - e w from rest: two exponentials, or a damped swing."""
    from kingpost import Body, ForceElement, Joint, Mechanism

    inertia, V = 2e-3, 6.0
    spinner = Mechanism(
        "spinner",
        bodies=[Body("rotor", mass=1.0, inertia=(inertia, inertia, inertia))],
        joints=[Joint("axle", "revolute", "world", "rotor", axis=(0, 0, 1))],
        forces=[
            ForceElement(
                "dc-motor", name="motor", coordinate="axle.angle", voltage=V, inductance=0.02, resistance=0.8,
                torque_constant=0.05, gear_ratio=3.0, rotor_inertia=1e-4,
            )
        ],
    )  # fmt: skip
    history = simulate(spinner, 0.5, step=0.0005, output_step=0.05, backend="vm", plugins=PLUGINS)
    whole = inertia + 9 * 1e-4
    system = np.array([[0.0, 3 * 0.05 / whole], [-3 * 0.05 / 0.02, -0.8 / 0.02]])
    steady = np.linalg.solve(system, [0.0, -V / 0.02])
    values, vectors = np.linalg.eig(system)
    parts = np.linalg.solve(vectors, -steady.astype(complex))
    exact = steady[:, None] + (vectors @ (parts[:, None] * np.exp(values[:, None] * history.time))).real
    # rk4 with h = 0.5 ms on rates of 40 1/s: 1000 times (0.02)^5 / 120 of 40 rad/s.
    np.testing.assert_allclose(history["axle.angle.rate"], exact[0], atol=2e-6)
    np.testing.assert_allclose(history["motor.current"], exact[1], atol=2e-6)
