"""Spectra against closed forms, published ratios, and moments computed apart."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma as gamma_function

from kingpost import KingpostError
from kingpost.marine.given_spectra import Tabulated
from kingpost.marine.spectra import Jonswap, OchiHubble, PiersonMoskowitz, Torsethaugen, rule_gamma

EVERY = [
    Jonswap(3.0, 9.0), Jonswap(2.0, 8.0, 1.0), Jonswap(1.0, 5.0, 7.0), PiersonMoskowitz(2.5, 7.0), Torsethaugen(3.0, 7.0),
    Torsethaugen(3.0, 14.0), OchiHubble.most_probable(4.0), OchiHubble(((2.0, 12.0, 5.0), (1.0, 6.0, 1.2))),
]  # fmt: skip


@pytest.mark.parametrize("spectrum", EVERY, ids=lambda spectrum: f"{spectrum.name}-{spectrum.hs:.3g}")
def test_moments_are_those_of_the_density(spectrum):
    top = 30 * max(spectrum.peaks)
    points = sorted(spectrum.peaks)
    for order in (-1, 0, 1, 2, 4):
        below = [
            quad(lambda w, n=order: w**n * float(spectrum.density(w)), low, high, epsabs=0, epsrel=1e-11, limit=400)[0]
            for low, high in zip([0.05 * points[0], *points], [*points, top], strict=True)
        ]
        # Below a twentieth of the lowest peak nothing is left: exp(-1.25 * 20^4).
        assert spectrum.moment(order, top) == pytest.approx(sum(below), rel=1e-9)
    # What lies beyond falls like a power, or faster where a second part still counts.
    beyond = spectrum.moment(2) - spectrum.moment(2, top)
    power = float(spectrum.density(top)) * top**3 / (spectrum.tail - 3)
    assert beyond == pytest.approx(power, rel=0.02)
    assert 4 * math.sqrt(spectrum.moment(0)) == pytest.approx(spectrum.hs, rel=1e-12)


def test_a_pierson_moskowitz_sea_has_the_periods_of_its_closed_form():
    sea = PiersonMoskowitz(3.0, 10.0)
    # With S = A w^-5 exp(-B w^-4): m_n = A B^(n/4 - 1) Gamma(1 - n/4) / 4.
    B = 1.25 * sea.peak**4
    ratio = {n: B ** (n / 4) * gamma_function(1 - n / 4) for n in (-1, 1, 2)}
    for n, expected in ratio.items():
        assert sea.moment(n) / sea.moment(0) == pytest.approx(expected, rel=1e-11)
    assert sea.tz / 10.0 == pytest.approx(0.7104, abs=5e-5)
    with pytest.raises(KingpostError, match=r"falls like w\^-5, so its moment of order 4 grows without limit"):
        sea.moment(4)


@pytest.mark.parametrize(("gamma", "expected"), [(1.0, 0.7104), (2.0, 0.7464), (3.3, 0.7774), (5.0, 0.8053)])
def test_zero_crossing_periods_of_jonswap_seas_are_the_known_ratios(gamma, expected):
    # Of the whole spectrum; up to 100 rad/s alone that of gamma 2 is 0.7465.
    tz = Jonswap(3.0, 9.0, gamma).tz / 9.0
    assert tz == pytest.approx(expected, abs=5e-5)
    fit = 0.6673 + 0.05037 * gamma - 0.00623 * gamma**2 + 0.0003341 * gamma**3
    assert tz == pytest.approx(fit, rel=0.002)


@pytest.mark.parametrize(
    ("upper", "t1", "tz", "te"),
    [(10.0, 7.515, 7.031, 8.130), (5.0, 7.554, 7.135, 8.138), (4.0, 7.593, 7.212, 8.150), (3.0, 7.692, 7.377, 8.188)],
)
def test_a_cut_makes_mean_periods_longer_as_published(upper, t1, tz, te):
    # The published figures begin at half the peak frequency, below which there is 2e-6 of the energy.
    sea = Jonswap(3.0, 9.0)
    m = {n: sea.moment(n, upper * sea.peak) for n in (-1, 0, 1, 2)}
    turn = 2 * math.pi
    assert turn * m[0] / m[1] == pytest.approx(t1, abs=6e-4)
    assert turn * math.sqrt(m[0] / m[2]) == pytest.approx(tz, abs=6e-4)
    assert turn * m[-1] / m[0] == pytest.approx(te, abs=6e-4)


def test_jonswap_densities_are_the_formula_but_for_the_usual_factor():
    sea, w = Jonswap(3.0, 9.0), np.linspace(0.3, 3.0, 40)
    wp = sea.peak
    width = np.where(w <= wp, 0.07, 0.09)
    usual = (1 - 0.287 * math.log(3.3)) * 5 / 16 * 9 * wp**4 * w**-5 * np.exp(-1.25 * (w / wp) ** -4)
    usual *= 3.3 ** np.exp(-0.5 * ((w - wp) / (width * wp)) ** 2)
    # The usual factor makes an energy of 0.56386 m^2 of 0.5625.
    assert sea.density(w) == pytest.approx(usual * 0.5625 / 0.56386, rel=2e-5)
    assert sea.density([-1.0, 0.0]).tolist() == [0.0, 0.0]


def test_torsethaugen_has_the_parts_of_its_rule():
    wind, swell = Torsethaugen(4.0, 8.0), Torsethaugen(2.0, 16.0)
    fetch = 6.6 * 4.0 ** (1 / 3)
    e = (fetch - 8.0) / (fetch - 2 * math.sqrt(4.0))
    share = 0.7 + 0.3 * math.exp(-((2 * e) ** 2))
    (h1, t1, g1), (h2, t2, g2) = wind.parts
    assert (h1, t1, g2) == pytest.approx((share * 4.0, 8.0, 1.0))
    assert (h2, t2) == pytest.approx((math.sqrt(1 - share**2) * 4.0, fetch + 2.0))
    assert g1 == pytest.approx(35 * (2 * math.pi / 9.81 * h1 / 64.0) ** 0.857)
    (h1, t1, g1), (h2, t2, g2) = swell.parts
    fetch = 6.6 * 2.0 ** (1 / 3)
    e = (16.0 - fetch) / (25.0 - fetch)
    assert g1 == pytest.approx(35 * (2 * math.pi / 9.81 * 2.0 / fetch**2) ** 0.857 * (1 + 6 * e))
    assert t2 == pytest.approx(6.6 * h2 ** (1 / 3))
    assert math.hypot(h1, h2) == pytest.approx(2.0)
    # At the fetch-limited period there is one part only.
    assert len(Torsethaugen(3.0, 6.6 * 3.0 ** (1 / 3)).peaks) == 1


def test_ochi_hubble_parts_are_gamma_shaped():
    spectrum = OchiHubble(((2.0, 12.0, 3.0), (1.5, 6.0, 1.5)))
    w = np.array([0.4, 0.8, 1.5])
    expected = np.zeros(3)
    for height, period, sharpness in spectrum.parts:
        wp, power = 2 * math.pi / period, 4 * sharpness + 1
        expected += (
            0.25 * ((power / 4) * wp**4) ** sharpness / math.gamma(sharpness) * height**2 / w**power
            * np.exp(-(power / 4) * (wp / w) ** 4)
        )  # fmt: skip
    assert spectrum.density(w) == pytest.approx(expected, rel=1e-9)
    probable = OchiHubble.most_probable(5.0)
    assert probable.hs == pytest.approx(5.0)
    assert probable.parts[0][0] / probable.parts[1][0] == pytest.approx(0.84 / 0.54)


def test_a_tabulated_spectrum_is_straight_between_its_points():
    table = Tabulated((0.5, 1.0, 2.0), (0.0, 2.0, 0.0))
    # A triangle of height 2 over 1.5 rad/s, and its first moment: area times the mean of the corners.
    assert table.moment(0) == pytest.approx(1.5)
    assert table.moment(1) == pytest.approx(1.5 * 3.5 / 3)
    assert table.hs == pytest.approx(4 * math.sqrt(1.5))
    higher = Tabulated((0.5, 1.0, 2.0), (0.0, 2.0, 0.0), height=3.0)
    assert (4 * math.sqrt(higher.moment(0)), higher.tz) == pytest.approx((3.0, table.tz))
    assert table.moment(0, 1.0) == pytest.approx(0.5)


def test_the_rule_for_gamma_is_piecewise():
    assert rule_gamma(4.0, 7.0) == 5.0
    assert rule_gamma(4.0, 8.6) == pytest.approx(math.exp(5.75 - 1.15 * 4.3))
    assert rule_gamma(3.0, 9.0) == 1.0  # 9 / sqrt(3) is 5.196


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Jonswap(0.0, 8.0), "Hs is 0 m; it must be a positive number"),
        (lambda: Jonswap(1.0, math.nan), "Tp is nan s"),
        (lambda: Jonswap(1.0, 8.0, 0.5), "gamma is 0.5; use 1"),
        (lambda: PiersonMoskowitz(5.0, 4.0), "is 0.2 times as high as long; waves break at 0.14. Tp must be above 4.73 s"),
        (lambda: OchiHubble(((1.0, 8.0, 0.4), (1.0, 5.0, 1.0))), "lambda is 0.4; it must be above 0.5"),
        (lambda: Tabulated((1.0, 0.5), (1.0, 1.0)), "must be positive and rise; row 2 has 0.5 rad/s"),
        (lambda: Tabulated((1.0, 2.0), (1.0, -1.0)), "must not be negative, nor all zero; row 2 has -1"),
        (lambda: Tabulated((1.0,), (1.0,)), "1 frequencies and 1 densities"),
    ],
)
def test_spectra_that_no_sea_has_are_refused(make, message):
    with pytest.raises(KingpostError) as caught:
        make()
    assert message in str(caught.value)
