"""Histograms, matrices and curves hold every cycle once."""

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.fatigue import count_cycles, from_to_matrix, range_exceedance, range_histogram, range_mean_matrix

ASTM = count_cycles([-2, 1, -3, 5, -1, 3, -4, 4, -2])


def test_the_histogram_of_the_sample():
    histogram = range_histogram(ASTM, [0, 3.5, 5, 7, 8.5, 10])
    assert histogram.count.tolist() == [0.5, 1.5, 0.5, 1.0, 0.5]
    assert range_histogram(ASTM, 9).edges.tolist() == [float(i) for i in range(10)]


def test_the_exceedance_curve_of_the_sample():
    curve = range_exceedance(ASTM)
    assert curve.range.tolist() == [9.0, 8.0, 6.0, 4.0, 3.0]
    assert curve.count.tolist() == [0.5, 1.5, 2.0, 3.5, 4.0]


def test_the_range_mean_matrix_of_the_sample():
    # ASTM E1049-85, table X1.1: mean of each counted range.
    matrix = range_mean_matrix(ASTM, [0, 3.5, 5, 7, 8.5, 10], [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25])
    expected = np.zeros((5, 5))
    for row, mean, count in [(0, 1, 0.5), (1, 0, 0.5), (1, 4, 1.0), (2, 4, 0.5), (3, 4, 0.5), (3, 2, 0.5), (4, 3, 0.5)]:
        expected[row, mean] += count
    assert np.array_equal(matrix.count, expected)


def test_the_from_to_matrix_of_the_sample_keeps_directions():
    levels = np.arange(-4.5, 6.0)
    matrix = from_to_matrix(ASTM, levels)
    expected = np.zeros((10, 10))
    for start, end, count in [(-2, 1, 0.5), (1, -3, 0.5), (-1, 3, 1.0), (-3, 5, 0.5), (5, -4, 0.5), (-4, 4, 0.5), (4, -2, 0.5)]:
        expected[start + 4, end + 4] += count
    assert np.array_equal(matrix.count, expected)


def test_no_cycle_is_lost_or_doubled():
    cycles = count_cycles(np.random.default_rng(3).normal(size=5000))
    total = cycles.total
    histogram = range_histogram(cycles, 20)
    matrix = range_mean_matrix(cycles, 20, 10)
    assert histogram.count.sum() == total
    assert np.array_equal(matrix.count.sum(axis=1), histogram.count)
    assert from_to_matrix(cycles, 12).count.sum() == total
    curve = range_exceedance(cycles)
    assert (curve.count[-1], curve.range[0], len(curve.range)) == (total, cycles.largest_range, len(np.unique(cycles.range)))


def test_nothing_gives_empty_classes():
    nothing = count_cycles([1.0, 1.0])
    assert range_histogram(nothing, 4).count.tolist() == [0.0] * 4
    assert range_mean_matrix(nothing, 2, 2).count.sum() == from_to_matrix(nothing, 2).count.sum() == 0.0
    assert len(range_exceedance(nothing).range) == 0


def test_classes_that_lose_cycles_are_refused():
    with pytest.raises(KingpostError, match="1 cycles have a range outside the classes from 0 to 8.5, for instance 9; widen"):
        range_histogram(ASTM, [0, 4, 8.5])
    with pytest.raises(KingpostError, match="3 cycles have a range outside the classes from 3.5 to 10"):
        range_histogram(count_cycles([0, 1, 0, 4, 3, 8]), [3.5, 10])
    for edges in ([1.0], [0, 2, 2], [0, np.inf]):
        with pytest.raises(KingpostError, match="class edges of the range must be two or more finite numbers that grow"):
            range_histogram(ASTM, edges)
    with pytest.raises(KingpostError, match="0 classes of range were asked for; ask for 1 or more"):
        range_histogram(ASTM, 0)
