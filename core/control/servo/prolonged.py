"""A servo problem with some of its derivatives: no more of each equation than can say anything about the motion itself.

Servo-constraints and constraints are taken with their first k derivatives, kinematics with k - 1, equations of motion with
k - 2. Further derivatives of the latter only bring further derivatives of inputs and multipliers, which nothing else tells.
All in Taylor coefficients of (t - t_0) / tau, at one time or at many times at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.problem import ServoProblem
from kingpost.symbols.taylor import TaylorSeries, scaled_powers

#: Newton steps for one point.
MOST_STEPS = 40
#: Newton steps of this part of the unknowns, in their sizes, are the last ones: the next would be about its square.
SETTLED = 1e-8
#: ... if no scaled residual is larger: rounding of numbers of the size one.
ROUNDING = 1e-13
#: Steps are not shortened further.
SHORTEST = 1e-3
#: Parts of vectors in a null space beyond which something is not determined; those of rounding are far below.
UNDETERMINED = 1e-6


@dataclass(frozen=True, eq=False)
class Slots:
    """The orders up to which equations and unknowns are taken."""

    rows: FloatArray
    unknowns: FloatArray


class Prolonged:
    """The equations of a servo problem with k derivatives of its servo-constraints, for series of all unknowns."""

    def __init__(self, system: FirstOrder, k: int, tau: float) -> None:
        self.system, self.k, self.tau = system, k, tau
        problem = system.problem
        slots = _slots(problem, system, k)
        self.size = system.unknowns.size
        self._count = len(slots.rows)
        #: Places (order, row) and (order, unknown) that count, order by order.
        self.rows = np.array([(i, r) for i in range(k + 1) for r in range(self._count) if i <= slots.rows[r]])
        self.columns = np.array([(j, c) for j in range(k + 1) for c in range(self.size) if j <= slots.unknowns[c]])
        self._row_flat = self.rows[:, 0] * self._count + self.rows[:, 1]
        self._place = np.full((k + 2, self.size), -1)
        self._place[self.columns[:, 0], self.columns[:, 1]] = np.arange(len(self.columns))
        self._row_place = np.full((k + 1, self._count), -1)
        self._row_place[self.rows[:, 0], self.rows[:, 1]] = np.arange(len(self.rows))
        self._entries = self._jacobian_entries()

    def _jacobian_entries(self) -> list[tuple[int, int, Any, Any, Any, float]]:
        """Return where the coefficients of both Jacobians go: part, coefficient, its entries, rows, columns, factor."""
        entries = []
        for part, (rows, columns) in enumerate(functions(self.system).places):
            for i, j in itertools.product(range(self.k + 1), repeat=2):
                coefficient = i - j + part
                if not 0 <= coefficient <= self.k or (part and j == 0):
                    continue
                to_row, to_column = self._row_place[i, rows], self._place[j, columns]
                used = np.flatnonzero((to_row >= 0) & (to_column >= 0))
                if len(used):
                    factor = j / self.tau if part else 1.0
                    entries.append((part, coefficient, used, to_row[used], to_column[used], factor))
        return entries

    def signals(self, times: FloatArray) -> FloatArray:
        """Return the Taylor coefficients of the signals: entries x orders x times."""
        found = self.system.problem.signals(times, self.k)
        return np.asarray(np.moveaxis(found, 0, -1).swapaxes(0, 1) * np.array(scaled_powers(self.tau, self.k))[:, None])

    def _arguments(self, times: FloatArray, x: FloatArray, signals: FloatArray) -> list[FloatArray]:
        k, p, count = self.k, self.system.problem.p, len(times)
        time, parameters = np.zeros((1, k + 1, count)), np.zeros((len(p), k + 1, count))
        time[0, 0], time[0, 1:2] = times, self.tau
        parameters[:, 0] = p[:, None]
        rates = np.zeros_like(x)
        rates[:, :-1] = x[:, 1:] * (np.arange(1, k + 1) / self.tau)[:, None]
        return [time, x, rates, signals, parameters]

    def residual(self, times: FloatArray, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the residuals for series x (unknowns x orders x times): times x rows."""
        arguments = self._arguments(times, x, signals)
        (found,) = functions(self.system).residual(*_single(arguments))
        found = found.reshape(self._count, self.k + 1, -1)
        return np.ascontiguousarray(found.transpose(2, 1, 0).reshape(len(times), -1)[:, self._row_flat])

    def jacobian(self, times: FloatArray, x: FloatArray, signals: FloatArray) -> FloatArray:
        """Return the derivative of the residuals with respect to the coefficients that count: times x rows x columns."""
        arguments = self._arguments(times, x, signals)
        found = functions(self.system).slopes(*_single(arguments))
        J = np.zeros((len(times), len(self.rows), len(self.columns)))
        slopes = [part.reshape(part.shape[0], self.k + 1, -1) for part in found]
        for part, coefficient, used, rows, columns, factor in self._entries:
            # Both parts may meet in one place, but no part meets itself.
            J[:, rows, columns] += factor * slopes[part][used, coefficient].T
        return J

    def pack(self, x: FloatArray) -> FloatArray:
        """Return the coefficients that count of series (unknowns x orders x times): times x columns."""
        return np.ascontiguousarray(x[self.columns[:, 1], self.columns[:, 0]].T)

    def unpack(self, values: FloatArray) -> FloatArray:
        """Return series from the coefficients that count, zero elsewhere."""
        x = np.zeros((self.size, self.k + 1, len(values)))
        x[self.columns[:, 1], self.columns[:, 0]] = values.T
        return x

    def column(self, order: int, unknowns: slice) -> FloatArray:
        """Return the columns of some unknowns at an order, as far as they are there."""
        found = self._place[order, unknowns]
        return np.asarray(found[found >= 0])

    @property
    def states(self) -> FloatArray:
        """The columns of q, v and z themselves."""
        at = self.system.unknowns
        return np.concatenate([self.column(0, part) for part in (at.q, at.v, at.z)])

    @property
    def results(self) -> FloatArray:
        """The columns of what follows from them: accelerations, rates of z, multipliers and inputs."""
        at = self.system.unknowns
        return np.concatenate([self.column(1, at.v), self.column(1, at.z), self.column(0, at.lam), self.column(0, at.u)])

    def solve(self, t: float, x: FloatArray, weights: FloatArray, enough: float = ROUNDING) -> Found:
        """Return the series nearest to x (unknowns x orders) that meets the equations.

        Newton's method; each step changes q, v and z as little as the equations allow, and then the rest as little as they
        allow, so that internal states stay what they are. Steps are shortened while the residual does not fall. ``enough`` is
        the scaled residual at which it may end.
        """
        times = np.array([t])
        signals = self.signals(times)
        values = self.pack(_sized(x, self.k)[:, :, None])
        scale = weights[self.columns[:, 1]]
        states = self.states
        others = np.setdiff1d(np.arange(len(self.columns)), states)

        def evaluated(values: FloatArray) -> FloatArray:
            return self.residual(times, self.unpack(values), signals)[0]

        r = evaluated(values)
        left = np.inf
        scaled = np.zeros((0, 0))
        for _ in range(MOST_STEPS):
            J = self.jacobian(times, self.unpack(values), signals)[0] * scale
            if not (np.isfinite(J).all() and np.isfinite(r).all()):
                return Found(self, t, self.unpack(values)[:, :, 0], np.inf, scaled)
            size = np.abs(J).max(axis=1)
            size[size == 0.0] = 1.0
            scaled = J / size[:, None]
            left = float(np.abs(r / size).max(initial=0.0))
            step = _hierarchical(scaled, -r / size, states, others)
            length = float(np.abs(step).max(initial=0.0))
            factor, before = 1.0, float(np.linalg.norm(r / size))
            while True:
                trial = values + factor * scale * step
                after = evaluated(trial)
                norm = float(np.linalg.norm(after / size))
                if (np.isfinite(norm) and norm <= (1 - factor / 4) * before + 1e-14) or factor < SHORTEST:
                    break
                factor /= 2
            if factor < SHORTEST:
                break
            values, r = trial, after
            left = float(np.abs(r / size).max(initial=0.0))
            if left <= enough and length < max(SETTLED, enough**0.5) * (1.0 + float(np.abs(values / scale).max(initial=0.0))):
                break
        return Found(self, t, self.unpack(values)[:, :, 0], left, scaled)


