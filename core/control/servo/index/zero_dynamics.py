"""Zero dynamics: how the internal states move while the path stands still at its end.

Around rest the equations are linear with constant coefficients, and the null space of their derivative array holds all motions
that there are: the states in its part x_0, and their rates in x_1. The eigenvalues of the map from one to the other are the
finite eigenvalues of the pencil (dF/dxdot, dF/dx). A QZ decomposition would find those, too, but among infinite ones that
rounding makes finite: an index of 5 turns 1e-16 into 1e-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import DerivativeArray, ImplicitSystem
from kingpost.control.servo.index.array_index import HIGHEST, Level, level, scaled_jacobian
from kingpost.control.servo.index.points import CONSISTENT, at_rest
from kingpost.control.servo.index.ranks import null_space

#: Real parts up to this part of the largest eigenvalue (or of one over the longest scale of time) are taken for rounding.
ROUNDING = 1e-6


@dataclass(frozen=True)
class ZeroDynamics:
    """The eigenvalues in 1/s around rest, and the index and internal states there."""

    t: float
    index: int
    internal_states: int
    eigenvalues: tuple[complex, ...]

    @property
    def unstable(self) -> tuple[complex, ...]:
        """The eigenvalues of motions that grow."""
        size = max([abs(value) for value in self.eigenvalues], default=0.0)
        return tuple(value for value in self.eigenvalues if value.real > ROUNDING * size)


@dataclass(frozen=True)
class NoRest:
    """Why there are no zero dynamics to speak of."""

    t: float
    sentence: str


def zero_dynamics(system: ImplicitSystem, t: float, x: FloatArray, taus: Sequence[float]) -> ZeroDynamics | NoRest:
    """Return the zero dynamics around rest at a time; ``x`` is a guess of the unknowns there."""
    if ca.depends_on(system.residual, system.t):
        return NoRest(t, "the machine is moved by time itself, so that it has no state of rest and no zero dynamics around one")
    x, left = at_rest(system, t, x)
    if not left < CONSISTENT:
        return NoRest(t, f"no state of rest was found at {t:.6g} s (residual {left:.2e}), so that there are no zero dynamics")
    array = DerivativeArray(system, 0, 1.0)
    n = system.size
    J = array.jacobian(t, np.column_stack([x, np.zeros(n)]), array.signals(t))
    dF_dx, dF_dxdot = J[:, :n], J[:, n:]
    for k in range(1, HIGHEST + 1):
        tower = _tower(dF_dx, dF_dxdot, k)
        found = level(tower, n, 1.0, t, taus)
        if found.determined:
            values = _eigenvalues(tower, found, n)
            # What never changes has an eigenvalue of zero, and is no motion.
            moving = sorted(values, key=abs)[system.invariants :]
            moving.sort(key=lambda value: (-value.real, value.imag))
            return ZeroDynamics(t, k, len(moving), tuple(moving))
    return NoRest(t, f"around rest at {t:.6g} s, no index up to {HIGHEST} was found")


def _tower(dF_dx: FloatArray, dF_dxdot: FloatArray, k: int) -> FloatArray:
    """Return the Jacobian of the derivative array of a linear system, with a scale of time of 1 s."""
    n = len(dF_dx)
    J = np.zeros(((k + 1) * n, (k + 2) * n))
    for i in range(k + 1):
        J[i * n : (i + 1) * n, i * n : (i + 1) * n] = dF_dx
        J[i * n : (i + 1) * n, (i + 1) * n : (i + 2) * n] = dF_dxdot * (i + 1)
    return J


def _eigenvalues(tower: FloatArray, found: Level, n: int) -> tuple[complex, ...]:
    count = found.free
    if not count:
        return ()
    null = null_space(scaled_jacobian(tower, n, found.tau), found.with_states.rank)
    # All derivatives of an unknown have the same scale, which can stay.
    states, rates = null[:n], null[n : 2 * n] / found.tau
    U, values, Vt = np.linalg.svd(states, full_matrices=False)
    motion = U[:, :count].T @ rates @ (Vt[:count].T / values[:count])
    return tuple(complex(value) for value in np.linalg.eigvals(motion))
