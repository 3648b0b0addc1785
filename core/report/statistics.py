"""Extremes, spectra and directions of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.report.packing import is_even, packed

#: Sectors of a load rose.
SECTORS = 36
#: Points of a spectrum, spread evenly over the logarithm of frequency.
SPECTRUM_POINTS = 240
#: Fewer samples than this make no spectrum.
FEWEST = 64
LONG_SEGMENT = 2048


def extremes(time: FloatArray, values: FloatArray) -> dict[str, Any]:
    """Return greatest and least value with their times, mean and standard deviation over the samples."""
    known = np.isfinite(values)
    if not known.any():
        return {"max": None, "min": None, "mean": None, "std": None, "tmax": None, "tmin": None, "gaps": len(values)}
    time, gaps = time[known], int((~known).sum())
    values = values[known]
    top, bottom = int(values.argmax()), int(values.argmin())
    return {
        "max": float(values[top]),
        "tmax": float(time[top]),
        "min": float(values[bottom]),
        "tmin": float(time[bottom]),
        "mean": float(values.mean()),
        "std": float(values.std()),
        "gaps": gaps,
    }


class Spectra:
    """Power spectral densities by Welch's method, one segment length for all channels of a history.

    Hann windows that overlap by half. Segments are an eighth of the record (15 are averaged), but long enough for low
    frequencies: up to half of it (3 are averaged) where that is no more than 2048 samples. ``note`` says why there are none.
    """

    def __init__(self, time: FloatArray) -> None:
        self.note = ""
        self.frequency = np.zeros(0)
        if len(time) < FEWEST:
            self.note = f"No spectra: {len(time)} samples are too few; {FEWEST} are needed"
            return
        if not is_even(time):
            self.note = "No spectra: the samples are not evenly spaced in time"
            return
        self.rate = (len(time) - 1) / float(time[-1] - time[0])
        self.segment = max(len(time) // 8, min(len(time) // 2, LONG_SEGMENT))
        self.averaged = 2 * (len(time) // self.segment) - 1
        bins = np.arange(1, self.segment // 2 + 1)
        groups = np.unique(np.geomspace(1, len(bins) + 1, SPECTRUM_POINTS + 1).astype(int))
        self._starts = groups[:-1] - 1
        frequency = bins * self.rate / self.segment
        ends = groups[1:] - 2
        self.frequency = np.sqrt(frequency[self._starts] * frequency[ends])

    def of(self, values: FloatArray) -> FloatArray | None:
        """Return the density at :attr:`frequency`, the greatest where several lines share a point; None if there is none."""
        if self.note or not np.isfinite(values).all() or np.ptp(values) == 0.0:
            return None
        from scipy import signal  # slow to import

        _, density = signal.welch(values, fs=self.rate, nperseg=self.segment, window="hann", detrend="constant")
        return np.maximum.reduceat(density[1:], self._starts)

    def described(self) -> dict[str, Any]:
        """Return what the page says about the method."""
        if self.note:
            return {"note": self.note}
        return {
            "frequency": packed(np.log10(self.frequency)),
            "segment_s": self.segment / self.rate,
            "averaged": self.averaged,
            "channels": {},
        }


def rose(first: FloatArray, second: FloatArray, sectors: int = SECTORS) -> dict[str, Any]:
    """Return the resultant of two components by its direction: share of time, mean and greatest in each sector.

    Sector k is centred on the angle k 360/sectors degrees, counted from the first component towards the second. A resultant
    that is zero to rounding points nowhere; the shares are of all samples.
    """
    known = np.isfinite(first) & np.isfinite(second)
    samples = max(int(known.sum()), 1)
    size = np.hypot(first, second)
    known &= size > 1e-9 * np.max(size, where=known, initial=0.0)
    size = size[known]
    width = 2 * np.pi / sectors
    where = np.floor(np.arctan2(second[known], first[known]) / width + 0.5).astype(int) % sectors
    count = np.bincount(where, minlength=sectors)
    total = np.bincount(where, weights=size, minlength=sectors)
    greatest = np.zeros(sectors)
    np.maximum.at(greatest, where, size)
    return {
        "share": [round(float(share), 6) for share in count / samples],
        "mean": [float(mean) for mean in total / np.maximum(count, 1)],
        "max": greatest.tolist(),
    }
