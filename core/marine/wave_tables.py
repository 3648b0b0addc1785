"""What waves do to a hull, tabulated over frequencies and headings: wave forces, motions, drift."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.marine.components import WaveComponents
from kingpost.marine.interpolation import TURN, periodic_weights, weights

ComplexArray = NDArray[np.complex128]
#: How a table goes on outside of its frequencies: as forces, as motions, or as mean drift do.
Kind = Literal["force", "motion", "drift"]
#: Sway, roll and yaw: what changes its sign when port and starboard are exchanged.
ACROSS = (1, 3, 5)
#: Headings further apart than this (rad) leave too much open between them.
WIDEST_GAP = math.radians(45.0) * (1 + 1e-9)
#: What a symmetric hull may have across its middle plane in waves along it, as a part of the most it has at any heading.
ACROSS_ROUNDING = 0.02
#: Above its last frequency a force fades out within this part of it.
FADE = 0.2
ANGLE_ROUNDING = 1e-6
KEYS = ("frequencies", "headings", "real", "imaginary")


@dataclass(frozen=True, eq=False)
class WaveTable:
    """Six complex numbers per metre of amplitude (drift: per square metre) over frequencies and headings.

    The conventions are those of :class:`kingpost.marine.hydro.data.HydroData`: exp(+i w t), so that positive phases lead the
    crest at the reference point; headings in rad, where waves go to from the hull's x axis towards port.

    Parameters
    ----------
    frequencies, headings
        In rad/s (n), positive and rising, and in rad (m), within one turn.
    values
        Surge, sway, heave, roll, pitch, yaw (n, m, 6).
    kind
        How it goes on outside of its frequencies. Below, forces and motions go to zero with the frequency but for the
        real part of heave, which stays, as do motions in surge and sway; above they fade out. Drift is zero below and stays
        above.

    """

    frequencies: FloatArray
    headings: FloatArray
    values: ComplexArray
    kind: Kind = "force"
    #: What plain data of it must hold.
    REQUIRED_KEYS: ClassVar[tuple[str, ...]] = ("frequencies", "headings", "real")

    def __post_init__(self) -> None:
        w, b = (np.asarray(given, dtype=float) for given in (self.frequencies, self.headings))
        values = np.asarray(self.values, dtype=complex)
        if w.ndim != 1 or b.ndim != 1 or values.shape != (len(w), len(b), 6) or len(w) < 2:
            raise MechanismError(
                f"a table over waves has at least two frequencies, headings, and six numbers for each pair; got shapes "
                f"{w.shape}, {b.shape} and {values.shape}"
            )
        if not (np.isfinite(w).all() and np.isfinite(b).all() and np.isfinite(values).all()):
            raise MechanismError("a table over waves holds a number that is not finite")
        if not (w[0] > 0 and (np.diff(w) > 0).all()):
            raise MechanismError("the frequencies of a table over waves must be positive and rise")
        order = np.argsort(np.mod(b, TURN), kind="stable")
        b, values = np.mod(b, TURN)[order], values[:, order]
        twice = np.flatnonzero(np.diff(b) < ANGLE_ROUNDING)
        if len(twice):
            raise MechanismError(f"the table has heading {math.degrees(b[twice[0]]):g} degrees twice (0 and 360 are the same)")
        for name, array in (("frequencies", w), ("headings", b), ("values", values)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def from_data(cls, data: Any) -> WaveTable:
        """Return the table in plain data: frequencies, headings, and real and imaginary parts of the values."""
        if isinstance(data, WaveTable):
            return data
        if not isinstance(data, Mapping):
            raise MechanismError(f"expected a table with {listed(KEYS)}, got {data!r:.60}")
        for key in data:
            if key not in (*KEYS, "kind"):
                raise MechanismError(f"a table over waves has no '{key}'{closest(key, KEYS)} It takes: {listed(KEYS)}.")
        for key in cls.REQUIRED_KEYS:
            if key not in data:
                raise MechanismError(f"a table over waves lacks '{key}'; it takes {listed(KEYS)}")
        real = np.array(data["real"], dtype=float)
        imaginary = np.array(data.get("imaginary", np.zeros_like(real)), dtype=float)
        if real.shape != imaginary.shape:
            raise MechanismError(f"real and imaginary parts have shapes {real.shape} and {imaginary.shape}; they must be equal")
        return cls(
            np.array(data["frequencies"], dtype=float), np.array(data["headings"], dtype=float), real + 1j * imaginary,
            data.get("kind", "force"),
        )  # fmt: skip

    def plain_data(self) -> dict[str, Any]:
        """Return it as plain data, for the options of a force."""
        return {
            "frequencies": self.frequencies.tolist(),
            "headings": self.headings.tolist(),
            "real": self.values.real.tolist(),
            "imaginary": self.values.imag.tolist(),
            "kind": self.kind,
        }

    @cached_property
    def _mirrored(self) -> tuple[FloatArray, ComplexArray]:
        """Headings and values around the whole turn where data for one side of a symmetric hull say them."""
        b, values = self.headings, self.values
        ends = len(b) > 1 and b[0] < ANGLE_ROUNDING and abs(b[-1] - math.pi) < ANGLE_ROUNDING
        if not ends:
            return b, values
        across = np.abs(values[:, :, ACROSS])
        most = across.max(axis=(0, 1))
        if (across[:, [0, -1]].max(axis=(0, 1)) > ACROSS_ROUNDING * most).any():
            return b, values
        sign = np.ones(6)
        sign[list(ACROSS)] = -1.0
        inner = np.arange(1, len(b) - 1)[::-1]
        return np.concatenate([b, TURN - b[inner]]), np.concatenate([values, values[:, inner] * sign], axis=1)

    @property
    def around(self) -> bool:
        """Whether it holds headings all around, with no gap that would be too wide."""
        b = self._mirrored[0]
        return bool(np.diff(np.append(b, b[0] + TURN)).max() <= WIDEST_GAP)

    def at(self, frequency: FloatArray, direction: FloatArray) -> ComplexArray:
        """Return the values (N, 6) for waves of some frequencies (rad/s) and directions (rad), interpolated by cubics."""
        _, values = self._mirrored
        along = weights(self.frequencies, frequency)
        around = self._heading_weights(np.asarray(direction, dtype=float))
        found = np.einsum("jn,jm,nmk->jk", along, around, values, optimize=True)
        return self._outside(frequency, found)

    def outside(self, waves: WaveComponents) -> float:
        """Return which part of the energy of some waves lies outside of its frequencies."""
        energy = waves.amplitude**2
        out = (waves.frequency < self.frequencies[0]) | (waves.frequency > self.frequencies[-1])
        whole = float(energy.sum())
        return float(energy[out].sum()) / whole if whole else 0.0

    def check(self, waves: WaveComponents, limit: float) -> None:
        """Refuse waves of which more than a part of the energy lies outside of its frequencies."""
        part = self.outside(waves)
        if part > limit:
            low, high = self.frequencies[0], self.frequencies[-1]
            energy = waves.amplitude**2 / np.sum(waves.amplitude**2)
            below = 100 * float(energy[waves.frequency < low].sum())
            above = 100 * float(energy[waves.frequency > high].sum())
            raise MechanismError(
                f"{100 * part:.3g} % of the energy of the sea lies outside of the table's frequencies, {low:.4g} to {high:.4g} "
                f"rad/s ({below:.3g} % below, {above:.3g} % above); {100 * limit:g} % are allowed. Get data for more "
                "frequencies, or raise 'outside', the part that is allowed"
            )

    def _heading_weights(self, direction: FloatArray) -> FloatArray:
        b, _ = self._mirrored
        if self.around:
            return periodic_weights(b, direction)
        gap = np.diff(b)
        # Headings that do not go around are a stretch, which begins after the widest gap.
        first = (int(np.argmax(np.append(gap, b[0] + TURN - b[-1]))) + 1) % len(b)
        order = np.roll(np.arange(len(b)), -first)
        stretch = b[order[0]] + np.mod(b[order] - b[order[0]], TURN)
        # An angle a hair below the first one is the first one.
        inside = stretch[0] - ANGLE_ROUNDING + np.mod(direction - stretch[0] + ANGLE_ROUNDING, TURN)
        outside = inside > stretch[-1] + ANGLE_ROUNDING
        if outside.any():
            wrong = math.degrees(float(direction[outside][0]))
            raise MechanismError(
                f"waves go to {wrong:.4g} degrees from the hull's x axis, and the table has headings from "
                f"{_degrees(stretch[0]):.4g} to {_degrees(stretch[-1]):.4g} only; "
                "get data for this heading, or for 0 to 180 degrees of a symmetric hull"
            )
        between = np.clip(np.searchsorted(stretch, inside) - 1, 0, max(len(stretch) - 2, 0))
        wide = between[np.append(np.diff(stretch), 0.0)[between] > WIDEST_GAP]
        if len(wide):
            i = int(wide[0])
            raise MechanismError(
                f"the table has no heading between {_degrees(stretch[i]):.4g} and {_degrees(stretch[i + 1]):.4g} "
                "degrees; a gap must not be wider than 45 degrees"
            )
        found = np.zeros((len(direction), len(b)))
        found[:, order] = weights(stretch, inside)
        return found

    def _outside(self, frequency: FloatArray, found: ComplexArray) -> ComplexArray:
        low, high = self.frequencies[0], self.frequencies[-1]
        below, above = (frequency < low)[:, None], (frequency > high)[:, None]
        if self.kind == "drift":
            return np.where(below, 0.0, found)
        part = np.minimum(frequency / low, 1.0)[:, None]
        kept = found * part
        kept[:, 2] = found[:, 2].real + 1j * found[:, 2].imag * part[:, 0]
        if self.kind == "motion":
            kept[:, :2] = found[:, :2]
        found = np.where(below, kept, found)
        fading = np.clip(1 - (frequency - high) / (FADE * high), 0.0, 1.0)[:, None]
        return np.where(above, found * fading**2 * (3 - 2 * fading), found)


def _degrees(angle: float) -> float:
    """Return an angle within one turn, in degrees, without the rounding of its radians."""
    return round(math.degrees(angle), 9) % 360.0


def wave_table(data: Any, field: Literal["excitation", "motions", "drift"]) -> WaveTable:
    """Return wave forces, motions or mean drift of hydrodynamic data (:class:`kingpost.marine.hydro.data.HydroData`).

    Parts of the drift that are not known count as zero.
    """
    values = getattr(data, field)
    words: dict[str, tuple[str, Kind]] = {
        "excitation": ("wave forces", "force"), "motions": ("motions in waves", "motion"), "drift": ("mean drift", "drift"),
    }  # fmt: skip
    what, kind = words[field]
    if values is None:
        place = f" ({data.source})" if data.source else ""
        raise MechanismError(f"the hydrodynamic data of '{data.name}'{place} hold no {what}")
    known = np.nan_to_num(np.asarray(values), nan=0.0) if field == "drift" else values
    return WaveTable(data.frequencies, data.headings, known, kind)


def wave_number(frequency: FloatArray | float, depth: float = math.inf, gravity: float = 9.81) -> FloatArray:
    """Return wave numbers k (1/m) for frequencies (rad/s): w^2 = g k tanh(k h), solved by Newton's method to rounding."""
    w = np.asarray(frequency, dtype=float)
    deep = w**2 / gravity
    if not depth > 0:
        raise MechanismError(f"the depth of the water is {depth:g} m; it must be positive, or infinite")
    if math.isinf(depth):
        return deep
    a = deep * depth
    # Eckart's start is within five per cent everywhere; each step of Newton's squares that.
    x = a / np.sqrt(np.tanh(np.maximum(a, 1e-300)))
    for _ in range(6):
        th = np.tanh(x)
        x = x - (x * th - a) / (th + x * (1 - th**2))
    found: FloatArray = np.where(w > 0, x / depth, 0.0)
    return found
