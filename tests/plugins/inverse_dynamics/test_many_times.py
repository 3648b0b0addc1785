"""Equations solved at many times at once: as one after the other, also where ranks are lost, and failures with their time."""

import numpy as np
import pytest

from kingpost import SolverError
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.prolonged import Prolonged
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import consistent_start
from kingpost.modelfiles.opened import open_model
from kingpost.plugins.inverse_dynamics import many_times
from kingpost.plugins.inverse_dynamics.flat import Flat
from kingpost.plugins.inverse_dynamics.many_times import LEADING, ManyTimes
from tests.core.control.servo.machines import posed
from tests.core.control.servo.test_near_singular import SINGULAR, closed_form


@pytest.fixture(scope="module")
def start():
    return consistent_start(posed("overhead-crane"), 4)


def solved(start, times):
    return Flat().solve(start.problem, start, times, lambda done: None)[1]


def test_shared_matrices_give_what_own_matrices_give(start, monkeypatch):
    """At 2 ms, nearly all times keep the inverse of a neighbour; without leaders none does.

    Steps end when an error of 1e-14 of the largest unknown is left; rounding grows by about 1e2 in this crane. So 1e-11 of the
    size of each column is ten times what may come together.
    """
    times = np.linspace(0.5, 1.1, 301)
    corrections = []
    follow = ManyTimes._follow
    monkeypatch.setattr(
        ManyTimes,
        "_follow",
        lambda self, *given: (follow(self, *given), corrections.append(int(self.settled.sum())))[0],
    )
    found = solved(start, times)
    # All of them, or all but those of a few pairs of leaders beside which the determinant changes quickly.
    assert corrections[0] > 0.8 * len(times)
    monkeypatch.setattr(many_times, "LEADING", 1)
    alone = solved(start, times)
    size = 1.0 + np.abs(alone).max(axis=0)
    np.testing.assert_allclose(found / size, alone / size, rtol=0, atol=1e-11)


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.5, 0.9])
def test_a_determinant_that_vanishes_between_leaders_is_seen(power, part):
    """Of any order, wherever it is between them, also beside the first and the last leader; farther away nothing happens."""
    leaders = LEADING * np.arange(12)
    for interval in range(11):
        many = ManyTimes.__new__(ManyTimes)
        many.settled, many.growth = np.ones(leaders[-1] + 1, dtype=bool), np.ones(leaders[-1] + 1)
        values = (np.arange(12) - interval - part) ** power
        steady = many._steady(leaders, np.sign(values), np.log(np.abs(values)))
        assert not steady[interval]
        # Farther away than m steps and two, the logarithm of s^m has second differences below m / (m + 1)^2, a quarter at most.
        far = np.abs(np.arange(11) - interval) > power + 2
        assert steady[1:-1][far[1:-1]].all()


def test_many_times_around_a_lost_rank():
    """Times as close as in a run, around one at which a determinant passes through zero, against a closed form.

    The bound is that of the same crane at single times: 1000 times the rounding over the tension of the guide rope.
    """
    crane = open_model("us-navy-crane-2d:pulley=massless")
    problem = pose_servo(crane.mechanism, crane.task("000-6.1.1"))
    start = consistent_start(problem, 4)
    times = np.sort(np.append(np.linspace(1.6, 1.68, 41), SINGULAR[1]))
    found = ServoSolution(times, solved(start, times))
    wanted = closed_form(problem, times)
    count = wanted.shape[1] - 2
    assert found.part(problem, "q") == pytest.approx(wanted[:, :count], abs=1e-9)
    assert found.part(problem, "u") == pytest.approx(wanted[:, count:], abs=1e-8)


@pytest.mark.parametrize("bad", [0, 5, 16, 20, 40])
def test_a_time_without_values_is_named(start, monkeypatch, bad):
    """Leader, follower or the one in the middle."""
    times = np.linspace(0.5, 0.58, 41)
    signals = Prolonged.signals

    def with_a_gap(self, asked):
        found = signals(self, asked)
        found[:, :, np.isclose(asked, times[bad], atol=1e-12)] = np.nan
        return found

    array = Prolonged(start.first_order, start.order, start.tau)
    whole = Flat()._anchors(start, np.array([times[3]]), lambda done: None)[-1]
    monkeypatch.setattr(Prolonged, "signals", with_a_gap)
    with pytest.raises(SolverError, match=rf"no finite values at t = {times[bad]:.9g} s"):
        ManyTimes(array, start, [whole] * len(times), times).solved()
