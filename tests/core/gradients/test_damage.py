"""Gradients of fatigue damage: through counted pairs, against differences; warnings where pairs are about to change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kingpost import History, KingpostError
from kingpost.base.channels import Channel
from kingpost.fatigue import CountingOptions, HotSpot, SNCurve, assess_hot_spots, count_cycles
from kingpost.fatigue.sn import CurveSet
from kingpost.gradients.damage import DamageWords, narrowest_decision
from kingpost.gradients.functional import read_functional
from kingpost.gradients.readings import Record

TIME = np.arange(0.0, 20.01, 0.1)
LOADS = {
    "slew.Mx": 1e6 * (np.sin(TIME) + 0.4 * np.sin(2.7 * TIME + 1) + 0.1 * np.sin(9.1 * TIME)),
    "slew.Fz": 1e5 * np.cos(1.3 * TIME),
}
#: With its knee among the ranges, and thicker than the reference.
CURVE = SNCurve("bent", m1=3.0, log10_a1=12.0, m2=5.0, N_knee=1e6, t_ref=0.025, k=0.2)
SPOT = HotSpot("foot", "bent", {"slew.Mx": 40.0, "slew.Fz": -300.0}, thickness=0.04, scf=1.3)
WORDS = DamageWords({"foot": SPOT}, CurveSet({"bent": CURVE}, {}), CountingOptions(skip=2.0))


def read(columns=LOADS, words=WORDS):
    return read_functional("damage foot", words.words).read(Record(TIME, columns))


def test_the_value_is_that_of_an_assessment():
    history = History(TIME, tuple(Channel(name, "N") for name in LOADS), np.column_stack(list(LOADS.values())), {})
    accepted = CountingOptions(skip=2.0, accept=("residual", "noise", "step"))
    (result,) = assess_hot_spots(history, [SPOT], WORDS.curves, accepted).results
    assert read().value == pytest.approx(result.damage, rel=1e-14)


@pytest.mark.parametrize("name", list(LOADS))
def test_slopes_agree_with_differences(name):
    """Of a smooth change of the whole load: damage goes with powers up to 5, so that differences of 1e-4 are good to 1e-7."""
    found = read()
    shape = np.exp(-(((TIME - 9) / 4) ** 2)) * LOADS[name]
    moved = [read({**LOADS, name: LOADS[name] + part * shape}).value for part in (1e-4, -1e-4)]
    assert found.slopes[name] @ shape == pytest.approx((moved[0] - moved[1]) / 2e-4, rel=1e-6)
    assert not found.slopes[name][:20].any()  # left out
    assert not found.warnings


def test_both_sides_of_the_knee_and_the_thickness_count():
    factor = CURVE.thickness_factor(SPOT.thickness)
    stress = SPOT.scf * sum(weight * LOADS[name] for name, weight in SPOT.stress.items())[20:]
    ranges = factor * count_cycles(stress).range * 1e-6
    assert factor > 1.0
    assert ranges.min() < CURVE.knee_range_MPa < ranges.max()


def test_pairs_that_are_about_to_change_are_told():
    values = np.interp(TIME, [0, 4, 8, 12, 16, 20], [0, 1, 0.2, 1.00001, 0.1, 0.9])
    margin, early, late = narrowest_decision(values, 0.1)
    # Once the peak of 1.00001 is there, 0.80001 is compared with the 0.8 before it.
    assert (margin, TIME[early], TIME[late]) == pytest.approx((0.00001 / 0.80001, 8.0, 12.0))
    (warning,) = read({"slew.Mx": 1e6 * values, "slew.Fz": 0 * values}).warnings
    assert "end at 8 s and 12 s" in warning
    assert "the gradient is that of the pairs that were counted" in warning


def test_ranges_at_the_knee_are_told():
    size = CURVE.knee_range_MPa * 1e6 / CURVE.thickness_factor(SPOT.thickness) / SPOT.scf / 40.0
    (warning,) = read({"slew.Mx": size * np.interp(TIME, [2, 10, 20], [0, 1, 1]), "slew.Fz": 0 * TIME}).warnings
    assert "1 of the ranges are at the knee of S-N curve 'bent'" in warning


def test_hot_spots_that_cannot_be_had():
    with pytest.raises(KingpostError, match="there is no hot spot 'food'; did you mean 'foot'"):
        read_functional("damage food", WORDS.words)


def loaded(provenance, time=TIME):
    columns = {name: np.interp(time, TIME, values) for name, values in LOADS.items()}
    return History(time, tuple(Channel(name, "N") for name in columns), np.column_stack(list(columns.values())), provenance)


def doubts(history):
    return read_functional("damage foot + 0", WORDS.words).doubts(history)


def test_doubts_of_an_assessment_are_told_with_the_gradient():
    assert doubts(loaded({}, np.arange(0.0, 20.01, 0.01))) == []
    open_loop = {"joints": ["slew"], "ways": 1, "metric": "size", "length_m": 1.0}
    (unique,) = doubts(loaded({"loads": {"joints": {}, "not_unique": {"loops": [open_loop]}}}, np.arange(0.0, 20.01, 0.01)))
    assert unique.startswith("'damage foot': rigid bodies leave the loads of joint slew open in 1 ways")
    (coarse,) = doubts(loaded({}, np.arange(0.0, 20.01, 0.5)))
    assert "'foot' has" in coarse
    assert "samples per period of its highest significant frequency" in coarse


def test_a_mean_stress_correction_has_no_derivative():
    spot = dataclasses.replace(SPOT, mean_stress="goodman", ultimate_strength=5e8)
    words = DamageWords({"foot": spot}, CurveSet({"bent": CURVE}, {}), CountingOptions())
    with pytest.raises(KingpostError, match="its mean-stress correction \\(goodman\\) has no derivative here"):
        words.damage("foot")
