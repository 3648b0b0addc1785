"""The two-rod slider against Lagrange's equations of its points, and the loops of document 002, examples 2.2 and 2.3."""

import casadi as ca
import numpy as np
import pytest

from kingpost import simulate
from kingpost.equations.consistency import consistent_start
from kingpost.plugins.models.two_rod_slider import elbow
from tests.validation.natural import PLUGINS, derive, model, numbers

M1, M2, M3, G = 1.0, 2.0, 3.0, 9.81


def by_points(l1, l2, line, force):
    """Return the accelerations of (x1, y1, z1, x2) as a function of places and speeds: two rods of constant length.

    A slender uniform rod between points with velocities a and b has m (a^2 + a b + b^2) / 6, and half its weight at each end.
    """
    q, v = ca.SX.sym("q", 4), ca.SX.sym("v", 4)
    a, b = v[:3], ca.vertcat(v[3], 0, 0)
    T = M1 * ca.dot(a, a) / 6 + M2 * (ca.dot(a, a) + ca.dot(a, b) + ca.dot(b, b)) / 6 + M3 * v[3] ** 2 / 2
    V = (M1 + M2) / 2 * G * q[2]
    apart = ca.vertcat(q[3], line, 0) - q[:3]
    phi = ca.vertcat(ca.dot(q[:3], q[:3]) - l1**2, ca.dot(apart, apart) - l2**2)
    mass, A = ca.hessian(T, v)[0], ca.jacobian(phi, q)
    bias = ca.jtimes(A @ v, q, v)
    system = ca.blockcat([[mass, A.T], [A, ca.SX(2, 2)]])
    right = ca.vertcat(-ca.gradient(V, q) + ca.vertcat(0, 0, 0, force), -bias)
    return ca.Function("by_points", [q, v], [ca.solve(system, right)[:4]])


@pytest.mark.parametrize("line", [0.0, 1.0])
def test_accelerations_are_those_of_its_points(line):
    """Of random states near the start, with the slider's line through the origin (example 2.2) and beside it (2.3)."""
    mechanism = model("two-rod-slider")
    equations = derive(mechanism, "kane")
    p = np.array([line if item.name == "line" else item.default for item in mechanism.parameters])
    q, v, force = equations.q, equations.v, 7.0
    place = elbow_and_slider(q)
    rate = ca.jtimes(place, q, v)
    vdot = ca.SX.sym("vdot", v.numel())
    second = ca.jtimes(rate, q, v) + ca.jtimes(rate, v, vdot)
    motion = ca.Function("motion", [q, v, vdot], [place, rate, second])
    exact = by_points(1.0, 2.0, line, force)
    start = np.array([value for joint in mechanism.joints for value in joint.start])
    rng = np.random.default_rng(4)
    for _ in range(4):
        x = np.concatenate([start + 0.2 * rng.normal(size=5), rng.normal(size=5)])
        at = consistent_start(equations, 0.0, x, p, far=True).x
        own = numbers(equations.accelerations(0, at[:5], at[5:], [force], p))
        where, speed, found = (numbers(part) for part in motion(at[:5], at[5:], own))
        assert np.linalg.norm(where[:3]) == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(found, numbers(exact(where, speed)), rtol=1e-9, atol=1e-9)


def elbow_and_slider(q):
    """Return the point between the rods and the slider's place, from the joint coordinates."""
    a, b = q[0], q[1]
    return ca.vertcat(ca.cos(b), ca.sin(a) * ca.sin(b), -ca.cos(a) * ca.sin(b), q[4])


@pytest.mark.parametrize("line", [0.0, 1.0])
def test_the_elbow_is_on_both_spheres(line):
    place = np.array(elbow(2.2, 0.3, line))
    assert np.linalg.norm(place) == pytest.approx(1.0, abs=1e-14)
    assert np.linalg.norm(place - [2.2, line, 0]) == pytest.approx(2.0, abs=1e-14)


def test_two_degrees_of_freedom_are_left_and_the_angles_fail_where_the_rods_are_stretched():
    """In line along x, turning the rods about themselves moves nothing, and the slider cannot move to first order."""
    mechanism = model("two-rod-slider")
    equations = derive(mechanism, "kane")
    p = [item.default for item in mechanism.parameters]
    rows = ca.Function("A", [equations.q, equations.p], [ca.densify(equations.constraints.A)])
    start = [value for joint in mechanism.joints for value in joint.start]
    assert equations.nv - np.linalg.matrix_rank(np.asarray(rows(start, p))) == 2
    stretched = np.asarray(rows([0.4, 0.0, 0.3, 0.0, 3.0], p))
    assert np.abs(stretched[:, [0, 2]]).max() < 1e-15 and np.abs(stretched[0, :4]).max() < 1e-15


def test_energy_and_loads():
    """The ball at the slider pulls along no moment; the guide carries what the slider does not take along its line."""
    options = {"step": 0.002, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "monitors": True, "loads": "all"}
    history = simulate(model("two-rod-slider"), 1.0, **options)
    # rk4 at up to 6 rad/s: (0.012)^5 / 120 in each of 500 steps, of some 30 J.
    assert np.ptp(history["energy.total"]) < 1e-7 * 30
    guide, ball = (history.loads(name, frame="world").total for name in ("guide", "ball2"))
    # The ball's load is that of the slider on the rod.
    np.testing.assert_allclose(guide[:, 4], ball[:, 4], atol=1e-9)
    np.testing.assert_allclose(guide[:, 5], ball[:, 5] + M3 * G, atol=1e-9)
    assert np.abs(ball[:, :3]).max() < 1e-9
