"""Rainflow counting against the standard's own sample, an independent counter, and what must be true of any count."""

import itertools
import sys

import fatpack
import numpy as np
import pytest
import rainflow
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kingpost import KingpostError, PluginError
from kingpost.fatigue import CycleCounter, count_cycles, hysteresis, turning_points
from tests.core.fatigue.synthetic import cosine

ASTM = [-2, 1, -3, 5, -1, 3, -4, 4, -2]  # ASTM E1049-85, figure 6
#: Few levels, so that plateaus and equal ranges are common; or numbers of any size.
SIGNALS = st.lists(st.integers(-4, 4), min_size=1, max_size=60) | st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-9 else 0.0), min_size=1, max_size=60
)


def ranges(cycles):
    """Return {range: number of cycles}."""
    counts: dict[float, float] = {}
    for size, count in zip(cycles.range, cycles.count, strict=True):
        counts[float(size)] = counts.get(float(size), 0.0) + float(count)
    return counts


def rows(cycles):
    table = (cycles.range, cycles.mean, cycles.count, cycles.start, cycles.end, cycles.start_value, cycles.end_value)
    return np.column_stack(table), cycles.residue_index, cycles.residue_value, cycles.samples


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(rows(one), rows(other), strict=True))


def test_the_sample_of_the_standard():
    cycles = count_cycles(ASTM)
    assert ranges(cycles) == {3.0: 0.5, 4.0: 1.5, 6.0: 0.5, 8.0: 1.0, 9.0: 0.5}
    assert (cycles.total, cycles.half_cycles, cycles.largest_range, cycles.samples) == (4.0, 6, 9.0, 9)
    closed = cycles.count == 1.0
    assert [cycles.range[closed], cycles.mean[closed], cycles.start[closed], cycles.end[closed]] == [4.0, 1.0, 4, 5]
    assert (cycles.residue_index.tolist(), cycles.residue_value.tolist()) == ([3, 6, 7, 8], [5.0, -4.0, 4.0, -2.0])
    assert cycles.rule == "rainflow, ASTM E1049-85 section 5.4.4, residue as half cycles"


@settings(deadline=None)
@given(SIGNALS.filter(lambda signal: len(signal) > 2))
def test_reducing_to_turning_points_changes_nothing(signal):
    expected = [row for row in rainflow.extract_cycles([float(x) for x in signal]) if row[0] > 0.0]
    cycles = count_cycles(signal)
    assert list(zip(cycles.range, cycles.mean, cycles.count, cycles.start, cycles.end, strict=True)) == expected
    assert np.array_equal(np.asarray(signal, dtype=float)[cycles.start], cycles.start_value)
    assert np.array_equal(np.asarray(signal, dtype=float)[cycles.end], cycles.end_value)


@settings(deadline=None)
@given(SIGNALS)
def test_the_largest_range_is_from_the_smallest_to_the_largest_value(signal):
    assert count_cycles(signal).largest_range == float(max(signal)) - float(min(signal))


@settings(deadline=None, max_examples=300)
@given(SIGNALS, st.lists(st.integers(0, 60), max_size=4), st.sampled_from([0.0, 1.0, 2.5, 3.0, 1e5]))
@example([2, 0, 1, 0, 4], [3], 3.0)  # the lowest value comes twice before anything is as large as the threshold
@example([2, 4, 3, 4, 0], [3], 3.0)
def test_blocks_give_the_same_as_the_whole_to_the_last_bit(signal, cuts, threshold):
    counter = CycleCounter(threshold)
    edges = [0, *sorted(cuts), len(signal)]
    for first, last in itertools.pairwise(edges):
        counter.add(signal[first:last])
        counter.result()  # looking at it must not disturb it
    assert same(counter.result(), count_cycles(signal, threshold))


@pytest.mark.parametrize("digits", [15, 0])  # with no digits left most values, and many ranges, are equal
def test_sample_by_sample_is_the_same_as_at_once(digits):
    signal = np.round(np.random.default_rng(1).normal(size=2000) * 2, digits)
    for threshold in (0.0, 2.5, 4.0, 7.0, 11.0):
        counter = CycleCounter(threshold)
        for value in signal:
            counter.add([value])
        assert same(counter.result(), count_cycles(signal, threshold))


