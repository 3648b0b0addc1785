"""Wave forces, motions and drift between the rows of their tables, and beyond them.

Between headings, real and imaginary parts follow a cubic spline over the turn (symmetry to port and starboard fills what is
missing; a gap of more than 45 degrees is refused). Between frequencies, wave forces, which are smooth, follow a cubic spline;
motions and drift, which have peaks, follow monotone cubics (PCHIP), which do not overshoot.

Below the lowest frequency w1 they go to what long waves do, as the square of the frequency: lifted water lifts the hull, so the
wrench goes to the heave column of the hydrostatic stiffness, and the motions to those of the water at the surface. Drift goes
to zero. Above the highest frequency wn, wrench and motions go to zero, by half a cosine up to 1.5 wn, and drift keeps its last
value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.marine.hydro.data import ComplexArray, HydroData
from kingpost.marine.hydro.dispersion import wave_number
from kingpost.marine.hydro.headings import full_turn, weights

#: Beyond the table, wave forces end at this multiple of its highest frequency.
END = 1.5


def at_heading(data: HydroData, heading: float) -> HydroData:
    """Return the data with one heading, in rad."""
    whole = full_turn(data)
    share = weights(whole.headings, np.array([float(heading)]))
    changes: dict[str, Any] = {"headings": np.array([float(heading)])}
    for name in ("excitation", "motions", "drift"):
        table = getattr(whole, name)
        changes[name] = None if table is None else _mixed(share, table)
    return replace(data, **changes)


def excitation_at(data: HydroData, frequency: ArrayLike, heading: ArrayLike) -> ComplexArray:
    """Return the wrench per metre of amplitude (k, 6); see :meth:`HydroData.excitation_at`."""
    table = _needed(data, "excitation", "wave forces")
    w, headings = _given(frequency, heading)
    lifted = np.zeros(6) if data.restoring is None else data.restoring[:, 2]
    low = np.broadcast_to(lifted, (len(w), 6)).astype(complex)
    if data.restoring is None:
        # Heave, roll and pitch in phase with the crest is all that long waves leave; the lowest row has it best.
        first = _at_nodes(table, np.full(len(w), data.frequencies[0]), headings)
        low = first.real * np.array([0, 0, 1, 1, 1, 0]) + 0j
    return _tapered(table, w, headings, low, low)


def motions_at(data: HydroData, frequency: ArrayLike, heading: ArrayLike) -> ComplexArray:
    """Return the motions per metre of amplitude (k, 6); see :meth:`HydroData.motions_at`."""
    table = _needed(data, "motions", "motions")
    w, headings = _given(frequency, heading)
    lowest = np.full(len(w), data.frequencies[0])
    water = (water_motion(data, each, headings) for each in (np.minimum(w, lowest), lowest))
    return _tapered(table, w, headings, *water)


def drift_at(data: HydroData, frequency: ArrayLike, heading: ArrayLike) -> FloatArray:
    """Return the mean wrench per square metre of amplitude (k, 6); see :meth:`HydroData.drift_at`."""
    table = _needed(data, "drift", "drift forces")
    w, headings = _given(frequency, heading)
    inside = np.clip(w, data.frequencies[0], data.frequencies[-1])
    shrunk = np.minimum(w / data.frequencies[0], 1.0) ** 2
    return _at_nodes(table, inside, headings).real * shrunk[:, None]


def water_motion(data: HydroData, frequency: FloatArray, heading: FloatArray) -> ComplexArray:
    """Return how a small raft that follows the water moves (k, 6): a long wave's limit of every hull's motion.

    Of eta = Re[exp(i (w t - k (x cos b + y sin b)))] at the origin: the water moves by -i coth(k h) along the wave, 1 upwards,
    and its surface turns by d eta/dy about x and -d eta/dx about y.
    """
    k = wave_number(frequency, data.gravity, data.depth)
    along = -1j / np.tanh(np.minimum(k * data.depth, 50.0))
    cos, sin = np.cos(heading), np.sin(heading)
    still = np.zeros(len(k))
    return np.stack([along * cos, along * sin, still + 1, -1j * k * sin, 1j * k * cos, still], axis=-1)


def _needed(data: HydroData, name: str, words: str) -> HydroData:
    if getattr(data, name) is None:
        raise KingpostError(f"the data of '{data.name}' ({data.source or 'made by hand'}) hold no {words}")
    whole = full_turn(data)
    others: dict[str, Any] = {other: None for other in ("excitation", "motions", "drift") if other != name}
    return replace(whole, **others)


def _given(frequency: ArrayLike, heading: ArrayLike) -> tuple[FloatArray, FloatArray]:
    w, headings = np.broadcast_arrays(np.asarray(frequency, dtype=float), np.asarray(heading, dtype=float))
    if w.ndim > 1 or not np.isfinite(w).all() or not (w > 0).all() or not np.isfinite(headings).all():
        raise KingpostError("frequencies of waves must be positive and finite, and headings finite, in one row of numbers")
    return np.atleast_1d(w), np.atleast_1d(headings)


def _table(data: HydroData) -> NDArray[Any]:
    return next(table for table in (data.excitation, data.motions, data.drift) if table is not None)


def _mixed(share: FloatArray, table: NDArray[Any]) -> NDArray[Any]:
    """Return a table (n, k, 6) at other headings; a heading with no weight does not spoil others by what it lacks."""
    known = np.where(np.isnan(table), 0.0, table)
    mixed = np.einsum("km,nmj->nkj", share, known)
    lacking = np.einsum("km,nmj->nkj", (share != 0).astype(float), np.isnan(table).astype(float)) > 0
    return np.where(lacking, np.nan, mixed)


def _at_nodes(data: HydroData, w: FloatArray, headings: FloatArray) -> NDArray[Any]:
    """Return values (k, 6) for frequencies inside the table."""
    from scipy.interpolate import CubicSpline, PchipInterpolator

    table = _table(data)
    smooth = data.excitation is not None and len(data.frequencies) > 3
    curve = CubicSpline if smooth else PchipInterpolator
    share = weights(data.headings, headings)
    if len(data.frequencies) == 1:
        return _mixed(share, table)[0]
    unknown = np.isnan(table).any(axis=0)
    known = np.where(unknown, 0.0, table)
    rows = curve(data.frequencies, known.real)(w) + 1j * curve(data.frequencies, known.imag)(w)
    found = np.einsum("km,kmj->kj", share, rows)
    lacking = (share != 0).astype(float) @ unknown.astype(float) > 0
    return np.where(lacking, np.nan, found)


def _tapered(data: HydroData, w: FloatArray, headings: FloatArray, low: ComplexArray, low_first: ComplexArray) -> ComplexArray:
    """Return values inside the table and beyond; ``low`` is the long wave's limit at w, ``low_first`` at the lowest row."""
    first, last = data.frequencies[0], data.frequencies[-1]
    found = _at_nodes(data, np.clip(w, first, last), headings)
    share = np.minimum(w / first, 1.0)[:, None] ** 2
    found = np.where(share < 1, low + (found - low_first) * share, found)
    beyond = np.clip((w / last - 1) / (END - 1), 0.0, 1.0)
    result: ComplexArray = found * (0.5 + 0.5 * np.cos(np.pi * beyond))[:, None]
    return result
