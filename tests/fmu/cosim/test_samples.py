"""Samples in memory that grows."""

import numpy as np

from kingpost.fmu.cosim.samples import Samples


def test_rows_one_by_one_and_many_at_once_stay_in_their_order():
    samples = Samples(3)
    expected = []
    for k in range(40):
        if k % 3:
            samples.add(float(k), np.full(3, k))
            expected.append(float(k))
            continue
        times, rows = samples.room(200)
        times[:k], rows[:k] = k + np.arange(k) / 100, np.arange(3 * k).reshape(k, 3)
        expected += list(k + np.arange(k) / 100)
        samples.filled(k)  # of the room that was asked for, only a part is used
    assert len(samples) == len(expected)
    np.testing.assert_array_equal(samples.times, expected)
    np.testing.assert_array_equal(samples.rows[samples.times == 38.0], [[38.0] * 3])
    assert samples.rows.shape == (len(expected), 3)


def test_without_channels_there_are_times_alone():
    samples = Samples(0)
    samples.add(1.0, np.empty(0))
    assert samples.times.tolist() == [1.0] and samples.rows.shape == (1, 0)
