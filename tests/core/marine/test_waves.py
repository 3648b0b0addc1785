"""Sea states against the JONSWAP formula, its closed form without a peak, and their energy; tables of transfer functions."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from kingpost import KingpostError
from kingpost.marine.waves import jonswap, jonswap_density, transfer_at


def test_a_jonswap_sea_has_the_height_and_the_zero_crossing_period_of_its_spectrum():
    hs, tp, gamma = 3.0, 9.0, 3.3
    for count in (10, 40, 200):
        a, w, _ = np.array(jonswap(hs, tp, gamma, components=count, seed=5)).T
        assert np.sum(a**2 / 2) == pytest.approx(hs**2 / 16, rel=1e-10)
        # Cut at four times the peak frequency, as it once was, the sea would have 7.21 s.
        assert 2 * math.pi * math.sqrt(np.sum(a**2) / np.sum(a**2 * w**2)) == pytest.approx(0.7774 * tp, rel=1e-4)
    a, w, _ = np.array(jonswap(hs, tp, gamma, components=200, lowest=0.5, highest=4.0)).T
    peak = 2 * math.pi / tp
    assert ((w > 0.5 * peak) & (w < 4 * peak)).all()
    assert 4 * math.sqrt(np.sum(a**2 / 2)) == pytest.approx(hs, rel=1e-10)
    assert 2 * math.pi * math.sqrt(np.sum(a**2) / np.sum(a**2 * w**2)) == pytest.approx(7.2119, abs=2e-4)


def test_bands_lie_where_the_spectrum_has_its_energy():
    hs, tp, gamma = 3.0, 9.0, 3.3
    a, w, _ = np.array(jonswap(hs, tp, gamma, components=60)).T
    peak = 2 * math.pi / tp
    for part in (0.8, 1.0, 1.3, 2.0):
        low, high = (
            quad(lambda x: float(jonswap_density(x, hs, tp, gamma)), *ends, points=[peak], limit=200)[0]
            for ends in ((0.3 * peak, part * peak), (part * peak, 30.0))
        )
        # A band is either below or above, and none has more than a twentieth of the energy.
        assert np.sum(a[w < part * peak] ** 2 / 2) == pytest.approx(low, abs=0.05 * (low + high))


def test_the_density_is_the_published_formula():
    w = np.linspace(0.3, 2.5, 50)
    hs, tp = 2.0, 8.0
    peak = 2 * math.pi / tp
    pierson_moskowitz = 5 / 16 * hs**2 * peak**4 * w**-5 * np.exp(-1.25 * (peak / w) ** 4)
    assert jonswap_density(w, hs, tp, 1.0) == pytest.approx(pierson_moskowitz, rel=1e-13)
    width = np.where(w <= peak, 0.07, 0.09)
    peaked = pierson_moskowitz * 3.3 ** np.exp(-((w / peak - 1) ** 2) / (2 * width**2)) * (1 - 0.287 * math.log(3.3))
    # The usual factor 1 - 0.287 ln gamma is itself 0.24 % off at 3.3.
    assert jonswap_density(w, hs, tp, 3.3) == pytest.approx(peaked, rel=0.003)
    assert jonswap_density([-1.0, 0.0], hs, tp).tolist() == [0.0, 0.0]


def test_a_sea_is_that_of_its_seed_and_does_not_repeat_itself():
    sea = jonswap(2.0, 8.0, seed=1)
    assert sea == jonswap(2.0, 8.0, seed=1)
    assert [w for _, w, _ in sea] == [w for _, w, _ in jonswap(2.0, 8.0, seed=2)]
    assert [phase for *_, phase in sea] != [phase for *_, phase in jonswap(2.0, 8.0, seed=2)]
    # The correlation of the elevation with itself after a lag, for three hours: 1 at a repeat period.
    lag = np.arange(100.0, 10800.0, 0.5)
    correlation = np.mean(np.cos(np.outer(lag, [w for _, w, _ in sea])), axis=1)
    assert np.abs(correlation).max() < 0.75


def test_a_tabulated_transfer_function_is_interpolated_as_complex_numbers():
    table, rng = [0.5, 0.8, 1.4], np.random.default_rng(2)
    # Phases on both sides of pi: a mean of the phases themselves would point the other way.
    magnitude, phase = rng.uniform(1, 2, (3, 6)), np.array([3.0, -3.0, 2.5])[:, None] * np.ones(6)
    found = transfer_at([(1.0, 0.8, 0.0), (1.0, 0.65, 0.3)], table, magnitude, phase)
    assert found["transfer"][0] == pytest.approx(magnitude[1], rel=1e-14)
    assert found["transfer_phase"][0] == pytest.approx(phase[1], rel=1e-14)
    middle = (magnitude[0] * np.exp(3j) + magnitude[1] * np.exp(-3j)) / 2
    assert np.array(found["transfer"][1]) * np.exp(1j * np.array(found["transfer_phase"][1])) == pytest.approx(
        middle, rel=1e-14
    )
    with pytest.raises(KingpostError, match=r"outside the table: 1, the first at 1.5 rad/s; it goes from 0.5 to 1.4"):
        transfer_at([(1.0, 1.5, 0.0)], table, magnitude)
    with pytest.raises(KingpostError, match=r"got shapes \(2,\), \(3, 6\) and \(\)"):
        transfer_at([(1.0, 0.7, 0.0)], table[:2], magnitude)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hs": 0.0, "tp": 8.0}, "Hs is 0 m; it must be a positive number"),
        ({"hs": 1.0, "tp": math.nan}, "Tp is nan s"),
        ({"hs": 1.0, "tp": 8.0, "gamma": 0.5}, "gamma is 0.5; use 1 (Pierson-Moskowitz) to 20"),
        ({"hs": 1.0, "tp": 8.0, "components": 0}, "components is 0"),
        ({"hs": 1.0, "tp": 8.0, "lowest": 1.2}, "lowest is 1.2 and highest inf times the peak frequency"),
    ],
)
def test_an_impossible_sea_is_refused(arguments, message):
    with pytest.raises(KingpostError) as error:
        jonswap(**arguments)
    assert message in str(error.value)
