"""Waves from about one direction: how the energy of a sea is spread over headings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.marine.draws import DIRECTIONS, draws

#: Points at which the share of the energy below an angle is tabulated; between them it is straight.
POINTS = 20001


@dataclass(frozen=True)
class Spreading:
    """A law of spreading: ``power`` is s of cos^2s(angle / 2), or n of cos^n(angle); the larger, the narrower."""

    law: str
    power: float
    #: The half of the range, in rad, by law.
    RANGES: ClassVar[dict[str, float]] = {"cos2s": math.pi, "cosn": math.pi / 2}

    def __post_init__(self) -> None:
        if self.law not in self.RANGES:
            raise MechanismError(f"spreading by '{self.law}' is not known; use cos2s or cosn")
        if not (math.isfinite(self.power) and 0 < self.power <= 1000):
            raise MechanismError(f"spreading: the power of {self.law} is {self.power:g}; use 0 to 1000, usually 1 to 30")

    @property
    def half_range(self) -> float:
        """The largest angle from the mean direction, in rad."""
        return self.RANGES[self.law]

    def density(self, angle: FloatArray | float) -> FloatArray:
        """Return the share of the energy per rad at angles from the mean direction, in rad."""
        angle = np.asarray(angle, dtype=float)
        if self.law == "cos2s":
            s = self.power
            factor = math.exp(math.lgamma(s + 1) - math.lgamma(s + 0.5)) / (2 * math.sqrt(math.pi))
            base, power = np.cos(angle / 2), 2 * s
        else:
            n = self.power
            factor = math.exp(math.lgamma(1 + n / 2) - math.lgamma(0.5 + n / 2)) / math.sqrt(math.pi)
            base, power = np.cos(angle), n
        with np.errstate(under="ignore"):
            return np.where(np.abs(angle) <= self.half_range, factor * np.maximum(base, 0.0) ** power, 0.0)

    @cached_property
    def _shares(self) -> tuple[FloatArray, FloatArray]:
        angles = np.linspace(-self.half_range, self.half_range, POINTS)
        density = self.density(angles)
        below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        return below / below[-1], angles

    def angle(self, share: FloatArray) -> FloatArray:
        """Return the angles in rad below which these shares of the energy lie."""
        return np.interp(share, *self._shares)

    def angles(self, energies: FloatArray, seed: int) -> FloatArray:
        """Return one angle for each wave, so that the energy over angles is that of the law.

        The waves are put in a line in an order drawn by seed. Each takes as much of the law's probability as it has of the
        energy, and stands at the middle of that; waves of equal energy so have strata of equal probability.
        """
        order = np.argsort(draws(seed, DIRECTIONS, len(energies)), kind="stable")
        share = np.empty(len(energies))
        lined = energies[order] / np.sum(energies)
        share[order] = np.cumsum(lined) - lined / 2
        return self.angle(share)