@dataclass(frozen=True, eq=False)
class Found:
    """A point of a prolonged problem: a series, the largest scaled residual there, and the scaled Jacobian."""

    array: Prolonged
    t: float
    series: FloatArray
    left: float
    J: FloatArray

    @cached_property
    def known(self) -> FloatArray:
        """The series with zeros in the place of coefficients that the equations leave free, as far as they are given."""
        array = self.array
        _, values, V = np.linalg.svd(self.J)
        loose = np.linalg.norm(V[rank_of(values) :], axis=0) > UNDETERMINED
        series = np.array(self.series)
        series[array.columns[loose, 1], array.columns[loose, 0]] = 0.0
        return series

    def free_states(self) -> int:
        """Return the number of states that the path leaves free."""
        return _loose(self.J, self.array.states)

    def determined(self) -> bool:
        """Say whether accelerations, multipliers and inputs follow where q, v and z are given."""
        array = self.array
        others = np.setdiff1d(np.arange(len(array.columns)), array.states)
        results = np.searchsorted(others, array.results)
        return _loose(self.J[:, others], results) == 0


def _loose(J: FloatArray, columns: Any) -> int:
    """Return how many independent combinations of some columns a matrix leaves free."""
    _, values, V = np.linalg.svd(J)
    null = V[rank_of(values) :].T
    parts = np.linalg.svd(null[columns], compute_uv=False) if null.shape[1] else np.zeros(0)
    return int((parts > UNDETERMINED).sum())


