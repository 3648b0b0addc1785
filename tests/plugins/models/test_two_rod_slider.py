"""The two-rod slider: bodies and joints, and the points of document 002, are one machine."""

import numpy as np
import pytest

from kingpost import open_model
from kingpost.modular.tree import assembled
from kingpost.plugins.models.two_rod_slider import in_points


@pytest.mark.parametrize("with_angle", [True, False])
def test_points_and_bodies_accelerate_alike(with_angle):
    """Thin rods by the velocities of their ends, and as bodies with universal joints; with a push on the slider."""
    tree = assembled(in_points(with_angle), {"push": 4.0, "z1_dot": 0.5, "x2_dot": -0.3})
    mine = dict(zip(tree.system.q, np.array(tree.accelerations(0.0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    history = open_model("two-rod-slider").simulate(
        settings={"push": 4.0, **_rates(tree)}, t_end=2e-3, output_step=1e-3, step=1e-4
    )
    # Second differences of the places of a run, forward: errors of the step times the third derivative, some 1e2 m/s3.
    x2 = history["guide.displacement"]
    assert (x2[2] - 2 * x2[1] + x2[0]) / 1e-6 == pytest.approx(mine["x2_ddot"], abs=0.3)
    z1 = history["elbow-place.z"]
    assert (z1[2] - 2 * z1[1] + z1[0]) / 1e-6 == pytest.approx(mine["z1_ddot"], abs=0.3)


def _rates(tree):
    """Rates of the joints of the bodies for the velocities of the points."""
    s = dict(zip(tree.system.states, tree.x, strict=True))
    found = {"guide.displacement.rate": s["x2_dot"]}
    for joint, base, length in (("ball", np.zeros(3), 1.0), ("pin", np.array([s["x2"], 0, 0]), 2.0)):
        along = np.array([s["x1"], s["y1"], s["z1"]]) - base
        velocity = np.array([s["x1_dot"], s["y1_dot"], s["z1_dot"]])
        velocity = velocity - (np.array([s["x2_dot"], 0, 0]) if joint == "pin" else 0)
        turn = (along[0] * velocity[1] - along[1] * velocity[0]) / (along[0] ** 2 + along[1] ** 2)
        tilt = -velocity[2] / np.sqrt(length**2 - along[2] ** 2)
        found |= {f"{joint}.first.rate": turn, f"{joint}.second.rate": tilt}
    return found


def test_accelerations_at_rest_are_the_same():
    tree = assembled(in_points())
    mine = dict(zip(tree.system.q, np.array(tree.accelerations(0.0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    found = open_model("two-rod-slider").evaluate()
    assert found["vdot"][2] == pytest.approx(mine["x2_ddot"], abs=1e-10)


@pytest.mark.parametrize("form", ["points", "points-and-angle"])
def test_both_forms_move_alike(form):
    """Half a second from rest: tolerances of 1e-9 in each step."""
    how = {"t_end": 0.5, "output_step": 0.1, "integrator": "dop853:rtol=1e-9,atol=1e-10"}
    bodies = open_model("two-rod-slider").simulate(**how)
    points = open_model(f"two-rod-slider:form={form}").simulate(**how)
    assert points["P.x2"] == pytest.approx(bodies["guide.displacement"], abs=1e-6)
    assert points["P.z1"] == pytest.approx(bodies["elbow-place.z"], abs=1e-6)
