"""Common poles of several transfer functions by vector fitting.

B. Gustavsen, A. Semlyen, Rational approximation of frequency domain responses by vector fitting, IEEE Trans. Power Delivery
14 (1999) 1052-1061; with the elimination of D. Deschrijver et al., IEEE Microw. Wireless Compon. Lett. 18 (2008) 383-385: the
coefficients of each function are removed by a QR decomposition, only those of sigma(s) are solved for.
"""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import ComplexArray
from kingpost.marine.hydro.fitting.basis import as_pairs, partial_fractions, relocation_matrix
from kingpost.marine.hydro.response import along_axis, as_complex

#: Poles that move by less than this, relative to their size, have settled.
SETTLED = 1e-6
ROUNDS = 25


def relocated(
    poles: ComplexArray, frequencies: FloatArray, functions: ComplexArray, weights: FloatArray, rounds: int = ROUNDS
) -> ComplexArray:
    """Return poles for ``functions`` (entries, n) that vanish at s = 0 and may have a term e s, weighted (entries, n)."""
    s = along_axis(frequencies)
    for _ in range(rounds):
        found = _once(poles, s, functions, weights)
        settled = len(found) == len(poles) and np.abs(found - poles).max() < SETTLED * np.abs(poles).max()
        poles = found
        if settled:
            break
    return poles


def _once(poles: ComplexArray, s: ComplexArray, functions: ComplexArray, weights: FloatArray) -> ComplexArray:
    basis, at_zero = partial_fractions(poles, s), partial_fractions(poles, np.zeros(1, complex)).real
    order = basis.shape[1]
    left, right = [], []
    for function, weight in zip(functions, weights, strict=True):
        # sigma K = sum c phi + e s, with sigma = 1 + sum d phi: rows [phi, s, -K phi] (c, e, d) = K.
        own = np.hstack([basis, (s / np.abs(s).max())[:, None], -function[:, None] * basis]) * weight[:, None]
        rows = np.vstack([own.real, own.imag, _zero_row(at_zero, own)])
        target = np.concatenate([(weight * function).real, (weight * function).imag, [0.0]])
        Q, R = np.linalg.qr(rows)
        left.append(R[order + 1 :, order + 1 :])
        right.append(Q[:, order + 1 :].T @ target)
    A = np.vstack(left)
    scale = np.linalg.norm(A, axis=0)
    d = np.linalg.lstsq(A / scale, np.concatenate(right), rcond=None)[0] / scale
    own_A, b = relocation_matrix(poles)
    return as_pairs(as_complex(np.linalg.eigvals(own_A - np.outer(b, d))))


def _zero_row(at_zero: FloatArray, rows: ComplexArray) -> FloatArray:
    """Return the row that asks for K(0) = 0, as heavy as all others together."""
    order = at_zero.shape[1]
    row = np.zeros((1, rows.shape[1]))
    row[0, :order] = at_zero[0] * np.linalg.norm(np.abs(rows[:, :order])) / max(np.linalg.norm(at_zero), 1e-300)
    return row
