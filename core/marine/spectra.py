"""Wave spectra: how the energy of a sea is spread over frequencies, and their moments.

Every spectrum is scaled so that its integral is Hs^2 / 16, by numbers and not by the usual approximations.

>>> sea = Jonswap(hs=3.0, tp=9.0)
>>> round(4 * sea.moment(0) ** 0.5, 9), round(sea.mean_periods["Tz"] / 9.0, 4)
(3.0, 0.7774)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError

#: Width of the peak below and above the peak frequency.
NARROW, WIDE = 0.07, 0.09
GRAVITY = 9.81
#: Spectra are integrated from this part of the lowest peak frequency to this many times the highest, and in closed form beyond.
LOWEST, HIGHEST = 0.02, 100.0
#: Panels in which that is done, evenly in the logarithm of the frequency, each by Gauss's rule with a few points.
PANELS = 4096
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
#: Waves of this height over length break (Stokes); no sea has its significant height and peak period there.
STEEPEST = 1 / 7


class Spectrum(ABC):
    """An energy density of the elevation over the circular frequency.

    A subclass gives :attr:`hs`, the frequencies of its peaks, the shape of the density, and how that falls off.
    """

    name: ClassVar[str]
    hs: float

    @property
    @abstractmethod
    def peaks(self) -> tuple[float, ...]:
        """The frequencies of its peaks in rad/s, the main one first."""

    @property
    @abstractmethod
    def tail(self) -> float | None:
        """The power by which the density falls with high frequencies; None if it ends."""

    @abstractmethod
    def shape(self, frequency: FloatArray) -> FloatArray:
        """Return the density at positive frequencies, up to a factor."""

    @property
    def peak(self) -> float:
        """The frequency of the main peak in rad/s."""
        return self.peaks[0]

    @property
    def reach(self) -> tuple[float, float]:
        """The frequencies (rad/s) below and above which nothing is left that would have to be integrated by numbers."""
        return LOWEST * min(self.peaks), HIGHEST * max(self.peaks)

    @property
    def corners(self) -> tuple[float, ...]:
        """Frequencies at which the density is not smooth."""
        return self.peaks

    @cached_property
    def scale(self) -> float:
        """The factor of the shape by which the integral is Hs^2 / 16."""
        return self.hs**2 / 16 / self._integral(0.0, *self.reach, 1.0)

    def density(self, frequency: FloatArray | float) -> FloatArray:
        """Return the energy density in m^2 s/rad at circular frequencies in rad/s; zero at and below zero."""
        w = np.asarray(frequency, dtype=float)
        found = self.scale * self.shape(np.where(w > 0, w, self.peak))
        return np.where(w > 0, found, 0.0)

    def moment(self, order: float, upper: float = math.inf) -> float:
        """Return the integral of w^order times the density up to a frequency (rad/s), in m^2 (rad/s)^order.

        A density that falls like w^-5 has no fourth moment without an upper limit; that is refused.
        """
        low, top = self.reach
        end = min(upper, top)
        if end <= low:
            return 0.0
        if upper <= top:
            return self._integral(order, low, end, self.scale, tail=False)
        found = self._integral(order, low, end, self.scale)
        return found if upper == math.inf else found - self._beyond(order, upper, self.scale)

    @property
    def mean_periods(self) -> Mapping[str, float]:
        """Mean periods in s: T1 of the frequency, Tz between upward zero crossings, Te of the energy."""
        m = {order: self.moment(order) for order in (-1, 0, 1, 2)}
        turn = 2 * math.pi
        return {"T1": turn * m[0] / m[1], "Tz": turn * math.sqrt(m[0] / m[2]), "Te": turn * m[-1] / m[0]}

    @property
    def tz(self) -> float:
        """The mean period between upward zero crossings in s, of the whole spectrum."""
        return self.mean_periods["Tz"]

    def panels(self, low: float, high: float) -> FloatArray:
        """Return the edges of the panels in which a spectrum is integrated: between them it is smooth."""
        even = np.geomspace(low, high, PANELS + 1)
        inside = [corner for corner in self.corners if low < corner < high]
        return np.unique(np.concatenate([even, inside]))

    def in_panels(self, edges: FloatArray, order: float) -> FloatArray:
        """Return the integral of w^order times the density over each panel."""
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        w = middle[:, None] + half[:, None] * NODES
        found: FloatArray = half * ((w**order * self.density(w)) @ WEIGHTS)
        return found

    def beyond(self, order: float, frequency: float) -> float:
        """Return the moment of all that lies above a frequency where the tail is a power."""
        return self._beyond(order, frequency, self.scale)

    def _integral(self, order: float, low: float, high: float, scale: float, *, tail: bool = True) -> float:
        edges = self.panels(low, high)
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        w = middle[:, None] + half[:, None] * NODES
        inside = scale * float(half @ ((w**order * self.shape(w)) @ WEIGHTS))
        return inside + (self._beyond(order, high, scale) if tail else 0.0)

    def _beyond(self, order: float, frequency: float, scale: float) -> float:
        if self.tail is None:
            return 0.0
        left = self.tail - order - 1
        if left <= 0:
            raise MechanismError(
                f"{self.name}: its density falls like w^-{self.tail:g}, so its moment of order {order:g} grows without limit; "
                "give an upper frequency"
            )
        return scale * float(self.shape(np.array([frequency]))[0]) * frequency ** (order + 1) / left


@dataclass(frozen=True)
class OneState(Spectrum):
    """Base of spectra that a significant wave height (m) and the period of the peak (s) make, with what shapes them further."""

    hs: float
    tp: float

    def __post_init__(self) -> None:
        check_state(self.name, self.hs, self.tp)


@dataclass(frozen=True)
class PiersonMoskowitz(OneState):
    """A Pierson-Moskowitz spectrum, also called Bretschneider's: a fully grown wind sea."""

    name = "pierson-moskowitz"

    @property
    def peaks(self) -> tuple[float, ...]:
        return (2 * math.pi / self.tp,)

    @property
    def tail(self) -> float:
        return 5.0

    def shape(self, frequency: FloatArray) -> FloatArray:
        x = frequency / self.peak
        with np.errstate(under="ignore"):
            return x**-5.0 * np.exp(-1.25 * x**-4.0)


