"""Directions of waves have the distribution of their law."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from kingpost import KingpostError
from kingpost.marine.seas import read_sea
from kingpost.marine.spreading import Spreading


@pytest.mark.parametrize(
    "law", [Spreading("cos2s", 1.0), Spreading("cos2s", 15.0), Spreading("cosn", 2.0), Spreading("cosn", 7.0)]
)
def test_a_law_is_a_density_and_angles_are_its_shares(law):
    whole, _ = quad(lambda a: float(law.density(a)), -law.half_range, law.half_range)
    assert whole == pytest.approx(1.0, rel=1e-10)
    for share in (0.1, 0.5, 0.93):
        angle = float(law.angle(np.array([share]))[0])
        assert quad(lambda a: float(law.density(a)), -law.half_range, angle)[0] == pytest.approx(share, abs=1e-6)
    assert float(law.density(law.half_range + 0.1)) == 0.0


def test_directions_have_the_mean_and_the_spread_of_the_law():
    waves = read_sea("jonswap:Hs=2,Tp=8,heading=120,cos2s=10,seed=4").components()
    energy = waves.amplitude**2 / np.sum(waves.amplitude**2)
    turned = waves.direction - math.radians(120.0)
    # The first moment of cos^2s is s / (s + 1); strata miss an integral by the square of their width.
    assert np.sum(energy * np.cos(turned)) == pytest.approx(10 / 11, abs=1e-3)
    assert np.sum(energy * np.sin(turned)) == pytest.approx(0.0, abs=1e-3)
    assert np.sum(energy * np.cos(2 * turned)) == pytest.approx(10 * 9 / (11 * 12), abs=3e-3)
    assert len(set(waves.direction)) == 200
    # Frequency and direction know nothing of each other.
    assert abs(np.corrcoef(waves.frequency, np.abs(turned))[0, 1]) < 4 / math.sqrt(200)
    other = read_sea("jonswap:Hs=2,Tp=8,heading=120,cos2s=10,seed=5").components()
    assert not np.array_equal(other.direction, waves.direction)


def test_laws_that_are_not_known_are_refused():
    with pytest.raises(KingpostError, match="spreading by 'cos3' is not known; use cos2s or cosn"):
        Spreading("cos3", 2.0)
    with pytest.raises(KingpostError, match="the power of cosn is -1"):
        Spreading("cosn", -1.0)