def rank_of(values: FloatArray) -> int:
    """Return the rank that falling singular values show by their widest gap; a matrix may have full rank."""
    if not len(values) or values[0] == 0.0:
        return 0
    floor = len(values) * np.finfo(float).eps
    ladder = np.maximum(np.concatenate([values / values[0], [0.0]]), floor)
    steps = ladder[:-1] / ladder[1:]
    # A gap above this is the nature of the machine: masses, stiffnesses, lengths.
    steps[ladder[1:] > 1e-8] = 1.0
    return int(np.argmax(steps)) + 1


def _hierarchical(J: FloatArray, r: FloatArray, first: FloatArray, others: FloatArray) -> FloatArray:
    """Return a step with J step = r whose part ``first`` is as short as can be, and then the rest."""
    step = np.zeros(J.shape[1])
    U, values, V = np.linalg.svd(J[:, others], full_matrices=False)
    rank = rank_of(values)
    U, values, V = U[:, :rank], values[:rank], V[:rank]
    rest = J[:, first] - U @ (U.T @ J[:, first])
    left = r - U @ (U.T @ r)
    from scipy.linalg import lstsq  # slow to import

    step[first] = lstsq(rest, left, cond=1e-10, check_finite=False)[0]
    step[others] = V.T @ ((U.T @ (r - J[:, first] @ step[first])) / values)
    return step


@dataclass(frozen=True, eq=False)
class SeriesFunctions:
    """The Taylor series of F and of the entries of its Jacobians that are not always zero, and where these are."""

    residual: TaylorSeries
    slopes: TaylorSeries
    places: tuple[tuple[FloatArray, FloatArray], ...]


def functions(system: FirstOrder) -> SeriesFunctions:
    """Return the series of a system, found once."""
    kept = system.__dict__.get("_series_functions")
    if kept is None:
        symbols = [system.t, system.x, system.xdot, system.signals, system.p]
        parts = [ca.jacobian(system.residual, symbol) for symbol in (system.x, system.xdot)]
        entries: list[Any] = [part.nonzeros() for part in parts]
        nonzeros: list[Any] = [ca.vertcat(ca.SX(0, 1), *part) for part in entries]
        slopes = ca.Function("kp_servo_slopes", symbols, ca.cse(nonzeros))
        places = tuple((np.array(part.sparsity().row()), np.array(part.sparsity().get_col())) for part in parts)
        residual = ca.Function("kp_servo_rows", symbols, ca.cse([ca.densify(system.residual)]))
        kept = SeriesFunctions(TaylorSeries(residual), TaylorSeries(slopes), places)
        system.__dict__["_series_functions"] = kept
    return kept


def _single(arguments: list[FloatArray]) -> list[FloatArray]:
    """Return the arguments of one series without the axis of times, for which plain numbers are faster."""
    return [argument[:, :, 0] for argument in arguments] if arguments[0].shape[2] == 1 else arguments


def shifted(series: FloatArray, distance: FloatArray) -> FloatArray:
    """Return series (unknowns x orders [x times]) about places that are so far (in tau) from those that they are about."""
    orders = series.shape[1]
    if series.ndim == 2:
        series = np.repeat(series[:, :, None], len(distance), axis=2)
    result = np.array(series)
    # Horner's scheme, once for each coefficient.
    for first in range(orders - 1):
        for j in range(orders - 2, first - 1, -1):
            result[:, j] += distance * result[:, j + 1]
    return result


def _sized(x: FloatArray, order: int) -> FloatArray:
    """Return a series with the coefficients up to an order."""
    result = np.zeros((len(x), order + 1))
    count = min(x.shape[1], order + 1)
    result[:, :count] = x[:, :count]
    return result


def _slots(problem: ServoProblem, system: FirstOrder, k: int) -> Slots:
    e, at = problem.equations, system.unknowns
    held = e.constraints
    followers = e.coordinates.followers
    unknowns = np.zeros(at.size, dtype=int)
    for part, order in ((at.q, k), (at.v, k - 1), (at.z, k - 1), (at.lam, k - 2), (at.u, k - 2), (at.mu, k - 1)):
        unknowns[part] = order
    rows = [
        *[k - 1] * (e.nq - followers),
        *[k] * followers,
        *[k - 2] * (e.nv + e.nz),
        *[k] * held.holonomic,
        *[k - 1] * (held.count - held.holonomic),
        *[k] * (problem.outputs + len(problem.length_names)),
    ]
    return Slots(np.array(rows), unknowns)
