"""The spherical pendulum in all its variables: one motion (notes 3.7 of document 002)."""

import numpy as np
import pytest

from kingpost import open_model
from kingpost.modular.tree import assembled
from kingpost.plugins.models.pendulum_subsystems import SETS, in_angles, in_place, with_speed_square

#: Where the particle is, gravity along x; from two integrators that agree to the digits shown.
PLACES = {
    1: (0.610903, -0.762782, -0.212038),
    2: (0.642559, 0.657662, 0.393189),
    5: (0.819051, -0.174261, -0.546616),
    10: (0.931527, 0.201899, 0.302480),
}
#: Energy over mass at the start: v^2 / 2 - g x.
ENERGY = 0.5 - 9.81 * 0.6


def place(name, history):
    if name == "angles":
        theta, phi = history["angles.theta"], history["angles.phi"]
        return np.cos(theta), np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)
    if name == "body":
        return -history["S.pz"], history["S.px"], history["S.py"]
    force = {"place": "place", "speed-square": "square"}[name]
    return tuple(history[f"{force}.{axis}"] for axis in "xyz")


@pytest.mark.parametrize("name", SETS)
def test_all_variables_give_the_motion_of_the_notes(name):
    """Six digits are given; errors of 1e-12 in each step grow with the square of the time where u is a variable."""
    opened = open_model(f"spherical-pendulum-subsystems:variables={name}")
    history = opened.simulate(t_end=10.0, output_step=1.0, integrator="dop853:rtol=1e-12,atol=1e-13")
    x, y, z = place(name, history)
    for t, expected in PLACES.items():
        assert (x[t], y[t], z[t]) == pytest.approx(expected, abs=6e-7)
    assert history[next(item.name for item in history.channels if item.name.endswith(".open"))].max() < 1e-7


#: Variables of the subsystems, and the joint of the twin of bodies whose variables are most like them.
TWINS = {"angles": "angles", "place": "point", "speed-square": "universal", "body": "body"}


@pytest.mark.parametrize("name", ["place", *(pytest.param(name, marks=pytest.mark.slow) for name in SETS if name != "place")])
def test_the_twin_of_bodies_and_joints_moves_alike(name):
    """Two seconds, less than a swing: some 1e2 steps with 1e-10 of error each, which grow with the time at most ten times."""
    how = {"t_end": 2.0, "output_step": 0.25, "integrator": "dop853:rtol=1e-10,atol=1e-11", "backend": "vm"}
    parts = open_model(f"spherical-pendulum-subsystems:variables={name}").simulate(**how)
    bodies = open_model(f"spherical-pendulum:joint={TWINS[name]}").simulate(**how)
    for own, axis in zip(place(name, parts), "xyz", strict=True):
        np.testing.assert_allclose(own, bodies[axis], rtol=0, atol=1e-7)
    assert np.ptp(bodies["y"]) > 1.0


def test_the_energy_that_upsilon_tells_is_constant():
    """E / m = (u - 2 g x) / 2; u and x are integrated apart, so this holds them together."""
    history = open_model("spherical-pendulum-subsystems:variables=speed-square").simulate(
        t_end=5.0, output_step=0.1, integrator="dop853:rtol=1e-12,atol=1e-13"
    )
    energy = history["square.u"] / 2 - 9.81 * history["square.x"]
    assert energy == pytest.approx(np.full(energy.shape, ENERGY), abs=1e-7)


def test_accelerations_have_the_closed_forms_of_the_document():
    """(i) phi'' = -2 cot th ph' th', th'' = sin th (cos th ph'^2 - g / r); (ii) x'' = g (y^2 + z^2) / r^2 - x v^2 / r^2, ..."""
    g, r = 9.81, 0.7
    th, ph, th1, ph1 = 0.8, 0.3, 0.4, -0.9
    tree = assembled(in_angles(), {"theta": th, "phi": ph, "theta_dot": th1, "phi_dot": ph1, "r": r})
    found = dict(zip(tree.system.q, np.array(tree.accelerations(0.0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    assert found["phi_ddot"] == pytest.approx(-2 * np.cos(th) * ph1 * th1 / np.sin(th), abs=1e-12)
    assert found["theta_ddot"] == pytest.approx(np.sin(th) * (np.cos(th) * ph1**2 - g / r), abs=1e-12)
    c, s = np.cos, np.sin
    p = r * np.array([c(th), s(th) * c(ph), s(th) * s(ph)])
    v = r * (th1 * np.array([-s(th), c(th) * c(ph), c(th) * s(ph)]) + ph1 * np.array([0, -s(th) * s(ph), s(th) * c(ph)]))
    start = dict(zip(("x", "y", "z", "x_dot", "y_dot", "z_dot"), (*p, *v), strict=True))
    square = v @ v
    expected = np.array([g, 0, 0]) - p * (square + g * p[0]) / r**2
    for make in (in_place, with_speed_square):
        tree = assembled(make(), {**start, "r": r})
        found = dict(zip(tree.system.q, np.array(tree.accelerations(0.0, tree.x, tree.u, tree.p)).ravel(), strict=True))
        assert [found[f"{axis}_ddot"] for axis in "xyz"] == pytest.approx(list(expected), abs=1e-12)
    assert found["u_dot"] == pytest.approx(2 * g * v[0], abs=1e-12)


def test_the_printed_kinematic_matrix_fails():
    """Ex. 4.1 (c) prints r cos(phi) sin(theta) for the change of y with theta; it is r cos(phi) cos(theta)."""
    th, ph, r = 0.8, 0.3, 1.0
    step = 1e-6
    change = (r * np.sin(th + step) * np.cos(ph) - r * np.sin(th - step) * np.cos(ph)) / (2 * step)
    assert change == pytest.approx(r * np.cos(ph) * np.cos(th), abs=1e-9)
    assert abs(change - r * np.cos(ph) * np.sin(th)) > 0.01


def test_the_printed_complement_of_the_cartesian_set_fails():
    """Ex. 4.1 (k) prints [-y 0 y] and [-z x 0] for the columns of S; they are (-y, x, 0) and (-z, 0, x)."""
    x, y, z = 0.6, 0.5, np.sqrt(1 - 0.61)
    A = np.array([2 * x, 2 * y, 2 * z])
    S = np.array([[-y, x, 0], [-z, 0, x]]).T
    assert np.abs(A @ S).max() < 1e-15
    assert np.abs(A @ np.array([[-y, 0, y], [-z, x, 0]]).T).max() > 0.1
    tree = assembled(in_place(), {"x": x, "y": y, "z": z, "x_dot": 0.0, "z_dot": 0.0})
    mine = tree.start.S.part(["x_ddot", "y_ddot", "z_ddot"], ["y_ddot", "z_ddot"]).matrix
    assert np.allclose(mine * x, S, rtol=0, atol=1e-13)
