"""From a problem and the rule of a transcription to a nonlinear program: nodes, rows, bounds, scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.blocks import Blocks, build_blocks, compiled_blocks, worth_compiling
from kingpost.control.optimal.bounds import Bounded, bound_rows, bounded
from kingpost.control.optimal.layout import Layout
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.transcription import Grid, IntervalRule, Moments, Transcription
from kingpost.mechanism.optimal_tasks import Limits

#: Numbers at the front of theta: time of the start, horizon if it is fixed, number of intervals.
FRONT = 3


@dataclass(frozen=True, eq=False)
class _Parts:
    """What all blocks of a program share."""

    problem: OptimalProblem
    rule: IntervalRule
    layout: Layout
    limited: Bounded

    @property
    def numbers(self) -> int:
        e = self.problem.equations
        return FRONT + e.np + e.nu + len(self.limited.seen)

    def split(self, theta: Any) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any]:
        """Return t_start, horizon, N, p, given inputs, sizes of bounds, scales and the scale of the cost."""
        e = self.problem.equations
        edges = np.cumsum([0, 1, 1, 1, e.np, e.nu, len(self.limited.seen), self.layout.local, 1]).tolist()
        return tuple(theta[a:b] for a, b in pairwise(edges))

    def node(self, node: Any) -> tuple[Any, Any, Any, Any]:
        """Return state, inputs before, horizon and free parameters of a node."""
        n = self.layout
        edges = np.cumsum([0, n.state, n.before, n.horizon, n.begin, n.parameters]).tolist()
        state, before, horizon, _, free = (node[a:b, :] for a, b in pairwise(edges))
        return state, before, horizon, free

    def begin(self, node: Any, t_start: Any) -> Any:
        """Return the time of the start: found, or a number."""
        at = self.layout.timing + self.layout.horizon
        return node[at : at + 1, :] if self.layout.begin else t_start

    def row(self, u: Any, ends: tuple[Any, Any] | None, given: Any, t: Any, h: Any) -> Any:
        """Return the row of all inputs of an interval: constant ones, or linear ones between both ends."""
        if ends is None:
            return self.problem.inputs(u, given)
        return self.problem.inputs(ends[0], given, ends[1], t, h)


def layout_of(problem: OptimalProblem, rule: IntervalRule, grid: Grid) -> Layout:
    """Return where everything is in the variables of a program."""
    task = problem.task
    remembers = bool(task.rates) or any(term.needs_before for _, term in problem.terms)
    return Layout(
        intervals=grid.intervals,
        state=problem.equations.nx + rule.remembered,
        before=len(task.inputs) if remembers or problem.linear else 0,
        horizon=0 if task.horizon.prescribed else 1,
        parameters=len(task.free),
        inner=len(rule.inner),
        inputs=0 if problem.linear else len(task.inputs),
        linear=problem.linear,
        begin=1 if problem.moves else 0,
    )


@dataclass(frozen=True, eq=False)
class _Built:
    """The blocks of a program, which do not know how many intervals there are, what their rows say, and their limits."""

    blocks: Blocks
    names: Mapping[str, tuple[str, ...]]
    #: Of the last rows of an interval, with what these were divided by, and of all rows of the end.
    limits: list[Limits]
    sizes: list[float]
    last_limits: list[Limits]


def rule_of(problem: OptimalProblem, transcription: Transcription, grid: Grid) -> IntervalRule:
    """Return the rule of a transcription for a problem; it is made once."""
    key = (type(transcription), repr(transcription.options))
    if key not in problem.built:
        problem.built[key] = transcription.rule(problem, grid)
    found = problem.built[key]
    assert isinstance(found, IntervalRule)
    return found


def _built(problem: OptimalProblem, rule: IntervalRule, layout: Layout, limited: Bounded) -> _Built:
    """Return what all programs of a problem with a rule share; it is made once."""
    found = problem.built.get(rule)
    if found is None:
        parts = _Parts(problem, rule, layout, limited)
        interval, names, limits, sizes = _interval(parts)
        first, first_names = _first(parts)
        last, last_names, last_limits = _last(parts)
        blocks = build_blocks(interval, first, last, parts.numbers)
        rows = {"interval": tuple(names), "first": tuple(first_names), "last": tuple(last_names)}
        found = problem.built[rule] = _Built(blocks, rows, limits, sizes, last_limits)
    assert isinstance(found, _Built)
    return found


def _blocks(problem: OptimalProblem, rule: IntervalRule, built: _Built, intervals: int) -> Blocks:
    """Return blocks as machine code where that is asked for, was made before, or is worth it for so many intervals."""
    backend = problem.posed.how.backend or "auto"
    if backend == "vm":
        return built.blocks
    found = problem.built.get((rule, "compiled"))
    if found is None:
        if backend == "auto" and not worth_compiling(built.blocks, intervals):
            return replace(built.blocks, note="interpreter: to compile would take longer than to solve")
        found = problem.built[rule, "compiled"] = compiled_blocks(built.blocks, backend)
    assert isinstance(found, Blocks)
    return found


def transcribe(problem: OptimalProblem, rule: IntervalRule, grid: Grid) -> NonlinearProgram:
    """Return the program of a problem with the rule of a transcription."""
    layout = layout_of(problem, rule, grid)
    limited = bounded(problem)
    built = _built(problem, rule, layout, limited)
    N, posed = grid.intervals, problem.posed
    lows, highs = _pairs(built.limits)
    end_lows, end_highs = _pairs(built.last_limits)
    dynamics = np.zeros(len(built.names["interval"]) - len(built.limits))
    zeros = np.zeros(len(built.names["first"]))
    low, high = _variable_limits(problem, layout)
    scales = variable_scales(problem, rule, layout)
    numbers = np.concatenate([[posed.t_start, problem.task.horizon.low, N], posed.p, posed.u0, limited.sizes])
    return NonlinearProgram(
        layout=layout,
        blocks=_blocks(problem, rule, built, N),
        scales=scales,
        cost_scale=1.0,
        low=low,
        high=high,
        row_low=np.concatenate([np.tile(np.concatenate([dynamics, lows]), N), zeros, end_lows]),
        row_high=np.concatenate([np.tile(np.concatenate([dynamics, highs]), N), zeros, end_highs]),
        numbers=numbers,
        bound_sizes=np.array(built.sizes),
        names=built.names,
    )


def _pairs(limits: Sequence[Limits]) -> tuple[FloatArray, FloatArray]:
    return np.array([item.low for item in limits]), np.array([item.high for item in limits])


def _interval(parts: _Parts) -> tuple[ca.Function, list[str], list[Limits], list[float]]:
    """Return the function of an interval, the names of its rows, and limits and sizes of the last of them, which are bounds."""
    problem, rule, layout = parts.problem, parts.rule, parts.layout
    task, e = problem.task, problem.equations
    w, k, theta = ca.MX.sym("w", layout.local), ca.MX.sym("k"), ca.MX.sym("theta", parts.numbers + layout.local + 1)
    stretch, more = ca.MX.sym("stretch"), ca.MX.sym("more", len(task.inputs))
    t_start, fixed, count, p, given, bound_sizes, scales, cost_scale = parts.split(theta)
    edges = np.cumsum([0, layout.node, layout.inner, layout.inputs, layout.node]).tolist()
    node0, y, u, node1 = (w[a:b, :] for a, b in pairwise(edges))
    x0, before, horizon, free = parts.node(node0)
    x1, after, horizon1, free1 = parts.node(node1)
    plain = (horizon if layout.horizon else fixed) / count
    at = layout.timing + layout.horizon
    begin0, begin1 = (node[at : at + layout.begin, :] for node in (node0, node1))
    t_start = parts.begin(node0, t_start)
    # Times are those of the grid; only the length of this interval is stretched.
    t, h = t_start + k * plain, plain * stretch
    line = (before + more, after + more) if layout.linear else None
    u = (line[0] + line[1]) / 2 if line else u + more
    inputs, p = parts.row(u, line, given, t, h), problem.parameters(free, p)
    rows = [rule.rows(t, h, x0, y, inputs, x1, p)]
    names = list(rule.names)
    first = layout.state + (layout.before if layout.linear else 0)
    sizes = ca.vertcat(ca.MX(0, 1), scales[first : layout.node, :])
    carried = layout.before and not layout.linear
    kept = ca.vertcat(after - u if carried else ca.MX(0, 1), horizon1 - horizon, begin1 - begin0, free1 - free)
    rows.append(kept / sizes if kept.numel() else ca.MX(0, 1))
    names += [f"'{name}' as it was before" for name in (task.inputs if carried else ())]
    names += ["the horizon"] * layout.horizon + ["the time of the start"] * layout.begin
    names += [f"parameter '{name}'" for name in task.free]
    limits: list[Limits] = []
    if task.rates:
        for name, limit in task.rates.items():
            i = task.inputs.index(name)
            rows.append(((line[1][i] if line else u[i]) - before[i]) / h)
            names.append(f"the rate of '{name}'")
            limits.append(limit)
    sizes_of = [1.0] * len(limits)
    moments = Moments(problem, t, h, x0[: e.nx, :], x1[: e.nx, :], u, before, inputs, p, line)
    for row in bound_rows(parts.limited, bound_sizes, moments):
        rows.append(row.value)
        names.append(row.words)
        limits.append(row.limits)
        sizes_of.append(row.size)
    cost = sum((weight * term.cost(moments) for weight, term in problem.terms), ca.MX(0)) / cost_scale
    results = [ca.densify(ca.vertcat(*rows)), ca.densify(cost)]
    function = ca.Function(
        "kp_block", [w, k, theta, stretch, more], results, ["w", "k", "theta", "stretch", "more"], ["r", "c"]
    )
    return function, names, limits, sizes_of


def _first(parts: _Parts) -> tuple[ca.Function, list[str]]:
    """Return the rows of the start: what a rule remembers there."""
    rule, layout, problem = parts.rule, parts.layout, parts.problem
    w, theta = ca.MX.sym("w", layout.local), ca.MX.sym("theta", parts.numbers + layout.local + 1)
    rows, names = ca.MX(0, 1), []
    if rule.begin is not None:
        t_start, fixed, count, p, given, _, _, _ = parts.split(theta)
        x0, before, horizon, free = parts.node(w[: layout.node, :])
        u = w[layout.node + layout.inner : layout.stride, :]
        ends = (before, parts.node(w[layout.stride :, :])[1]) if layout.linear else None
        h = (horizon if layout.horizon else fixed) / count
        t_start = parts.begin(w[: layout.node, :], t_start)
        n = problem.equations.nx
        row = parts.row(u, ends, given, t_start, h)
        begun = rule.begin(t_start, h, x0[:n, :], row, problem.parameters(free, p))
        rows = x0[n:, :] - begun
        names = [f"what is remembered at the start, number {i + 1}" for i in range(rule.remembered)]
    return ca.Function("kp_first", [w, theta], [ca.densify(rows)], ["w", "theta"], ["r"]), names


def _last(parts: _Parts) -> tuple[ca.Function, list[str], list[Limits]]:
    """Return the rows of the end: conditions on what is no state of the equations themselves."""
    problem, layout = parts.problem, parts.layout
    w, theta = ca.MX.sym("w", layout.node), ca.MX.sym("theta", parts.numbers + layout.local + 1)
    t_start, fixed, _, p, given, _, _, _ = parts.split(theta)
    x, _, horizon, free = parts.node(w)
    wanted = tuple(name for name in problem.task.end if name not in problem.state_names)
    rows = ca.MX(0, 1)
    if wanted:
        t = parts.begin(w, t_start) + (horizon if layout.horizon else fixed)
        n = problem.equations.nx
        rows = problem.observer(wanted)(t, x[:n, :], given, problem.parameters(free, p))
    names = [f"the end of '{name}'" for name in wanted]
    function = ca.Function("kp_last", [w, theta], [ca.densify(rows)], ["w", "theta"], ["r"])
    return function, names, [problem.task.end[name] for name in wanted]


def _variable_limits(problem: OptimalProblem, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return the limits of all variables, unscaled."""
    task, N = problem.task, layout.intervals
    bounds = []
    for side in (0, 1):
        limit = [-math.inf, math.inf][side]
        nodes = np.full((N + 1, layout.node), limit)
        inputs = np.full((N, layout.inputs), limit)
        inner = np.full((N, layout.inner), limit)
        for row, limits in bounded(problem).states.items():
            nodes[:, row] = (limits.low, limits.high)[side]
        for i, name in enumerate(task.inputs):
            if name in task.bounds:
                value = (task.bounds[name].low, task.bounds[name].high)[side]
                if layout.inputs:
                    inputs[:, i] = value
                if layout.before:
                    nodes[:, layout.state + i] = value
        n = layout.state + layout.before
        if layout.horizon:
            nodes[:, n] = (task.horizon.low, task.horizon.high)[side]
        for i, limits in enumerate(task.free.values()):
            nodes[:, n + layout.horizon + layout.begin + i] = (limits.low, limits.high)[side]
        if not problem.later:
            nodes[0, : problem.equations.nx] = problem.x0
        for name, limits in task.end.items():
            if name in problem.state_names:
                row = problem.state_names.index(name)
                value = (limits.low, limits.high)[side]
                nodes[N, row] = max(value, nodes[N, row]) if side == 0 else min(value, nodes[N, row])
        bounds.append(layout.joined(nodes, inner, inputs))
    return bounds[0], bounds[1]


