"""Coordinate partitioning of closed loops (Wehage and Haug 1982): a run advances independent coordinates alone.

At every evaluation the dependent coordinates are found from the independent ones by Newton's method on phi = 0, the dependent
speeds from A v + b = 0. The state keeps both, so that channels and loads are the same as without: what an integrator does to
the dependent ones is no more than a first guess, and the independent ones are never corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.equations.equations import PROJECTIONS, SINGULAR, Equations
from kingpost.symbols.joints import ANGULAR, JOINT_KINDS

#: Newton steps for the dependent coordinates. The first guess is as good as the stages of the integrator: each step squares it.
SOLUTIONS = 3
#: Constraint errors (m or rad) above this, after them, mean that there was no solution to be found.
UNSOLVED = 1e-8
#: A choice whose dependent block is worse than this at the start is refused.
USELESS = 1e-6
#: A choice that is better than this at the start is taken to be good for longer.
LASTING = 0.05
AUTO = "auto"


@dataclass(frozen=True, eq=False)
class PartitionedEquations(Equations):
    """Equations of closed loops that are evaluated where the dependent coordinates and speeds fit the independent ones.

    ``wanted`` are names of coordinates (or speeds) that must be independent. The choice itself needs numbers, and is made by
    :func:`with_partition` before a run: ``dependent`` are rows in v, ``scale`` the square roots of the inertias that speeds are
    measured with, ``quality`` the measure of :attr:`solved` at the start.
    """

    wanted: tuple[str, ...] = ()
    dependent: tuple[int, ...] = ()
    scale: tuple[float, ...] = ()
    quality: float = 1.0

    @property
    def independent(self) -> tuple[str, ...]:
        """The names of what is independent: coordinates, or speeds that are no coordinate's rate."""
        names = partition_names(self)
        return tuple(names[i] for i in range(self.nv) if i not in self.dependent)

    @cached_property
    def plain(self) -> Equations:
        """The same equations without partitioning."""
        return Equations(**{item.name: getattr(self, item.name) for item in fields(Equations)})

    @cached_property
    def _parts(self) -> ca.Function:
        """The function (t, q, p) -> phi, A, b, N."""
        parts = [ca.densify(part) for part in (self.phi, self.A, self.b, self.N)]
        return ca.Function("kp_loop_parts", [self.t, self.q, self.p], parts)

    @cached_property
    def solved(self) -> ca.Function:
        """The function (t, q, v, p) -> q and v with their dependent parts solved for, measure, mean error that is left in phi.

        The measure is 1 where the independent speeds barely move the dependent ones, and falls to 0 where the dependent block
        of A becomes singular, to change its sign beyond: sign(det A_d) / sqrt(1 + |T|^2) with the dependent speeds T per
        independent speed, both times the square root of their inertia.
        """
        sizes = {"t": 1, "q": self.nq, "v": self.nv, "p": self.np}
        t, q, v, p = symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
        rows, dependent = int(self.phi.numel()), list(self.dependent)
        independent = [i for i in range(self.nv) if i not in dependent]
        scale = np.array(self.scale)
        start = q
        phi, A, b, N = self._parts(t, q, p)
        if rows:
            newton = _solver(rows, 1)
            # Where some constraints are on speeds alone, there are more dependent speeds than equations for coordinates: of
            # their changes the smallest.
            light = ca.DM(np.diag(scale[dependent] ** -2.0)) if rows < len(dependent) else None
            for _ in range(SOLUTIONS):
                G = A[:rows, dependent]
                spread = None if light is None else light @ G.T
                change = newton(G, phi)[0] if spread is None else spread @ newton(G @ spread, phi)[0]
                q = q - N[:, dependent] @ change
                phi, A, b, N = self._parts(t, q, p)
        # One system of equations gives the speeds, and how the dependent ones follow the independent ones.
        right = ca.horzcat(A[:, independent] @ v[independent, :] + b, A[:, independent])
        solution, sign = _solver(len(dependent), 1 + len(independent))(A[:, dependent], right)
        order = np.argsort([*dependent, *independent])
        v = ca.vertcat(-solution[:, 0], v[independent, :])[order.tolist(), :]
        T = solution[:, 1:] * ca.DM(np.outer(scale[dependent], 1 / scale[independent]))
        measure = sign / ca.sqrt(1 + ca.sumsqr(T))
        left = ca.sum1(ca.fabs(phi)) / rows if rows else ca.MX(0)
        # An angle that Newton's method moved by turns is another one.
        far = ca.sumsqr(q - start) > 1
        return ca.Function("kp_solved", symbols, [q, v, measure, ca.if_else(far, ca.inf, left)])

    def projected(self, t: Any, x: Any, p: Any, iterations: int = PROJECTIONS) -> Any:
        """Return the state with its dependent parts solved for; NaN where they are not determined any more."""
        if not self.dependent:
            return super().projected(t, x, p, iterations)
        q, v, measure, left = self.solved(t, *self.split(x), p)
        good = ca.logic_and(measure / self.quality > SINGULAR, left < UNSOLVED)
        return ca.if_else(good, ca.vertcat(q, v), ca.MX.nan(self.nq + self.nv))

    @cached_property
    def accelerations(self) -> ca.Function:
        """The function (t, q, v, u, p) -> vdot, where the dependent parts of q and v are found from the independent ones."""
        t, _, u, p = self._state_symbols()
        q, v = ca.MX.sym("q", self.nq), ca.MX.sym("v", self.nv)
        inner = self.split(self.projected(t, ca.vertcat(q, v), p))
        return ca.Function("kp_partitioned", [t, q, v, u, p], [self.plain.accelerations(t, *inner, u, p)])

    @cached_property
    def rhs(self) -> ca.Function:
        """The function (t, x, u, p) -> xdot; solved for once, for both of its halves."""
        t, x, u, p = self._state_symbols()
        xdot = self.plain.rhs(t, self.projected(t, x, p), u, p)
        return ca.Function("kp_rhs", [t, x, u, p], [ca.densify(xdot)], ["t", "x", "u", "p"], ["xdot"])


