"""The arm with a passive joint against document 003, eqs. (22)-(25), written out by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kingpost import simulate
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from tests.plugins.models.flat import PLUGINS, model

#: From theta1 and theta2 of the document to theta1 and the bend.
T = np.array([[1.0, 0.0], [1.0, 1.0]])  # (theta1, theta2) = T (theta1, bend)


def of_the_document(l1, l2, m1, m2, c, d, q, v):
    """Return M and g - k of eq. (22)."""
    s1, s2, J1, J2 = l1 / 2, l2 / 2, m1 * l1**2 / 12, m2 * l2**2 / 12
    (th1, th2), (w1, w2) = q, v
    b = th2 - th1
    coupling = m2 * s2 * l1 * np.cos(b)
    M = np.array([[J1 + m1 * s1**2 + m2 * l1**2, coupling], [coupling, J2 + m2 * s2**2]])
    k = m2 * s2 * l1 * np.sin(b) * np.array([-(w2**2), w1**2])
    spring = c * b + d * (w2 - w1)
    return M, np.array([spring, -spring]) - k


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_the_arm_has_the_equations_of_the_document(formulation):
    equations = derive(assemble(model("passive-joint-arm").build(), PLUGINS), formulation, PLUGINS)
    rng = np.random.default_rng(3)
    for _ in range(10):
        numbers = rng.uniform(0.5, 2, 6)
        q, v = rng.uniform(-2, 2, 2), rng.uniform(-2, 2, 2)
        torque = rng.uniform(-3, 3)
        M, f = of_the_document(*numbers, q, v)
        f = f + [torque, 0.0]
        ours = equations.descriptor(0, np.linalg.solve(T, q), np.linalg.solve(T, v), [torque], [*numbers, 1 / 3])
        assert np.asarray(ours[0]) == pytest.approx(T.T @ M @ T, abs=1e-13)
        assert np.asarray(ours[1]).ravel() == pytest.approx(T.T @ f, abs=1e-12)


def realisation(kappa, bend):
    """Return Y = H M^-1 B of the arm of the document at a bend of its elbow."""
    equations = derive(assemble(model("passive-joint-arm").build(), PLUGINS), "kane", PLUGINS)
    p = [parameter.default for parameter in equations.mechanism.parameters]
    M = np.asarray(equations.descriptor(0, [0, bend], [0, 0], [0], p)[0])
    H = np.array([1 - kappa, kappa]) @ T
    return float(H @ np.linalg.solve(M, [1.0, 0.0])), float(np.linalg.det(M))


def test_the_output_is_actuated_as_the_notes_say():
    """Y(0) = 1/7 and -3/14, and Y = 0 at 48.1897 degrees for kappa = 1/2: 2 (1 - k) = 3 k cos b."""
    assert realisation(1 / 3, 0.0)[0] == pytest.approx(1 / 7, abs=1e-14)
    assert realisation(1 / 2, 0.0)[0] == pytest.approx(-3 / 14, abs=1e-14)
    assert realisation(1 / 2, np.radians(48.1896851))[0] == pytest.approx(0, abs=1e-8)


def test_eqs_24_and_25_of_document_003_are_not_what_they_print():
    """6 det(M) Y = m l^2 (2 (1 - k) - 3 k cos b): eq. (25) prints l^3, which only l = 1 m hides; eq. (24) mixes two forms."""
    mechanism = model("passive-joint-arm").build()
    equations = derive(assemble(mechanism, PLUGINS), "kane", PLUGINS)
    m, l, kappa, bend = 2.0, 1.7, 0.4, 0.3
    M = np.asarray(equations.descriptor(0, [0, bend], [0, 0], [0], [l, l, m, m, 1, 0, kappa])[0])
    Y = np.array([1 - kappa, kappa]) @ T @ np.linalg.solve(M, [1.0, 0.0])
    right = m * (2 * (1 - kappa) - 3 * kappa * np.cos(bend)) / (6 * np.linalg.det(M))
    assert pytest.approx(l**2 * right, rel=1e-12) == Y
    assert abs(l**3 * right - Y) > 0.1 * abs(Y)
    s, sP, J = l / 2, kappa * l / (1 - kappa), m * l**2 / 12
    printed = ((J + m * s**2) * l * (1 - kappa) - m * s * l * sP * kappa * np.cos(bend)) / np.linalg.det(M)
    assert abs(printed - Y) > 0.1 * abs(Y)


def test_the_internal_motion_of_the_document_comes_out():
    """Inverse dynamics by hand, eqs. (12) and (13), in the document's coordinates; then our machine with that torque."""
    task = model("passive-joint-arm").tasks()["003"]
    gamma, kappa = task.path["azimuth"], 1 / 3
    H = np.array([1 - kappa, kappa])

    def torque(t, q, v):
        M, f = of_the_document(1, 1, 2, 2, 1, 0, q, v)
        return (gamma.value(t, order=2) - H @ np.linalg.solve(M, f)) / (H @ np.linalg.solve(M, [1, 0]))

    def rates(t, x):
        M, f = of_the_document(1, 1, 2, 2, 1, 0, x[:2], x[2:])
        return [*x[2:], *np.linalg.solve(M, f + [torque(t, x[:2], x[2:]), 0])]

    found = solve_ivp(rates, (0, 6), np.zeros(4), method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True)
    at_two = found.sol(2.0)
    assert at_two[:2] == pytest.approx([0.84052539, -0.31591123], abs=1e-8)
    assert torque(2.0, at_two[:2], at_two[2:]) == pytest.approx(2.8220034, abs=1e-7)
    # Bends are not small: the arm reaches -66.7 degrees, where gamma is no azimuth.
    bends = np.degrees([np.subtract(*found.sol(t)[1::-1]) for t in np.linspace(0, 6, 601)])
    assert bends.min() == pytest.approx(-66.7, abs=0.05)
    equations = derive(assemble(model("passive-joint-arm").build(), PLUGINS), "kane", PLUGINS)
    p = [parameter.default for parameter in equations.mechanism.parameters]
    for t in (0.7, 2.0, 4.4):
        x = found.sol(t)
        ours = equations.accelerations(0, np.linalg.solve(T, x[:2]), np.linalg.solve(T, x[2:]), [torque(t, x[:2], x[2:])], p)
        assert T @ np.asarray(ours).ravel() == pytest.approx(rates(t, x)[2:], abs=1e-12)


def test_nothing_moves_without_a_torque():
    history = simulate(model("passive-joint-arm").build(), 0.5, step=0.01, backend="vm", plugins=PLUGINS)
    assert np.abs(history["elbow.angle"]).max() == 0.0
