"""Columns in few bytes: what is lost, and what is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kingpost.report.packing import CODE_STEPS, Buckets, is_even, packed, packed_time, unpacked

NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(arrays(float, st.integers(1, 50), elements=NUMBERS))
def test_a_column_comes_back_within_half_a_step_and_its_extremes_exactly(values):
    back = unpacked(packed(values))
    # Half a step, and the rounding of low + code * step, some units in the last place of the largest number.
    allowed = (values.max() - values.min()) / CODE_STEPS / 2 * (1 + 1e-6) + 8 * np.finfo(float).eps * np.abs(values).max()
    assert np.abs(back - values).max() <= allowed
    assert packed(values)["low"] == values.min() and packed(values)["high"] == values.max()


def test_gaps_stay_gaps():
    values = np.array([1.0, np.nan, 3.0, np.inf])
    back = unpacked(packed(values))
    assert back[[0, 2]] == pytest.approx([1.0, 3.0])
    assert np.isnan(back[[1, 3]]).all()
    assert np.isnan(unpacked(packed(np.full(3, np.nan)))).all()


def test_a_constant_takes_no_room():
    column = packed(np.full(100_000, 7.5))
    assert "codes" not in column
    assert (unpacked(column) == 7.5).all() and len(unpacked(column)) == 100_000


@given(arrays(float, st.integers(2, 400), elements=NUMBERS), st.integers(2, 60))
def test_buckets_keep_the_extremes_of_every_bucket(values, points):
    time = np.arange(len(values), dtype=float)
    buckets = Buckets(time, points)
    reduced = buckets.reduce(values)
    assert len(reduced) == len(buckets.time) <= max(points, 2)
    assert (np.diff(buckets.time) >= 0).all()
    assert buckets.time[0] >= time[0] and buckets.time[-1] <= time[-1]
    if buckets.size == 1:
        assert reduced is values
        return
    for k, start in enumerate(range(0, len(values), buckets.size)):
        block = values[start : start + buckets.size]
        pair = reduced[2 * k : 2 * k + 2]
        assert {pair.min(), pair.max()} == {block.min(), block.max()}
        assert (pair[0] == block.min()) == (block.argmin() <= block.argmax()) or block.min() == block.max()


def test_a_bucket_of_gaps_is_a_gap():
    values = np.concatenate([np.full(10, np.nan), np.arange(10.0)])
    reduced = Buckets(np.arange(20.0), 4).reduce(values)
    assert np.isnan(reduced[:2]).all()
    assert reduced[2:].tolist() == [0.0, 9.0]


def test_even_times_are_three_numbers_and_others_are_kept_exactly():
    assert packed_time(np.linspace(0, 20, 2001)) == {"start": 0.0, "step": pytest.approx(0.01), "count": 2001}
    uneven = np.array([0.0, 0.1, 0.3])
    assert not is_even(uneven)
    assert "floats" in packed_time(uneven)
    assert not is_even(np.array([1.0])) and not is_even(np.array([1.0, 1.0]))
