"""Waves whose sum has a spectrum: it is cut into bands, and each becomes one wave with its energy and its mean frequency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.spectra import Spectrum

#: No band is wider than this part of the peak frequency, or of half its own frequency if that is more.
WIDEST = 0.05
#: Up to so many times the highest peak frequency bands are made; the last one stands for all that is beyond.
TOP = 10.0
#: Energy (as a part of the whole) at the low end that the first band stands for, however wide it is.
LOW_END = 1e-6
#: At least this part of the bands is left for equal energies; with few bands they may be wider instead.
FREE = 0.4
HALVINGS = 60
#: Less than this part of the energy in a band is rounding.
NOTHING = 1e-14


@dataclass(frozen=True, eq=False)
class Bands:
    """Bands of a spectrum: their edges (rad/s; the last is infinite), energies (m^2) and frequencies (rad/s)."""

    edges: FloatArray
    energy: FloatArray
    frequency: FloatArray


class _Cumulated:
    """Moments of a spectrum below a frequency, from panels; between their edges by a cubic with the density for its slope."""

    def __init__(self, spectrum: Spectrum) -> None:
        low, high = spectrum.reach
        self.edges = spectrum.panels(low, high)
        self.density = spectrum.density(self.edges)
        self.below = {order: np.concatenate([[0.0], np.cumsum(spectrum.in_panels(self.edges, order))]) for order in (0, 2)}
        self.whole = {order: float(self.below[order][-1]) + spectrum.beyond(order, high) for order in (0, 2)}

    def at(self, order: int, frequency: FloatArray) -> FloatArray:
        """Return the moment of an order below frequencies."""
        i = np.clip(np.searchsorted(self.edges, frequency) - 1, 0, len(self.edges) - 2)
        left, right = self.edges[i], self.edges[i + 1]
        h = right - left
        s = np.clip((frequency - left) / h, 0.0, 1.0)
        value, slope = self.below[order], self.edges**order * self.density
        found: FloatArray = (
            value[i] * (1 + 2 * s) * (1 - s) ** 2
            + value[i + 1] * s**2 * (3 - 2 * s)
            + h * s * (1 - s) * (slope[i] * (1 - s) - slope[i + 1] * s)
        )
        return found


@lru_cache(maxsize=64)
def make_bands(spectrum: Spectrum, count: int) -> Bands:
    """Return ``count`` bands that together have the energy and the second moment of the whole spectrum, exactly.

    They are of equal energy where that makes them narrower than 0.05 of the peak frequency (above twice that, than 0.025 of
    their own), and of that width elsewhere, so that a light resonance in the tail finds waves there. Each wave stands at
    sqrt(m2 / m0) of its band. The first band begins at zero, and the last goes on without end: nothing is cut off.
    """
    if count < 1:
        raise MechanismError(f"components is {count}; there must be at least one", path=("components",))
    moments = _Cumulated(spectrum)
    edges = _edges(spectrum, moments, count)
    m0, m2 = (np.diff(np.concatenate([[0.0], moments.at(order, edges[1:-1]), [moments.whole[order]]])) for order in (0, 2))
    # A table may have gaps without energy; a wave of no height still needs a frequency.
    there = m0 > NOTHING * moments.whole[0]
    middle = (edges[:-1] + np.minimum(edges[1:], 2 * edges[:-1] + TOP * spectrum.peak)) / 2
    return Bands(edges, np.where(there, m0, 0.0), np.where(there, np.sqrt(np.abs(m2) / np.where(there, m0, 1.0)), middle))


def _edges(spectrum: Spectrum, moments: _Cumulated, count: int) -> FloatArray:
    """Return the edges of the bands: equal parts of the integral of max(density / energy, 1 / width)."""
    w, energy = moments.edges, moments.below[0]
    low = float(np.interp(LOW_END * moments.whole[0], energy, w))
    high = min(TOP * max(spectrum.peaks), float(w[-1]))
    grid = np.concatenate([[low], w[(w > low) & (w < high)], [high]])
    step, middle = np.diff(grid), (grid[1:] + grid[:-1]) / 2
    held = np.diff(moments.at(0, grid))
    widest = WIDEST * np.maximum(min(spectrum.peaks), middle / 2)
    narrow = step / widest
    # With few waves there is not room for bands that narrow.
    narrow *= min(1.0, (1 - FREE) * count / float(narrow.sum()))
    least, most = 0.0, 2.0 * count
    for _ in range(HALVINGS):
        bands_per_energy = (least + most) / 2
        needed = float(np.maximum(held / moments.whole[0] * bands_per_energy, narrow).sum())
        least, most = (bands_per_energy, most) if needed < count else (least, bands_per_energy)
    parts = np.concatenate([[0.0], np.cumsum(np.maximum(held / moments.whole[0] * most, narrow))])
    inner = np.interp(np.arange(1, count) * parts[-1] / count, parts, grid)
    return np.concatenate([[0.0], inner, [np.inf]])
