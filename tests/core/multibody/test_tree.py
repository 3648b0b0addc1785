"""Kinematics of trees."""

import casadi as ca
import numpy as np
import pytest

from kingpost.mechanism.trajectories import RestToRest
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from tests.core.symbols.python_forces import swinging


def test_a_formula_in_time_inside_a_trajectory_moves_the_target(plugins):
    """The rate of a set-point is its whole derivative, also where its end moves."""
    kinematics = TreeKinematics(assemble(swinging(), plugins))
    value, rate = kinematics.target(RestToRest(0, "sin(t)", 0, 1))
    evaluate = ca.Function("f", [kinematics.t], [value, rate])
    assert float(evaluate(2.0)[1]) == pytest.approx(np.cos(2.0), rel=1e-14)
