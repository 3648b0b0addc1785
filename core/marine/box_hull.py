"""Wave forces on a box in closed form: what the pressure of undisturbed waves does to it (Froude and Krylov)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.numbers import finite
from kingpost.marine.components import WaveComponents
from kingpost.marine.wave_tables import wave_number

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True)
class BoxHull:
    """A box in deep water: ``length``, ``beam`` and ``draft`` in m, about the waterline amidships.

    The hull is taken to leave the waves as they are, which holds for waves that are long against its beam. What it gives is the
    wrench per metre of amplitude over density times gravity: m^2 for forces, m^3 for moments.
    """

    length: float
    beam: float
    draft: float
    #: What plain data of it must hold.
    REQUIRED_KEYS: ClassVar[tuple[str, ...]] = ("length", "beam", "draft")

    def __post_init__(self) -> None:
        for field in fields(self):
            value = finite(getattr(self, field.name))
            if value is None or not value > 0:
                raise MechanismError(f"{field.name} of a box is {getattr(self, field.name)!r}; it must be a positive number")
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_data(cls, data: Any) -> BoxHull:
        """Return the box in plain data: length, beam and draft."""
        if isinstance(data, BoxHull):
            return data
        keys = [field.name for field in fields(cls)]
        if not isinstance(data, Mapping):
            raise MechanismError(f"expected {listed(keys)} of a box, got {data!r}")
        for key in data:
            if key not in keys:
                raise MechanismError(f"a box has no '{key}'{closest(key, keys)} It takes: {listed(keys)}.")
        missing = [key for key in keys if key not in data]
        if missing:
            raise MechanismError(f"a box lacks '{missing[0]}'; it takes {listed(keys)}")
        return cls(**data)

    def plain_data(self) -> dict[str, float]:
        """Return it as plain data, for the options of a force."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def at(self, frequency: FloatArray, direction: FloatArray) -> ComplexArray:
        """Return the six numbers (N, 6) for waves of some frequencies (rad/s) and directions (rad)."""
        k = np.asarray(wave_number(frequency), dtype=float)
        ahead, abeam = np.cos(direction), np.sin(direction)
        L, B, T = self.length, self.beam, self.draft
        kx, ky = k * ahead, k * abeam
        A, C = kx * L / 2, ky * B / 2
        plane = L * B * _mean(A) * _mean(C)
        bottom = np.exp(-k * T)
        # Integrals of exp(kz) and of z exp(kz) over the draft.
        deep, lever = -np.expm1(-k * T), -(1 - bottom * (1 + k * T))
        along, across = L**3 * B / 12 * _slope(A) * _mean(C), L * B**3 / 12 * _mean(A) * _slope(C)
        found = np.empty((len(k), 6), dtype=complex)
        found[:, 0] = 1j * ahead * plane * deep
        found[:, 1] = 1j * abeam * plane * deep
        found[:, 2] = plane * bottom
        found[:, 3] = -1j * (ky * across * bottom + abeam * plane * lever / k)
        found[:, 4] = 1j * (kx * along * bottom + ahead * plane * lever / k)
        found[:, 5] = deep / k * kx * ky * (along - across)
        return found

    def outside(self, waves: WaveComponents) -> float:
        """Return which part of the energy of some waves it cannot tell of: none."""
        return 0.0

    def check(self, waves: WaveComponents, limit: float) -> None:
        """Accept all waves: a closed form has no end."""


def _mean(x: FloatArray) -> FloatArray:
    """Return sin(x) / x."""
    return np.sinc(x / math.pi)


def _slope(x: FloatArray) -> FloatArray:
    """Return 3 (sin x - x cos x) / x^3, by its series where the difference would lose digits."""
    small = np.abs(x) < 0.03
    y = np.where(small, 1.0, x)
    found: FloatArray = np.where(small, 1 - x**2 / 10 + x**4 / 280, 3 * (np.sin(y) - y * np.cos(y)) / y**3)
    return found
