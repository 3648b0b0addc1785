"""Damage from the spectrum of a stress, without counting: narrow band, Dirlik, and Benasciutti and Tovo.

All three hold for a stationary Gaussian stress. Each says how often ranges of which size come, as a sum of Weibull
distributions, so that the damage on an S-N curve of one slope or of two is a sum of incomplete gamma functions; nothing is
integrated numerically.

With the moments lam_n = integral of f^n S(f) df of the one-sided spectrum, up-crossings of the mean come at
nu_0 = sqrt(lam_2 / lam_0), peaks at nu_p = sqrt(lam_4 / lam_2), and alpha_n = lam_n / sqrt(lam_0 lam_2n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.fatigue.sn import SNCurve, megapascals

#: Segments of a history whose spectra are averaged (Welch), half overlapping: 15 of an eighth of the time each, ...
PARTS = 8
#: ... but so long that each has this many up-crossings of the mean, if the time is long enough for that.
CROSSINGS = 20
#: A spectrum that holds less or more than the variance of its signal by this part is warned of.
VARIANCE_WARNED = 0.1
#: Fewer samples than this make no spectrum worth the name.
FEWEST = 64
#: Bandwidths 1 - alpha_2 below this are a narrow band: Dirlik's constants would be quotients of rounding errors.
NARROW = 1e-6
#: Kurtosis of a Gaussian process, and how far that of a signal may be from it before it is warned of.
GAUSSIAN, KURTOSIS_WARNED = 3.0, 0.5


@dataclass(frozen=True, eq=False)
class StressSpectrum:
    """A one-sided spectral density of a stress: ``density`` in Pa^2/Hz over ``frequency`` in Hz, straight lines between."""

    frequency: FloatArray
    density: FloatArray

    def __post_init__(self) -> None:
        f, s = (np.array(item, dtype=float) for item in (self.frequency, self.density))
        if f.ndim != 1 or f.shape != s.shape or len(f) < 3:
            raise KingpostError(f"a spectrum has as many densities as frequencies, three or more; got {s.shape} for {f.shape}")
        if not (np.isfinite(f).all() and np.isfinite(s).all()):
            raise KingpostError("a frequency or a density of the spectrum is not a finite number")
        if f[0] < 0.0 or (np.diff(f) <= 0.0).any():
            raise KingpostError("the frequencies of a spectrum are 0 or more, and grow; put them in order")
        if (s < 0.0).any():
            raise KingpostError(f"a density of the spectrum is {s.min():g}; densities are 0 or more")
        for name, array in (("frequency", f), ("density", s)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def moment(self, order: int) -> float:
        """Return lam_n, the integral of f^n S(f), exactly for densities with straight lines between."""
        f, s = self.frequency, self.density
        slope = np.diff(s) / np.diff(f)
        upper, lower = f[1:], f[:-1]

        def power(n: int) -> FloatArray:
            return np.asarray((upper ** (n + 1) - lower ** (n + 1)) / (n + 1))

        return float(np.sum((s[:-1] - slope * lower) * power(order) + slope * power(order + 1)))

    @property
    def moments(self) -> Moments:
        """The moments that the distributions of ranges are made of."""
        return Moments(*(self.moment(n) for n in (0, 1, 2, 4)))


@dataclass(frozen=True)
class Moments:
    """Moments of a spectrum, and what follows from them."""

    m0: float
    m1: float
    m2: float
    m4: float

    @property
    def crossings(self) -> float:
        """nu_0, up-crossings of the mean, in Hz."""
        return math.sqrt(self.m2 / self.m0)

    @property
    def peaks(self) -> float:
        """nu_p, in Hz."""
        return math.sqrt(self.m4 / self.m2)

    @property
    def alpha1(self) -> float:
        """alpha_1 = m1 / sqrt(m0 m2), 1 for a narrow band."""
        return min(self.m1 / math.sqrt(self.m0 * self.m2), 1.0)

    @property
    def alpha2(self) -> float:
        """alpha_2 = m2 / sqrt(m0 m4), the irregularity: up-crossings over peaks."""
        return min(self.m2 / math.sqrt(self.m0 * self.m4), 1.0)


@dataclass(frozen=True)
class Ranges:
    """Ranges S (Pa) that come ``rate`` times per second and exceed S with the probability exp(-(S / scale)^shape)."""

    rate: float
    scale: float
    shape: int

    def damage_rate(self, curve: SNCurve, factor: float) -> float:
        """Return Miner's damage per second on an S-N curve, for ranges that are first multiplied by ``factor``."""
        scale = megapascals(self.scale * factor)
        if not self.rate or not scale:
            return 0.0
        floor, knee = curve.cut_off_range_MPa or 0.0, curve.knee_range_MPa
        lines = [(curve.m1, curve.log10_a1, max(floor, knee or 0.0), math.inf)]
        if knee is not None and curve.m2 is not None and curve.log10_a2 is not None and floor < knee:
            lines.append((curve.m2, curve.log10_a2, floor, knee))
        return self.rate * math.fsum(_on_line(scale, self.shape, *line) for line in lines)

    def expected_power(self, slope: float) -> float:
        """Return rate times the mean of S^m, in Pa^m per second."""
        return self.rate * self.scale**slope * math.gamma(1.0 + slope / self.shape)