@pytest.mark.parametrize("signal", [[], [3.0], [2.0] * 50])
def test_what_does_not_move_has_no_cycles(signal):
    cycles = count_cycles(signal)
    assert (len(cycles), cycles.total, cycles.largest_range) == (0, 0.0, 0.0)


def test_one_way_is_half_a_cycle_however_few_samples_it_has():
    for signal in ([0.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.5, 2.0, 2.0]):
        assert ranges(count_cycles(signal)) == {2.0: 0.5}


def test_every_inner_range_of_a_sine_is_twice_its_amplitude():
    _, wave = cosine(25)
    cycles = count_cycles(7.0 * wave)
    # Peaks are on samples, and the cosine there is 1 to one unit of rounding.
    assert cycles.range == pytest.approx(14.0, rel=4e-16)
    assert cycles.total == 25.0
    sine = 7.0 * np.sin(2 * np.pi * np.arange(25 * 40 + 1) / 40)
    cycles = count_cycles(sine)
    inner = cycles.range[(cycles.start > 0) & (cycles.end < len(sine) - 1)]
    assert inner == pytest.approx(14.0, rel=4e-16)
    assert cycles.total == 25.5  # 49 half cycles between 50 peaks, and one of half the range at each end


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=2, max_size=40), st.integers(1, 4))
def test_points_between_turning_points_change_nothing(signal, factor):
    fine = np.interp(np.arange((len(signal) - 1) * factor + 1) / factor, np.arange(len(signal)), signal)
    coarse, refined = count_cycles(signal), count_cycles(fine)
    assert np.array_equal(coarse.range, refined.range)
    assert np.array_equal(coarse.count, refined.count)
    assert np.array_equal(coarse.residue_value, refined.residue_value)


def test_an_independent_counter_finds_the_same():
    # fatpack counts by four points, and leaves a residue whose ranges are half cycles; its rounding into classes is not used.
    signal = np.random.default_rng(2).normal(size=20000)
    closed, residue = fatpack.find_rainflow_cycles(signal[turning_points(signal)])
    full = np.abs(closed[:, 1] - closed[:, 0])
    half = np.abs(np.diff(residue))
    expected = np.sort(np.concatenate([full, full, half]))
    cycles = count_cycles(signal)
    twice = np.repeat(cycles.range, np.where(cycles.count == 1.0, 2, 1))
    assert np.array_equal(np.sort(twice), expected)


@settings(deadline=None, max_examples=300)
@given(SIGNALS, st.sampled_from([1.0, 2.0, 3.5, 5e4]))
def test_the_filter_keeps_what_is_larger_and_leaves_out_the_rest(signal, threshold):
    cycles = count_cycles(signal, threshold)
    assert (cycles.range >= threshold).all()
    span = float(max(signal)) - float(min(signal))
    assert cycles.largest_range == (span if span >= threshold else 0.0)
    # Closed cycles are the same with and without the filter; at the ends of the signal half cycles may differ.
    whole = count_cycles(signal)
    assert sorted(cycles.range[cycles.count == 1.0]) == sorted(whole.range[(whole.count == 1.0) & (whole.range >= threshold)])


def test_the_filter_says_what_it_did():
    cycles = count_cycles(ASTM, 4.5)
    assert ranges(cycles) == {8.0: 1.0, 9.0: 0.5, 6.0: 0.5}
    assert cycles.threshold == 4.5
    assert cycles.rule.endswith("excursions below 4.5 left out (hysteresis filter)")
    assert [part.tolist() for part in hysteresis(np.array([0.0, 1.0, 0.5]), 2.0)] == [[], [0, 1]]


def test_bad_signals_are_refused():
    counter = CycleCounter()
    counter.add([1.0, 2.0])
    with pytest.raises(KingpostError, match="sample 3 of the signal is nan .1 of 3 samples are not finite.. Leaving them out"):
        counter.add([1.0, np.nan, 3.0])
    with pytest.raises(KingpostError, match="one signal at a time; got an array of shape .2, 2."):
        count_cycles([[1.0, 2.0], [3.0, 4.0]])
    for threshold in (-1.0, np.nan, np.inf):
        with pytest.raises(KingpostError, match="threshold of a hysteresis filter is .*; give a finite number, 0 for none"):
            count_cycles(ASTM, threshold)


def test_without_the_library_a_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rainflow", None)
    with pytest.raises(PluginError, match="pip install 'kingpost.fatigue.'"):
        count_cycles(ASTM)
