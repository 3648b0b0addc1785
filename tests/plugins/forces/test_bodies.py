"""Springs between points, wrenches on bodies and hydrostatic stiffness against closed forms and virtual work."""

import math

import numpy as np
import pytest
import scipy.special

from kingpost import (
    Body,
    ForceElement,
    Input,
    Joint,
    Mechanism,
    Output,
    simulate,
)
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, applied, derive, run
from tests.plugins.forces.machines import NEAR, crane, rail, rates, restoring, rk4_error, states


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_point_spring_to_the_world_is_a_damped_oscillator_along_its_line(formulation):
    spring = ForceElement(
        "point-spring",
        body="mass",
        other="world",
        at=(0.1, 0, 0),
        other_at=(3.1, 0, 0),
        length=1.0,
        stiffness=18.0,
        damping=1.6,
    )
    # The points are 3 - x apart, so the spring is at rest at x = 2.
    history = run(rail(spring, mass=2.0, start=1.5), 3.0, 0.002, formulation=formulation)
    t, decay = history.time, 1.6 / (2 * 2.0)
    w = math.sqrt(18.0 / 2.0 - decay**2)
    exact = 2.0 - 0.5 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert np.abs(history["rail.displacement"] - exact).max() < rk4_error(3.0, 3.0, 0.002)
    assert history["energy.potential"] == pytest.approx(18.0 / 2 * (2.0 - history["rail.displacement"]) ** 2, abs=1e-12)


