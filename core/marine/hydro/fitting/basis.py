"""Partial fractions with real coefficients: what a fit is linear in once its poles are chosen."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import ComplexArray

#: An imaginary part below this part of a pole's modulus is rounding: the pole is real.
REAL = 1e-9
#: Damping ratio that poles have at least: water does not ring.
LEAST_DAMPING = 0.03


def partial_fractions(poles: ComplexArray, s: ComplexArray) -> ComplexArray:
    """Return the basis (k, order): 1 / (s - p) of a real pole; of a pair, what Re r and Im r of its residue multiply."""
    columns = []
    for p in poles:
        one, other = 1 / (s - p), 1 / (s - p.conjugate())
        columns += [one + other, 1j * (one - other)] if p.imag > 0 else [one]
    return np.stack(columns, axis=-1)


def residues_of(poles: ComplexArray, coefficients: FloatArray) -> ComplexArray:
    """Return complex residues (n, ...) of coefficients (order, ...) in the basis."""
    found, row = [], 0
    for p in poles:
        if p.imag > 0:
            found.append(coefficients[row] + 1j * coefficients[row + 1])
            row += 2
        else:
            found.append(coefficients[row] + 0j)
            row += 1
    return np.array(found)


def starting_poles(lowest: float, highest: float, order: int, damping: float = 0.2) -> ComplexArray:
    """Return pairs spread evenly over a band (rad/s), and a real pole in its middle for an odd order."""
    w = np.linspace(lowest, highest, order // 2 + 2)[1:-1] if order > 2 else np.array([(lowest + highest) / 2])
    pairs = w * (-damping + 1j)
    return np.concatenate([pairs, [-(lowest + highest) / 2 + 0j]]) if order % 2 else pairs.astype(complex)


def as_pairs(values: ComplexArray) -> ComplexArray:
    """Return eigenvalues of a real matrix as poles: those on the right flipped, one of each pair, sorted."""
    flipped = -np.abs(values.real) + 1j * values.imag
    flipped = np.minimum(flipped.real, -LEAST_DAMPING * np.abs(values)) + 1j * flipped.imag
    real = np.abs(flipped.imag) < REAL * np.abs(flipped)
    poles = np.concatenate([flipped[real].real + 0j, flipped[~real & (flipped.imag > 0)]])
    return poles[np.argsort(np.abs(poles), kind="stable")]


def relocation_matrix(poles: ComplexArray) -> tuple[FloatArray, FloatArray]:
    """Return A and b of sigma(s) = 1 + d (s - A)^-1 b in the real basis; its zeros are the eigenvalues of A - b d."""
    order = int(np.where(poles.imag > 0, 2, 1).sum())
    A, b, row = np.zeros((order, order)), np.zeros(order), 0
    for p in poles:
        if p.imag > 0:
            A[row : row + 2, row : row + 2] = [[p.real, p.imag], [-p.imag, p.real]]
            b[row] = 2.0
            row += 2
        else:
            A[row, row], b[row] = p.real, 1.0
            row += 1
    return A, b
