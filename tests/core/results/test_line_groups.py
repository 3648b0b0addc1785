"""Lines share a panel with those of like size."""

import numpy as np

from kingpost.results.line_groups import by_size, peak


def groups(**sizes):
    return by_size(list(sizes), lambda name: np.array([0.0, sizes[name]]))


def test_small_and_large_lines_go_apart():
    assert groups(roll=0.04, slew=1.5, pitch=0.03, luff=0.8) == [["roll", "pitch"], ["slew", "luff"]]


def test_what_is_alike_stays_together():
    assert groups(a=1.0, b=5.0, c=20.0) == [["a", "b", "c"]]


def test_zeros_go_with_the_smallest():
    assert groups(a=0.0, b=0.1, c=10.0) == [["a", "b"], ["c"]]


def test_the_peak_of_gaps_is_nothing():
    assert peak(np.array([np.nan, -3.0, np.inf])) == 3.0
    assert peak(np.array([np.nan])) == 0.0