def two_flying_bodies(*forces, **more):
    return Mechanism(
        "two",
        bodies=[Body("a", mass=2.0, inertia=(0.1, 0.1, 0.1)), Body("b", mass=3.0, inertia=(0.2, 0.2, 0.2))],
        joints=[
            Joint("fly-a", "free", "world", "a", start_rate=(0, 0, 0, 0.4, 0.1, 0)),
            Joint("fly-b", "free", "world", "b", start=(1.5, 0, 0, 1, 0, 0, 0), start_rate=(0, 0, 0, 0.4, 0.1, 0)),
        ],
        forces=forces,
        **more,
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_two_bodies_on_a_spring_swing_with_their_reduced_mass_and_keep_their_momentum(formulation):
    spring = ForceElement("point-spring", body="a", other="b", length=1.0, stiffness=12.0)
    history = run(two_flying_bodies(spring), 2.0, 0.002, formulation=formulation)
    w = math.sqrt(12.0 / (2.0 * 3.0 / (2.0 + 3.0)))
    distance = history["fly-b.x"] - history["fly-a.x"]
    assert np.abs(distance - (1.0 + 0.5 * np.cos(w * history.time))).max() < rk4_error(w, 2.0, 0.002)
    for axis, speed in (("x", 0.4), ("y", 0.1), ("z", 0.0)):
        momentum = 2.0 * history[f"fly-a.v{axis}"] + 3.0 * history[f"fly-b.v{axis}"]
        # The forces cancel exactly; 1000 steps round sums of order 1.
        assert np.abs(momentum - 5.0 * speed).max() < 1e-12


def test_a_point_spring_pulls_along_its_line_with_its_polynomials():
    k, d, length = (3.0, -2.0, 5.0), (0.4, 1.1, 0.6), 0.6
    spring = ForceElement("point-spring", body="a", other="b", length=length, stiffness=k, damping=d)
    mechanism = two_flying_bodies(spring)
    rng = np.random.default_rng(3)
    for _ in range(10):
        at = rng.uniform(-1, 1, (2, 3))
        speed = rng.uniform(-1, 1, (2, 3))
        q = [*at[0], 1, 0, 0, 0, *at[1], 1, 0, 0, 0]
        v = [0, 0, 0, *speed[0], 0, 0, 0, *speed[1]]
        apart = at[1] - at[0]
        distance = np.linalg.norm(apart)
        direction = apart / distance
        s, r = distance - length, direction @ (speed[1] - speed[0])
        pull = k[0] * s + k[1] * s**2 + k[2] * s**3 + d[0] * r + d[1] * r * abs(r) + d[2] * r**3
        exact = [0, 0, 0, *(pull * direction), 0, 0, 0, *(-pull * direction)]
        assert applied(mechanism, q, v) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_spring_between_two_points_of_one_body_does_nothing(formulation):
    spring = ForceElement(
        "point-spring", body="a", other="a", at=(1, 2, 3), other_at=(-1, 0.5, 2), length=0.5, stiffness=(40.0, 8.0), damping=5.0
    )
    mechanism = two_flying_bodies(spring)
    stretch = math.sqrt(4 + 1.5**2 + 1) - 0.5
    rng = np.random.default_rng(4)
    for q, v in states(mechanism, rng):
        # A pull of some 1e2 N at arms of some metres cancels.
        assert np.abs(applied(mechanism, q, v, formulation=formulation)).max() < 1e3 * 10 * np.finfo(float).eps
        potential = float(derive(mechanism, formulation).observations(0, q, v, [], [])[-2])
        assert potential == pytest.approx(40.0 * stretch**2 / 2 + 8.0 * stretch**3 / 3, rel=1e-13)


def test_two_points_that_meet_feel_no_force():
    spring = ForceElement("point-spring", body="mass", other="world", length=0.5, stiffness=40.0, damping=3.0)
    assert applied(rail(spring), 0.0, 1.0) == pytest.approx([0.0], abs=0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("frame", ["body", "world"])
@pytest.mark.parametrize("body", ["barge", "load"])
def test_the_work_of_a_wrench_is_that_of_its_force_at_its_point(body, frame, formulation):
    at, moment, force = (0.4, -0.3, 0.8), np.array([3.0, -1.0, 2.0]), np.array([5.0, 4.0, -6.0])
    markers = {"o": (0, 0, 0), "x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "point": at}
    wrench = ForceElement("body-wrench", body=body, moment=moment.tolist(), force=(5.0, "2 * push", "-t"), at=at, frame=frame)
    mechanism = crane(
        wrench, inputs=[Input("push", "N")], outputs=[Output(name, body, at=place) for name, place in markers.items()]
    )
    equations = derive(mechanism, formulation)

    def place(q):
        points = np.asarray(equations.observations(0, q, np.zeros(equations.nv), [0], [])).ravel()[:15].reshape(5, 3)
        return (points[1:4] - points[0]).T, points[4]

    for q, v in states(mechanism, np.random.default_rng(5), 2):
        R, _ = place(q)
        force_W, moment_W = (force, moment) if frame == "world" else (R @ force, R @ moment)
        work = []
        for rate in rates(equations, q):
            (R_ahead, p_ahead), (R_behind, p_behind) = place(q + NEAR * rate), place(q - NEAR * rate)
            spin = (R_ahead - R_behind) / (2 * NEAR) @ R.T
            turn = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            work.append(force_W @ (p_ahead - p_behind) / (2 * NEAR) + moment_W @ turn)
        # The point is some 3 m from the joints, the force 9 N: derivatives of order 30.
        assert applied(mechanism, q, v, t=6.0, u=[2.0], formulation=formulation) == pytest.approx(work, abs=30 * 1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_damper_between_turning_bodies_acts_against_the_rate_of_its_length(formulation):
    ends = {"load": (0.3, -0.2, 0.4), "barge": (-0.5, 0.6, 0.1)}
    damper = ForceElement(
        "point-spring", body="load", at=ends["load"], other="barge", other_at=ends["barge"], damping=(2.0, 1.0, 0.5)
    )
    mechanism = crane(damper, outputs=[Output(f"on-{body}", body, at=at) for body, at in ends.items()])
    equations = derive(mechanism, formulation)

    def length(q):
        points = np.asarray(equations.observations(0, q, np.zeros(equations.nv), [], [])).ravel()[:6]
        return float(np.linalg.norm(points[:3] - points[3:]))

    for q, v in states(mechanism, np.random.default_rng(11)):
        slopes = np.array([(length(q + NEAR * rate) - length(q - NEAR * rate)) / (2 * NEAR) for rate in rates(equations, q)])
        r = slopes @ v
        drag = 2.0 * r + 1.0 * r * abs(r) + 0.5 * r**3
        # Some ten speeds and slopes of order 1; the drag, up to 100 N, changes ten times as fast.
        assert applied(mechanism, q, v, formulation=formulation) == pytest.approx(-drag * slopes, abs=1e3 * 1e-9)


def floating(matrix, position=(0.0, 0.0, 0.0), **start):
    return Mechanism(
        "floating",
        bodies=[Body("hull", mass=4.0, inertia=(0.5, 0.9, 1.1))],
        joints=[Joint("sea", "free", "world", "hull", **start)],
        forces=[ForceElement("hydrostatic", body="hull", matrix=matrix, position=position)],
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_small_displacements_in_the_order_surge_to_yaw_meet_the_matrix(formulation):
    matrix, rest = restoring(), np.array([1.0, -2.0, 0.5])
    mechanism = floating(matrix.tolist(), rest.tolist())

    def wrench(displacement):
        # A turn by a small angle about a world axis; the axes of the hull are the world's to first order.
        quaternion = np.array([1.0, *(displacement[3:] / 2)])
        moment_and_force = applied(mechanism, [*(rest + displacement[:3]), *quaternion], np.zeros(6), formulation=formulation)
        return np.concatenate([moment_and_force[3:], moment_and_force[:3]])

    assert np.abs(wrench(np.zeros(6))).max() == 0.0
    columns = [(wrench(NEAR * unit) - wrench(-NEAR * unit)) / (2 * NEAR) for unit in np.eye(6)]
    assert np.abs(np.array(columns).T + matrix).max() < 1e-9 * np.abs(matrix).max()


def test_a_floating_body_heaves_with_its_own_frequency():
    history = run(floating(np.diag([0, 0, 36.0, 0, 0, 0]).tolist(), (0, 0, 1.0)), 3.0, 0.002)
    exact = 1.0 - np.cos(math.sqrt(36.0 / 4.0) * history.time)
    assert np.abs(history["sea.z"] - exact).max() < rk4_error(3.0, 3.0, 0.002)


@pytest.mark.parametrize(("mode", "moment"), [(3, 0.5), (4, 0.9), (5, 1.1)], ids=["roll", "pitch", "yaw"])
def test_a_large_turn_about_an_axis_is_that_of_a_pendulum(mode, moment):
    # V = C sin(a)^2 / 2, so (2a)'' = -C / I sin(2a): a pendulum in 2a, with sin(a) = k cd(w t, k^2), k = sin(start) and
    # w^2 = C / I.
    C, start = 3.0, 0.7
    axis = np.eye(3)[mode - 3]
    begin = (0, 0, 0, math.cos(start / 2), *(math.sin(start / 2) * axis))
    history = run(floating(np.diag(C * np.eye(6)[mode]).tolist(), start=begin), 4.0, 0.002)
    k, w = math.sin(start), math.sqrt(C / moment)
    _, cn, dn, _ = scipy.special.ellipj(w * history.time, k**2)
    half = history.select(["sea.qx", "sea.qy", "sea.qz"]) @ axis
    assert np.abs(np.sin(2 * np.arcsin(half)) - k * cn / dn).max() < rk4_error(w, 4.0, 0.002)


def test_a_floating_body_with_all_couplings_keeps_its_energy():
    spin = (0.5, -0.3, 0.4, 0.2, 0.1, -0.3)
    mechanism = floating(restoring().tolist(), start=(0.2, -0.1, 0.3, 1, 0.1, -0.2, 0.15), start_rate=spin)
    history = simulate(mechanism, 5.0, integrator="dop853:rtol=1e-10", backend="vm", plugins=BUILT_IN)
    total = history["energy.total"]
    assert np.ptp(history["energy.kinetic"]) > 0.1 * total[0]
    # Some 200 steps, each with an error of 1e-10 of the state, and the energy is of second degree in it.
    assert np.abs(total / total[0] - 1).max() < 200 * 2 * 1e-10
