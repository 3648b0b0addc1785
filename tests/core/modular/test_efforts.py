"""What invariants exert: closed forms, joint loads of the same machine, powers, and who shares what."""

import numpy as np
import pytest

from kingpost import Subsystem, open_model
from kingpost.modular.efforts import remaining
from kingpost.modular.recursion import accelerations
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar
from kingpost.plugins.models.two_rod_subsystems import in_points
from tests.core.modular.trees import arm, breathing, led, pendulum, skate, top, tree_of

TREES = {"arm": arm, "skate": skate, "led": led, "two rods": in_points, "five-bar": five_bar}


def exerted(tree, x=None, t=0.0):
    values = np.array(tree.efforts.function(t, tree.x if x is None else x, tree.u, tree.p)).ravel()
    return dict(zip(tree.efforts.labels, values, strict=True))


def states(tree):
    return dict(zip(tree.system.states, tree.x, strict=True))


@pytest.mark.parametrize("pull", [0.0, 5.0])
def test_tension_of_a_pendulum(pull):
    """T = m v^2 / l - m g y / l pulls along -(x, y) / l; lam times the gradient 2 (x, y) does the same."""
    m, length, g = 2.0, 0.5, 9.81
    tree = assembled(pendulum(start={"x": 0.3, "x_dot": 1.1}), pull=pull)
    s = states(tree)
    tension = m * (s["x_dot"] ** 2 + s["y_dot"] ** 2) / length - m * g * s["y"] / length
    assert exerted(tree)["bob.circle"] == pytest.approx(-tension / (2 * length), rel=1e-13)


def test_stabilisation_is_no_effort():
    """Off the circle, accelerations are pulled back; what is exerted is that of the tree which is not."""
    plain, pulled = (assembled(pendulum(), pull=pull) for pull in (0.0, 5.0))
    x = plain.x + 1e-2
    rates = [np.array(tree.rhs(0.0, x, tree.u, tree.p)).ravel() for tree in (plain, pulled)]
    assert np.abs(rates[0] - rates[1]).max() > 1e-2
    assert exerted(pulled, x) == pytest.approx(exerted(plain, x), rel=1e-13)


@pytest.mark.parametrize("name", TREES)
def test_efforts_balance_all_variables_with_the_smallest_sum_of_squares(name):
    """Against the pseudo-inverse of all constraints, rows of unit length, which knows of no node and no choice."""
    tree = tree_of(TREES[name])
    A = tree.start.A
    left = remaining(tree.start, accelerations(tree.start)).part(A.columns).matrix.ravel()
    lengths = np.linalg.norm(A.matrix, axis=1)
    expected = np.linalg.pinv((A.matrix / lengths[:, None]).T, rcond=1e-9) @ -left / lengths
    found = exerted(tree)
    size = np.abs(left).max() + np.abs(expected).max()
    assert np.array([found[row] for row in A.rows]) == pytest.approx(expected, abs=1e-10 * size)
    assert A.matrix.T @ np.array([found[row] for row in A.rows]) == pytest.approx(-left, abs=1e-10 * size)


def test_efforts_that_others_can_take_over_are_named():
    assert tree_of(arm).efforts.not_unique == ("arm.along", "arm.down", "arm.bob.circle")
    assert tree_of(in_points).efforts.not_unique == ()
    shared = tree_of(five_bar).efforts.not_unique
    assert "P.R.HL.place_Bx" in shared and "P.R.HL.B.first_x" in shared
    assert not {"P.R.HL.joint_x", "P.R.end_Lx", "P.gear_L"} & {*shared}


def test_an_invariant_that_rates_keep_by_themselves_exerts_nothing():
    tree = tree_of(top)
    assert exerted(tree) == {"top.unit": 0.0}
    assert tree.efforts.not_unique == ()


def test_the_shape_of_the_tree_does_not_matter():
    """The arm as one node without children: the same invariants, the same efforts, shared alike."""
    nested = tree_of(arm)
    parts = {key: {} for key in ("variables", "invariants", "forces", "inputs", "parameters", "start")}
    for part in (*arm().children, arm()):
        for key, table in parts.items():
            for name, entry in getattr(part, key).items():
                table[name] = (*table.get(name, ()), *entry) if key == "variables" else entry
    flat = assembled(Subsystem("flat", **parts, independent=("angle", "i")))
    mine = {label.rpartition(".")[2]: value for label, value in exerted(nested).items()}
    assert {label.rpartition(".")[2]: value for label, value in exerted(flat).items()} == pytest.approx(mine, rel=1e-11)


def test_the_guide_of_the_slider_is_loaded_as_a_joint():
    tree = assembled(in_points(False), {"force": 4.0})
    _, _, _, _, y, z = open_model("two-rod-slider").evaluate({"u": [4.0]})["loads"]["guide"]["parts"]["constraint"]
    found = exerted(tree)
    assert [found["P.line_y"], found["P.line_z"]] == pytest.approx([y, z], abs=1e-9 * abs(z))


def test_the_elbows_of_the_five_bar_are_loaded_as_joints():
    """In motion, with voltages on: what a crank does to its rod, in axes of the world; the document's y is up, ours is z."""
    tree = assembled(five_bar(), {"VL": 3.0, "VR": -2.0, "iL": 2.0, "iR": 0.5, "thetaL_dot": 0.6, "thetaR_dot": -0.3})
    s = states(tree)
    thL, phL, thR, phR = (s[f"{name}_dot"] for name in ("thetaL", "phiL", "thetaR", "phiR"))
    state = {"v": [s["x_dot"], s["y_dot"], thL, phL - thL, thR, phR - thR], "z": [2.0, 0.5], "u": [3.0, -2.0]}
    loads = open_model("five-bar").evaluate(state)["loads"]
    found = exerted(tree)
    for side, joint in (("L", "left-elbow"), ("R", "right-elbow")):
        fx, _, fz = loads[joint]["wrench"][3:]
        angle = s[f"phi{side}"]  # of the rod, in whose axes the load is
        expected = [fx * np.cos(angle) - fz * np.sin(angle), fx * np.sin(angle) + fz * np.cos(angle)]
        mine = [found[f"P.R.H{side}.joint_{axis}"] for axis in "xy"]
        assert mine == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())


def test_power_of_a_length_that_changes():
    """dE/dt = -lam dc/dt: what is exerted along c - c(t), times how the circle moves by itself; at t = 0.2."""
    m, g, t = 2.0, 9.81, 0.2
    tree = assembled(breathing(), {"x": 0.2, "x_dot": 0.7}, t=t)
    s = states(tree)
    rates = dict(zip(tree.system.states, np.array(tree.rhs(t, tree.x, tree.u, tree.p)).ravel(), strict=True))
    power = m * (s["x_dot"] * rates["x_dot"] + s["y_dot"] * (rates["y_dot"] + g))
    length, speed = 0.5 + 0.1 * np.sin(3 * t), 0.3 * np.cos(3 * t)
    assert power == pytest.approx(exerted(tree, t=t)["bob.length"] * 2 * length * speed, rel=1e-12)
    assert abs(power) > 0.1
