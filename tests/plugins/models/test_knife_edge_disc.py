"""The knife-edge disc against closed forms: its steady circle, small motions upright, kinematics of document 002, energy."""

import casadi as ca
import numpy as np
import pytest

from kingpost import linearize, simulate
from kingpost.registry.selection import select
from tests.validation.natural import PLUGINS, derive

M, R, A, C, G = 2.0, 0.5, 0.125, 0.25, 9.81


def disc(contact="edge"):
    return select(PLUGINS.models, f"knife-edge-disc:contact={contact}").build()


@pytest.mark.parametrize("contact", ["edge", "surface"])
def test_it_rolls_in_a_steady_circle(contact):
    """By Newton and Euler: w (C + m r^2) W cos(a) = sin(a) (A W^2 cos(a) - m g r), radius of the centre's circle r |w / W|."""
    W, lean = -1.5, 0.35
    w = np.tan(lean) * (A * W**2 * np.cos(lean) - M * G * R) / (W * (C + M * R**2))
    options = {"step": 0.002, "output_step": 0.1, "plugins": PLUGINS, "backend": "vm", "monitors": True, "loads": "all"}
    history = simulate(disc(contact), 3.0, **options)
    t = history.time
    # rk4 at 4 rad/s: (0.008)^5 / 120 in each of 1500 steps.
    np.testing.assert_allclose(history["attitude.lean"], lean, atol=1e-9)
    np.testing.assert_allclose(history["attitude.yaw"], W * t, atol=1e-9)
    speed = R * w
    np.testing.assert_allclose(history["place.x"], speed / W * np.sin(W * t), atol=1e-8)
    np.testing.assert_allclose(history["place.y"] - history["place.y"][0], speed / W * (1 - np.cos(W * t)), atol=1e-8)
    # The ground carries the weight, and what keeps the centre in its circle.
    contact_force = history.loads("edge", frame="world").total[:, 3:]
    np.testing.assert_allclose(contact_force[:, 2], M * G, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(contact_force[:, :2], axis=1), M * abs(speed * W), atol=1e-6)


@pytest.mark.parametrize("spin", [2.0, 4.0])
def test_upright_it_is_stable_above_a_speed(spin):
    """(A + m r^2) a'' = (m g r - C (C + m r^2) w^2 / A) a: stable for w^2 > g / (3 r) of a uniform disc, 2.56 rad/s."""
    settings = {"lean": 0.0, "attitude.yaw.rate": 0.0, "extra_spin": spin}
    system = linearize(disc(), settings=settings, plugins=PLUGINS)
    square = (M * G * R - C * (C + M * R**2) * spin**2 / A) / (A + M * R**2)
    expected = np.sqrt(complex(square))
    found = np.linalg.eigvals(system.A)
    assert np.abs(found - expected).min() < 1e-9 and np.abs(found + expected).min() < 1e-9
    assert (square < 0) == (spin > np.sqrt(G / (3 * R)))


def test_the_centre_moves_as_document_002_says():
    """Eq. (5.9): the velocity of the centre by the rates of theta, phi, psi; its z is down, so psi and theta change signs."""
    mechanism = disc()
    equations = derive(mechanism, "kane")
    p = [parameter.default for parameter in mechanism.parameters]
    residuals = ca.Function(
        "f", [equations.q, equations.v, equations.p], [equations.constraints.A @ equations.v, equations.constraints.A]
    )
    rng = np.random.default_rng(2)
    for _ in range(5):
        yaw, lean, spin = rng.uniform(-1, 1, 3)
        psi_rate, phi_rate, theta_rate = rates = rng.uniform(-2, 2, 3)
        psi, theta_rate, psi_rate = -yaw, -theta_rate, -psi_rate
        c, s, cf, sf = np.cos(psi), np.sin(psi), np.cos(lean), np.sin(lean)
        velocity = R * np.array([
            -c * theta_rate - cf * s * phi_rate - c * sf * psi_rate,
            -s * theta_rate + cf * c * phi_rate - sf * s * psi_rate,
            sf * phi_rate,
        ])  # fmt: skip
        v = [velocity[0], -velocity[1], -velocity[2], *rates]
        q = [0.3, -0.2, R * np.cos(lean), yaw, lean, spin]
        error, rows = residuals(q, v, p)
        np.testing.assert_allclose(np.asarray(error).ravel(), 0.0, atol=1e-14)
        assert np.linalg.matrix_rank(np.asarray(rows)) == 3


@pytest.mark.parametrize("contact", ["edge", "surface"])
def test_disturbed_it_keeps_its_energy(contact):
    history = simulate(
        disc(contact),
        3.0,
        settings={"extra_spin": 2.0},
        step=0.002,
        output_step=0.02,
        plugins=PLUGINS,
        backend="vm",
        monitors=True,
    )
    assert np.ptp(history["attitude.lean"]) > 0.05
    # rk4 at up to 10 rad/s: (0.02)^5 / 120 in each of 1500 steps.
    assert np.ptp(history["energy.total"]) < 1e-7 * history["energy.total"][0]
    assert history["constraints.speed"].max() < 1e-12
