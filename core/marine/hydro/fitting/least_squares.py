"""Least squares with inequalities, as a least-distance problem (C. L. Lawson, R. J. Hanson, Solving Least Squares Problems)."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError


class ConstrainedLeastSquares:
    """Smallest |A x - b| with G x >= h, for one A and b and growing G and h."""

    def __init__(self, A: FloatArray, b: FloatArray) -> None:
        self.scale = np.linalg.norm(A, axis=0)
        self.scale[self.scale == 0] = 1.0
        Q, self.R = np.linalg.qr(A / self.scale)
        self.c = Q.T @ b

    def free(self) -> FloatArray:
        """Return the solution without inequalities."""
        return np.linalg.solve(self.R, self.c) / self.scale

    def within(self, G: FloatArray, h: FloatArray) -> FloatArray:
        """Return the solution with G x >= h.

        With z = R x - c it is the smallest z with (G R^-1) z >= h - G R^-1 c, and that is the residual of a non-negative least
        squares problem (Lawson and Hanson, chapter 23).
        """
        from scipy.optimize import nnls  # slow to import

        over = np.linalg.solve(self.R.T, (G / self.scale).T).T
        size = np.linalg.norm(over, axis=1)
        E = np.vstack([(over / size[:, None]).T, (h - over @ self.c) / size])
        f = np.zeros(len(E))
        f[-1] = 1.0
        u, distance = nnls(E, f, maxiter=50 * E.shape[1])
        if distance < 1e-12:
            raise SolverError(f"the {len(h)} conditions of passivity contradict each other; other poles are needed")
        r = E @ u - f
        return np.linalg.solve(self.R, -r[:-1] / r[-1] + self.c) / self.scale
