"""Cubics through tabulated numbers, as weights of the table's entries: the same weights serve any number of columns."""

from __future__ import annotations

import math

import numpy as np

from kingpost.base.arrays import FloatArray

TURN = 2 * math.pi


def weights(grid: FloatArray, points: FloatArray) -> FloatArray:
    """Return the weights (points, grid) of a cubic through rising grid points; points outside take the value at the end.

    Its slopes are those of the parabola through each point and its neighbours: no ringing, and an error of the third power of
    the spacing.
    """
    if len(grid) == 1:
        return np.ones((len(points), 1))
    slopes = _slopes(grid)
    i = np.clip(np.searchsorted(grid, points, side="right") - 1, 0, len(grid) - 2)
    h = grid[i + 1] - grid[i]
    s = np.clip((points - grid[i]) / h, 0.0, 1.0)
    found = (h * s * (1 - s) ** 2)[:, None] * slopes[i] - (h * s**2 * (1 - s))[:, None] * slopes[i + 1]
    rows = np.arange(len(points))
    found[rows, i] += (1 + 2 * s) * (1 - s) ** 2
    found[rows, i + 1] += s**2 * (3 - 2 * s)
    return found


def periodic_weights(grid: FloatArray, points: FloatArray) -> FloatArray:
    """Return the weights for angles around a whole turn, from rising grid points within one turn.

    Even ones are joined by sines and cosines, exactly for whatever is made of few of these, as forces of long waves are; others
    by cubics.
    """
    n = len(grid)
    if n == 1:
        return np.ones((len(points), 1))
    if np.abs(np.diff(grid) - TURN / n).max() < 1e-6:
        return _trigonometric(grid, points)
    around = np.concatenate([grid[-2:] - TURN, grid, grid[:2] + TURN])
    inside = grid[0] + np.mod(points - grid[0], TURN)
    wide = weights(around, inside)
    found = wide[:, 2 : n + 2].copy()
    found[:, -2:] += wide[:, :2]
    found[:, :2] += wide[:, n + 2 :]
    return found


def _trigonometric(grid: FloatArray, points: FloatArray) -> FloatArray:
    """Return the weights of the trigonometric polynomial through even points: Dirichlet's kernel."""
    n = len(grid)
    # Of an even number of points the highest cosine counts half, and twice without its mirror image.
    orders = np.arange(1, (n + 1) // 2)
    apart = points[:, None] - grid
    found = 1 + 2 * np.cos(np.multiply.outer(apart, orders)).sum(axis=-1)
    return (found + np.cos(n / 2 * apart) if n % 2 == 0 else found) / n


def _slopes(grid: FloatArray) -> FloatArray:
    """Return the matrix that makes slopes at the grid points of values there."""
    n, h = len(grid), np.diff(grid)
    found = np.zeros((n, n))
    if n == 2:
        found[:] = [-1 / h[0], 1 / h[0]]
        return found
    k = np.arange(1, n - 1)
    a, b = h[:-1], h[1:]
    found[k, k - 1], found[k, k], found[k, k + 1] = -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))
    a, b = h[0], h[1]
    found[0, :3] = -(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))
    a, b = h[-1], h[-2]
    found[-1, -3:] = a / (b * (a + b)), -(a + b) / (a * b), (2 * a + b) / (a * (a + b))
    return found
