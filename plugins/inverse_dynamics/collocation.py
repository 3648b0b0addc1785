"""Two-point boundary value problems by Gauss collocation with three stages: order 6, alike in both directions of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from kingpost.base.arrays import FloatArray

_ROOT = math.sqrt(15.0)
#: The Gauss method with three stages.
NODES = np.array([0.5 - _ROOT / 10, 0.5, 0.5 + _ROOT / 10])
MATRIX = np.array(
    [
        [5 / 36, 2 / 9 - _ROOT / 15, 5 / 36 - _ROOT / 30],
        [5 / 36 + _ROOT / 24, 2 / 9, 5 / 36 - _ROOT / 24],
        [5 / 36 + _ROOT / 30, 2 / 9 + _ROOT / 15, 5 / 36],
    ]
)
WEIGHTS = np.array([5 / 18, 4 / 9, 5 / 18])
ORDER = 6
#: Newton steps, and the smallest part of one.
MOST_STEPS, SHORTEST = 60, 1e-3
#: Changes that are rounding.
SETTLED = 1e-12

#: (times, states in columns) -> rates in columns, and their derivatives with respect to the states (rows, columns, times).
Rates = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class TwoPoint:
    """xdot = rates(t, x) with conditions on the state at the first and at the last time, together as many as states."""

    rates: Rates
    slopes: Rates
    #: The residual of the conditions at the first (last) time, and its derivative.
    first: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    last: Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Collocated:
    """States at the nodes, in columns; whether Newton's method settled, and the largest change in its last step."""

    x: FloatArray
    settled: bool
    change: float


def collocate(problem: TwoPoint, times: FloatArray, guess: FloatArray) -> Collocated:
    """Solve on a mesh of times, from a guess with the states at them in columns."""
    x = np.array(guess)
    steps = np.diff(times)
    stages = (times[:-1, None] + steps[:, None] * NODES).T.ravel()
    part = NODES[:, None, None]
    z = ((1 - part) * x[None, :, :-1] + part * x[None, :, 1:]).transpose(1, 0, 2).reshape(len(x), -1)
    norm = np.inf
    change = np.inf
    for _ in range(MOST_STEPS):
        dx, dz, norm = _newton(problem, times, steps, stages, x, z)
        change = float(np.abs(dx).max(initial=0.0))
        if not np.isfinite(change):
            return Collocated(x, False, change)
        factor = 1.0
        while factor >= SHORTEST:
            after = _residual_norm(problem, steps, stages, x + factor * dx, z + factor * dz)
            if after <= (1 - factor / 4) * norm + 1e-13:
                break
            factor /= 2
        x, z = x + factor * dx, z + factor * dz
        if change <= SETTLED * (1 + float(np.abs(x).max())):
            return Collocated(x, True, change)
        if factor < SHORTEST:
            break
    # Rounding may keep the last changes from getting smaller.
    return Collocated(x, norm <= 1e-9, change)


def _parts(
    problem: TwoPoint, steps: FloatArray, stages: FloatArray, x: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rates at the stages, and the residuals of stages and ends of steps: (states, stages, steps), (states, steps)."""
    n, count = len(x), len(steps)
    f = problem.rates(stages, z).reshape(n, 3, count)
    inside = x[:, None, :-1] + steps * np.einsum("jk,nki->nji", MATRIX, f) - z.reshape(n, 3, count)
    ends = x[:, 1:] - x[:, :-1] - steps * np.einsum("k,nki->ni", WEIGHTS, f)
    return f, inside, ends


def _residual_norm(problem: TwoPoint, steps: FloatArray, stages: FloatArray, x: FloatArray, z: FloatArray) -> float:
    _, inside, ends = _parts(problem, steps, stages, x, z)
    conditions = np.concatenate([problem.first(x[:, 0])[0], problem.last(x[:, -1])[0]])
    norm = float(np.sqrt((inside**2).sum() + (ends**2).sum() + (conditions**2).sum()))
    return norm if math.isfinite(norm) else math.inf


def _newton(
    problem: TwoPoint, times: FloatArray, steps: FloatArray, stages: FloatArray, x: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the Newton step for states and stages, and the norm of the residual before it."""
    n, count = len(x), len(steps)
    _, inside, ends = _parts(problem, steps, stages, x, z)
    J = problem.slopes(stages, z).reshape(n, n, 3, count).transpose(3, 2, 0, 1)
    # (I - h A x J) dz = 1 x dx + inside: each step by itself.
    K = -(steps[:, None, None, None, None] * MATRIX[None, :, :, None, None] * J[:, None, :, :, :])
    K = K.transpose(0, 1, 3, 2, 4).reshape(count, 3 * n, 3 * n) + np.eye(3 * n)
    right = np.concatenate(
        [np.broadcast_to(np.tile(np.eye(n), (3, 1)), (count, 3 * n, n)), inside.transpose(2, 1, 0).reshape(count, 3 * n, 1)],
        axis=2,
    )
    solved = np.linalg.solve(K, right)
    weighted = (steps[:, None, None, None] * WEIGHTS[None, :, None, None] * J).transpose(0, 2, 1, 3).reshape(count, n, 3 * n)
    through = weighted @ solved
    r0, S0 = problem.first(x[:, 0])
    r1, S1 = problem.last(x[:, -1])
    blocks = -np.eye(n) - through[:, :, :n]
    rows, columns, values = [], [], []
    top = len(r0)
    base = top + n * np.arange(count)
    own = np.arange(n)
    for offset, entries in ((0, blocks), (n, np.broadcast_to(np.eye(n), blocks.shape))):
        rows.append((base[:, None, None] + own[None, :, None] + 0 * own[None, None, :]).ravel())
        columns.append((n * np.arange(count)[:, None, None] + offset + 0 * own[None, :, None] + own[None, None, :]).ravel())
        values.append(entries.ravel())
    for first, S, column in ((0, S0, 0), (top + n * count, S1, n * count)):
        rows.append((first + np.arange(len(S))[:, None] + 0 * own).ravel())
        columns.append((column + 0 * np.arange(len(S))[:, None] + own).ravel())
        values.append(S.ravel())
    size = n * (count + 1)
    matrix = scipy.sparse.csc_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (size, size))
    right_side = np.concatenate([-r0, (-ends + through[:, :, n].T).T.ravel(), -r1])
    dx = scipy.sparse.linalg.spsolve(matrix, right_side).reshape(count + 1, n).T
    dz = solved[:, :, :n] @ dx.T[:-1, :, None] + solved[:, :, n:]
    dz = dz.reshape(count, 3, n).transpose(2, 1, 0).reshape(n, -1)
    norm = float(np.sqrt((inside**2).sum() + (ends**2).sum() + (r0**2).sum() + (r1**2).sum()))
    return dx, dz, norm
