"""Paths along which ropes stay taut."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from kingpost import MechanismError, SolverError
from kingpost.control.servo.inverse import prepare_inverse
from kingpost.control.servo.taut import between_samples, keep_taut, least_distance, slowed
from kingpost.modelfiles.opened import open_model

GRAVITY, MASS = 9.81, 100.0
TASK = "000-4.4.1"


def tension(path, t):
    """The rope carries the load alone: its tension is m |y'' - g|, whatever the crane is."""
    x, z = (path[name].jets_at([t], 2)[0, 2] for name in ("load.x", "load.z"))
    return MASS * math.hypot(x, z + GRAVITY)


def lowest(task):
    times = np.linspace(task.t_start, task.t_end, 400)
    at = times[int(np.argmin([tension(task.path, t) for t in times]))]
    width = times[1] - times[0]
    return float(minimize_scalar(lambda t: tension(task.path, t), bounds=(at - width, at + width), method="bounded").fun)


@pytest.fixture(scope="module")
def prepared():
    crane = open_model("overhead-crane:form=dependent")
    return prepare_inverse(
        crane.mechanism, crane.task(TASK), method="minimal-extension", stepper="bdf2:step=0.02", plugins=crane.plugins
    )


def test_the_shortest_duration_is_that_of_the_closed_form(prepared):
    task = prepared.problem.task
    assert lowest(task) == pytest.approx(841.2006, abs=2e-4)  # our notes' closed form
    want = brentq(lambda factor: lowest(slowed(task, factor)) - 900.0, 1.0, 3.0, xtol=1e-9)
    longer, found = keep_taut(prepared, 900.0)
    # To a thousandth, and up to the next whole step of 0.02 s in 5.4 s.
    assert want <= found.slower <= want * 1.001 + 0.02 / 3.0
    assert lowest(longer.problem.task) >= 900.0
    assert found.after["rope"] == pytest.approx(lowest(longer.problem.task), abs=0.1)
    history = longer.run()
    assert history.provenance["inverse"]["kept_taut"]["slower"] == found.slower
    assert history["rope.tension"].min() >= 900.0 - 1e-6
    assert history.time[-1] == pytest.approx(3.0 * found.slower)
    # The lower one of the solution of a run, with the error of its steps, and of what these converge to.
    assert found.before["rope"] == pytest.approx(841.2006, abs=0.02)
    assert "the manoeuvre takes 5." in found.sentence and "it was 841." in found.sentence


def test_what_is_lowest_may_lie_between_samples():
    """A parabola is found exactly wherever its lowest point lies; of a cosine, parts of h^4 are left."""
    for offset in (0.0, 0.3, 0.5, -0.45):
        x = np.arange(-3.0, 4.0) + offset
        found = between_samples(np.column_stack([3.0 + 2.0 * x**2, 1.0 - 2.0 * x**2]))
        assert found[:, 0].min() == pytest.approx(3.0, abs=1e-14)
        # What has no lowest point inside is left as it is.
        assert np.array_equal(found[:, 1], 1.0 - 2.0 * x**2)
        times = 0.1 * x + math.pi
        assert between_samples(np.cos(times)[:, None]).min() == pytest.approx(-1.0, abs=0.1**4 / 16)


def test_the_least_distance_with_inequalities():
    """To a plane along its normal; to a corner with multipliers that are not negative; and to nothing."""
    x, mu = least_distance(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([10.0, -7.0]))
    assert x == pytest.approx([1.2, 1.6], abs=1e-12)
    assert mu == pytest.approx([0.4, 0.0], abs=1e-12)
    x, mu = least_distance(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 4.0, 2.0]))
    assert x == pytest.approx([1.0, 2.0], abs=1e-12)
    assert mu == pytest.approx([1.0, 1.0, 0.0], abs=1e-12)
    # Nothing to be done: the inequalities hold at zero.
    assert least_distance(np.array([[1.0, 1.0]]), np.array([-1.0]))[0] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert least_distance(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])) is None


@pytest.mark.slow
def test_the_nearest_path_keeps_the_duration_and_the_bound(prepared):
    nearest, found = keep_taut(prepared, 900.0, "path")
    task, taut = prepared.problem.task, nearest.problem.task
    assert (taut.t_start, taut.t_end) == (task.t_start, task.t_end)
    # Half the steps and Richardson's rule leave errors of their third order: (0.02 s)^3 times 1e2 N/s^3, about, of the crane.
    assert lowest(taut) >= 900.0 - 1e-3
    assert found.after["rope"] == pytest.approx(lowest(taut), abs=1e-3)
    assert nearest.run()["rope.tension"].min() >= 900.0
    # It is no further from the path than it must be, to the correction for the error of the steps.
    assert found.after["rope"] < 900.0 + 0.1
    assert 0.0 < max(found.deviation.values()) < 0.2
    for name in task.measures:
        assert taut.path[name].jets_at([0.0, 3.0], 4) == pytest.approx(task.path[name].jets_at([0.0, 3.0], 4), abs=1e-9)
    assert taut.smoothness >= 4


def test_a_path_that_is_taut_stays_what_it_is(prepared):
    same, found = keep_taut(prepared, 500.0)
    assert same is prepared
    assert found.slower == 1.0


def test_what_no_duration_helps_is_refused_with_the_tension_that_is_in_the_way(prepared):
    # At rest the rope carries 981 N.
    with pytest.raises(
        SolverError, match=r"even \d+\.?\d* times slower, the tension of 'rope' is 9\d\d\.?\d* N .* below 990 N"
    ):
        keep_taut(prepared, 990.0)


def test_a_machine_without_ropes_is_refused():
    chain = open_model("mass-chain")
    prepared = prepare_inverse(chain.mechanism, chain.task("003"), plugins=chain.plugins)
    with pytest.raises(MechanismError, match="'mass-chain' has no rope whose tension is known"):
        keep_taut(prepared)