def partition_names(equations: Equations) -> list[str]:
    """Return a name for each row of v: that of the coordinate where it is a coordinate's rate, else its own."""
    coordinates = {quantity.name for quantity in equations.position_quantities}
    speeds = [quantity.name for quantity in equations.speed_quantities]
    return [name.removesuffix(".rate") if name.removesuffix(".rate") in coordinates else name for name in speeds]


def wanted_names(equations: Equations, given: str) -> tuple[str, ...]:
    """Return the names in ``"shaft.angle/bore.displacement"``, checked; none of ``"auto"``."""
    if given == AUTO:
        return ()
    names = partition_names(equations)
    found = []
    for word in given.split("/"):
        name = word.strip()
        if name.removesuffix(".rate") in names:
            name = name.removesuffix(".rate")
        if name not in names:
            raise MechanismError(
                f"'{equations.mechanism.name}' has no coordinate '{name}' that could be independent{closest(name, names)} "
                f"Choose from {listed(names)}, with a / between two, or '{AUTO}'"
            )
        found.append(name)
    return tuple(dict.fromkeys(found))


def with_partition(equations: Equations, t: float, q: FloatArray, p: FloatArray) -> Equations:
    """Return partitioned equations with independent coordinates chosen at the closed position ``q``; others as they are."""
    if not isinstance(equations, PartitionedEquations) or equations.dependent or equations.lam.numel() == 0:
        return equations
    A, M = (np.asarray(part) for part in _numbers(equations)(t, q, p))
    names = partition_names(equations)
    kept = [names.index(name) for name in equations.wanted]
    free = equations.nv - len(A)
    if len(kept) > free:
        raise MechanismError(
            f"{len(kept)} coordinates are to be independent ({listed(equations.wanted)}), but the closures of "
            f"'{equations.mechanism.name}' leave {free} free"
        )
    scale = _inertias(M)
    rows = int(equations.phi.numel())
    # Angular velocities in axes that turn with their body are good for independent ones, if the others can follow: a choice
    # among them would be another one after a quarter of a turn.
    turning = [i for i in turning_speeds(equations) if i not in kept]
    for preferred in ([*kept, *turning], kept):
        dependent = chosen_columns(A / scale, rows, preferred)
        T, sign = _following(A, dependent, scale)
        quality = _measure(T)
        if quality > LASTING:
            break
    if not quality > USELESS:
        best = chosen_columns(A / scale, rows, [])
        better = [names[i] for i in range(equations.nv) if i not in best]
        raise MechanismError(
            f"{listed(equations.wanted)} cannot be independent at the start of '{equations.mechanism.name}': "
            f"{'it does' if len(kept) == 1 else 'they do'} not determine the other coordinates there. Choose {_option(better)}"
        )
    return replace(equations, dependent=dependent, scale=tuple(scale.tolist()), quality=sign * quality)


def turning_speeds(equations: Equations) -> list[int]:
    """Return the rows in v of angular velocities of rotations in space."""
    found, row = [], 0
    for joint in equations.mechanism.joints:
        kind = JOINT_KINDS[joint.kind]
        found += [row + i for i, speed in enumerate(kind.speeds or ()) if kind.quaternion is not None and speed in ANGULAR]
        row += len(joint.speeds)
    return found


def chosen_columns(scaled: FloatArray, rows: int, kept: Sequence[int]) -> tuple[int, ...]:
    """Return the columns of dependent speeds, as many as rows; none of ``kept``. The first ``rows`` are those on positions.

    QR with column pivoting: of A in units of energy, the column that moves the constraints most becomes dependent, then the one
    with the most beyond it. The rows on positions choose first.
    """
    left = np.array(scaled, dtype=float)
    left[:, list(kept)] = 0.0
    dependent: list[int] = []
    for group in (slice(0, rows), slice(rows, len(left))):
        for _ in range(len(left[group])):
            column = int(np.argmax((left[group] ** 2).sum(axis=0)))
            dependent.append(column)
            # Rotations within the group only; rows of speeds are then freed of the column by elimination.
            direction = left[group, column].copy()
            length = float(direction @ direction)
            if length == 0.0:
                continue
            shares = direction @ left[group] / length
            if group.start == 0:
                left[rows:] -= np.outer(left[rows:, column], shares)
            left[group] -= np.outer(direction, shares)
            left[:, column] = 0.0
    return tuple(dependent)


