"""Quadratic programs of a horizon, solved by an interior-point method on Riccati recursions.

    least    sum over intervals of  1/2 [s; u]' H [s; u] + g' [s; u]  +  rho/2 |e|^2 for every soft row
    with     s after = A s + B u + c,    G [s; u] <= b + e,    e = 0 for hard rows,    s at the start given

Every part of it is a CasADi function of fixed size: no memory is allocated, and the generated C needs no library. A soft row
has the softness 1 / rho, a hard one zero; in the equations of the method this is the only difference between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import casadi as ca

#: Iterations end when the slope of the cost along inputs, the rows and the products of multipliers and slacks are below these.
SLOPE, ROWS, GAP = 1e-9, 1e-9, 1e-11
#: How much of the way to the nearest bound an iteration goes at most.
BOUNDARY = 0.995
#: Slack and product of slack and multiplier that the iterations begin with.
FIRST_SLACK, FIRST_GAP = 1.0, 30.0


@dataclass(frozen=True)
class HorizonProgram:
    """The size of a program: intervals, states, inputs, rows of each interval; and the most iterations that it may take."""

    intervals: int
    states: int
    inputs: int
    rows: int
    iterations: int = 40

    @property
    def parts(self) -> dict[str, tuple[int, int]]:
        """The shapes of what an interval is given by, one after the other in a column of data."""
        n, k, m = self.states, self.inputs, self.rows
        return {
            "A": (n, n), "B": (n, k), "c": (n, 1), "H": (n + k, n + k), "g": (n + k, 1), "G": (m, n + k), "b": (m, 1)
        }  # fmt: skip

    @property
    def size(self) -> int:
        """The length of a column of data."""
        return sum(a * b for a, b in self.parts.values())

    def split(self, column: Any) -> dict[str, Any]:
        """Return the parts of a column of data."""
        sizes = [a * b for a, b in self.parts.values()]
        rows = [0, *accumulate(sizes)]
        pieces = [column[first:last, :] for first, last in pairwise(rows)]
        return {name: ca.reshape(piece, *shape) for (name, shape), piece in zip(self.parts.items(), pieces, strict=True)}

    @staticmethod
    def joined(**parts: Any) -> Any:
        """Return a column of data from its parts."""
        return ca.vertcat(*(ca.vec(ca.densify(parts[name])) for name in "ABcHgGb"))

    @cached_property
    def _passes(self) -> _Passes:
        return _Passes(self)

    @cached_property
    def factors(self) -> ca.Function:
        """The function (data, weights of rows) -> gains, inverse Hessians of inputs, smallest pivot; from the last on."""
        data, weights = ca.MX.sym("data", self.size, self.intervals), ca.MX.sym("weights", self.rows, self.intervals)
        pass_back = self._passes.factor.mapaccum("kp_factors", self.intervals, 1)
        _, gains, inverses, pivots = pass_back(ca.MX.zeros(self.states, self.states), data, weights)
        return ca.Function("kp_factored", [data, weights], [gains, inverses, ca.mmin(pivots)])

    @cached_property
    def solution(self) -> ca.Function:
        """The function (data, softness, s at the start) -> u, s, multipliers, slacks, gains, whether it is one, iterations.

        ``data`` has a column for each interval, as :meth:`joined` makes it; s has a column more than that.
        """
        return _solution(self)


class _Passes:
    """What is done in one interval, on the way back from the end of the horizon or on the way forward."""

    def __init__(self, program: HorizonProgram) -> None:
        self.program = program
        n, k, m = program.states, program.inputs, program.rows
        self.column = ca.SX.sym("data", program.size)
        self.data = program.split(self.column)
        self.s, self.u = ca.SX.sym("s", n), ca.SX.sym("u", k)
        self.row_weights, self.row_terms = ca.SX.sym("w", m), ca.SX.sym("c", m)

    def parts(self) -> tuple[Any, Any, Any, Any, Any]:
        """Return A, B, H, g and G."""
        return tuple(self.data[name] for name in "ABHgG")

    @cached_property
    def factor(self) -> ca.Function:
        """(P, data, weights) -> P, gain, inverse of the Hessian of inputs, smallest pivot."""
        n = self.program.states
        A, B, H, _, G = self.parts()
        P = ca.SX.sym("P", n, n)
        AB = ca.horzcat(A, B)
        whole = H + AB.T @ P @ AB + G.T @ (ca.repmat(self.row_weights, 1, G.shape[1]) * G)
        Huu, Hus = whole[n:, n:], whole[n:, :n]
        inverse, pivot = inverted(Huu)
        gain = -inverse @ Hus
        before = whole[:n, :n] + Hus.T @ gain
        results = [(before + before.T) / 2, ca.vec(gain), ca.vec(inverse), pivot]
        return ca.Function("kp_factor", [P, self.column, self.row_weights], [ca.densify(item) for item in results])

    @cached_property
    def vector(self) -> ca.Function:
        """(p, data, slope, gain, inverse) -> p, shift of inputs."""
        n, k = self.program.states, self.program.inputs
        A, B, _, _, _ = self.parts()
        p, gain, inverse = ca.SX.sym("p", n), ca.SX.sym("gain", k * n), ca.SX.sym("inverse", k * k)
        own = ca.SX.sym("slope", n + k)
        slope = own + ca.horzcat(A, B).T @ p
        K, R = ca.reshape(gain, k, n), ca.reshape(inverse, k, k)
        results = [slope[:n] + K.T @ slope[n:], -R @ slope[n:], slope[n:]]
        arguments = [p, self.column, own, gain, inverse]
        return ca.Function("kp_vector", arguments, [ca.densify(item) for item in results])

    @cached_property
    def forward(self) -> ca.Function:
        """(s, data, gain, shift) -> s after, u, values of rows."""
        n, k = self.program.states, self.program.inputs
        A, B, _, _, G = self.parts()
        gain, shift = ca.SX.sym("gain", k * n), ca.SX.sym("shift", k)
        u = ca.reshape(gain, k, n) @ self.s + shift
        results = [A @ self.s + B @ u, u, G @ ca.vertcat(self.s, u)]
        return ca.Function("kp_forward", [self.s, self.column, gain, shift], [ca.densify(item) for item in results])

    @cached_property
    def still(self) -> ca.Function:
        """(s, data) -> s after without inputs, values of rows."""
        A, _, _, _, G = self.parts()
        results = [A @ self.s + self.data["c"], G[:, : self.program.states] @ self.s]
        return ca.Function("kp_still", [self.s, self.column], [ca.densify(item) for item in results])

    @cached_property
    def slope(self) -> ca.Function:
        """(data, s, u, multipliers) -> slope of the own cost of an interval along [s; u], values of rows."""
        _, _, H, g, G = self.parts()
        both = ca.vertcat(self.s, self.u)
        results = [g + H @ both + G.T @ self.row_terms, G @ both]
        return ca.Function("kp_slope", [self.column, self.s, self.u, self.row_terms], [ca.densify(item) for item in results])

    @cached_property
    def row_slope(self) -> ca.Function:
        """(data, slope, terms of rows) -> slope with those of the rows."""
        own = ca.SX.sym("slope", self.program.states + self.program.inputs)
        return ca.Function("kp_row_slope", [self.column, own, self.row_terms], [own + self.data["G"].T @ self.row_terms])


def inverted(matrix: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the inverse of a positive definite matrix by L D L', as straight-line code, and the smallest pivot."""
    n = matrix.shape[0]
    L, pivots = ca.SX.eye(n), []
    rest = ca.densify(matrix)
    for j in range(n):
        pivots.append(rest[j, j])
        L[j + 1 :, j] = rest[j + 1 :, j] / rest[j, j]
        rest[j + 1 :, j + 1 :] = rest[j + 1 :, j + 1 :] - L[j + 1 :, j] @ rest[j + 1 :, j].T
    smallest = pivots[0]
    for pivot in pivots[1:]:
        smallest = ca.fmin(smallest, pivot)
    inverse = ca.SX.eye(n)
    for i in range(n):
        inverse[i, :] = inverse[i, :] - L[i, :i] @ inverse[:i, :]
    return inverse.T @ (ca.diag(1 / ca.vertcat(*pivots)) @ inverse), smallest


