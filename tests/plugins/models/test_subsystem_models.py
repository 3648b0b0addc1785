"""Machines of document 002 as subsystems, against the same machines as bodies and joints."""

import numpy as np
import pytest

from kingpost import open_model
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar
from kingpost.plugins.models.two_rod_subsystems import in_points


def accelerations(tree):
    return dict(zip(tree.system.q, np.array(tree.accelerations(0.0, tree.x, tree.u, tree.p)).ravel(), strict=True))


def test_subsystems_and_bodies_accelerate_alike():
    """Angles of cranks and rods, the payload, and the rates of both currents; to rounding, times the condition of the loop."""
    tree = assembled(five_bar(), {"VL": 3.0, "VR": -2.0, "iL": 2.0, "iR": 0.5, "thetaL_dot": 0.6, "thetaR_dot": -0.3})
    mine = accelerations(tree)
    s = dict(zip(tree.system.states, tree.x, strict=True))
    thL, phL, thR, phR = (s[f"{name}_dot"] for name in ("thetaL", "phiL", "thetaR", "phiR"))
    state = {"v": [s["x_dot"], s["y_dot"], thL, phL - thL, thR, phR - thR], "z": [2.0, 0.5], "u": [3.0, -2.0]}
    found = open_model("five-bar").evaluate(state)
    x, y, left, left_elbow, right, right_elbow = found["vdot"]
    expected = {
        **{"x_ddot": x, "y_ddot": y, "thetaL_ddot": left, "phiL_ddot": left + left_elbow},
        **{"thetaR_ddot": right, "phiR_ddot": right + right_elbow, "iL_dot": found["zdot"][0], "iR_dot": found["zdot"][1]},
    }
    for name, value in expected.items():
        assert mine[name] == pytest.approx(value, abs=1e-9 * (1 + max(map(abs, expected.values()))))


def test_the_five_bar_moves_alike():
    """A fifth of a second with voltages on both motors; currents follow within 5 ms, for which there are 50 steps."""
    how = {"t_end": 0.2, "output_step": 0.05, "step": 1e-4}
    bodies = open_model("five-bar").simulate(
        settings={"voltage_left": 6.0, "voltage_right": -4.0, "current_left": 0.0, "current_right": 0.0}, **how
    )
    parts = open_model("five-bar-subsystems").simulate(settings={"VL": 6.0, "VR": -4.0}, **how)
    for one, other in (("left-crank.angle", "P.thetaL"), ("right-motor.current", "P.iR"), ("payload.z", "P.y")):
        assert parts[other] == pytest.approx(bodies[one], abs=1e-6)
    assert parts["P.open"].max() < 1e-8
    assert np.ptp(bodies["left-crank.angle"]) > 0.1


@pytest.mark.parametrize("angle", [True, False])
def test_the_slider_accelerates_alike(angle):
    """Thin rods by the velocities of their ends, and as bodies; with a force on the slider."""
    mine = accelerations(assembled(in_points(angle), {"force": 4.0}))
    found = open_model("two-rod-slider").evaluate({"u": [4.0]})
    assert mine["x2_ddot"] == pytest.approx(found["vdot"][4], abs=1e-9)


@pytest.mark.parametrize("angle", ["true", "false"])
def test_the_slider_moves_alike(angle):
    """Half a second from rest: tolerances of 1e-9 in each step."""
    how = {"t_end": 0.5, "output_step": 0.1, "integrator": "dop853:rtol=1e-9,atol=1e-10"}
    bodies = open_model("two-rod-slider").simulate(**how)
    points = open_model(f"two-rod-slider-subsystems:angle={angle}").simulate(**how)
    assert points["P.x2"] == pytest.approx(bodies["guide.displacement"], abs=1e-6)
    assert points["P.z1"] == pytest.approx(bodies["elbow.z"], abs=1e-6)
