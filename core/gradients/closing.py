"""Derivatives of how loops are closed and speeds fitted at the start, step by step as in :mod:`kingpost.equations.consistency`.

A position moves along W G' y, with W the inverse of the mass matrix and y the least solution of G W G' y = phi; so do speeds.
Rows of G that hold nothing, as those of rigid bodies in joint coordinates, stay so; then the derivative of y is the least
solution of G W G' dy = d(phi - G W G' y), with y held on the right. Once a loop is closed, y is zero, and what is left is the
projection of a change on what the constraints allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.equations.consistency import (
    CLOSED,
    LIGHT,
    LONGEST_MOVE,
    MOST_CORRECTIONS,
    RANK,
    fitted_speeds,
    is_given,
    mass_root,
    start_space,
)
from kingpost.equations.equations import Equations
from kingpost.gradients.targets import Directions

#: What is smaller than this part of the terms that it is the sum of is rounding.
CANCELLED = 1e-9
#: How far it is looked beside a start, and what part of the constraints' coefficients holds a speed there.
NEARBY, HELD = 1e-6, 1e-9


class Closing:
    """The way from joint coordinates to the state of equations, with derivatives along some directions."""

    def __init__(self, equations: Equations, t: float, p: FloatArray, along: Directions) -> None:
        self.equations, self.t, self.p, self.along = equations, t, p, along

    @property
    def in_joints(self) -> bool:
        """Whether a start is fitted in joint coordinates."""
        coordinates = self.equations.coordinates
        return coordinates.initial is None or coordinates.joint_state is not None

    @cached_property
    def _parts(self) -> ca.Function:
        return start_space(self.equations).parts

    def _numbers(self, q: FloatArray) -> list[FloatArray]:
        return [np.asarray(part) for part in self._parts(self.t, q, self.p)]

    def closed(self, q: FloatArray, dq: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the closed position and its derivatives: those of each Gauss-Newton step, and of one more at the end."""
        for _ in range(MOST_CORRECTIONS):
            phi, G, _, _, M, N = self._numbers(q)
            L = mass_root(M)
            B = _matrix(np.linalg.solve(L, G.T).T)
            done = np.abs(phi).max(initial=0.0) <= CLOSED * (1 + np.abs(q).max(initial=0.0))
            y = np.zeros(len(G)) if done else _multipliers(B, _least(B, phi.ravel()))
            step = -N @ np.linalg.solve(L.T, B.T @ y)
            move, left = self._position_function(M)
            given, along = [self.t, q, self.p, y], {1: dq, 2: self.along.parameters}
            turned = _matrix(np.linalg.solve(L.T, _least(B, exact_slopes(left, given, along))))
            change = -slopes(move, given, along) - N @ turned
            longest = float(np.abs(step).max(initial=0.0))
            if longest > LONGEST_MOVE:
                worst, part = int(np.abs(step).argmax()), LONGEST_MOVE / longest
                step, change = part * step, part * (change - np.outer(step, change[worst]) / step[worst])
            q, dq = q + step, dq + change
            if done:
                break
        return q, dq

    def _position_function(self, M: FloatArray) -> tuple[ca.Function, ca.Function]:
        """Return the functions (t, q, p, y) -> N W G' y, and phi - G W G' y."""
        sizes = [self._parts.numel_in(k) for k in range(3)]
        t, q, p = symbols = [ca.MX.sym(name, size) for name, size in zip("tqp", sizes, strict=True)]
        phi, G, _, _, mass, N = self._parts(t, q, p)
        y = ca.MX.sym("y", G.shape[0])
        moved = _solved(mass, M, G.T @ y)
        return tuple(
            ca.Function(name, [*symbols, y], [ca.densify(item)])
            for name, item in (("move", N @ moved), ("left", phi - G @ moved))
        )  # type: ignore[return-value]

    def fitted(self, q: FloatArray, v: FloatArray, dq: FloatArray, dv: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the speeds that fit, and their derivatives."""
        found = fitted_speeds(self._parts, self.t, q, v, self.p)
        every, held = np.arange(len(v)), is_given(v)
        dv, asked = dv.copy(), dv.copy()
        for k in range(dv.shape[1]):
            # A speed that is varied is a given one, as soon as it is not zero any more.
            choices = [np.flatnonzero(~(held | (asked[:, k] != 0))), every]
            if (found != v)[held].any():
                choices = [every]
            for free in choices:
                change = self._fitting(q, v, found, free, k, dq, asked) if free.size else None
                if change is not None:
                    dv[free, k] += change
                    break
        return found, dv

    def _fitting(
        self, q: FloatArray, v: FloatArray, found: FloatArray, free: NDArray[np.int_], k: int, dq: FloatArray, dv: FloatArray
    ) -> FloatArray | None:
        """Return the derivatives along direction ``k`` of the change of the free speeds; None if these alone cannot fit."""
        _, _, A, _, M, _ = self._numbers(q)
        own = M[np.ix_(free, free)]
        L = mass_root(own)
        B = _matrix(np.linalg.solve(L, A[:, free].T).T)
        y = _multipliers(B, -L.T @ (found - v)[free])
        move, left = self._speed_function(tuple(free.tolist()), own)
        column = slice(k, k + 1)
        given = [self.t, q, v, self.p, y]
        along = {1: dq[:, column], 2: dv[:, column], 3: self.along.parameters[:, column]}
        error = exact_slopes(left, given, along)
        if error.any():
            self._refuse_change_of_rank(q, B, free, k, dq)
        change = _matrix(np.linalg.solve(L.T, _least(B, error)))
        if np.abs(A[:, free] @ change - error).max(initial=0.0) > CANCELLED * np.abs(error).max(initial=0.0):
            return None
        return np.asarray(-slopes(move, given, along) - change).ravel()

    def _refuse_change_of_rank(self, q: FloatArray, B: FloatArray, free: NDArray[np.int_], k: int, dq: FloatArray) -> None:
        """Refuse a direction in which the constraints begin to hold free speeds that they leave alone at the start.

        However small a step is, they then decide about these speeds, by what is of second order in it.
        """
        left, sizes, _ = np.linalg.svd(B)
        nothing = left[:, int((sizes > RANK * sizes.max(initial=0.0)).sum()) :]
        change = self.along.parameters[:, k]
        step = NEARBY * (1.0 + float(np.abs(self.p[change != 0]).max(initial=0.0)))
        A, there = (
            np.asarray(self._parts(self.t, q + part * dq[:, k], self.p + part * change)[2])[:, free] for part in (0.0, step)
        )
        if np.abs(nothing.T @ there).max(initial=0.0) > HELD * np.abs(A).max(initial=0.0):
            raise KingpostError(
                f"speeds that are fitted to loops at the start are held by fewer constraints there than beside it, along "
                f"'{self.along.names[k]}', so that they have no derivative that follows from the start alone; start a little "
                "elsewhere, or leave that name out"
            )

    def _speed_function(self, free: Sequence[int], M: FloatArray) -> tuple[ca.Function, ca.Function]:
        """Return the functions (t, q, v, p, y) -> W A' y of the free speeds, and A v + b - A W A' y."""
        sizes = [1, self._parts.numel_in(1), self._parts.size1_out(4), self._parts.numel_in(2)]
        t, q, v, p = symbols = [ca.MX.sym(name, size) for name, size in zip("tqvp", sizes, strict=True)]
        _, _, A, b, mass, _ = self._parts(t, q, p)
        y = ca.MX.sym("y", A.shape[0])
        chosen = list(free)
        moved = _solved(mass[chosen, chosen], M, A[:, chosen].T @ y)
        return tuple(
            ca.Function(name, [*symbols, y], [ca.densify(item)])
            for name, item in (("move", moved), ("left", A @ v + b - A[:, chosen] @ moved))
        )  # type: ignore[return-value]

    def entered(self, q: FloatArray, v: FloatArray, dq: FloatArray, dv: FloatArray) -> FloatArray:
        """Return the derivatives of coordinates and speeds of the equations, the last correction of speeds included."""
        equations = self.equations
        t, q_, v_, p = (ca.MX.sym(name, size) for name, size in zip("tqvp", (1, q.size, v.size, self.p.size), strict=True))
        initial = equations.coordinates.initial
        own_q, own_v = equations.split(ca.vertcat(q_, v_) if initial is None else initial(q_, v_, p))
        if equations.constraints.count:
            own_v = own_v + equations.corrections(t, own_q, own_v, p)[1]
        function = ca.Function("entered", [t, q_, v_, p], [ca.densify(ca.vertcat(own_q, own_v))])
        return slopes(function, [self.t, q, v, self.p], {1: dq, 2: dv, 3: self.along.parameters})


def slopes(function: ca.Function, given: Sequence[Any], along: Mapping[int, FloatArray]) -> FloatArray:
    """Return the derivatives of the first result along directions: for each argument that moves, a matrix of their columns."""
    return _summed(function, given, along)[0]


def exact_slopes(function: ca.Function, given: Sequence[Any], along: Mapping[int, FloatArray]) -> FloatArray:
    """Return the same with zeros for what is rounding beside the terms that it is the sum of."""
    total, size = _summed(function, given, along)
    return np.where(np.abs(total) > CANCELLED * size, total, 0.0)


def _summed(function: ca.Function, given: Sequence[Any], along: Mapping[int, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives, and the sums of the sizes of the terms in them."""
    symbols = [ca.MX.sym(f"i{k}", function.sparsity_in(k)) for k in range(function.n_in())]
    (result,) = function.call(symbols)
    moving = [k for k in along if function.numel_in(k)]
    rows, columns = function.numel_out(0), next(iter(along.values())).shape[1]
    total, size = np.zeros((rows, columns)), np.zeros((rows, columns))
    if not moving or not rows:
        return total, size
    jacobians = ca.Function("slopes", symbols, [ca.densify(ca.jacobian(result, symbols[k])) for k in moving])
    for k, jacobian in zip(moving, jacobians.call([ca.DM(item) for item in given]), strict=True):
        matrix = np.asarray(jacobian).reshape(rows, -1)
        total += matrix @ along[k]
        size += np.abs(matrix) @ np.abs(along[k])
    return total, size


def _least(B: FloatArray, right: FloatArray) -> FloatArray:
    """Return the least x with B x nearest to ``right``, none where that is zero: B may then be rounding alone."""
    if not right.any():
        return np.zeros((B.shape[1], *right.shape[1:]))
    return _matrix(np.linalg.lstsq(B, right, rcond=RANK)[0])


def _matrix(found: Any) -> FloatArray:
    return np.asarray(found, dtype=np.float64)


def _multipliers(B: FloatArray, moved: FloatArray) -> FloatArray:
    """Return the least y with B' y = moved."""
    return _least(B.T, moved)


def _solved(mass: ca.MX, M: FloatArray, right: ca.MX) -> ca.MX:
    """Return mass^-1 right, with the light masses that :func:`.consistency.mass_root` adds where it must."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        mean = ca.trace(mass) / mass.shape[0]
        mass = mass + ca.MX.eye(mass.shape[0]) * (LIGHT * mean if np.diag(M).mean() > 0.0 else 1.0)
    return ca.solve(mass, right)