class _Iterations:
    """The interior-point method: every iteration a predictor, centring and a corrector on one factorisation.

    All is written in changes, not in what they lead to: near the solution the weights of rows are as large as the inverse of
    rounding, and must meet nothing that cancels.
    """

    def __init__(self, program: HorizonProgram) -> None:
        n, k, m, N = program.states, program.inputs, program.rows, program.intervals
        self.program = program
        self.back = list(range(N))[::-1]
        passes = program._passes
        self.vectors = passes.vector.mapaccum("kp_vectors", N, 1)
        self.ahead = passes.forward.mapaccum("kp_ahead", N, 1)
        self.slopes, self.row_slopes = passes.slope.map(N), passes.row_slope.map(N)
        #: The same data in both orders, so that they are turned round once.
        self.data, self.turned = (ca.MX.sym(name, program.size, N) for name in ("data", "turned"))
        self.soft = ca.MX.sym("soft", m)
        self.s0 = ca.MX.sym("s0", n)
        self.u, self.s = ca.MX.sym("u", k, N), ca.MX.sym("s", n, N + 1)
        self.lam, self.slack = ca.MX.sym("lam", m, N), ca.MX.sym("slack", m, N)
        self.b = self.data[program.size - m :, :]
        self.softness = ca.repmat(self.soft, 1, N)
        self.state = [self.u, self.s, self.lam, self.slack]
        self.given = [self.data, self.turned, self.soft, self.s0]

    @cached_property
    def own(self) -> tuple[ca.MX, ca.MX]:
        """The slopes of the intervals' own costs, and how far rows are from what slacks and multipliers make of them."""
        slopes, rows = self.slopes(self.data, self.s[:, : self.program.intervals], self.u, self.lam)
        return slopes, rows + self.slack - self.softness * self.lam - self.b

    def begun(self) -> ca.Function:
        """(given) -> u, s, multipliers and slacks that the iterations begin with: inputs stay what they are."""
        k, m, N = self.program.inputs, self.program.rows, self.program.intervals
        after, rows = self.program._passes.still.mapaccum("kp_still_all", N, 1)(self.s0, self.data)
        u = ca.MX.zeros(k, N)
        slack = ca.fmax(ca.fabs(self.b - rows), FIRST_SLACK) if m else ca.MX(0, N)
        lam = FIRST_GAP * self.size() / slack if m else ca.MX(0, N)
        return ca.Function("kp_qp_begin", self.given, [u, ca.horzcat(self.s0, after), lam, slack])

    def size(self) -> ca.MX:
        """How large slopes are."""
        return 1 + _largest(self.data[_range(self.program, "g"), :])

    def converged(self) -> ca.Function:
        """(given, u, s, multipliers, slacks) -> whether this is the solution."""
        back, k, n = self.back, self.program.inputs, self.program.states
        slopes, away = self.own
        nothing = ca.MX.zeros(k * n, len(back)), ca.MX.zeros(k * k, len(back))
        _, _, slope = self.vectors(ca.MX.zeros(n), self.turned, slopes[:, back], *nothing)
        good = _largest(slope) <= SLOPE * self.size()
        if self.program.rows:
            good = ca.logic_and(good, _largest(away) <= ROWS)
            good = ca.logic_and(good, _largest(self.slack * self.lam) <= GAP * self.size())
        return ca.Function("kp_qp_converged", [*self.given, *self.state], [good])

    def iterated(self) -> ca.Function:
        """(given, u, s, multipliers, slacks) -> u, s, multipliers, slacks, smallest pivot."""
        m, n, back = self.program.rows, self.program.states, self.back
        slopes, away = self.own
        weights = 1 / (self.slack / self.lam + self.softness) if m else self.lam
        turned_gains, inverses, pivot = self.program.factors(self.turned, weights[:, back])
        gains = turned_gains[:, back]

        def changed(products: ca.MX) -> list[ca.MX]:
            """Return changes of u, s, multipliers and slacks that let slack times multiplier be ``products``, linearly."""
            short = products / self.lam - self.slack if m else self.lam
            terms = weights * (away + short)
            slope = self.row_slopes(self.data, slopes, terms)
            _, shifts, _ = self.vectors(ca.MX.zeros(n), self.turned, slope[:, back], turned_gains, inverses)
            after, u, rows = self.ahead(ca.MX.zeros(n), self.data, gains, shifts[:, back])
            lam = weights * rows + terms
            slack = short - self.slack / self.lam * lam if m else lam
            return [u, ca.horzcat(ca.MX.zeros(n), after), lam, slack]

        count = max(m * self.program.intervals, 1)
        gap = ca.dot(self.slack, self.lam) / count
        if m:
            _, _, lam, slack = changed(ca.MX.zeros(m, self.program.intervals))
            part = _part(self.lam, lam, self.slack, slack, 1.0)
            reached = ca.dot(self.slack + part * slack, self.lam + part * lam) / count
            changes = changed((reached / gap) ** 3 * gap - lam * slack)
            part = _part(self.lam, changes[2], self.slack, changes[3], BOUNDARY)
        else:
            changes, part = changed(self.lam), ca.MX(1)
        following = [before + part * change for before, change in zip(self.state, changes, strict=True)]
        return ca.Function("kp_qp_iterated", [*self.given, *self.state], [*following, pivot])