def explain_partition(equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
    """Return why the dependent coordinates are not determined at one of ``states`` (the first that shows it), or nothing."""
    if not isinstance(equations, PartitionedEquations) or not equations.dependent:
        return ""
    names = partition_names(equations)
    for x in states:
        if not np.isfinite(x).all():  # not for this reason
            continue
        q, _, measure, left = (np.asarray(part) for part in equations.solved(t, *equations.split(x), p))
        ratio = float(measure.item()) / equations.quality
        if ratio > SINGULAR and float(left.item()) < UNSOLVED:
            continue
        place = q.ravel() if np.isfinite(q).all() and float(left.item()) < UNSOLVED else equations.split(x)[0]
        A, M = (np.asarray(part) for part in _numbers(equations)(t, place, p))
        scale = _inertias(M)
        T, _ = _following(A, equations.dependent, np.array(equations.scale))
        independent = [i for i in range(equations.nv) if i not in equations.dependent]
        j, i = np.unravel_index(int(np.abs(T).argmax()), T.shape)
        follower, leader = names[equations.dependent[int(j)]], names[independent[int(i)]]
        best = chosen_columns(A / scale, int(equations.phi.numel()), [])
        better = [names[k] for k in range(equations.nv) if k not in best]
        where = f"'{leader}', which is independent, is at a dead centre near t = {t:.6g} s and does not determine '{follower}'"
        if set(better) == set(equations.independent) or not _measure(_following(A, best, scale)[0]) > USELESS:
            return f"{where}, and no other choice is better. The step may be too long, or the machine itself at a dead centre"
        return f"{where}. Choose {_option(better)}, or leave 'independent' out: errors are then projected away instead"
    return ""


def _option(names: Sequence[str]) -> str:
    return f"{listed(names)} (independent={'/'.join(names)})"


def _inertias(M: FloatArray) -> FloatArray:
    """Return the square roots of the inertias along the speeds; one without inertia of its own counts as the lightest."""
    diagonal = np.diag(M)
    light = diagonal[diagonal > 0].min(initial=np.inf)
    return np.sqrt(np.where(diagonal > 0, diagonal, light if np.isfinite(light) else 1.0))


def _numbers(equations: Equations) -> ca.Function:
    """Return the function (t, q, p) -> A, M."""
    return ca.Function("numbers", [equations.t, equations.q, equations.p], [ca.densify(equations.A), ca.densify(equations.M)])


def _following(A: FloatArray, dependent: Sequence[int], scale: FloatArray) -> tuple[FloatArray, float]:
    """Return dependent speeds per independent speed, in units of energy, and the sign of the determinant of the block."""
    independent = [i for i in range(A.shape[1]) if i not in dependent]
    block = A[:, list(dependent)] / scale[list(dependent)]
    T: FloatArray
    try:
        T = np.asarray(np.linalg.solve(block, A[:, independent] / scale[independent]), dtype=np.float64)
    except np.linalg.LinAlgError:
        T = np.full((len(dependent), len(independent)), np.inf)
    return T, float(np.sign(np.linalg.det(block))) or 1.0


def _measure(T: FloatArray) -> float:
    return float(1 / np.sqrt(1 + np.sum(T**2)))


def _solver(size: int, columns: int) -> ca.Function:
    """Return the function (A, B) -> A^-1 B, sign of det A, by Householder's method as straight-line code.

    Unlike elimination in a fixed order it meets no vanishing pivot before A is singular, and its reflections tell the sign.
    """
    A, B = ca.SX.sym("A", size, size), ca.SX.sym("B", size, columns)
    both, sign = ca.densify(ca.horzcat(A, B)), ca.SX(1)
    for k in range(size - 1):
        column = both[k:, k]
        # Away from zero, so that nothing cancels; the reflection turns the column into -turned * length.
        turned = ca.if_else(column[0] < 0, -1, 1)
        length = ca.norm_2(column)
        normal = column + turned * length * ca.DM([1.0] + [0.0] * (size - k - 1))
        weight = 2 / ca.sumsqr(normal)
        both[k:, k:] = both[k:, k:] - weight * normal @ (normal.T @ both[k:, k:])
        sign = sign * turned
    if size:
        sign = sign * ca.if_else(both[size - 1, size - 1] < 0, -1, 1)
    X = ca.SX.zeros(size, columns)
    for k in reversed(range(size)):
        X[k, :] = (both[k, size:] - both[k, k + 1 : size] @ X[k + 1 :, :]) / both[k, k]
    return ca.Function("kp_householder", [A, B], [X, sign])