@dataclass(frozen=True)
class Jonswap(PiersonMoskowitz):
    """A JONSWAP spectrum: a growing wind sea.

    Its shape is w^-5 exp(-5/4 (w / wp)^-4) gamma^exp(-(w / wp - 1)^2 / (2 s^2)) with s = 0.07 up to the peak and 0.09 beyond.

    Parameters
    ----------
    hs, tp
        Significant wave height in m and period of the peak in s.
    gamma
        Peakedness: 1 is a Pierson-Moskowitz spectrum, 3.3 the mean of the JONSWAP measurements.

    """

    name = "jonswap"
    gamma: float = 3.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.gamma) and 1 <= self.gamma <= 20):
            raise MechanismError(
                f"{self.name}: gamma is {self.gamma:g}; use 1 (Pierson-Moskowitz) to 20, usually 1 to 7", path=("gamma",)
            )

    def shape(self, frequency: FloatArray) -> FloatArray:
        with np.errstate(under="ignore"):
            return super().shape(frequency) * peaked(frequency / self.peak, self.gamma)


@dataclass(frozen=True)
class Torsethaugen(OneState):
    """Torsethaugen's spectrum in its simplified form: wind sea and swell of the Norwegian Sea, two peaks (DNV-RP-C205)."""

    name = "torsethaugen"

    @cached_property
    def parts(self) -> tuple[tuple[float, float, float], ...]:
        """Height (m), peak period (s) and peakedness of the main part and of the other one."""
        hs, tp, turn = self.hs, self.tp, 2 * math.pi / GRAVITY
        fetch = 6.6 * hs ** (1 / 3)
        if tp <= fetch:
            lowest = 2 * math.sqrt(hs)
            e = min(max((fetch - tp) / (fetch - lowest), 0.0), 1.0) if fetch > lowest else 1.0
            share = 0.7 + 0.3 * math.exp(-((2 * e) ** 2))
            h1, h2, t2 = share * hs, math.sqrt(1 - share**2) * hs, fetch + 2.0
            gamma = 35 * (turn * h1 / tp**2) ** 0.857
        else:
            e = (tp - fetch) / (25.0 - fetch)
            share = 0.6 + 0.4 * math.exp(-((e / 0.3) ** 2))
            h1, h2 = share * hs, math.sqrt(1 - share**2) * hs
            t2 = 6.6 * h2 ** (1 / 3) if h2 > 0 else tp
            gamma = 35 * (turn * hs / fetch**2) ** 0.857 * (1 + 6 * e)
        return (h1, tp, max(gamma, 1.0)), (h2, t2, 1.0)

    @cached_property
    def _present(self) -> tuple[tuple[float, float, float], ...]:
        """The parts that hold any energy to speak of."""
        return tuple(part for part in self.parts if part[0] > 1e-6 * self.hs)

    @property
    def peaks(self) -> tuple[float, ...]:
        return tuple(2 * math.pi / period for _, period, _ in self._present)

    @property
    def tail(self) -> float:
        return 4.0

    def shape(self, frequency: FloatArray) -> FloatArray:
        total = np.zeros_like(frequency)
        for height, period, gamma in self._present:
            x = frequency * period / (2 * math.pi)
            with np.errstate(under="ignore"):
                total = total + height**2 * period / _area(gamma) * x**-4.0 * np.exp(-(x**-4.0)) * peaked(x, gamma)
        return total


