"""Ropes, rods and rolling against closed forms."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, simulate
from kingpost.mechanism.closures import Closure

G = 9.81


def test_rope_over_a_winch(plugins):
    """A load that falls and turns the winch: z'' = -m g / (m + J / r^2)."""
    m, J, r = 12.0, 0.3, 0.25
    machine = Mechanism(
        "well",
        bodies=[Body("drum", mass=5.0, inertia=(J, J, J)), Body("bucket", mass=m)],
        joints=[
            Joint("axle", "revolute", "world", "drum", axis=(0, 1, 0), position=(-r, 0, 2)),
            Joint("shaft", "prismatic", "world", "bucket", axis=(0, 0, 1), start=-1.0),
        ],
        forces=[ForceElement("gravity")],
        closures=[
            Closure("rope", "rope", "world", "bucket", position=(0, 0, 2), length=3.0, coordinates=("axle.angle",), radius=r)
        ],
    )
    history = simulate(machine, 1.0, plugins=plugins, loads="all")
    acceleration = -m * G / (m + J / r**2)
    np.testing.assert_allclose(history["shaft.displacement"], -1.0 + acceleration * history.time**2 / 2, atol=1e-12)
    np.testing.assert_allclose(history["axle.angle"], -acceleration * history.time**2 / 2 / r, atol=1e-11)
    tension = m * (G + acceleration)
    np.testing.assert_allclose(history["rope.Fz"], tension, rtol=1e-11)
    np.testing.assert_allclose(history.loads("axle").closure[:, 1], tension * r, rtol=1e-11)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_a_rod_without_mass_is_a_pendulum(formulation, plugins):
    length = 1.7
    point = Mechanism(
        "point",
        bodies=[Body("bob", mass=2.0, inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("plane", "planar", "world", "bob", axis=(0, 1, 0), axis2=(1, 0, 0))],
        forces=[ForceElement("gravity")],
        closures=[Closure("rod", "distance", "world", "bob", length=length)],
    )
    pendulum = Mechanism(
        "pendulum",
        bodies=[Body("bob", mass=2.0, com=(0, 0, -length))],
        joints=[Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=-0.9)],
        forces=[ForceElement("gravity")],
    )
    x, z = length * np.sin(0.9), -length * np.cos(0.9)
    # With the normal y and the first direction x, the second direction is -z.
    tied = simulate(point, 3.0, settings={"plane.x": x, "plane.y": -z}, formulation=formulation, plugins=plugins, loads="all")
    free = simulate(pendulum, 3.0, plugins=plugins, loads="all")
    angle = free["pivot.angle"]
    np.testing.assert_allclose(tied["plane.x"], -length * np.sin(angle), atol=1e-9)
    np.testing.assert_allclose(tied["plane.y"], length * np.cos(angle), atol=1e-9)
    pull = np.linalg.norm(free.loads("pivot").total[:, 3:], axis=1)
    np.testing.assert_allclose(np.linalg.norm(tied.select(["rod.Fx", "rod.Fy", "rod.Fz"]), axis=1), pull, atol=1e-7)


def ball(table, radius=0.2, mass=3.0, **fields):
    moment = 0.4 * mass * radius**2
    return Mechanism(
        "ball",
        bodies=[*table["bodies"], Body("ball", mass=mass, inertia=(moment, moment, moment))],
        joints=[*table["joints"], Joint("motion", "free", "world", "ball", start=(0.3, 0, radius, 1, 0, 0, 0))],
        closures=[Closure("contact", "rolling", table["name"], "ball", radius=radius)],
        **fields,
    )


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_a_ball_rolls_down_a_slope(formulation, plugins):
    """A solid ball gets 5/7 of g sin(slope), and its contact a friction of 2/7 of the weight along the slope."""
    down = G * np.array([0.3, 0.1, 0.0])
    gravity = ForceElement("gravity", acceleration=(*down[:2], -9.0))
    machine = ball({"name": "world", "bodies": [], "joints": []}, forces=[gravity])
    history = simulate(machine, 1.0, formulation=formulation, plugins=plugins, loads="all")
    t = history.time[:, None]
    np.testing.assert_allclose(history.select(["motion.x", "motion.y"]), [0.3, 0.0] + 5 / 7 * down[:2] * t**2 / 2, atol=1e-11)
    np.testing.assert_allclose(history["motion.z"], 0.2, atol=1e-14)
    contact = history.loads("contact", frame="world").total
    np.testing.assert_allclose(contact[:, 3:], np.tile(3.0 * np.array([*(-2 / 7 * down[:2]), 9.0]), (len(t), 1)), atol=1e-9)


def test_a_ball_on_a_turntable_runs_in_circles(plugins):
    """The centre of a solid ball that rolls on a plate turning with W runs in a circle with 2/7 W, wherever it started."""
    W = 3.0
    plate = {
        "name": "plate",
        "bodies": [Body("plate", mass=1.0, inertia=(1e9, 1e9, 1e9))],
        "joints": [Joint("axle", "revolute", "world", "plate", axis=(0, 0, 1), start_rate=W)],
    }
    start = {"motion.vx": 0.4, "motion.vy": -0.1}
    history = simulate(ball(plate, forces=[ForceElement("gravity")]), 6.0, settings=start, step=0.002, plugins=plugins)
    first = {name: history[name][0] for name in ("motion.x", "motion.y", "motion.vx", "motion.vy")}
    w = 2 / 7 * W
    # v = v0 turned by w t, so the place is the centre plus a radius that turns with it.
    centre = np.array([first["motion.x"] - first["motion.vy"] / w, first["motion.y"] + first["motion.vx"] / w])
    c, s = np.cos(w * history.time), np.sin(w * history.time)
    rx, ry = first["motion.x"] - centre[0], first["motion.y"] - centre[1]
    exact = np.column_stack([centre[0] + c * rx - s * ry, centre[1] + s * rx + c * ry])
    # rk4 with steps of 2 ms on turns of up to 10 rad/s: (0.02)^5 / 120 for 3000 steps; and the plate slows down by 1e-9.
    np.testing.assert_allclose(history.select(["motion.x", "motion.y"]), exact, atol=1e-7)
    assert w * history.time[-1] > 5


def test_a_disc_rolls_in_a_steady_circle(plugins):
    """A thin disc, tilted and precessing with W: its spin about its axle follows from Newton and Euler.

    With the axle at the angle a from the vertical, w_n (C + m r^2) W sin(a) = cos(a) (A W^2 sin(a) - m g r).
    """
    m, r, a, W = 2.0, 0.5, 1.2, 1.5
    A, C = m * r**2 / 4, m * r**2 / 2
    spin = np.cos(a) * (A * W**2 * np.sin(a) - m * G * r) / (W * np.sin(a) * (C + m * r**2))
    machine = Mechanism(
        "disc",
        bodies=[Body("disc", mass=m, inertia=(A, A, C))],
        joints=[Joint("motion", "free", "world", "disc")],
        forces=[ForceElement("gravity")],
        closures=[Closure("edge", "rolling-disc", "world", "disc", axis=(0, 0, 1), radius=r)],
    )
    # The disc's z axis is turned about y by a: n = (sin a, 0, cos a), u = (-cos a, 0, sin a) up in its plane, -x of the disc.
    # Angular velocity: spin along n and W sin(a) along u; centre at rest in x and z, -r w_n along y.
    half = a / 2
    start = {
        "motion.z": r * np.sin(a), "motion.qw": np.cos(half), "motion.qy": np.sin(half),
        "motion.wx": -W * np.sin(a), "motion.wz": spin, "motion.vy": -r * spin,
    }  # fmt: skip
    history = simulate(machine, 5.0, settings=start, step=0.001, plugins=plugins, monitors=True, loads="all")
    np.testing.assert_allclose(history["motion.z"], r * np.sin(a), atol=1e-8)
    radius = -r * spin / W
    t = history.time
    # v = (0, -r w_n) turned by W t; the place is its integral.
    np.testing.assert_allclose(history["motion.x"], radius * (np.cos(W * t) - 1), atol=1e-7)
    np.testing.assert_allclose(history["motion.y"], radius * np.sin(W * t), atol=1e-7)
    np.testing.assert_allclose(history["energy.total"], history["energy.total"][0], rtol=1e-9)
    contact = history.loads("edge", frame="world").total
    np.testing.assert_allclose(contact[:, 5], m * G, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(contact[:, 3:5], axis=1), m * r * abs(spin) * W, atol=1e-6)
    assert abs(radius) > 0.3 and history["constraints.speed"].max() < 1e-13
