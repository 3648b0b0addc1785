"""The pace of a session, by a clock that the test turns."""

import math

import pytest

from kingpost.fmu.live import LiveError, Pace


def test_frames_are_due_as_the_clock_goes():
    pace = Pace(2.0)
    pace.begin(100.0, 5.0)
    assert pace.due(100.01, 5.02)
    assert not pace.due(100.009, 5.02)
    assert pace.wait(100.0, 5.02) == pytest.approx(0.01)
    assert pace.wait(101.0, 5.02) == 0.0


def test_what_falls_far_behind_is_let_go():
    pace = Pace()
    pace.begin(0.0, 0.0)
    pace.reached(0.2, 0.0)
    assert pace.target(0.2) == pytest.approx(0.2)
    pace.reached(1.0, 0.1)
    assert pace.target(1.0) == pytest.approx(0.1)


def test_the_factor_that_was_reached_is_told():
    pace = Pace(3.0)
    pace.begin(0.0, 0.0)
    assert pace.real_factor == 0.0
    for k in range(1, 60):
        pace.reached(0.1 * k, 0.25 * k)
    assert pace.real_factor == pytest.approx(2.5)


def test_another_factor_counts_from_now_on():
    pace = Pace()
    pace.begin(0.0, 0.0)
    pace.change(10, 1.0, 1.0)
    assert pace.target(1.5) == pytest.approx(6.0)


@pytest.mark.parametrize("factor", [0, -1, 1e9, math.nan, math.inf, "fast", None, True])
def test_what_is_no_factor_is_refused(factor):
    with pytest.raises(LiveError, match=r"takes a factor from 0.001 to 10000, 1 for real time"):
        Pace(factor)
