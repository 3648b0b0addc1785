"""The Delta robot against its inverse kinematics and dynamics in closed form."""

import casadi as ca
import numpy as np
import pytest

from kingpost import RunSettings, inverse, simulate
from kingpost.plugins.models.delta import ARM, BASE, HALF, PLATFORM, ROD, START, arm_angle
from kingpost.registry.selection import select
from tests.validation.natural import PLUGINS

ARM_MASS, MASS, G = 1.0, 2.0, 9.81
TURNS = 2 * np.pi * np.arange(3) / 3


def delta(words=""):
    return select(PLUGINS.models, f"delta{words}")


@pytest.mark.parametrize("place", [(0, 0, -0.6), (0.2, -0.1, -0.5), (-0.15, 0.2, -0.7)])
def test_arms_at_the_angles_of_the_closed_form_reach_the_platform(place):
    """All six rods have their length, for a platform that is not turned, and the elbows are outwards."""
    for number, turn in enumerate(TURNS, 1):
        angle = arm_angle(*place, number)
        for side in (HALF, -HALF):
            c, s = np.cos(turn), np.sin(turn)
            R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
            elbow = R @ [BASE + ARM * np.cos(angle), side, -ARM * np.sin(angle)]
            end = np.array(place) + R @ [PLATFORM, side, 0]
            assert np.linalg.norm(elbow - end) == pytest.approx(ROD, abs=1e-14)
        assert angle < np.pi / 2


def closed_form(path):
    """Return a function of the time -> angles and torques, from the path of the platform: Lagrange with the arms' angles.

    The rods have no mass and the platform does not turn, so T = m p'^2 / 2 + J sum(th_i'^2) / 2, and the efforts along th_i,
    f_i = u_i - J th_i'' + m_a g l cos(th_i) / 2, do the work of m (p'' - g) along p: sum_i f_i dth_i/dp = m (p'' - g).
    """
    t = ca.SX.sym("t")
    p, rate, second = (ca.vertcat(*(ca.SX(path[f"platform.{axis}"].value(t, {}, k)) for axis in "xyz")) for k in range(3))
    q = ca.SX.sym("q", 3)
    angles = []
    for turn in TURNS:
        c, s = np.cos(turn), np.sin(turn)
        u, v = c * q[0] + s * q[1] + PLATFORM - BASE, -s * q[0] + c * q[1]
        along = (u**2 + v**2 + q[2] ** 2 + ARM**2 - ROD**2) / (2 * ARM)
        angles.append(ca.atan2(-q[2], u) - ca.acos(along / ca.sqrt(u**2 + q[2] ** 2)))
    th = ca.vertcat(*angles)
    J = ca.jacobian(th, q)
    v, a = ca.SX.sym("v", 3), ca.SX.sym("a", 3)
    th2 = J @ a + ca.jtimes(J @ v, q, v)
    inertia = ARM_MASS * ARM**2 / 3
    effort = ca.solve(J.T, MASS * (a + ca.vertcat(0, 0, G)))
    u = effort + inertia * th2 - ARM_MASS * G * ARM / 2 * ca.cos(th)
    values = ca.Function("f", [q, v, a], [th, u])
    return ca.Function("closed_form", [t], list(values(p, rate, second)))


def test_inverse_dynamics_finds_the_torques_of_the_closed_form():
    robot = delta(":platform=level")
    task = robot.tasks()["move"]
    how = RunSettings(loads=(), backend="vm")
    history = inverse(robot.build(), task, method="computed-torque", stepper="bdf2:step=0.05", how=how, plugins=PLUGINS)
    angles, torques = (np.asarray(part).T for part in closed_form(task.path)(history.time.reshape(1, -1)))
    np.testing.assert_allclose(history.select([f"axle{n}.angle" for n in (1, 2, 3)]), angles, atol=1e-10)
    np.testing.assert_allclose(history.select([f"torque{n}" for n in (1, 2, 3)]), torques, atol=1e-8)


@pytest.fixture(scope="module")
def falling():
    """What the forms do without torques."""
    options = {"step": 0.005, "output_step": 0.05, "plugins": PLUGINS, "backend": "vm", "monitors": True, "loads": "all"}
    push = {"torque1": 1.5, "torque2": -0.5, "torque3": 0.3}
    return {
        words: simulate(delta(words).build(), 0.2, settings=push, **options)
        for words in ("", ":platform=level", ":rods=bodies")
    }


def test_six_rods_keep_the_platform_level(falling):
    """Free to turn, it does not: quaternion and rates stay what they are, with and without mass in the rods."""
    for words in ("", ":rods=bodies"):
        history = falling[words]
        np.testing.assert_allclose(history["place.qw"], 1.0, atol=1e-12)
        turning = history.select([f"place.{name}" for name in ("qx", "qy", "qz", "wx", "wy", "wz")])
        assert np.abs(turning).max() < 1e-9
        assert np.abs(history["platform.x"][-1]) > 1e-4


def test_a_joint_that_keeps_it_level_as_well_changes_no_motion(falling):
    for name in ("platform.x", "platform.y", "platform.z", "axle1.angle", "axle2.angle", "axle3.angle"):
        np.testing.assert_allclose(falling[":platform=level"][name], falling[""][name], atol=1e-10)


def test_loads_that_are_not_unique_are_named(falling):
    """Held level by its joint as well, three rows are left over: the rods of an arm may share their load in any way."""
    assert falling[""]["constraints.rank"][0] == 6
    assert falling[":platform=level"]["constraints.rank"][0] == 3
    free, level = (falling[words].provenance for words in ("", ":platform=level"))
    assert not free["loads"].get("not_unique") and not free.get("redundant_closures")
    assert {"place", "rod1-left", "rod1-right"} <= set(level["loads"]["not_unique"]["joints"])
    assert level["redundant_closures"]
    # What both rods of an arm do together is unique: the sum of their forces, from either form.
    for n in (1, 2, 3):
        one, other = (
            sum(falling[words].loads(f"rod{n}-{side}", frame="world").total[:, 3:] for side in ("left", "right"))
            for words in ("", ":platform=level")
        )
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_at_rest_the_rods_carry_the_platform():
    """Held by torques that balance: each rod pulls with m g / (6 cos) along itself, cos being its slope."""
    angle = arm_angle(0, 0, START, 1)
    drop = -START - ARM * np.sin(angle)
    lever = BASE + ARM * np.cos(angle) - PLATFORM
    pull = MASS * G / 6 * ROD / drop
    # One arm: its weight, and two rods whose force on the elbow is down and inwards.
    torque = -ARM_MASS * G * ARM / 2 * np.cos(angle) - 2 * pull / ROD * ARM * (drop * np.cos(angle) + lever * np.sin(angle))
    settings = {f"torque{n}": torque for n in (1, 2, 3)}
    history = simulate(delta().build(), 0.1, settings=settings, step=0.01, plugins=PLUGINS, backend="vm", loads="all")
    assert np.abs(history["platform.z"] - START).max() < 1e-12
    forces = history.loads("rod2-left").total[0, 3:]
    assert np.linalg.norm(forces) == pytest.approx(pull, rel=1e-10)


def test_energy(falling):
    """Torques are constant, so their work is torque times angle, and the rest is rk4: 10 rad/s, (0.05)^5 / 120 in 40 steps."""
    for history in falling.values():
        work = sum(
            torque * (history[f"axle{n}.angle"] - history[f"axle{n}.angle"][0]) for n, torque in ((1, 1.5), (2, -0.5), (3, 0.3))
        )
        np.testing.assert_allclose(history["energy.total"] - history["energy.total"][0], work, atol=1e-6)
