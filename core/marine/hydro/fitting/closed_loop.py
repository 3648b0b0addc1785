"""A hull with its memory as one linear system: its roots, and how it comes to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import ComplexArray
from kingpost.marine.hydro.fitting.memory import Memory

#: Surge, sway and yaw have no restoring of their own; soft springs with this period (s) hold them where roots are looked for.
SOFT = 100.0
HORIZONTAL = (0, 1, 5)


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """(M + A_inf) x'' + D x' + F + C x = 0 with the memory's force F; the state is x, x' and the memory's states."""

    memory: Memory
    mass: FloatArray
    stiffness: FloatArray
    damping: FloatArray

    @property
    def matrix(self) -> FloatArray:
        """The matrix of the linear system."""
        A, B, C = self.memory.state_space()
        total = np.linalg.inv(self.mass + self.memory.added_mass_inf)
        n = len(A)
        return np.block(
            [
                [np.zeros((6, 6)), np.eye(6), np.zeros((6, n))],
                [-total @ self.stiffness, -total @ self.damping, -total @ C],
                [np.zeros((n, 6)), B, A],
            ]
        )

    @property
    def roots(self) -> ComplexArray:
        """Its eigenvalues, found with motions and states of like size."""
        return np.linalg.eigvals(self.matrix).astype(complex)

    def decay(self, start: FloatArray, times: FloatArray) -> FloatArray:
        """Return motions (k, 6) after the hull is let go from ``start`` at rest, at evenly spaced times."""
        from scipy.linalg import expm

        step = expm(self.matrix * (times[1] - times[0]))
        x = np.concatenate([start, np.zeros(len(step) - 6)])
        found = np.empty((len(times), 6))
        for k in range(len(times)):
            found[k] = x[:6]
            x = step @ x
        return found


def held(mass: FloatArray, stiffness: FloatArray, period: float = SOFT) -> FloatArray:
    """Return a restoring matrix with soft springs for those horizontal motions that it leaves free."""
    found = stiffness.copy()
    for i in HORIZONTAL:
        if not found[i, i] > 0:
            found[i, i] = mass[i, i] * (2 * np.pi / period) ** 2
    return found


def damping_ratio(root: complex) -> float:
    """Return the damping of a root relative to the critical one; negative grows."""
    return -root.real / abs(root) if root else 0.0