def _on_line(scale: float, shape: int, slope: float, log10_a: float, lower: float, upper: float) -> float:
    """Return the mean of S^m / a over ranges between two (MPa): Gamma(1 + m/k) scale^m / a times a part of it."""
    from scipy import special  # slow to import

    order = 1.0 + slope / shape
    begin, end = ((edge / scale) ** shape if math.isfinite(edge) else math.inf for edge in (lower, upper))
    # Above the mean the complement has the digits.
    part = special.gammaincc(order, begin) - (special.gammaincc(order, end) if math.isfinite(end) else 0.0)
    if begin < order:
        part = (special.gammainc(order, end) if math.isfinite(end) else 1.0) - special.gammainc(order, begin)
    if part <= 0.0:
        return 0.0
    # In logarithms, since intercepts and powers can be beyond the range of numbers where their quotient is not.
    log = math.lgamma(order) / math.log(10.0) + slope * math.log10(scale) - log10_a + math.log10(part)
    return float(10.0**log) if log < 308.0 else math.inf


def narrow_band(moments: Moments) -> tuple[Ranges, ...]:
    """Return the ranges of a narrow band: twice Rayleigh's amplitudes, one for each up-crossing; never too few or too small."""
    return (Ranges(moments.crossings, 2.0 * math.sqrt(2.0 * moments.m0), 2),)


def dirlik(moments: Moments) -> tuple[Ranges, ...]:
    """Return the ranges of Dirlik (1985): an exponential and two Rayleigh distributions, fitted to rainflow counts."""
    gamma = moments.alpha2
    mean = moments.m1 / moments.m0 * math.sqrt(moments.m2 / moments.m4)
    if 1.0 - gamma < NARROW:
        return narrow_band(moments)
    d1 = 2.0 * (mean - gamma**2) / (1.0 + gamma**2)
    r = (gamma - mean - d1**2) / (1.0 - gamma - d1 + d1**2)
    d2 = (1.0 - gamma - d1 + d1**2) / (1.0 - r)
    d3 = 1.0 - d1 - d2
    q = 1.25 * (gamma - d3 - d2 * r) / d1
    unit = 2.0 * math.sqrt(moments.m0)
    if not (d1 > 0.0 and d2 >= 0.0 and d3 >= 0.0 and q > 0.0 and r > 0.0):
        raise KingpostError(
            f"Dirlik's distribution does not exist for this spectrum: its constants are D1 = {d1:.4g}, D2 = {d2:.4g}, D3 = "
            f"{d3:.4g}, Q = {q:.4g}, R = {r:.4g} at alpha_1 = {moments.alpha1:.4g}, alpha_2 = {gamma:.4g}, and none may be "
            "negative; take 'narrow-band' or 'benasciutti-tovo', or count cycles"
        )
    peaks, wide = moments.peaks, math.sqrt(2.0) * unit
    return (
        Ranges(peaks * d1, unit * q, 1),
        Ranges(peaks * d2, wide * r, 2),
        Ranges(peaks * d3, wide, 2),
    )


def benasciutti_tovo(moments: Moments) -> tuple[Ranges, ...]:
    """Return the ranges of Benasciutti and Tovo (2005): between level crossings (a narrow band) and range counting."""
    a1, a2 = moments.alpha1, moments.alpha2
    if 1.0 - a2 < NARROW:
        return narrow_band(moments)
    gap = a1 - a2
    share = gap * (1.112 * (1.0 + a1 * a2 - (a1 + a2)) * math.exp(2.11 * a2) + gap) / (a2 - 1.0) ** 2
    share = min(max(share, 0.0), 1.0)
    scale = 2.0 * math.sqrt(2.0 * moments.m0)
    return Ranges(share * moments.crossings, scale, 2), Ranges((1.0 - share) * moments.peaks, a2 * scale, 2)


Method: TypeAlias = Callable[[Moments], tuple[Ranges, ...]]
METHODS: Mapping[str, Method] = {"narrow-band": narrow_band, "dirlik": dirlik, "benasciutti-tovo": benasciutti_tovo}


@dataclass(frozen=True)
class SpectralDamage:
    """The damage that a method finds in a spectrum, over a time."""

    method: str
    damage: float
    #: Cycles over that time.
    cycles: float


