"""Costs of whole motions by ranges that are counted in them, such as fatigue.

Which extremes form a range is counted in a motion and held while a program is solved: every extreme becomes a variable beyond
all samples around it, up to the extremes on both sides, so that it may move in time; what a range costs is a power of it. Then
it is counted again, until both agree.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import Functions, NonlinearProgram
from kingpost.control.optimal.transcription import CostTerm, Moments
from kingpost.mechanism.mechanism import Mechanism
from kingpost.symbols.straightline import expanded

#: How often ranges are counted at most, and by which part of the cost two counts may differ.
COUNTS, AGREE = 12, 1e-6


@dataclass(frozen=True)
class CountedRange:
    """A range: the samples at its upper and its lower end, how large it is, what it costs, and with which power of its size."""

    upper: int
    lower: int
    size: float
    cost: float
    power: float


class CountedTerm(CostTerm):
    """A cost of a whole motion: the sum over ranges that are counted in a sum of channels at the nodes."""

    whole = True

    @abstractmethod
    def weights(self) -> Mapping[str, float]:
        """Return the channels of the sum, and the factor of each."""

    @abstractmethod
    def ranges(self, values: FloatArray) -> tuple[CountedRange, ...]:
        """Count the ranges in such a sum."""

    def names(self, mechanism: Mechanism, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.weights())

    def cost(self, moments: Moments) -> Any:
        return ca.MX(0)


@dataclass(frozen=True, eq=False)
class Count:
    """The ranges of one term in a motion, and where their ends may be."""

    weight: float
    term: CountedTerm
    values: FloatArray
    ranges: tuple[CountedRange, ...]

    @property
    def cost(self) -> float:
        """What all ranges cost, with the weight of the term."""
        return self.weight * sum(item.cost for item in self.ranges)

    @property
    def size(self) -> float:
        """The largest range of the values."""
        return float(np.ptp(self.values)) or 1.0

    @cached_property
    def ends(self) -> tuple[tuple[int, bool], ...]:
        """The samples that are ends of ranges, and whether they are upper ones."""
        upper = {(item.upper, True) for item in self.ranges}
        return tuple(sorted(upper | {(item.lower, False) for item in self.ranges}))

    def around(self, sample: int) -> range:
        """Return the samples around an extreme, up to those on both sides of it."""
        signs = np.sign(np.diff(self.values))
        for i in range(1, len(signs)):
            signs[i] = signs[i] or signs[i - 1]
        turns = [0, *(i for i in range(1, len(signs)) if signs[i] != signs[i - 1]), len(self.values) - 1]
        before = max((turn for turn in turns if turn < sample), default=-1)
        after = min((turn for turn in turns if turn > sample), default=len(self.values))
        return range(before + 1, after)


def counts_of(optimum: Optimum) -> tuple[Count, ...]:
    """Count the ranges of all terms that want it in a motion, all phases of it."""
    found = []
    for weight, term in optimum.problem.terms:
        if isinstance(term, CountedTerm):
            values = np.concatenate([_values(part, term, part is optimum.parts[-1]) for part in optimum.parts])
            found.append(Count(weight, term, values, term.ranges(values)))
    return tuple(found)


def _values(part: Optimum, term: CountedTerm, last: bool) -> FloatArray:
    """Return what is counted at the nodes of a phase; where phases meet, what the later one begins with."""
    observer = part.problem.observer(tuple(term.weights()))
    factors = np.array(list(term.weights().values()))
    rows = zip(part.times, part.states, part.input_rows, strict=True)
    values = np.array([factors @ np.asarray(observer(t, x, u, part.p)).ravel() for t, x, u in rows])
    return values if last else values[:-1]


@dataclass(frozen=True, eq=False)
class CountedProgram:
    """A program with variables for the ends of ranges behind its own, and rows that keep these beyond all samples around.

    ``program`` is one of intervals, or one in phases; ``parts`` are those of its phases, or itself.
    """

    program: Any
    parts: tuple[NonlinearProgram, ...]
    problem: OptimalProblem
    counts: tuple[Count, ...]

    @property
    def _ends(self) -> int:
        return sum(len(count.ends) for count in self.counts)

    @property
    def layout(self) -> Any:
        """The layout of the program itself."""
        return self.program.layout

    @cached_property
    def scales(self) -> FloatArray:
        """Scales of all variables."""
        return np.concatenate([self.program.scales, *(np.full(len(count.ends), count.size) for count in self.counts)])

    @property
    def cost_scale(self) -> float:
        """By what the cost is divided."""
        return self.program.cost_scale

    @cached_property
    def low(self) -> FloatArray:
        """Lower limits of variables, unscaled."""
        return np.concatenate([self.program.low, np.full(self._ends, -np.inf)])

    @cached_property
    def high(self) -> FloatArray:
        """Upper limits of variables, unscaled."""
        return np.concatenate([self.program.high, np.full(self._ends, np.inf)])

    @cached_property
    def row_low(self) -> FloatArray:
        """Lower limits of rows."""
        return np.concatenate([self.program.row_low, np.zeros(self.functions.beyond)])

    @cached_property
    def row_high(self) -> FloatArray:
        """Upper limits of rows."""
        return np.concatenate([self.program.row_high, np.full(self.functions.beyond, np.inf)])

    @property
    def theta(self) -> FloatArray:
        """All numbers that blocks take."""
        return self.program.theta

    @cached_property
    def functions(self) -> CountedFunctions:
        """The functions of the whole program."""
        return CountedFunctions(self)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.functions.rows

    def start(self, w: FloatArray) -> FloatArray:
        """Return variables of the program with the ends of ranges as they were counted behind them."""
        ends = [count.values[sample] for count in self.counts for sample, _ in count.ends]
        return np.concatenate([w, ends])


def _seen(program: NonlinearProgram, problem: OptimalProblem, names: Sequence[str], factors: Sequence[float]) -> ca.Function:
    """Return the function (what an interval sees, its number) -> a sum of channels at its start and at its end."""
    layout, posed, e = program.layout, problem.posed, problem.equations
    local, k = ca.MX.sym("local", layout.local), ca.MX.sym("k")
    whole = local * ca.DM(program.scales[: layout.local])
    node0, node1 = whole[: layout.node], whole[layout.stride :]
    horizon = node0[layout.timing] if layout.horizon else ca.MX(problem.task.horizon.low)
    h = horizon / layout.intervals
    begin = node0[layout.timing + layout.horizon] if layout.begin else ca.MX(posed.t_start)
    t = begin + k * h
    p = problem.parameters(node0[layout.node - layout.parameters :], ca.MX(ca.DM(posed.p)))
    given = ca.MX(ca.DM(posed.u0))
    if layout.linear:
        ends = [node[layout.state : layout.timing] for node in (node0, node1)]
        inputs = problem.inputs(ends[0], given, ends[1], t, h)
    else:
        inputs = problem.inputs(whole[layout.node + layout.inner : layout.stride], given)
    observer, weights = problem.observer(tuple(names)), ca.DM(list(factors)).T
    values = [weights @ observer(t, node0[: e.nx], inputs, p), weights @ observer(t + h, node1[: e.nx], inputs, p)]
    function = ca.Function("kp_counted", [local, k], values)
    return expanded(function) or function


class CountedFunctions(Functions):
    """Those of a program with counted ranges."""

    def __init__(self, counted: CountedProgram) -> None:
        program = counted.program
        self._own: Functions = program.functions
        size = len(program.scales)
        self.x, self.theta = ca.MX.sym("x", len(counted.scales)), ca.MX.sym("p", len(program.theta))
        self._inner = self.x[:size]
        self._more = len(counted.scales) - size
        rows, cost, at = [], ca.MX(0), size
        for count in counted.counts:
            samples = self._samples(counted, count) / count.size
            places = {}
            for sample, upper in count.ends:
                end = places[sample, upper] = self.x[at]
                near = samples[list(count.around(sample))]
                rows.append(end - near if upper else near - end)
                at += 1
            for item in count.ranges:
                part = ca.fmax(places[item.upper, True] - places[item.lower, False], 0.0) * (count.size / item.size)
                cost += count.weight * item.cost * part**item.power
        self._beyond = ca.vertcat(ca.MX(0, 1), *rows)
        self._cost = cost / counted.cost_scale
        self.beyond = int(self._beyond.numel())
        self.rows = self._own.rows + self.beyond

    def _samples(self, counted: CountedProgram, count: Count) -> ca.MX:
        """Return what is counted at all nodes, of one phase after the other."""
        weights, found, at = count.term.weights(), [], 0
        for part, problem in zip(counted.parts, counted.problem.parts, strict=True):
            layout, own = part.layout, self._inner[at : at + len(part.scales)]
            seen = ca.reshape(own[layout.locals().ravel().tolist()], layout.local, layout.intervals)
            function = _seen(part, problem, tuple(weights), tuple(weights.values()))
            starts, ends = function.map(layout.intervals)(seen, ca.DM(np.arange(layout.intervals, dtype=float)).T)
            found.append(starts)
            at += len(part.scales)
        return ca.horzcat(*found, ends[-1]).T

    @cached_property
    def values(self) -> tuple[ca.MX, ca.MX]:
        f, g = ca.Function("kp_plain", [self._own.x, self._own.theta], list(self._own.values))(self._inner, self.theta)
        return f + self._cost, ca.vertcat(g, self._beyond)

    @cached_property
    def gradient(self) -> ca.Function:
        f, slope = self._own.gradient(self._inner, self.theta)
        whole = ca.vertcat(slope, ca.MX.zeros(self._more)) + ca.gradient(self._cost, self.x)
        return self.gradient_of(f + self._cost, whole)

    @cached_property
    def jacobian(self) -> ca.Function:
        g, J = self._own.jacobian(self._inner, self.theta)
        whole = ca.vertcat(ca.horzcat(J, ca.MX(self._own.rows, self._more)), ca.jacobian(self._beyond, self.x))
        return self.jacobian_of(ca.vertcat(g, self._beyond), whole)

    @cached_property
    def hessian(self) -> ca.Function:
        sigma, lam = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.rows)
        own, beyond = lam[: self._own.rows], lam[self._own.rows :]
        H = ca.diagcat(self._own.hessian(self._inner, self.theta, sigma, own), ca.MX(self._more, self._more))
        added: Any = ca.triu(ca.hessian(sigma * self._cost + ca.dot(beyond, self._beyond), self.x)[0])
        return self.hessian_of(sigma, lam, H + added)
