"""A sea: a spectrum, where its waves go to, and the waves that stand for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.bands import make_bands
from kingpost.marine.components import WaveComponents
from kingpost.marine.draws import HEIGHTS, PHASES, draws
from kingpost.marine.spectra import Spectrum
from kingpost.marine.spreading import Spreading

#: Waves that make a sea where nobody says how many.
USUAL_COMPONENTS = 200
#: A head sea, in degrees.
USUAL_HEADING = 180.0
MOST_COMPONENTS = 5000
#: Lags (s) between which it is looked whether a sea repeats itself: three hours, without the first minutes, in which it must.
REPEAT_FROM, REPEAT_TO = 300.0, 10800.0
#: Lags that are looked at in each period of the shortest wave that has any energy to speak of.
LAGS = 8


@dataclass(frozen=True)
class Realised:
    """What waves amount to: significant height (m), zero-crossing period (s) and mean frequency's period T1 (s)."""

    hs: float
    tz: float
    t1: float


def realised(waves: WaveComponents) -> Realised:
    """Return height and mean periods of the sea that wave components make, from the moments of their lines."""
    energy, w = waves.amplitude**2 / 2, waves.frequency
    m0, m1, m2 = (float(np.sum(energy * w**order)) for order in (0, 1, 2))
    if m0 <= 0:
        return Realised(0.0, math.nan, math.nan)
    return Realised(4 * math.sqrt(m0), 2 * math.pi * math.sqrt(m0 / m2), 2 * math.pi * m0 / m1)


def repetition(waves: WaveComponents, start: float = REPEAT_FROM, end: float = REPEAT_TO) -> float:
    """Return by how much a sea repeats itself: the largest correlation of the elevation with itself after a lag (s).

    1 is a sea that comes back as it was, as waves of evenly spaced frequencies do; 0 one that never looks alike.
    """
    energy = waves.amplitude**2 / np.sum(waves.amplitude**2)
    # Waves that hold a millionth of the energy cannot show.
    seen = energy > 1e-6
    w, share = waves.frequency[seen], energy[seen]
    lags = np.arange(start, end, 2 * math.pi / float(np.sqrt(np.sum(share * w**2))) / LAGS)
    most = 0.0
    for part in np.array_split(lags, max(1, len(lags) // 2000)):
        most = max(most, float(np.abs(np.cos(np.outer(part, w)) @ share).max()))
    return most


@dataclass(frozen=True)
class Sea:
    """An irregular sea, or a regular wave.

    Parameters
    ----------
    spectrum
        How its energy is spread over frequencies; None for a calm sea, or with ``regular``.
    heading
        Where its waves go to, in degrees from the x axis towards +y (port): 180 is a head sea, 90 comes from starboard.
    seed
        Of the phases; each seed is another hour of the same sea.
    number
        Waves that make it.
    spreading
        Over directions about the heading; None for long crests.
    rayleigh
        Whether heights of the waves are drawn, too, so that each seed has an energy of its own, as pieces of a record have.
    regular
        Amplitude (m), circular frequency (rad/s) and phase (rad) of one wave in the place of a spectrum.
    text
        How it was written; it can be read again.

    """

    spectrum: Spectrum | None
    heading: float = USUAL_HEADING
    seed: int = 0
    number: int = USUAL_COMPONENTS
    spreading: Spreading | None = None
    rayleigh: bool = False
    regular: tuple[float, float, float] | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if (self.spectrum is None) == (self.regular is None):
            raise MechanismError("a sea has a spectrum, or is one regular wave; give one of them")
        if not math.isfinite(self.heading) or not -360 <= self.heading <= 360:
            raise MechanismError(f"heading is {self.heading:g} degrees; use -360 to 360, 180 for a head sea", path=("heading",))
        if isinstance(self.number, bool) or not 1 <= self.number <= MOST_COMPONENTS:
            raise MechanismError(f"components is {self.number}; use 1 to {MOST_COMPONENTS}, usually 200", path=("components",))
        draws(self.seed, PHASES, 1)

    def __str__(self) -> str:
        return self.text or repr(self)

    def components(self, number: int | None = None) -> WaveComponents:
        """Return its waves; ``number`` of them instead of its own number, where that is given."""
        if self.regular is not None:
            amplitude, frequency, phase = self.regular
            return _waves([amplitude], [frequency], [phase], [math.radians(self.heading)])
        assert self.spectrum is not None
        if number is None or number == self.number:
            return self._own
        return self._made(number)

    @cached_property
    def _own(self) -> WaveComponents:
        return self._made(self.number)

    def _made(self, number: int) -> WaveComponents:
        assert self.spectrum is not None
        bands = make_bands(self.spectrum, number)
        energy = bands.energy
        if self.rayleigh:
            energy = -energy * np.log(draws(self.seed, HEIGHTS, number))
        direction = np.full(number, math.radians(self.heading))
        if self.spreading is not None:
            direction = direction + self.spreading.angles(bands.energy, self.seed)
        return _waves(np.sqrt(2 * energy), bands.frequency, 2 * math.pi * draws(self.seed, PHASES, number), direction)

    @cached_property
    def realised(self) -> Realised:
        """Height and mean periods of its waves."""
        return realised(self.components())

    @cached_property
    def repetition(self) -> float:
        """By how much it repeats itself within three hours (:func:`repetition`)."""
        return repetition(self.components())

    def record(self) -> dict[str, Any]:
        """Return what the record of a run says of it: what was asked for, and what its waves amount to."""
        own = self.realised
        said: dict[str, Any] = {
            "text": str(self),
            "heading_deg": self.heading,
            "components": len(self.components().frequency),
            "Hs_m": own.hs,
            "Tz_s": own.tz,
        }
        if self.spectrum is not None:
            said |= {
                "spectrum": self.spectrum.name,
                "seed": self.seed,
                "asked": {"Hs_m": self.spectrum.hs, "Tz_s": self.spectrum.tz},
                "repetition": self.repetition,
            }
        return said


def _waves(*columns: Any) -> WaveComponents:
    found: list[FloatArray] = []
    for column in columns:
        values = np.array(column, dtype=float)
        values.flags.writeable = False
        found.append(values)
    return WaveComponents(*found)
