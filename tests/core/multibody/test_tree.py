"""Kinematics of trees."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, Joint, Mechanism
from kingpost.mechanism.trajectories import RestToRest
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from tests.core.symbols.python_forces import swinging


def test_a_formula_in_time_inside_a_trajectory_moves_the_target(plugins):
    """The rate of a set-point is its whole derivative, also where its end moves."""
    kinematics = TreeKinematics(assemble(swinging(), plugins))
    value, rate = kinematics.assembly.seen.target(RestToRest(0, "sin(t)", 0, 1))
    evaluate = ca.Function("f", [kinematics.t], [value, rate])
    assert float(evaluate(2.0)[1]) == pytest.approx(np.cos(2.0), rel=1e-14)


def test_places_and_twists_of_two_links_are_those_of_trigonometry(plugins):
    """Turns about y by a and b; velocities of points by differentiating their places by hand, in body axes."""
    a, b, l, wa, wb = 0.4, -0.9, 0.7, 1.3, -0.6
    arm = Mechanism(
        "arm",
        bodies=[Body("upper", mass=1.0), Body("lower", mass=1.0)],
        joints=[
            Joint("shoulder", "revolute", "world", "upper", axis=(0, 1, 0), position=(0, 0, 2)),
            Joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), position=(l, 0, 0)),
        ],
    )
    tree = TreeKinematics(assemble(arm, plugins))
    X, between = tree.pose("lower"), tree.relative_pose("upper", "lower")
    function = ca.Function("f", [tree.q, tree.v], [X.R, X.p, tree.twist("lower"), between.R, between.p])
    R, p, twist, turned, apart = (np.asarray(part) for part in function([a, b], [wa, wb]))

    def about_y(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])

    np.testing.assert_allclose(R, about_y(a + b), atol=1e-15)
    np.testing.assert_allclose(p.ravel(), [l * np.cos(a), 0, 2 - l * np.sin(a)], atol=1e-15)
    velocity = wa * l * np.array([-np.sin(a), 0, -np.cos(a)])
    np.testing.assert_allclose(twist.ravel(), [0, wa + wb, 0, *(about_y(a + b).T @ velocity)], atol=1e-15)
    np.testing.assert_allclose(turned, about_y(b), atol=1e-15)
    np.testing.assert_allclose(apart.ravel(), [l, 0, 0], atol=1e-15)
