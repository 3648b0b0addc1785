"""Waves that stand for a spectrum have its height and its zero-crossing period, and no gaps."""

import math

import numpy as np
import pytest

from kingpost.marine.bands import TOP, WIDEST, make_bands
from kingpost.marine.given_spectra import Tabulated
from kingpost.marine.spectra import Jonswap, OchiHubble, PiersonMoskowitz, Torsethaugen


@pytest.mark.parametrize("count", [1, 7, 30, 200, 1000])
@pytest.mark.parametrize(
    "spectrum",
    [Jonswap(3.0, 9.0), PiersonMoskowitz(2.0, 7.0), Torsethaugen(3.0, 14.0), OchiHubble.most_probable(3.0)],
    ids=lambda spectrum: spectrum.name,
)
def test_height_and_zero_crossing_period_are_those_of_the_whole_spectrum(spectrum, count):
    bands = make_bands(spectrum, count)
    assert bands.frequency.shape == (count,)
    m0, m2 = bands.energy.sum(), (bands.energy * bands.frequency**2).sum()
    # Bands add up to the whole but for the rounding of some thousand sums, 1e-12 with room to spare.
    assert 4 * math.sqrt(m0) == pytest.approx(spectrum.hs, rel=1e-11)
    assert 2 * math.pi * math.sqrt(m0 / m2) == pytest.approx(spectrum.tz, rel=1e-10)
    assert (np.diff(bands.frequency) > 0).all()
    assert (bands.frequency > bands.edges[:-1]).all()
    assert (bands.frequency < bands.edges[1:]).all()


def test_each_band_has_the_moments_of_its_part_of_the_spectrum():
    spectrum = Jonswap(3.0, 9.0)
    bands = make_bands(spectrum, 50)
    for j in (1, 10, 25, 40):
        low, high = bands.edges[j : j + 2]
        m0, m2 = (spectrum.moment(order, high) - spectrum.moment(order, low) for order in (0, 2))
        assert bands.energy[j] == pytest.approx(m0, rel=1e-8)
        assert bands.frequency[j] == pytest.approx(math.sqrt(m2 / m0), rel=1e-8)


def test_energies_are_equal_but_where_bands_would_be_wide():
    spectrum = Jonswap(3.0, 9.0)
    bands = make_bands(spectrum, 200)
    width = np.diff(bands.edges)[1:-1]
    middle = (bands.edges[2:-1] + bands.edges[1:-2]) / 2
    widest = WIDEST * np.maximum(spectrum.peak, middle / 2)
    # Edges lie on a grid of 0.2 % of the frequency, between whose points they are straight.
    assert (width <= widest * 1.01).all()
    narrow = bands.energy[1:-1][width < 0.8 * widest]
    assert len(narrow) > 80
    assert narrow.max() / narrow.min() < 1.02
    assert bands.edges[-2] < TOP * spectrum.peak


def test_a_table_with_a_gap_has_waves_of_no_height_there():
    table = Tabulated((0.5, 0.6, 0.7, 1.5, 1.6, 1.7), (0.0, 1.0, 0.0, 0.0, 1.0, 0.0))
    bands = make_bands(table, 60)
    assert np.isfinite(bands.frequency).all()
    assert (bands.frequency > 0).all()
    m0, m2 = bands.energy.sum(), (bands.energy * bands.frequency**2).sum()
    assert 2 * math.pi * math.sqrt(m0 / m2) == pytest.approx(table.tz, rel=1e-9)
