"""Momenta of runs in natural coordinates, from their own rates, which satisfy no constraints at nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray

if TYPE_CHECKING:
    from kingpost.results.history import History
    from kingpost.simulation.run import Simulation


def angular_momentum(simulation: Simulation, history: History) -> FloatArray:
    """Return the angular momentum about the origin at all times: q_i x M v_i, summed over points and directors."""
    ours = simulation.equations
    masses = np.asarray(ca.Function("M", [ours.q, ours.p], [ours.M])(np.zeros(ours.nq), simulation.p))
    q, v = history.values[:, : ours.nq], history.values[:, ours.nq : ours.nq + ours.nv]
    count = ours.nv // 3 * 3
    momenta = (v @ masses.T)[:, :count].reshape(len(q), -1, 3)
    moments: FloatArray = np.cross(q[:, :count].reshape(len(q), -1, 3), momenta).sum(axis=1)
    return moments
