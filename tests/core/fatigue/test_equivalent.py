"""Damage-equivalent ranges and the history parameter of EN 13001 against closed forms and another library."""

import fatpack
import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.fatigue import (
    EquivalentRange,
    combined_equivalent_range,
    count_cycles,
    damage_equivalent_range,
    history_parameter,
)
from tests.core.fatigue.synthetic import cosine

NOISE = count_cycles(np.random.default_rng(4).normal(size=30000) * 1e4)


@pytest.mark.parametrize("slope", [3.0, 4.0, 5.0, 10.0])
def test_the_range_of_a_sine_at_its_own_frequency(slope):
    time, wave = cosine(50, frequency=0.2)
    found = damage_equivalent_range(count_cycles(3.0 * wave), slope, time[-1], f_ref=0.2)
    assert found.equivalent_cycles == pytest.approx(50.0, rel=1e-15)
    assert found.range == pytest.approx(6.0, rel=1e-14)
    # Ten times as many reference cycles share the damage: n R^m = N_eq DEL^m.
    assert damage_equivalent_range(count_cycles(3.0 * wave), slope, time[-1], 2.0).range == pytest.approx(
        6.0 * 0.1 ** (1 / slope), rel=1e-14
    )


@pytest.mark.parametrize("slope", [3.0, 4.0, 5.0])
def test_another_library_finds_the_same(slope):
    # Miner's sum on a line of one slope is sum n R^m / (Nc Sc^m).
    curve = fatpack.LinearEnduranceCurve(1e4)
    curve.m, curve.Nc = slope, 1e6
    damage = curve.find_miner_sum(np.column_stack([NOISE.range, NOISE.count]))
    expected = (damage * 1e6 * 1e4**slope / 600.0) ** (1 / slope)
    assert damage_equivalent_range(NOISE, slope, 600.0).range == pytest.approx(expected, rel=1e-12)


def test_ranges_not_amplitudes():
    # Halving ranges to amplitudes halves the result; the damage falls to one eighth at m = 3.
    half = count_cycles([-1, 1, -1, 1, -1])
    full = count_cycles([-2, 2, -2, 2, -2])
    assert damage_equivalent_range(full, 3.0, 2.0).range == 4.0
    assert damage_equivalent_range(half, 3.0, 2.0).range == 2.0


def test_no_power_overflows():
    huge = count_cycles([0.0, 1e200, 0.0, 1e200])
    assert damage_equivalent_range(huge, 10.0, 1.5).range == pytest.approx(1e200, rel=1e-14)
    assert damage_equivalent_range(count_cycles([1.0, 1.0]), 3.0, 1.0).range == 0.0


def test_a_mix_of_parts_has_the_damage_of_its_parts():
    whole = combined_equivalent_range(
        [EquivalentRange(2.0, 3.0, 10.0), EquivalentRange(1.0, 3.0, 99.0)], [0.25, 0.5], 100.0, 2.0
    )
    assert whole.equivalent_cycles == 200.0
    assert whole.range == pytest.approx((0.25 * 8 + 0.5 * 1) ** (1 / 3), rel=1e-15)
    assert combined_equivalent_range([EquivalentRange(0.0, 3.0, 10.0)], [1.0], 1.0).range == 0.0


def test_the_history_parameter_of_one_range():
    _, wave = cosine(40)
    found = history_parameter(count_cycles(wave), 3.0, repetitions=1e5)
    assert found.spectrum_factor == pytest.approx(1.0, rel=1e-14)
    assert (found.cycles, found.relative_cycles) == (4e6, 2.0)
    assert found.s_m == pytest.approx(2.0, rel=1e-14)
    assert found.largest_range == pytest.approx(2.0, rel=4e-16)


def test_the_history_parameter_by_hand():
    # 3 x 0.5, 4 x 1.5, 6 x 0.5, 8 x 1, 9 x 0.5 for N = 4 and dS_max = 9.
    found = history_parameter(count_cycles([-2, 1, -3, 5, -1, 3, -4, 4, -2]), 3.0)
    by_hand = (27 * 0.5 + 64 * 1.5 + 216 * 0.5 + 512 * 1 + 729 * 0.5) / (729 * 4)
    assert found.spectrum_factor == pytest.approx(by_hand, rel=1e-15)
    assert found.relative_cycles == 4 / 2e6
    assert found.s_m == pytest.approx(by_hand * 2e-6, rel=1e-15)
    assert history_parameter(count_cycles([1.0, 1.0]), 3.0).s_m == 0.0


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(KingpostError, match="inverse slope m = 0.0 is not between 0.1 and 1000"):
        damage_equivalent_range(NOISE, 0.0, 1.0)
    with pytest.raises(
        KingpostError, match="duration is 0 s, so N_eq = T f_ref is not a number of cycles; give a duration above 0"
    ):
        damage_equivalent_range(NOISE, 3.0, 0.0)
    with pytest.raises(KingpostError, match="reference frequency is -1 Hz"):
        damage_equivalent_range(NOISE, 3.0, 1.0, -1.0)
    with pytest.raises(KingpostError, match="repetitions = 0 of a signal make no history"):
        history_parameter(NOISE, 3.0, 0)
