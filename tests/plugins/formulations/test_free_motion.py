"""Surge, sway, heave, roll, pitch and yaw of free joints: the same in every formulation, and through full turns."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import Body, ForceElement, Joint, Measure, Mechanism, PluginSet, RunSettings, simulate
from kingpost.equations.measures import measure_expression
from kingpost.simulation.problem import pose

WORDS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
#: With an energy-momentum or mid-point rule for those that need one.
FORMULATIONS = ("kane", "recursive", "modular", "directors", "nullspace", "quaternions")
SPIN = (0.3, 0.2, 4.0)


def flying(**changes):
    """Return a brick that spins about its third axis and falls, its joint's frames turned and shifted on both sides."""
    placed = {
        "position": (0.3, -0.2, 1.0),
        "rotation": (0.2, -0.1, 0.4),
        "child_position": (0.1, 0.0, -0.2),
        "child_rotation": (0.1, 0.3, 0.0),
    }
    joint = {"start": (0.5, 0.0, 0.2, 0.9, 0.1, -0.2, 0.3), "start_rate": (*SPIN, 0.4, 0.1, -0.2), **placed, **changes}
    return Mechanism(
        "flying",
        [Body("brick", 2.0, com=(0.05, 0.0, 0.02), inertia=(0.2, 0.25, 0.3))],
        [Joint("flight", "free", "world", "brick", **joint)],
        [ForceElement("gravity")],
        measures=[Measure("heel", "coordinate", coordinate="flight.roll")],
    )


def expected(history, joint="flight"):
    """Return the six from the joint's coordinates, by somebody else's formulas."""
    e = np.stack([history[f"{joint}.q{axis}"] for axis in "xyzw"], axis=1)
    yaw, pitch, roll = Rotation.from_quat(e).as_euler("ZYX").T
    places = [history[f"{joint}.{axis}"] for axis in "xyz"]
    return np.stack([*places, np.unwrap(roll), pitch, np.unwrap(yaw)], axis=1)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_they_are_those_of_the_joints_coordinates(formulation):
    history = simulate(flying(), 3.0, formulation=formulation, step=0.01, output_step=0.05, backend="vm")
    found = history.select([f"flight.{word}" for word in WORDS])
    assert np.abs(found - expected(history)).max() < 1e-9
    assert abs(found[-1, 5] - found[0, 5]) > 2 * np.pi  # it has gone round
    assert [history.unit(f"flight.{word}") for word in WORDS] == ["m"] * 3 + ["rad"] * 3
    assert np.abs(np.unwrap(history["heel"]) - found[:, 3]).max() < 1e-12


def test_a_turn_about_one_axis_is_that_turn():
    still = dict.fromkeys(("position", "rotation", "child_position", "child_rotation"), (0.0, 0.0, 0.0))
    machine = flying(start=(0, 0, 0, 1, 0, 0, 0), start_rate=(0, 0, 2.0, 0, 0, 1.0), **still)
    spinning = Mechanism("top", [Body("brick", 2.0, inertia=(0.2, 0.2, 0.3))], machine.joints, machine.forces)
    history = simulate(spinning, 5.0, step=0.005, output_step=0.25, integrator="rk4", backend="vm")
    t = history.time
    # The step's error of a constant spin is (w h)^4 / 1920 of the angle: 1e-11.
    assert np.abs(history["flight.yaw"] - 2.0 * t).max() < 1e-9
    assert np.abs(history["flight.heave"] - (t - 9.81 * t**2 / 2)).max() < 1e-9
    assert all(np.abs(history[f"flight.{word}"]).max() < 1e-12 for word in ("surge", "sway", "roll", "pitch"))


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors", "virtual-power"])
def test_measures_have_their_slopes(formulation):
    """The rate of roll, pitch and yaw along q' = N v is what angular velocity says it is."""
    import casadi as ca

    problem = pose(flying(), RunSettings(formulation=formulation), plugins=PluginSet())
    e = problem.equations
    rows = ca.vertcat(*(measure_expression(e, f"flight.{word}") for word in WORDS[3:]))
    rates = e.function("rates", [rows, ca.jtimes(rows, e.q, e.N @ e.v)])
    angles, found = (np.asarray(part).ravel() for part in rates(0.0, *e.split(problem.x0), problem.u0, problem.p))
    roll, pitch, _ = angles
    wx, wy, wz = SPIN
    turning = wy * np.sin(roll) + wz * np.cos(roll)
    told = [wx + np.tan(pitch) * turning, wy * np.cos(roll) - wz * np.sin(roll), turning / np.cos(pitch)]
    assert found == pytest.approx(told, rel=1e-9)


def test_straight_up_there_are_numbers_all_the_same():
    """Where roll and yaw turn about one axis they are one pair of many, and neither they nor their slopes spoil a run."""
    up = flying(start=(0, 0, 0, 2**-0.5, 0, 2**-0.5, 0), start_rate=(0,) * 6)
    history = simulate(up, 0.1, step=0.01, backend="vm")
    assert np.isfinite(history.values).all()
    assert history["flight.pitch"] == pytest.approx(np.pi / 2, abs=1e-7)
    problem = pose(up, RunSettings(formulation="kane"), plugins=PluginSet())
    e = problem.equations
    jacobian = e.observe.jacobian()
    values = np.asarray(jacobian(problem.t_start, problem.x0, problem.u0, problem.p, np.zeros(len(e.channels)))[1])
    assert np.isfinite(values).all()
