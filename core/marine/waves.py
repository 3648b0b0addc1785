"""Sea states: the JONSWAP spectrum, and wave components whose sum has it.

>>> components = jonswap(hs=2.5, tp=9.0, components=50, seed=1)
>>> len(components), round(sum(a**2 / 2 for a, _, _ in components), 12) == round(2.5**2 / 16, 12)
(50, True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError

#: Width of the peak below and above the peak frequency.
NARROW, WIDE = 0.07, 0.09
#: Frequencies are found on a grid of this many points, with an error of its spacing squared.
GRID = 20001


def jonswap_density(frequency: FloatArray | float, hs: float, tp: float, gamma: float = 3.3) -> FloatArray:
    """Return the energy density of the elevation in m^2 s/rad.

    The shape is w^-5 exp(-5/4 (w / wp)^-4) gamma^exp(-(w / wp - 1)^2 / (2 s^2)) with s = 0.07 up to the peak and 0.09
    beyond, scaled so that its integral is hs^2 / 16, exactly and not by the usual approximation 1 - 0.287 ln gamma.

    Parameters
    ----------
    frequency
        Circular frequency in rad/s.
    hs
        Significant wave height in m.
    tp
        Period of the peak in s.
    gamma
        Peakedness: 1 is a Pierson-Moskowitz spectrum, 3.3 the mean of the JONSWAP measurements.

    """
    _check(hs, tp, gamma)
    peak = 2 * math.pi / tp
    density: FloatArray = hs**2 / 16 / peak * _shape(np.asarray(frequency, dtype=float) / peak, gamma) / _area(gamma)
    return density


def jonswap(
    hs: float,
    tp: float,
    gamma: float = 3.3,
    *,
    components: int = 50,
    seed: int = 0,
    lowest: float = 0.5,
    highest: float = 4.0,
) -> tuple[tuple[float, float, float], ...]:
    """Return wave components (amplitude in m, circular frequency in rad/s, phase in rad) of a JONSWAP sea.

    Every component carries the same energy: the spectrum between ``lowest`` and ``highest`` times the peak frequency is cut
    into bands of equal energy, and each component stands at the frequency that halves the energy of its band. The frequencies
    are not multiples of one another, so the sea does not repeat itself in a run, unlike one with even spacing. The sum
    of a^2 / 2 is hs^2 / 16; what lies outside the limits, by default less than 0.5 % of the energy, is shared out.

    Phases are drawn from ``seed``, evenly between 0 and 2 pi: the same seed gives the same sea. Further arguments are those of
    :func:`jonswap_density`.
    """
    _check(hs, tp, gamma)
    if components < 1:
        raise MechanismError(f"jonswap: components is {components}; there must be at least one")
    if not 0 < lowest < 1 < highest:
        raise MechanismError(
            f"jonswap: lowest is {lowest:g} and highest {highest:g} times the peak frequency; the peak, 1, must be between them"
        )
    grid = np.linspace(lowest, highest, GRID)
    shape = _shape(grid, gamma)
    energy = np.concatenate([[0.0], np.cumsum((shape[1:] + shape[:-1]) / 2)])
    middles = (np.arange(components) + 0.5) / components
    frequencies = 2 * math.pi / tp * np.interp(middles, energy / energy[-1], grid)
    phases = np.random.default_rng(seed).uniform(0, 2 * math.pi, components)
    amplitude = hs / math.sqrt(8 * components)
    return tuple((amplitude, float(frequency), float(phase)) for frequency, phase in zip(frequencies, phases, strict=True))


def transfer_at(
    components: Sequence[tuple[float, float, float]],
    frequencies: ArrayLike,
    transfer: ArrayLike,
    transfer_phase: ArrayLike = 0.0,
) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Return ``transfer`` and ``transfer_phase`` of a wave-excitation force for wave components between tabulated frequencies.

    Real and imaginary parts are interpolated linearly, so phases that jump by 2 pi in the table do no harm. A component outside
    the table is refused.

    Parameters
    ----------
    components
        As :func:`jonswap` returns them.
    frequencies
        Circular frequencies of the table in rad/s, rising (n).
    transfer, transfer_phase
        Magnitudes (N/m, N m/m) and phases (rad) for surge to yaw (n, 6).

    """
    table, size, phase = (np.asarray(given, dtype=float) for given in (frequencies, transfer, transfer_phase))
    rising = table.ndim == 1 and len(table) > 1 and bool((np.diff(table) > 0).all())
    if not rising or size.shape != (len(table), 6) or phase.shape not in ((), size.shape):
        raise MechanismError(
            "transfer_at: expected at least two rising frequencies, and a row of six magnitudes and phases for each; got "
            f"shapes {table.shape}, {size.shape} and {phase.shape}{'' if rising else '; the frequencies do not rise'}"
        )
    values = size * np.exp(1j * phase)
    waves = np.array([frequency for _, frequency, _ in components])
    outside = waves[(waves < table[0]) | (waves > table[-1])]
    if len(outside):
        raise MechanismError(
            f"transfer_at: wave components outside the table: {len(outside)}, the first at {outside[0]:.4g} rad/s; it goes "
            f"from {table[0]:.4g} to {table[-1]:.4g} rad/s; extend it, or narrow the sea by 'lowest' and 'highest'"
        )
    found = np.array([np.interp(waves, table, column.real) + 1j * np.interp(waves, table, column.imag) for column in values.T])
    rows = {"transfer": np.abs(found).T, "transfer_phase": np.angle(found).T}
    return {name: tuple(tuple(map(float, row)) for row in numbers) for name, numbers in rows.items()}


def _shape(x: FloatArray, gamma: float) -> FloatArray:
    """Return the spectrum over the frequency as a multiple of the peak's, up to a factor; zero at and below frequency zero."""
    safe = np.where(x > 0, x, 1.0)
    width = np.where(x <= 1, NARROW, WIDE)
    shape = safe**-5.0 * np.exp(-1.25 * safe**-4.0) * gamma ** np.exp(-((safe - 1) ** 2) / (2 * width**2))
    return np.where(x > 0, shape, 0.0)


@lru_cache(maxsize=64)
def _area(gamma: float) -> float:
    """Return the integral of the shape: 1/5 by closed form without the peak, and what the peak adds by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    added = 0.0
    # Beyond ten widths the peak adds nothing that a double could hold.
    for low, high in ((1 - 10 * NARROW, 1.0), (1.0, 1 + 10 * WIDE)):
        x = (low + high) / 2 + (high - low) / 2 * nodes
        added += (high - low) / 2 * float(weights @ (_shape(x, gamma) - _shape(x, 1.0)))
    return 0.2 + added


def _check(hs: float, tp: float, gamma: float) -> None:
    for name, value, unit in (("hs", hs, " m"), ("tp", tp, " s")):
        if not (math.isfinite(value) and value > 0):
            raise MechanismError(f"jonswap: {name} is {value:g}{unit}; it must be a positive number")
    if not (math.isfinite(gamma) and 1 <= gamma <= 20):
        raise MechanismError(f"jonswap: gamma is {gamma:g}; use 1 (Pierson-Moskowitz) to 20, usually 1 to 7")
