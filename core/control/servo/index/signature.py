"""The structural index: Pryce's signature method on 0 = F(t, x, xdot).

The signature of a row and an unknown is the highest derivative of the unknown that stands in the row. An assignment of rows to
unknowns with the largest sum of signatures gives offsets: row i is to be differentiated c_i times, and that determines the
derivative d_j of unknown j; the index is the largest c_i, plus one if some d_j is 0. This is right if the system Jacobian
dF_i / dx_j^(d_j - c_i) is regular, and else it says nothing: in joint coordinates, the overhead crane would have index 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import ImplicitSystem
from kingpost.control.servo.index.ranks import Gap, equilibrated, rank_of
from kingpost.kernel.kernel import Evaluator

#: Signature of an unknown that does not stand in a row, in sums of which it must not be chosen.
ABSENT = -(10**6)
#: Points beside a given one at which entries of Jacobians are looked at, and how far beside it they are: an entry that vanishes
#: at all of them is not there, whatever the symbols say (a damper whose damping is 0).
POINTS, BESIDE = 3, 0.05


@dataclass(frozen=True)
class Signature:
    """The offsets of rows and unknowns, and what follows from them if the system Jacobian is regular."""

    index: int
    row_offsets: tuple[int, ...]
    unknown_offsets: tuple[int, ...]
    #: Where the entries of the system Jacobian are: 1 in dF/dxdot, 0 in dF/dx, -1 nowhere.
    places: tuple[tuple[int, ...], ...]

    def jacobian(self, dF_dx: FloatArray, dF_dxdot: FloatArray) -> FloatArray:
        """Return the system Jacobian."""
        places = np.array(self.places)
        return np.asarray(np.where(places == 1, dF_dxdot, np.where(places == 0, dF_dx, 0.0)))


def jacobian_rank(J: FloatArray) -> tuple[Gap, float]:
    """Return the rank of a system Jacobian, and the sign of its determinant (0 if it is singular)."""
    scaled = equilibrated(J)[0]
    gap = rank_of(scaled)
    sign = float(np.linalg.slogdet(scaled)[0]) if gap.rank == len(J) else 0.0
    return gap, sign


def signature(system: ImplicitSystem, t: float, x: FloatArray, xdot: FloatArray) -> Signature | None:
    """Return the signature of a system around a point, or nothing if its rows cannot be assigned to its unknowns at all."""
    orders = _orders(system, t, x, xdot)
    from scipy.optimize import linear_sum_assignment  # slow to import

    rows, columns = linear_sum_assignment(orders, maximize=True)
    chosen = orders[rows, columns]
    if (chosen == ABSENT).any():
        return None
    n = system.size
    c, d = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    while True:
        d = np.where(orders == ABSENT, ABSENT, orders + c[:, None]).max(axis=0)
        after = np.zeros(n, dtype=int)
        after[rows] = d[columns] - chosen
        if (after == c).all():
            break
        c = after
    index = int(c.max(initial=0)) + int((d == 0).any())
    found = (orders != ABSENT) & (orders == d[None, :] - c[:, None])
    places = np.where(found, orders, -1)
    return Signature(index, tuple(map(int, c)), tuple(map(int, d)), tuple(tuple(map(int, row)) for row in places))


def _orders(
    system: ImplicitSystem, t: float, x: FloatArray, xdot: FloatArray
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the signature matrix of a system around a point."""
    n = system.size
    there = np.zeros((2, n, n), dtype=bool)
    evaluate = Evaluator(system.jacobians)
    chance = np.random.default_rng(0)
    signals = system.known.signals([t], 0)[0, 0]
    for _ in range(POINTS):
        beside = [value + BESIDE * chance.uniform(-1.0, 1.0, n) * (1.0 + np.abs(value)) for value in (x, xdot)]
        values = evaluate([t], *beside, signals, system.known.p).reshape(2, n, n).transpose(0, 2, 1)
        # A point outside the domain of some function tells nothing: then the symbols have the word.
        size = np.where(np.isfinite(values), np.abs(values), np.inf)
        scale = np.where(np.isfinite(size), size, 0.0).max(axis=2, keepdims=True, initial=0.0)
        there |= size > 1e-13 * scale
    orders = np.full((n, n), ABSENT, dtype=np.int64)
    for order, part in enumerate(system.slopes):
        written = np.zeros(n * n, dtype=bool)
        written[part.sparsity().find()] = True
        orders[written.reshape(n, n).T & there[order]] = order
    return orders