@dataclass(frozen=True)
class SpectralAssessment:
    """A stress as a Gaussian process: its moments, how Gaussian it is, and the damage by each method."""

    moments: Moments
    #: Of the samples; 0 and 3 of a Gaussian process, 0 and 1.5 of a sine. None where only a spectrum is known.
    skewness: float | None
    kurtosis: float | None
    #: Width of the bands that the spectrum has, Hz.
    resolution: float
    #: The variance in the spectrum, as a part of that of the samples.
    variance: float
    damages: tuple[SpectralDamage, ...]

    def damage(self, method: str) -> float:
        """Return the damage by one method."""
        return next(item.damage for item in self.damages if item.method == method)


def spectral_ranges(spectrum: StressSpectrum, method: str = "dirlik") -> tuple[Ranges, ...]:
    """Return how often ranges of which size come, by one of :data:`METHODS`."""
    if method not in METHODS:
        raise KingpostError(f"there is no spectral method '{method}'{closest(method, METHODS)} Methods: {listed(METHODS)}.")
    moments = spectrum.moments
    if not moments.m0 > 0.0:
        return ()
    return METHODS[method](moments)


def spectral_damage(
    spectrum: StressSpectrum, curve: SNCurve, duration: float, method: str = "dirlik", factor: float = 1.0
) -> float:
    """Return Miner's damage of a stationary Gaussian stress with this spectrum, over ``duration`` seconds.

    Ranges are multiplied by ``factor`` first, such as that of a thickness correction.
    """
    if not 0.0 < duration < math.inf:
        raise KingpostError(f"the duration is {duration:g} s; give a time above 0")
    return duration * math.fsum(item.damage_rate(curve, factor) for item in spectral_ranges(spectrum, method))


def welch_spectrum(step: float, values: FloatArray, parts: int = PARTS) -> StressSpectrum:
    """Return the spectrum of evenly spaced samples by Welch's method, a Hann window, segments half overlapping.

    Parameters
    ----------
    step
        Time between samples, s.
    values
        The samples; the mean of each segment is taken away.
    parts
        Each segment is as long as this part of the samples.

    """
    from scipy import signal  # slow to import

    length = len(values) // parts
    if len(values) < FEWEST or length < 8:
        raise KingpostError(
            f"a spectrum of {len(values)} samples in {parts} parts says little; {max(FEWEST, 8 * parts)} samples are the fewest"
        )
    frequency, density = signal.welch(values, 1.0 / step, window="hann", nperseg=length, detrend="constant")
    return StressSpectrum(frequency, density)


def assess_spectrum(
    step: float, values: FloatArray, curve: SNCurve, duration: float, factor: float = 1.0
) -> SpectralAssessment:
    """Return the damage of a sampled stress (Pa) by all methods, from its spectrum."""
    centred = values - values.mean()
    spread = float(centred.std())
    if not spread:
        none = tuple(SpectralDamage(method, 0.0, 0.0) for method in METHODS)
        return SpectralAssessment(Moments(0.0, 0.0, 0.0, 0.0), None, None, 1.0 / duration, 1.0, none)
    crossings = int(np.count_nonzero((centred[1:] > 0.0) & (centred[:-1] <= 0.0)))
    spectrum = welch_spectrum(step, values, min(max(crossings // CROSSINGS, 1), PARTS))
    found = []
    for method in METHODS:
        ranges = spectral_ranges(spectrum, method)
        rate = math.fsum(item.damage_rate(curve, factor) for item in ranges)
        found.append(SpectralDamage(method, duration * rate, duration * math.fsum(item.rate for item in ranges)))
    moments = spectrum.moments
    scaled = centred / spread
    shape = float((scaled**3).mean()), float((scaled**4).mean())
    return SpectralAssessment(moments, *shape, float(spectrum.frequency[1]), moments.m0 / spread**2, tuple(found))


def spectral_warnings(found: Mapping[str, SpectralAssessment]) -> list[str]:
    """Return warnings about signals, by name, whose spectra do not stand for them."""
    warnings = []
    odd = {name: item.kurtosis for name, item in found.items() if item.kurtosis is not None}
    odd = {name: number for name, number in odd.items() if abs(number - GAUSSIAN) > KURTOSIS_WARNED}
    if odd:
        name = max(odd, key=lambda key: abs(odd[key] - GAUSSIAN))
        warnings.append(
            f"'{name}'{_others(odd)} is not Gaussian: its kurtosis is {odd[name]:.3g} (Gaussian: {GAUSSIAN:g}, a sine: 1.5), "
            "so that damage from its spectrum is not that of the signal; believe the count"
        )
    short = {name: item.variance for name, item in found.items() if abs(item.variance - 1.0) > VARIANCE_WARNED}
    if short:
        name = max(short, key=lambda key: abs(short[key] - 1.0))
        warnings.append(
            f"the spectrum of '{name}'{_others(short)} holds {short[name]:.0%} of the variance of the signal: the time is too "
            "short for it, or the signal is not stationary; believe the count, or simulate longer"
        )
    return warnings


def _others(names: Mapping[str, float]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
