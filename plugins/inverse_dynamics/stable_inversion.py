"""The bounded motion of machines whose internal states would run away: a boundary value problem on both sides of the path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.system import DirectInverse, Progress
from kingpost.plugins.inverse_dynamics.collocation import ORDER, TwoPoint, collocate
from kingpost.plugins.inverse_dynamics.output_input import check_regular, law_expressions

#: By default time is added in which the slowest internal motion falls to this part.
FORGOTTEN = 1e-7
#: Eigenvalues with real parts below this part of the largest, or of one over the duration, neither grow nor decay.
NEUTRAL = 1e-6
#: Intervals of the first mesh for each second, at least, and the most nodes of any.
NODES_PER_SECOND, MOST_NODES = 20, 200_000
#: Newton steps for a rest.
MOST_STEPS = 50


@dataclass(frozen=True)
class StableInversionOptions:
    """``lead``: time in s before the path begins and after it ends in which inputs act; 0 for as long as internal motions last.

    ``tolerance``: of the collocation, relative.
    """

    lead: float = 0.0
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lead) and self.lead >= 0):
            raise MechanismError(f"lead = {self.lead:g} s: it must be a time, or 0 for one that fits")
        if not 1e-13 <= self.tolerance < 1e-2:
            raise MechanismError(f"tolerance = {self.tolerance:g}: it must be between 1e-13 and 1e-2")


@dataclass(frozen=True, eq=False)
class Rest:
    """A state of rest, and how the machine moves near it while its measures stand still."""

    x: FloatArray
    #: Left invariant subspaces of motions that grow, and of all others.
    growing: FloatArray
    others: FloatArray
    eigenvalues: FloatArray


class StableInversion(DirectInverse):
    """Unstable zero dynamics: the one motion that stays bounded, with inputs that begin before the path does and end after it.

    Eq. (13) of document 003 as a two-sided boundary value problem: before the path, the internal states leave rest only along
    motions that grow; after it, they go back to rest only along those that decay. Solved by collocation of order 6 on meshes
    that get finer until nothing changes. No causal controller can do this; as a feed-forward along a known path it can be used.
    """

    name = "stable-inversion"
    Options = StableInversionOptions
    realisations = ("orthogonal",)
    causal = False
    order = 2

    def refusal(self, problem: ServoProblem) -> str:
        e = problem.equations
        if e.nq != e.nv or not problem.N.is_eye():
            return (
                f"method '{self.name}' needs coordinates whose rates are the speeds, and '{e.mechanism.name}' has others "
                "(spherical or free joints, or formulation with directors)"
            )
        return super().refusal(problem)

    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        check_regular(self.name, problem, start.point)
        loop = ClosedLoop(problem)
        begin, end = float(times[0]), float(times[-1])
        rests = loop.rests(start, np.linspace(begin, end, 41))
        first, last = loop.near_rest(begin, rests[0]), loop.near_rest(end, rests[-1])
        progress(0.1)
        step = float(times[1] - times[0])
        before, after = self._lead(first, step, grows=True), self._lead(last, step, grows=False)
        wide = np.concatenate([begin - step * np.arange(before, 0, -1), times, end + step * np.arange(1, after + 1)])
        states = self._bounded(loop, problem, wide, (begin, end), rests, (first, last))
        progress(0.9)
        values = loop.solution(wide, states)
        return wide, values

    def _lead(self, rest: Rest, step: float, grows: bool) -> int:
        """Return the number of steps that are added before (or after) the path."""
        if self.options.lead:
            return math.ceil(self.options.lead / step - 1e-9)
        real = rest.eigenvalues.real
        rates = real[real > 0] if grows else -real[real < 0]
        rates = rates[rates > NEUTRAL * max(1.0, float(np.abs(rest.eigenvalues).max(initial=0.0)))]
        return math.ceil(-math.log(FORGOTTEN) / float(rates.min()) / step) if len(rates) else 0

    def _bounded(
        self,
        loop: ClosedLoop,
        problem: ServoProblem,
        times: FloatArray,
        path: tuple[float, float],
        rests: FloatArray,
        ends: tuple[Rest, Rest],
    ) -> FloatArray:
        first, last = ends
        lead = loop.entry(float(times[0]), first)
        size = len(first.x)
        missing = size - len(lead.held(first.x)) - len(lead.rows)
        if missing != last.growing.shape[1]:
            raise SolverError(
                f"internal motions that grow are {missing} at the begin of the path and {last.growing.shape[1]} at its end; a "
                "bounded motion would be overdetermined, or not determined"
            )
        problem_at_ends = TwoPoint(
            loop.rates,
            loop.slopes,
            lambda x: lead.conditions(x, first.x),
            lambda x: (last.growing.T @ (x - last.x), last.growing.T),
        )
        # Every mesh holds the times of the samples, at which derivatives of the path may jump.
        parts = max(1, math.ceil((times[1] - times[0]) * NODES_PER_SECOND))
        x: FloatArray | None = None
        change = math.inf
        while parts * len(times) <= MOST_NODES:
            nodes = np.interp(np.arange(parts * (len(times) - 1) + 1) / parts, np.arange(len(times)), times)
            guess = loop.quasi_static(np.linspace(*path, len(rests)), rests, nodes)
            if x is not None:
                guess = np.array([np.interp(nodes, times, row) for row in x])
            found = collocate(problem_at_ends, nodes, guess)
            if not found.settled:
                raise SolverError(
                    f"no bounded motion was found along the path: Newton's method stopped at a change of {found.change:.1e}. A "
                    "slower path, or a longer lead, may help"
                )
            samples = found.x[:, ::parts]
            if x is not None:
                change = float((np.abs(samples - x) / (1 + np.abs(x).max(axis=1, keepdims=True))).max())
                if change <= self.options.tolerance * 2**ORDER:
                    return np.ascontiguousarray(samples.T)
            x, parts = samples, 2 * parts
        raise SolverError(
            f"the bounded motion was not found to a tolerance of {self.options.tolerance:g} with {MOST_NODES} nodes: with half "
            f"of them it changes by {change:.1e}. Take a larger tolerance, or a slower path"
        )


@dataclass(frozen=True, eq=False)
class Entry:
    """What must hold at the begin: positions and speeds of measures and constraints, and rows for deviations from rest."""

    loop: ClosedLoop
    t: float
    rows: FloatArray

    def held(self, x: FloatArray) -> FloatArray:
        """Return how far measures and constraints are from where they must be, and how fast."""
        return np.asarray(self.loop.held(self.t, x, self._signals, self.loop.p)).ravel()

    def conditions(self, x: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residual of all conditions, and its derivative."""
        slope = np.asarray(self.loop.held_slope(self.t, x, self._signals, self.loop.p))
        return np.concatenate([self.held(x), self.rows @ (x - rest)]), np.vstack([slope, self.rows])

    @cached_property
    def _signals(self) -> FloatArray:
        return self.loop.signals(np.array([self.t]))[:, 0]


