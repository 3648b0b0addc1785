"""Servo problems at and near times at which their equations lose rank."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import SolverError
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.near_singular import FurtherDerivatives, Truncated
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import consistent_start
from kingpost.mechanism.tasks import ServoTask
from kingpost.modelfiles.opened import open_model
from kingpost.plugins.inverse_dynamics.flat import Flat
from tests.plugins.models.test_us_navy_crane import planar

#: Where the guide rope of the planar crane with a massless pulley is slack; at the start its tension begins with the third
#: power of the time, in between it changes its sign.
SINGULAR = (0.0, 1.641606, 2.424392)


@pytest.fixture(scope="module")
def problem():
    crane = open_model("us-navy-crane-2d:pulley=massless")
    return pose_servo(crane.mechanism, crane.task("000-6.1.1"))


@pytest.fixture(scope="module")
def start(problem):
    return consistent_start(problem, 4)


def closed_form(problem, times):
    """Return coordinates and inputs of the regular construction: the guide rope halves the angle of the other."""
    _, _, flat = planar("massless")
    expressions = [flat.coordinates[name] for name in problem.row_names["q"]]
    expressions += [flat.inputs[name] for name in problem.input_names]
    values = ca.Function("flat", [flat.time.t, flat.time.w], [ca.vertcat(*expressions)])
    return np.array([np.asarray(values(t, flat.time.solved(t, [(10.0 - 1.45 * t) / 9.81]))).ravel() for t in times])


def test_the_start_says_that_it_is_singular(start):
    """Index 5 takes four derivatives; s(t) x(t) = f(t) with s of third order takes three more."""
    assert start.singular
    assert (start.order, start.needed, start.internal_states) == (4, 7, 0)


def test_flat_passes_times_at_which_ranks_are_lost(problem, start):
    """At these times, beside them and in between, where plain Newton methods lose digits or fail, against a closed form.

    Rounding is 1e-16 over the tension of the guide rope as a part of the other: 1e-4 at 0.02 s. So 1e-9 is 1000 times that.
    """
    beside = [t + d for t in SINGULAR[1:] for d in (-1e-2, -1e-4, 0.0, 1e-5, 1e-3)]
    times = np.array(sorted([0.0, 1e-3, 0.02, 0.1, 1.0, 3.0, *beside]))
    _, rows = Flat().solve(problem, start, times, lambda done: None)
    found = ServoSolution(times, rows)
    wanted = closed_form(problem, times)
    count = wanted.shape[1] - 2
    assert found.part(problem, "q") == pytest.approx(wanted[:, :count], abs=1e-9)
    assert found.part(problem, "u") == pytest.approx(wanted[:, count:], abs=1e-8)


def test_the_error_is_the_smaller_of_what_rounding_and_what_leaving_out_does():
    """s x0 = f0, s' x0 + s x1 = f1: with s = 1e-6 the second equation tells x0, to x1 times s, since x1 is left out."""
    s = 1e-6
    J = np.array([[s, 0.0], [1.0, s]])
    found = Truncated.of(J, np.array([0]), np.zeros(2))
    # Both equations: eps / s = 2e-10. The larger singular value alone: the part of x0 in the other direction, s.
    assert found.rank == 2
    assert found.error == pytest.approx(np.finfo(float).eps / s, rel=0.5)
    found = Truncated.of(np.array([[1e-12, 0.0], [1.0, 1e-12]]), np.array([0]), np.zeros(2))
    assert found.rank == 1
    assert found.error == pytest.approx(1e-12, rel=0.01)
    assert found.step(np.array([0.0, 2.0]))[0] == pytest.approx(2.0)


def test_what_no_derivative_tells_is_refused_with_the_time_and_the_number(problem, start):
    """On a path that stands still the rope stays slack, and the pulley may be anywhere along the other one."""
    still = {name: {"kind": "constant", "level": value} for name, value in (("load.x", 0.0), ("load.z", -15.0))}
    crane = open_model("us-navy-crane-2d:pulley=massless")
    resting = pose_servo(crane.mechanism, ServoTask(still, problem.task.inputs, 3.0))
    begun = replace(start, problem=resting, first_order=FirstOrder(resting))
    message = r"does not determine the motion of 'us-navy-crane-2d' at t = 1 s: .* up to 8 derivatives .* known to \d"
    with pytest.raises(SolverError, match=message):
        FurtherDerivatives(begun).solve(1.0, start.series[:, :1])
