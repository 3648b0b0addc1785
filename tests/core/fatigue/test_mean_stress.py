"""Mean-stress correction against numbers worked out by hand."""

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.fatigue import CountingOptions, HotSpot, MeanStress, SNCurve, assess_hot_spots, count_cycles, miner_damage
from kingpost.fatigue.sn import CurveSet
from tests.core.fatigue.synthetic import cosine, load_history

CURVE = SNCurve("one", 3.0, 12.0)
MPA = 1e6
GOODMAN = MeanStress("goodman", ultimate_strength=500 * MPA)


def test_goodman_by_hand():
    # 100 MPa about a mean of 100 MPa with 500 MPa: 100 / (1 - 0.2) = 125 MPa; compression gives nothing.
    factors = GOODMAN.factors(np.full(3, 100 * MPA), np.array([100.0, 0.0, -100.0]) * MPA)
    assert factors == pytest.approx([1.25, 1.0, 1.0])


def test_walker_by_hand():
    # Pulsating stress, R = 0: the amplitude 50 becomes 100^0.35 50^0.65 = 63.73, so that the range grows by 2^0.35.
    rule = MeanStress("walker", walker_exponent=0.65)
    found = rule.factors(np.full(4, 100 * MPA), np.array([50.0, 0.0, -80.0, 150.0]) * MPA)
    assert found == pytest.approx([2**0.35, 1.0, 1.0, 4**0.35])
    assert rule.factors(np.zeros(1), np.full(1, MPA)) == pytest.approx([1.0])
    # Smith, Watson and Topper: sqrt(peak amplitude).
    swt = MeanStress("walker", walker_exponent=0.5).factors(np.array([100.0]), np.array([150.0]))[0]
    assert 50.0 * swt == pytest.approx(np.sqrt(200.0 * 50.0))
    assert MeanStress("walker", walker_exponent=1.0).factors(np.array([1.0]), np.array([9.0])) == pytest.approx([1.0])


def test_damage_of_cycles_with_a_mean():
    _, values = cosine(10)
    cycles = count_cycles(50 * MPA * values + 100 * MPA)
    plain, corrected = (miner_damage(rule.corrected(cycles), CURVE) for rule in (MeanStress(), GOODMAN))
    assert plain == pytest.approx(10 * 100.0**3 / 1e12)
    assert corrected / plain == pytest.approx(1.25**3)
    assert MeanStress().corrected(cycles) is cycles


def test_a_mean_beyond_the_ultimate_strength_is_refused():
    said = "1 of 2 cycles have a mean stress at or above the ultimate strength of 500 MPa, the largest 512 MPa: the part breaks"
    with pytest.raises(KingpostError, match=said):
        GOODMAN.factors(np.full(2, MPA), np.array([10.0, 512.0]) * MPA)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rule": "godman"}, "no rule; did you mean 'goodman'"),
        ({"rule": "goodman"}, "needs 'ultimate_strength', e.g. 520e6"),
        ({"rule": "walker"}, "needs 'walker_exponent', e.g. 0.65"),
        ({"rule": "none", "ultimate_strength": 5e8}, "belongs to mean_stress = 'goodman', and the rule here is 'none'"),
        ({"rule": "goodman", "ultimate_strength": 520.0}, "520 Pa is no strength of a metal; give it in Pa"),
        ({"rule": "walker", "walker_exponent": 1.5}, "must be above 0 and at most 1"),
    ],
)
def test_refusals(given, said):
    with pytest.raises(KingpostError, match=said):
        MeanStress(**given)


def spot(**more):
    return HotSpot("here", "one", {"slew.Mx": 1.0}, **more)


def assessed(hot_spot, load, options=None, step=1 / 40):
    history = load_history(np.arange(len(load)) * step, {"slew.Mx": load})
    return assess_hot_spots(history, [hot_spot], CurveSet({"one": CURVE}, {}), options)


def test_hot_spots_have_the_rule():
    _, values = cosine(10)
    load = 50 * MPA * values + 100 * MPA
    plain = assessed(spot(), load).results[0]
    corrected = assessed(spot(mean_stress="goodman", ultimate_strength=5e8), load).results[0]
    assert corrected.damage / plain.damage == pytest.approx(1.25**3)
    # The stress concentration factor is on the mean, too.
    more = assessed(spot(mean_stress="goodman", ultimate_strength=5e8, scf=2.0), load).results[0]
    assert more.damage / plain.damage == pytest.approx((2.0 / (1 - 200 / 500)) ** 3)
    assert corrected.signal.cycles.largest_range == pytest.approx(100 * MPA)  # ranges that are shown are those of the stress
    with pytest.raises(KingpostError, match="hot spot 'here': .* the part breaks before it tires"):
        assessed(spot(mean_stress="goodman", ultimate_strength=9e7), load)
    with pytest.raises(KingpostError, match="hot spot 'bad': mean_stress = 'goodman' needs 'ultimate_strength'"):
        HotSpot("bad", "one", {"slew.Mx": 1.0}, mean_stress="goodman")


def test_spectral_damage_has_goodmans_factor_and_refuses_walkers():
    rng = np.random.default_rng(2)
    load = np.convolve(rng.normal(size=4000), np.hanning(40), "same") * 1e6 + 100 * MPA
    options = CountingOptions(spectral=True)
    plain, corrected = (
        assessed(spot(**more), load, options).results[0].spectral
        for more in ({}, {"mean_stress": "goodman", "ultimate_strength": 5e8})
    )
    mean = load.mean() / 5e8
    assert corrected.damage("dirlik") / plain.damage("dirlik") == pytest.approx((1 - mean) ** -3)
    with pytest.raises(KingpostError, match="hot spot 'here': Walker's rule depends on the range of each cycle"):
        assessed(spot(mean_stress="walker", walker_exponent=0.6), load, options)
