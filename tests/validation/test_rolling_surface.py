"""Balls and discs on curved surfaces, against planes, bowls and equations written out by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, Parameter, simulate
from kingpost.mechanism.closures import Closure

G = 9.81
TOUCH = ("touch.x", "touch.y", "touch.z")


def on(surface, radius, start, touch, *, forces, inertia=None, axis=None, parameters=(), **rates):
    """Return a ball, or a disc, on a surface of the world."""
    moment = 0.4 * 3.0 * radius**2
    return Mechanism(
        "ball",
        parameters=parameters,
        bodies=[Body("ball", mass=3.0, inertia=inertia or (moment, moment, moment)), Body("contact", mass=0.0)],
        joints=[
            Joint("motion", "free", "world", "ball", start=(*start, 1, 0, 0, 0)),
            Joint("touch", "translational", "world", "contact", start=touch),
        ],
        closures=[
            Closure("rolling", "rolling-surface", "world", "ball", radius=radius, surface=surface, coordinates=TOUCH, axis=axis)
        ],
        forces=forces,
        **rates,
    )


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors"])
def test_a_ball_rolls_down_an_inclined_plane(formulation, plugins):
    """5/7 of g sin(slope) along the slope, and a friction of 2/7 of the weight along it; the plane is given by a formula."""
    angle, radius = 0.3, 0.2
    n = np.array([np.sin(angle), 0.0, np.cos(angle)])
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    machine = on(
        "3 * (tan(slope) * x + z)", radius, radius * n, (0, 0, 0), forces=[ForceElement("gravity")],
        parameters=[Parameter("slope", angle, "rad", "slope of the plane")],
    )  # fmt: skip
    history = simulate(
        machine, 1.0, formulation=formulation, plugins=plugins, loads="all", step=0.002, output_step=0.1, backend="vm"
    )
    run = 5 / 7 * G * np.sin(angle) * history.time[:, None] ** 2 / 2
    # Velocities are in axes that turn with up to 10 rad/s: (0.02)^5 / 120 in each of 500 steps of rk4.
    tolerance = 1e-7
    np.testing.assert_allclose(history.select(["motion.x", "motion.y", "motion.z"]), radius * n + run * down, atol=tolerance)
    np.testing.assert_allclose(history.select(TOUCH), run * down, atol=tolerance)
    contact = history.loads("rolling", frame="world").total[:, 3:]
    expected = 3.0 * G * (np.cos(angle) * n - 2 / 7 * np.sin(angle) * down)
    np.testing.assert_allclose(contact, np.tile(expected, (len(contact), 1)), atol=100 * tolerance)


def test_a_ball_in_a_bowl_is_a_pendulum_with_seven_fifths_of_the_inertia(plugins):
    """In a vertical plane: 7/5 (R - r) a'' = -g sin(a), for a bowl of radius R; the ball is not small against it."""
    R, r, start = 1.0, 0.3, 1.1
    out = np.array([np.sin(start), 0.0, -np.cos(start)])
    machine = on("1 - x**2 - y**2 - z**2", r, (R - r) * out, R * out, forces=[ForceElement("gravity")])
    history = simulate(machine, 3.0, plugins=plugins, step=0.002, output_step=0.05, backend="vm", monitors=True)
    exact = solve_ivp(
        lambda t, a: [a[1], -5 / 7 * G / (R - r) * np.sin(a[0])], (0, 3), [start, 0.0],
        t_eval=history.time, rtol=1e-11, atol=1e-12, method="DOP853",
    ).y[0]  # fmt: skip
    # rk4: the ball turns with up to 10 rad/s, (0.02)^5 / 120 in each of 1500 steps.
    np.testing.assert_allclose(history["touch.x"], R * np.sin(exact), atol=1e-7)
    np.testing.assert_allclose(history["motion.z"], -(R - r) * np.cos(exact), atol=1e-7)
    assert np.ptp(history["energy.total"]) < 1e-7 * 3.0 * G
    assert history["constraints.position"].max() < 1e-13 and history["constraints.speed"].max() < 1e-12


def test_a_disc_on_a_plane_that_is_a_formula_rolls_as_on_the_plane(plugins):
    """Against rolling-disc, whose plane is turned with its frame F."""
    m, r, slope = 3.0, 0.5, 0.25
    inertia = (m * r**2 / 4, m * r**2 / 4, m * r**2 / 2)
    lean = 1.2
    # The disc's axle z is turned about y by lean and slope, so that it leans against the plane by lean.
    turn = (lean + slope) / 2
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    # u: up in the plane of the disc.
    axle = np.array([np.sin(2 * turn), 0.0, np.cos(2 * turn)])
    u = up - (up @ axle) * axle
    u /= np.linalg.norm(u)
    start = {f"motion.{name}": value for name, value in zip("xyz", r * u, strict=True)}
    start |= {"motion.qw": np.cos(turn), "motion.qy": np.sin(turn), "motion.wx": -1.3, "motion.wz": 4.0}
    gravity = [ForceElement("gravity")]
    ours = on("sin(0.25) * x + cos(0.25) * z", r, (0, 0, r), (0, 0, 0), forces=gravity, inertia=inertia, axis=(0, 0, 1))
    theirs = Mechanism(
        "disc",
        bodies=[ours.bodies[0]],
        joints=[ours.joints[0]],
        closures=[Closure("rolling", "rolling-disc", "world", "ball", axis=(0, 0, 1), radius=r, rotation=(0, slope, 0))],
        forces=gravity,
    )
    options = {"settings": start, "plugins": plugins, "step": 0.002, "output_step": 0.1, "backend": "vm", "loads": "all"}
    one, other = (simulate(machine, 1.5, **options, close_loops=True) for machine in (ours, theirs))
    names = [
        *(f"motion.{name}" for name in ("x", "y", "z", "qw", "qx", "qy", "qz", "wx", "wy", "wz")),
        "rolling.Fx",
        "rolling.Mz",
    ]
    for name in names:
        # The same motion in other coordinates; errors of rk4 at 5 rad/s, (0.01)^5 / 120 in each of 750 steps, and projection.
        np.testing.assert_allclose(one[name], other[name], atol=1e-7 * (1 + np.abs(other[name]).max()), err_msg=name)
    assert np.ptp(one["motion.y"]) > 0.5


def test_a_ball_on_a_surface_that_turns_rolls_as_on_the_turntable(plugins):
    """F belongs to a plate that turns with W: the centre runs in a circle with 2/7 W; the contact point is seen from F."""
    W, radius = 3.0, 0.2
    moment = 0.4 * 3.0 * radius**2
    machine = Mechanism(
        "turntable",
        bodies=[
            Body("plate", mass=1.0, inertia=(1e9, 1e9, 1e9)),
            Body("ball", mass=3.0, inertia=(moment, moment, moment)),
            Body("contact", mass=0.0),
        ],
        joints=[
            Joint("axle", "revolute", "world", "plate", axis=(0, 0, 1), start_rate=W),
            Joint("motion", "free", "world", "ball", start=(0.3, 0, radius, 1, 0, 0, 0)),
            Joint("touch", "translational", "plate", "contact", start=(0.3, 0, 0)),
        ],
        closures=[Closure("rolling", "rolling-surface", "plate", "ball", radius=radius, surface="z", coordinates=TOUCH)],
        forces=[ForceElement("gravity")],
    )
    start = {"motion.vx": 0.4, "motion.vy": -0.1}
    history = simulate(machine, 2.0, settings=start, step=0.002, plugins=plugins, backend="vm")
    w = 2 / 7 * W
    x, y, vx, vy = (history[f"motion.{name}"][0] for name in ("x", "y", "vx", "vy"))
    c, s = np.cos(w * history.time), np.sin(w * history.time)
    # As in test_closure_motions: rk4 with turns of up to 10 rad/s, and a plate that slows down by 1e-9.
    np.testing.assert_allclose(history["motion.x"], x + (vx * s - vy * (1 - c)) / w, atol=1e-7)
    np.testing.assert_allclose(history["motion.y"], y + (vx * (1 - c) + vy * s) / w, atol=1e-7)


def test_a_ball_as_large_as_its_hollow_is_refused(plugins):
    """Where the ball has the curvature of the trough, the point of contact can be anywhere: the rows lose their rank."""
    machine = on("z - x**2 / 2", 1.0, (0, 0, 1.0), (0, 0, 0), forces=[ForceElement("gravity")])
    with pytest.raises(KingpostError, match="closure 'rolling' does not hold its point of contact at the start: 'touch.x' can"):
        simulate(machine, 0.1, plugins=plugins, backend="vm")
