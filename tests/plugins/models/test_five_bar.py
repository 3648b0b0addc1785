"""The five-bar with motors: bodies and joints, and the subsystems of document 002, are one machine."""

import numpy as np
import pytest

from kingpost import open_model
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar


def test_subsystems_and_bodies_accelerate_alike():
    """Angles of cranks and rods, and the rates of both currents; to rounding, times the condition of the closed loop."""
    tree = assembled(five_bar(), {"VL": 3.0, "VR": -2.0, "iL": 2.0, "iR": 0.5, "thetaL_dot": 0.6, "thetaR_dot": -0.3})
    mine = dict(zip(tree.system.q, np.array(tree.accelerations(0.0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    state = dict(zip(tree.system.states, tree.x, strict=True))
    turning = [state[f"{name}_dot"] for name in ("thetaL", "phiL", "thetaR", "phiR")]
    bodies = open_model("five-bar")
    found = bodies.evaluate(
        {"v": [turning[0], turning[1] - turning[0], turning[2], turning[3] - turning[2]], "z": [2.0, 0.5], "u": [3.0, -2.0]}
    )
    vdot, zdot = found["vdot"], found["zdot"]
    expected = (vdot[0], vdot[0] + vdot[1], vdot[2], vdot[2] + vdot[3])
    assert [mine[f"{name}_ddot"] for name in ("thetaL", "phiL", "thetaR", "phiR")] == pytest.approx(list(expected), abs=1e-9)
    assert [mine["iL_dot"], mine["iR_dot"]] == pytest.approx(list(zdot), abs=1e-9)


def test_both_forms_move_alike():
    """A fifth of a second with voltages on both motors, which the currents follow within 1.25 ms: 12 steps for each of these."""
    how = {"t_end": 0.2, "output_step": 0.05, "step": 1e-4}
    bodies = open_model("five-bar").simulate(settings={"voltage_left": 6.0, "voltage_right": -4.0}, **how)
    parts = open_model("five-bar:form=subsystems").simulate(settings={"VL": 6.0, "VR": -4.0}, **how)
    for one, other in (("shaft-left.angle", "P.thetaL"), ("motor-right.current", "P.iR"), ("load.z", "P.y")):
        assert parts[other] == pytest.approx(bodies[one], abs=1e-6)
    assert parts["P.open"].max() < 1e-8
    assert np.ptp(bodies["shaft-left.angle"]) > 0.1