def variable_scales(problem: OptimalProblem, rule: IntervalRule, layout: Layout) -> FloatArray:
    """Return about how large every variable is."""
    task, e = problem.task, problem.equations
    state = np.ones(layout.state)
    state[: e.nx] = state_sizes(problem)
    inputs = input_sizes(problem)
    node = [state, inputs if layout.before else np.zeros(0), np.full(layout.horizon + layout.begin, task.horizon.high)]
    node.append(np.array([limits.size or 1.0 for limits in task.free.values()]))
    one = np.concatenate([*node, rule.inner_sizes, inputs[: layout.inputs]])
    return np.concatenate([np.tile(one, layout.intervals), np.concatenate(node)])


def state_sizes(problem: OptimalProblem) -> FloatArray:
    """Return about how large states are: those of forces as at the start, if that is more than one."""
    sizes = np.ones(problem.equations.nx)
    z = problem.equations.nq + problem.equations.nv
    sizes[z:] = np.maximum(1.0, np.abs(problem.x0[z:]))
    return sizes


def input_sizes(problem: OptimalProblem) -> FloatArray:
    """Return about how large inputs are: their limits, or what holds the machine and moves it by one in the time it has."""
    e, posed, task = problem.equations, problem.posed, problem.task
    f = e.function("kp_f", [ca.densify(e.f), ca.densify(ca.jacobian(e.f, e.u)), ca.densify(ca.diag(e.M))])
    q, v = e.split(posed.x0)
    still = np.zeros(e.nu)
    forces, slopes, mass = (np.asarray(item) for item in f(posed.t_start, q, v, e.acting(still, posed.x0), posed.p))
    wanted = np.abs(forces).ravel() + mass.ravel() / (task.horizon.high / 2) ** 2
    sizes = []
    for name, row in zip(task.inputs, problem.driven, strict=True):
        limits = task.bounds.get(name)
        if limits is not None and math.isfinite(limits.low) and math.isfinite(limits.high) and limits.size:
            sizes.append(limits.size)
            continue
        column = np.abs(slopes[:, row])
        felt = column > 1e-12 * (column.max() if column.size else 0.0)
        own = (wanted[felt] / column[felt]).max() if felt.any() else 1.0
        sizes.append(float(own) if np.isfinite(own) and own > 0 else 1.0)
    return np.array(sizes)