@dataclass(frozen=True)
class OchiHubble(Spectrum):
    """Ochi and Hubble's spectrum of two parts, each with a height (m), a peak period (s) and a sharpness.

    ``most_probable`` gives the numbers that are most probable for a significant wave height.
    """

    name = "ochi-hubble"
    parts: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        for height, period, sharpness in self.parts:
            check_state(self.name, height, period)
            if not (math.isfinite(sharpness) and sharpness > 0.5):
                raise MechanismError(
                    f"{self.name}: lambda is {sharpness:g}; it must be above 0.5, or the zero-crossing period would be zero",
                    path=("lambda",),
                )

    @classmethod
    def most_probable(cls, hs: float) -> OchiHubble:
        """Return the most probable spectrum for a significant wave height in m."""
        check_height(cls.name, hs)
        turn = 2 * math.pi
        low = (0.84, turn / (0.70 * math.exp(-0.046 * hs)), 3.0)
        high = (0.54, turn / (1.15 * math.exp(-0.039 * hs)), 1.54 * math.exp(-0.062 * hs))
        # The published heights miss the whole by 0.14 %.
        whole = math.hypot(low[0], high[0])
        return cls(tuple((part * hs / whole, period, sharpness) for part, period, sharpness in (low, high)))

    @property
    def hs(self) -> float:  # type: ignore[override]
        """The significant wave height in m of both parts together."""
        return math.hypot(*(height for height, _, _ in self.parts))

    @property
    def peaks(self) -> tuple[float, ...]:
        ordered = sorted(self.parts, key=lambda part: -part[0])
        return tuple(2 * math.pi / period for _, period, _ in ordered)

    @property
    def tail(self) -> float:
        return 4 * min(sharpness for _, _, sharpness in self.parts) + 1

    @property
    def reach(self) -> tuple[float, float]:
        """As for every spectrum; a part that falls off slowly must be alone where the tail begins."""
        low, high = super().reach
        return low, 10 * high

    def shape(self, frequency: FloatArray) -> FloatArray:
        total = np.zeros_like(frequency)
        for height, period, sharpness in self.parts:
            w, power = 2 * math.pi / period, 4 * sharpness + 1
            factor = ((power / 4) * w**4) ** sharpness / math.gamma(sharpness)
            with np.errstate(under="ignore"):
                total = total + factor * height**2 / frequency**power * np.exp(-(power / 4) * (w / frequency) ** 4)
        return total


def peaked(x: FloatArray, gamma: float) -> FloatArray:
    """Return gamma^exp(-(x - 1)^2 / (2 s^2)) at frequencies x in parts of the peak's."""
    if gamma == 1.0:
        return np.ones_like(x)
    with np.errstate(under="ignore"):
        found: FloatArray = gamma ** np.exp(-((x - 1) ** 2) / (2 * np.where(x <= 1, NARROW, WIDE) ** 2))
    return found


def rule_gamma(hs: float, tp: float) -> float:
    """Return the peakedness by the rule of DNV-RP-C205: 5 for steep seas, 1 for gentle ones."""
    ratio = tp / math.sqrt(hs)
    return 5.0 if ratio <= 3.6 else 1.0 if ratio >= 5.0 else math.exp(5.75 - 1.15 * ratio)


def check_height(what: str, hs: float) -> None:
    """Refuse a significant wave height that is no height."""
    if not (math.isfinite(hs) and hs > 0):
        raise MechanismError(f"{what}: Hs is {hs:g} m; it must be a positive number", path=("Hs",))


def check_state(what: str, hs: float, tp: float) -> None:
    """Refuse a height and a peak period that no sea can have."""
    check_height(what, hs)
    if not (math.isfinite(tp) and tp > 0):
        raise MechanismError(f"{what}: Tp is {tp:g} s; it must be a positive number", path=("Tp",))
    steepness = 2 * math.pi * hs / (GRAVITY * tp**2)
    if steepness > STEEPEST:
        least = math.sqrt(2 * math.pi * hs / (GRAVITY * STEEPEST))
        raise MechanismError(
            f"{what}: Hs = {hs:g} m with Tp = {tp:g} s is {steepness:.2g} times as high as long; waves break at "
            f"{STEEPEST:.2g}. Tp must be above {least:.3g} s for this height",
            path=("Tp",),
        )


@lru_cache(maxsize=256)
def _area(gamma: float) -> float:
    """Return the integral of x^-4 exp(-x^-4) gamma^...: a closed form, and what the peak adds by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    added = 0.0
    for low, high in ((1 - 10 * NARROW, 1.0), (1.0, 1 + 10 * WIDE)):
        x = (low + high) / 2 + (high - low) / 2 * nodes
        added += (high - low) / 2 * float(weights @ (x**-4.0 * np.exp(-(x**-4.0)) * (peaked(x, gamma) - 1)))
    return math.gamma(0.75) / 4 + added
