"""Sea states: the JONSWAP spectrum, and wave components whose sum has it.

>>> components = jonswap(hs=2.5, tp=9.0, components=50, seed=1)
>>> len(components), round(sum(a**2 / 2 for a, _, _ in components), 12) == round(2.5**2 / 16, 12)
(50, True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.bands import make_bands
from kingpost.marine.draws import PHASES, draws
from kingpost.marine.given_spectra import Between
from kingpost.marine.spectra import Jonswap, Spectrum


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
    return Jonswap(hs, tp, gamma).density(frequency)


def jonswap(
    hs: float,
    tp: float,
    gamma: float = 3.3,
    *,
    components: int = 50,
    seed: int = 0,
    lowest: float | None = None,
    highest: float | None = None,
) -> tuple[tuple[float, float, float], ...]:
    """Return wave components (amplitude in m, circular frequency in rad/s, phase in rad) of a JONSWAP sea.

    The spectrum is cut into bands of equal energy, wide ones into narrower bands (:func:`kingpost.marine.bands.make_bands`);
    each component has the energy of its band and stands at sqrt(m2 / m0) of it. Height and zero-crossing period are so those
    of the whole spectrum, for any number of components. The frequencies are not multiples of one another, so the sea does not
    repeat itself in a run, unlike one with even spacing. With ``lowest`` or ``highest``, in parts of the peak frequency, what
    lies outside is left out and its energy shared out, which changes the period.

    Phases are drawn from ``seed``, evenly between 0 and 2 pi: the same seed gives the same sea. Further arguments are those of
    :func:`jonswap_density`.
    """
    spectrum: Spectrum = Jonswap(hs, tp, gamma)
    if components < 1:
        raise MechanismError(f"jonswap: components is {components}; there must be at least one")
    low, high = 0.0 if lowest is None else lowest, math.inf if highest is None else highest
    if not 0 <= low < 1 < high:
        raise MechanismError(
            f"jonswap: lowest is {low:g} and highest {high:g} times the peak frequency; the peak, 1, must be between them"
        )
    if low or high < math.inf:
        spectrum = Between(spectrum, low * spectrum.peak, high * spectrum.peak)
    bands = make_bands(spectrum, components)
    phases = 2 * math.pi * draws(seed, PHASES, components)
    columns = np.sqrt(2 * bands.energy), bands.frequency, phases
    return tuple((float(a), float(w), float(e)) for a, w, e in zip(*columns, strict=True))


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