def _solution(program: HorizonProgram) -> ca.Function:
    inner = _Iterations(program)
    given, state = inner.given, inner.state
    converged, iterated = inner.converged(), inner.iterated()
    flag, count = ca.MX.sym("flag"), ca.MX.sym("count")
    symbols = [*given, *state, flag, count]
    *following, pivot = iterated.call([*given, *state])
    # Not convex, or no number any more: to go on would be in vain, and is told by a flag of its own.
    lost = ca.logic_not(pivot > 0)
    done = ca.if_else(lost, -1, converged.call([*given, *following])[0])
    go = ca.Function("kp_qp_go", symbols, [*following, done, count + 1])
    stay = ca.Function("kp_qp_stay", symbols, [*state, flag, count])
    back = inner.back
    numbers = [inner.data, inner.data[:, back], inner.soft, inner.s0]
    loop = [*inner.begun().call(numbers), ca.MX(0), ca.MX(0)]
    step = ca.Function.if_else("kp_qp_step", stay, go)
    for _ in range(program.iterations):
        loop = step.call([loop[4] != 0, *numbers, *loop])
    u, s, lam, slack, flag_after, iterations = loop
    weights = 1 / (slack / lam + inner.softness) if program.rows else ca.MX(0, program.intervals)
    gains, _, _ = program.factors(numbers[1], weights[:, back])
    results = [u, s, lam, slack, gains[:, back], flag_after > 0, iterations]
    return ca.Function("kp_qp", [inner.data, inner.soft, inner.s0], [ca.densify(item) for item in results])


def _range(program: HorizonProgram, name: str) -> list[int]:
    sizes = [a * b for a, b in program.parts.values()]
    starts = dict(zip(program.parts, [0, *accumulate(sizes)][:-1], strict=True))
    a, b = program.parts[name]
    return list(range(starts[name], starts[name] + a * b))


def _largest(matrix: ca.MX) -> ca.MX:
    """Return the largest entry without its sign; what is no number is larger than any."""
    size = ca.fabs(ca.vec(matrix))
    return ca.mmax(ca.if_else(size <= 1e300, size, 1e300))


def _part(lam: ca.MX, lam_change: ca.MX, slack: ca.MX, slack_change: ca.MX, most: float) -> ca.MX:
    """Return how far multipliers and slacks can go and stay positive, 1 at most."""
    steepest = ca.fmax(ca.mmax(ca.vec(-lam_change / lam)), ca.mmax(ca.vec(-slack_change / slack)))
    return ca.fmin(1, most / ca.fmax(steepest, most * 1e-3))
