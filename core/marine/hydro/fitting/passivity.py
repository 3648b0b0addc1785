"""Passivity of a memory: at no frequency may it give energy to the hull, Re K(i w) >= 0.

A memory that vanishes at s = 0 and decays like 1/s has a real part like w^2 there and like w^-2 far up; divided by a function
of that shape it is compared at all frequencies alike, the two limits included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import ComplexArray
from kingpost.marine.hydro.fitting.basis import partial_fractions
from kingpost.marine.hydro.response import along_axis

#: Points for each decade, and how far the grid goes below and above the poles.
POINTS, BELOW, ABOVE = 100, 1e-2, 1e2
#: Around minima below this part of the median the curve is looked at with so many points between two neighbours.
DOUBTFUL, CLOSER = 0.1, 101


@dataclass(frozen=True, eq=False)
class PassivityRows:
    """Rows (k, order) that give Re K(i w) over the shape at frequencies (k), of coefficients in the basis of some poles."""

    frequencies: FloatArray
    rows: FloatArray

    def values(self, coefficients: FloatArray) -> FloatArray:
        """Return Re K over the shape (k, m, m) for coefficients (order, m, m)."""
        return np.einsum("kn,nij->kij", self.rows, coefficients)

    def broken(self, coefficients: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
        """Return rows (j, order) and directions (j, m) in which the smallest eigenvalue is a local minimum below a margin."""
        numbers, vectors = lowest(self.values(coefficients))
        found = violations(numbers, margin)
        return self.rows[found], vectors[found]


class Passivity:
    """The condition Re K(i w) >= 0 for memories with given poles: on a grid, and between its frequencies."""

    def __init__(self, poles: ComplexArray, middle: float) -> None:
        self.poles, self.middle = poles, middle
        self.grid = passivity_rows(poles, middle)

    def broken(self, coefficients: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
        """Return rows and directions in which coefficients (order, m, m) break the condition; none say that they keep it."""
        found = self.grid.broken(coefficients, margin)
        return found if len(found[0]) else self._between(coefficients, margin)

    def _between(self, coefficients: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
        """Look around the lowest places of the grid, where the curve may dip between two frequencies."""
        numbers = lowest(self.grid.values(coefficients))[0]
        places = violations(numbers, DOUBTFUL * float(np.median(np.abs(numbers))))
        places = places[(places > 1) & (places < len(numbers) - 2)]
        if not len(places):
            return np.zeros((0, self.grid.rows.shape[1])), np.zeros((0, coefficients.shape[1]))
        w = self.grid.frequencies
        fine = np.unique(np.concatenate([np.linspace(w[k - 1], w[k + 1], CLOSER) for k in places]))
        return PassivityRows(fine, _inside(self.poles, fine, self.middle)).broken(coefficients, margin)


def shape(frequencies: FloatArray, middle: float) -> FloatArray:
    """Return 4 x^2 / (1 + x^2)^2 with x = w / middle: 1 in the middle, as a real part falls off on both sides."""
    x = frequencies / middle
    return 4 * x**2 / (1 + x**2) ** 2


def passivity_rows(poles: ComplexArray, middle: float) -> PassivityRows:
    """Return the rows on a grid that is fine around every pole, and for both limits of the frequency."""
    w = _grid(poles)
    # K(s) = -sum r / p^(m+1) s^m around zero, so Re K = w^2 sum r / p^3; far up Re K = -sum r p / w^2.
    low, high = _sums(poles, -3) * middle**2 / 4, -_sums(poles, 1) / (4 * middle**2)
    return PassivityRows(np.concatenate([[0.0], w, [np.inf]]), np.vstack([low, _inside(poles, w, middle), high]))


def _inside(poles: ComplexArray, w: FloatArray, middle: float) -> FloatArray:
    return partial_fractions(poles, along_axis(w)).real / shape(w, middle)[:, None]


def _grid(poles: ComplexArray) -> FloatArray:
    size = np.abs(poles)
    low, high = BELOW * size.min(), ABOVE * size.max()
    even = np.geomspace(low, high, int(POINTS * np.log10(high / low)))
    near = [abs(p.imag) + abs(p.real) * np.linspace(-3, 3, 61) for p in poles]
    every = np.concatenate([even, *near])
    return np.unique(every[every > low])


def _sums(poles: ComplexArray, power: int) -> FloatArray:
    """Return the row of sum r p^power over all poles and their conjugates."""
    row = []
    for p in poles:
        value = complex(p) ** power
        row += [2 * value.real, -2 * value.imag] if p.imag > 0 else [value.real]
    return np.array(row)


def lowest(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest eigenvalue of every matrix (k) and its eigenvector (k, m)."""
    numbers, vectors = np.linalg.eigh(values)
    return numbers[:, 0], vectors[:, :, 0]


def violations(numbers: FloatArray, margin: float) -> NDArray[np.intp]:
    """Return which of the smallest eigenvalues are local minima below a margin."""
    padded = np.concatenate([[np.inf], numbers, [np.inf]])
    return np.flatnonzero((numbers < margin) & (numbers <= padded[:-2]) & (numbers <= padded[2:]))