class ClosedLoop:
    """The machine with its inputs from eq. (12), for states x = [q; v; z]."""

    def __init__(self, problem: ServoProblem) -> None:
        self.problem, self.p = problem, problem.p
        s, e = problem.symbols, problem.equations
        a, lam, u, _ = law_expressions(problem)
        x, given = ca.vertcat(s.q, s.v, s.z), ca.vertcat(*s.signals)
        self.size = int(x.numel())
        rates_of_states = ca.substitute([problem.state_rates], [s.a, s.lam, s.u], [a, lam, u])[0] if e.nz else ca.SX(0, 1)
        xdot = ca.densify(ca.vertcat(s.v, a, rates_of_states))
        symbols = [s.t, x, given, s.p]
        self.rhs = ca.Function("kp_closed_loop", symbols, ca.cse([xdot]))
        slope = ca.jacobian(xdot, x)
        self.slope = ca.Function("kp_closed_loop_slope", symbols, ca.cse([ca.densify(slope)]))
        self.row = ca.Function("kp_closed_loop_row", symbols, ca.cse([ca.densify(ca.vertcat(s.q, s.v, a, s.z, lam, u))]))
        held = ca.densify(ca.vertcat(problem.servo_positions, problem.servo_speeds, problem.phi, problem.constraint_speeds))
        self.held = ca.Function("kp_held", symbols, [held])
        self.held_slope = ca.Function("kp_held_slope", symbols, [ca.densify(ca.jacobian(held, x))])
        # Rest: nothing moves, and forces are in balance.
        still = ca.vertcat(problem.balance, problem.phi, problem.servo_positions, problem.state_rates)
        zeros = [ca.SX.zeros(e.nv)] * 2
        (rest,) = ca.substitute([still], [s.v, s.a], zeros)
        unknowns = ca.vertcat(s.q, s.z, s.lam, s.u)
        arguments = [unknowns, s.t, given, s.p]
        self.rest = ca.Function("kp_rest", arguments, [ca.densify(rest), ca.densify(ca.jacobian(rest, unknowns))])

    def signals(self, times: FloatArray) -> FloatArray:
        """Return the signals with their derivatives, one column for each time."""
        return np.ascontiguousarray(self.problem.signals(times, EXPRESSED).reshape(len(times), -1).T)

    def _mapped(self, function: ca.Function, times: FloatArray, x: FloatArray) -> FloatArray:
        return np.asarray(
            function.map(len(times))(times[None, :], x, self.signals(times), np.tile(self.p[:, None], len(times)))
        )

    def rates(self, times: FloatArray, x: FloatArray) -> FloatArray:
        return self._mapped(self.rhs, times, x)

    def slopes(self, times: FloatArray, x: FloatArray) -> FloatArray:
        found = self._mapped(self.slope, times, x)
        return found.reshape(self.size, len(times), self.size).transpose(0, 2, 1)

    def solution(self, times: FloatArray, states: FloatArray) -> FloatArray:
        """Return q, v, a, z, lam and u for states at all times."""
        return np.ascontiguousarray(self._mapped(self.row, times, np.ascontiguousarray(states.T)).T)

    def rests(self, start: ServoStart, times: FloatArray) -> FloatArray:
        """Return states of rest with the measures where the path has them, one row for each time; each found from the last."""
        e, point = self.problem.equations, start.point
        y = np.concatenate([point.q, point.z, point.lam, point.u])
        found = []
        for t in times:
            signals = self.signals(np.array([t]))[:, 0]
            # Derivatives of the path are no part of a rest.
            signals[self.problem.symbols.signals[0].numel() :] = 0.0
            y = self._at_rest(y, float(t), signals)
            found.append(np.concatenate([y[: e.nq], np.zeros(e.nv), y[e.nq : e.nq + e.nz]]))
        return np.array(found)

    def _at_rest(self, y: FloatArray, t: float, signals: FloatArray) -> FloatArray:
        left = np.inf
        for _ in range(MOST_STEPS):
            r, J = (np.asarray(part) for part in self.rest(y, t, signals, self.p))
            rows = np.maximum(np.abs(J).max(axis=1), np.finfo(float).tiny)
            left = float(np.abs(r.ravel() / rows).max())
            change = np.linalg.lstsq(J / rows[:, None], r.ravel() / rows, rcond=1e-12)[0]
            y = y - change
            if np.abs(change).max() <= 1e-12 * (1 + np.abs(y).max()):
                return y
        raise SolverError(
            f"'{self.problem.equations.mechanism.name}' has no rest with its measures where the path has them at t = {t:g} s "
            f"(scaled residual {left:.1e}), so that there is nothing that internal states could come from or go to"
        )

    def near_rest(self, t: float, x: FloatArray) -> Rest:
        """Return how internal states move near a rest."""
        signals = self.signals(np.array([t]))[:, 0]
        signals[self.problem.symbols.signals[0].numel() :] = 0.0
        matrix = np.asarray(self.slope(t, x, signals, self.p))
        eigenvalues: Any = np.linalg.eigvals(matrix)
        limit = NEUTRAL * max(1.0, float(np.abs(eigenvalues).max(initial=0.0)))
        _, vectors, count = scipy.linalg.schur(matrix.T, output="real", sort=lambda re, im=0.0: re > limit)
        return Rest(x, vectors[:, :count], vectors[:, count:], eigenvalues)

    def entry(self, t: float, rest: Rest) -> Entry:
        """Return what must hold at the begin: no internal motion but those that grow."""
        signals = self.signals(np.array([t]))[:, 0]
        fixed = np.asarray(self.held_slope(t, rest.x, signals, self.p))
        # Left vectors of all that does not grow, without what positions and speeds of measures and constraints say already.
        matrix = np.asarray(self.slope(t, rest.x, signals, self.p))
        limit = NEUTRAL * max(1.0, float(np.abs(rest.eigenvalues).max(initial=0.0)))
        _, left, count = scipy.linalg.schur(matrix.T, output="real", sort=lambda re, im=0.0: re <= limit)
        basis = left[:, :count]
        own = scipy.linalg.orth(fixed.T)
        rest_rows = basis - own @ (own.T @ basis)
        U, _, _ = np.linalg.svd(rest_rows, full_matrices=False)
        wanted = count - own.shape[1]
        return Entry(self, t, U[:, :wanted].T if wanted > 0 else np.zeros((0, self.size)))

    def quasi_static(self, times: FloatArray, rests: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return a first guess at the nodes: rests along the path, at the speed at which they follow each other."""
        e = self.problem.equations
        guess = np.array([np.interp(nodes, times, column) for column in rests.T])
        guess[e.nq : e.nq + e.nv] = np.gradient(guess[: e.nq], nodes, axis=1)
        return guess
