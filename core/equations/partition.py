"""Coordinate partitioning of closed loops (Wehage and Haug 1982): a run advances independent coordinates alone.

At every evaluation the dependent coordinates are found from the independent ones by Newton's method on phi = 0, the dependent
speeds from A v + b = 0. The state keeps both, so that channels and loads are the same as without: what an integrator does to
the dependent ones is no more than a first guess, and the independent ones are never corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.equations.equations import Equations
from kingpost.equations.treatment import Treatment
from kingpost.symbols.joints import ANGULAR, JOINT_KINDS
from kingpost.symbols.linear_solvers import householder

#: Newton steps for the dependent coordinates. The first guess is as good as the stages of the integrator: each step squares it.
SOLUTIONS = 3
#: Constraint errors (m or rad) above this, after them, mean that there was no solution to be found.
UNSOLVED = 1e-8
#: A choice whose dependent block is worse than this at the start is refused.
USELESS = 1e-6
#: A choice that is better than this at the start is taken to be good for longer.
LASTING = 0.05
#: A run stops where the measure falls below this share of what it was at the start.
SINGULAR_PARTITION = 0.01
AUTO = "auto"


@dataclass(frozen=True)
class Partition(Treatment):
    """Dependent coordinates and speeds are found from the independent ones at every evaluation, so that no errors arise.

    ``wanted`` are names of coordinates (or speeds) that must be independent. The choice itself needs numbers, and is made
    before a run: ``dependent`` are rows in v, ``scale`` the square roots of the inertias that speeds are measured with,
    ``quality`` the measure of :meth:`solution` at the start.
    """

    wanted: tuple[str, ...] = ()
    dependent: tuple[int, ...] = ()
    scale: tuple[float, ...] = ()
    quality: float = 1.0

    @property
    def chooses(self) -> bool:
        return True

    @property
    def solves(self) -> bool:
        return bool(self.dependent)

    def independent(self, equations: Equations) -> tuple[str, ...]:
        """Return the names of what is independent: coordinates, or speeds that are no coordinate's rate."""
        names = partition_names(equations)
        return tuple(names[i] for i in range(equations.nv) if i not in self.dependent)

    def record(self, equations: Equations) -> dict[str, Any]:
        return {"independent": list(self.independent(equations))}

    def solution(self, equations: Equations) -> ca.Function:
        """Return the function (t, q, v, p) -> q and v with their dependent parts solved for, measure, mean error left in phi.

        The measure is 1 where the independent speeds barely move the dependent ones, and falls to 0 where the dependent block
        of A becomes singular, to change its sign beyond: sign(det A_d) / sqrt(1 + |T|^2) with the dependent speeds T per
        independent speed, both times the square root of their inertia.
        """
        sizes = {"t": 1, "q": equations.nq, "v": equations.nv, "p": equations.np}
        t, q, v, p = symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
        rows, dependent = equations.constraints.holonomic, list(self.dependent)
        independent = [i for i in range(equations.nv) if i not in dependent]
        scale = np.array(self.scale)
        start, parts = q, _loop_parts(equations)
        phi, A, b, N = parts(t, q, p)
        if rows:
            newton = householder(rows, 1)
            # Where some constraints are on speeds alone, there are more dependent speeds than equations for coordinates: of
            # their changes the smallest.
            light = ca.DM(np.diag(scale[dependent] ** -2.0)) if rows < len(dependent) else None
            for _ in range(SOLUTIONS):
                G = A[:rows, dependent]
                spread = None if light is None else light @ G.T
                change = newton(G, phi)[0] if spread is None else spread @ newton(G @ spread, phi)[0]
                q = q - N[:, dependent] @ change
                phi, A, b, N = parts(t, q, p)
        # One system of equations gives the speeds, and how the dependent ones follow the independent ones.
        right = ca.horzcat(A[:, independent] @ v[independent, :] + b, A[:, independent])
        solution, sign = householder(len(dependent), 1 + len(independent))(A[:, dependent], right)
        order = np.argsort([*dependent, *independent])
        v = ca.vertcat(-solution[:, 0], v[independent, :])[order.tolist(), :]
        T = solution[:, 1:] * ca.DM(np.outer(scale[dependent], 1 / scale[independent]))
        measure = sign / ca.sqrt(1 + ca.sumsqr(T))
        left = ca.sum1(ca.fabs(phi)) / rows if rows else ca.MX(0)
        # An angle that Newton's method moved by turns is another one.
        far = ca.sumsqr(q - start) > 1
        return ca.Function("kp_solved", symbols, [q, v, measure, ca.if_else(far, ca.inf, left)])

    def projected(self, equations: Equations, t: Any, x: Any, p: Any, iterations: int) -> Any:
        """Return the state with its dependent parts solved for; NaN where they are not determined any more."""
        if not self.dependent:
            return super().projected(equations, t, x, p, iterations)
        q, v, measure, left = equations.solution(t, *equations.split(x), p)
        good = ca.logic_and(measure / self.quality > SINGULAR_PARTITION, left < UNSOLVED)
        return ca.if_else(good, ca.vertcat(q, v, equations.states_of(x)), ca.MX.nan(equations.nx))

    def settled(self, equations: Equations, t: float, q: FloatArray, p: FloatArray) -> Treatment:
        """Return the treatment with independent coordinates chosen at the closed position ``q``."""
        if self.dependent or not equations.constraints.count:
            return self
        A, M = (np.asarray(part) for part in _numbers(equations)(t, q, p))
        names = partition_names(equations)
        kept = [names.index(name) for name in self.wanted]
        free = equations.nv - len(A)
        if len(kept) > free:
            raise MechanismError(
                f"{len(kept)} coordinates are to be independent ({listed(self.wanted)}), but the closures of "
                f"'{equations.mechanism.name}' leave {free} free"
            )
        scale = _inertias(M)
        rows = equations.constraints.holonomic
        # Angular velocities in axes that turn with their body are good for independent ones, if the others can follow: a
        # choice among them would be another one after a quarter of a turn.
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
                f"{listed(self.wanted)} cannot be independent at the start of '{equations.mechanism.name}': "
                f"{'it does' if len(kept) == 1 else 'they do'} not determine the other coordinates there. Choose "
                f"{_option(better)}"
            )
        return replace(self, dependent=dependent, scale=tuple(scale.tolist()), quality=sign * quality)

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return why the dependent coordinates are not determined at one of ``states``, the first that shows it; or nothing."""
        if not self.dependent:
            return ""
        for x in states:
            if not np.isfinite(x).all():  # not for this reason
                continue
            q, _, measure, left = (np.asarray(part) for part in equations.solution(t, *equations.split(x), p))
            if float(measure.item()) / self.quality > SINGULAR_PARTITION and float(left.item()) < UNSOLVED:
                continue
            known = np.isfinite(q).all() and float(left.item()) < UNSOLVED
            return self._dead_centre(equations, t, q.ravel() if known else equations.split(x)[0], p)
        return ""

    def _dead_centre(self, equations: Equations, t: float, place: FloatArray, p: FloatArray) -> str:
        names = partition_names(equations)
        A, M = (np.asarray(part) for part in _numbers(equations)(t, place, p))
        scale = _inertias(M)
        T, _ = _following(A, self.dependent, np.array(self.scale))
        independent = [i for i in range(equations.nv) if i not in self.dependent]
        j, i = np.unravel_index(int(np.abs(T).argmax()), T.shape)
        follower, leader = names[self.dependent[int(j)]], names[independent[int(i)]]
        best = chosen_columns(A / scale, equations.constraints.holonomic, [])
        better = [names[k] for k in range(equations.nv) if k not in best]
        where = f"'{leader}', which is independent, is at a dead centre near t = {t:.6g} s and does not determine '{follower}'"
        if set(better) == set(self.independent(equations)) or not _measure(_following(A, best, scale)[0]) > USELESS:
            return f"{where}, and no other choice is better. The step may be too long, or the machine itself at a dead centre"
        return f"{where}. Choose {_option(better)}, or leave 'independent' out: errors are then projected away instead"


def _loop_parts(equations: Equations) -> ca.Function:
    """Return the function (t, q, p) -> phi, A, b, N."""
    held = equations.constraints
    parts = [ca.densify(part) for part in (held.phi, held.A, held.b, equations.N)]
    return ca.Function("kp_loop_parts", [equations.t, equations.q, equations.p], parts)


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


def _option(names: Sequence[str]) -> str:
    return f"{listed(names)} (independent={'/'.join(names)})"


def _inertias(M: FloatArray) -> FloatArray:
    """Return the square roots of the inertias along the speeds; one without inertia of its own counts as the lightest."""
    diagonal = np.diag(M)
    light = diagonal[diagonal > 0].min(initial=np.inf)
    return np.sqrt(np.where(diagonal > 0, diagonal, light if np.isfinite(light) else 1.0))


def _numbers(equations: Equations) -> ca.Function:
    """Return the function (t, q, p) -> A, M."""
    return ca.Function(
        "numbers", [equations.t, equations.q, equations.p], [ca.densify(equations.constraints.A), ca.densify(equations.M)]
    )


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
