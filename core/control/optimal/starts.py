"""Start values: paths in joint coordinates, from a guess or from a solution, lifted to the coordinates of a formulation."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.control.optimal.layout import Layout
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import IntervalRule
from kingpost.mechanism.mechanism import quaternion_rows
from kingpost.results.history import History

#: How far from a guess a random start is, as a part of one radian, metre, or the size of an input.
SPREAD = 0.5
#: By how little, beside the others, coordinates with an end value move where loops are closed; steps for that, and the last.
HELD, CLOSING, CLOSED = 1e-3, 30, 1e-9


@dataclass(frozen=True, eq=False)
class StartPath:
    """A motion to begin with: joint coordinates and speeds, states of forces, inputs, horizon and parameters.

    Inputs are those of intervals, or those at nodes where they are linear.
    """

    #: At the nodes, one in each row.
    joints: FloatArray
    states: FloatArray
    inputs: FloatArray
    horizon: float
    free: FloatArray
    name: str = "constant"

    @property
    def intervals(self) -> int:
        """The number of intervals."""
        return len(self.joints) - 1

    def on(self, intervals: int) -> StartPath:
        """Return the same motion on another grid: linear between nodes, inputs as they are in the middle of intervals."""
        if intervals == self.intervals:
            return self
        old, new = np.linspace(0, 1, self.intervals + 1), np.linspace(0, 1, intervals + 1)
        joints = _resampled(old, self.joints, new)
        states = _resampled(old, self.states, new)
        middle = (new[1:] + new[:-1]) / 2
        inputs = _resampled(_places(self.inputs, self.intervals), self.inputs, new if self._linear else middle)
        return StartPath(joints, states, inputs, self.horizon, self.free, self.name)

    @property
    def _linear(self) -> bool:
        return len(self.inputs) == len(self.joints)

    def inputs_as(self, linear: bool) -> FloatArray:
        """Return its inputs at nodes, or as they are in the middle of intervals."""
        if linear == self._linear:
            return self.inputs
        nodes = np.linspace(0, 1, self.intervals + 1)
        middle = (nodes[1:] + nodes[:-1]) / 2
        return _resampled(_places(self.inputs, self.intervals), self.inputs, nodes if linear else middle)


def _places(inputs: FloatArray, intervals: int) -> FloatArray:
    """Return where inputs count, from 0 to 1: at nodes, or in the middle of intervals."""
    nodes = np.linspace(0, 1, intervals + 1)
    return nodes if len(inputs) == intervals + 1 else np.asarray((nodes[1:] + nodes[:-1]) / 2)


def linear_rows(problem: OptimalProblem, times: FloatArray, nodal: FloatArray) -> FloatArray:
    """Return the rows of numbers that equations take for inputs which are linear between nodes, one for each interval."""
    posed, task = problem.posed, problem.task
    layout = posed.assembly.layout
    assert layout is not None
    rows = np.repeat(posed.u0[None, :], len(times) - 1, axis=0)
    rows[:, list(problem.driven)] = nodal[:-1]
    rows[:, len(layout.names)] = times[:-1]
    rates = np.diff(nodal, axis=0) / np.diff(times)[:, None]
    for i, name in enumerate(task.inputs):
        rows[:, layout.rate_place(name)] = rates[:, i]
    return np.asarray(rows)


@dataclass(frozen=True, eq=False)
class PhasedPath:
    """A motion to begin with, phase after phase."""

    parts: tuple[StartPath, ...]
    name: str = "constant"


def path_from(problem: OptimalProblem, history: History, intervals: int, window: tuple[float, float] = (0.0, 1.0)) -> StartPath:
    """Return the motion in a history as a start: a servo solution, a run, or the optimum of a similar problem.

    ``window`` is the part of its time that counts. Time is stretched to the horizon of the task. Joint coordinates that the
    history lacks stay at the start, speeds that it lacks come from differences, and inputs that it lacks are zero.
    """
    task, e = problem.task, problem.equations
    shown = {channel.name for channel in history.channels}
    first = guessed(problem, intervals, "constant")
    missing = [item.name for item in problem.posed.mechanism.coordinates if item.name not in shown]
    if len(missing) == len(problem.posed.mechanism.coordinates):
        raise MechanismError(
            f"{task.title}: the history to start from shows no coordinate of '{problem.posed.mechanism.name}', such as "
            f"{missing[0]}; take one of the same machine"
        )
    whole = float(history.time[-1] - history.time[0])
    lasted = whole * (window[1] - window[0])
    horizon = min(max(lasted, task.horizon.low), task.horizon.high)
    old, new = (history.time - history.time[0]) / whole, np.linspace(*window, intervals + 1)
    joints, states, inputs = first.joints.copy(), first.states.copy(), first.inputs.copy()
    count = len(problem.posed.mechanism.coordinates)
    for i, name in enumerate(problem.joint_names):
        if name in shown:
            rate = lasted / horizon if i >= count else 1.0
            joints[:, i] = rate * np.interp(new, old, history[name])
        elif i >= count and name.endswith(".rate") and name.removesuffix(".rate") in shown:
            joints[:, i] = np.gradient(
                np.interp(new, old, history[name.removesuffix(".rate")]), np.linspace(0.0, horizon, intervals + 1)
            )
    for i, item in enumerate(e.states.quantities):
        if item.name in shown:
            states[:, i] = np.interp(new, old, history[item.name])
    middles = (new[1:] + new[:-1]) / 2
    for i, name in enumerate(task.inputs):
        if name in shown:
            inputs[:, i] = np.interp(middles, old, history[name])
    return StartPath(joints, states, inputs, horizon, first.free, "history")


def _resampled(old: FloatArray, rows: FloatArray, new: FloatArray) -> FloatArray:
    columns = [np.interp(new, old, rows[:, j]) for j in range(rows.shape[1])]
    return np.column_stack(columns) if columns else np.zeros((len(new), 0))


def guessed(problem: OptimalProblem, intervals: int, guess: str, first: FloatArray | None = None) -> StartPath:
    """Return a first guess: at rest at the start, or straight to the end values of coordinates that are given.

    ``first`` are joint coordinates and speeds at the start, where another phase ends there. ``"random:3"`` is the third of a
    row of motions that bulge from the line by random amounts, the same in every process.
    """
    e, task = problem.equations, problem.task
    if first is None:
        first = np.asarray(problem.joint_state(problem.x0, problem.p)).ravel()
    last = first.copy()
    for name, limits in task.end.items():
        if name in problem.joint_names:
            row = problem.joint_names.index(name)
            last[row] = min(max(first[row], limits.low), limits.high)
    part = np.linspace(0.0, 1.0, intervals + 1)[:, None]
    joints = np.repeat(first[None, :], intervals + 1, axis=0)
    states = np.repeat(problem.x0[None, e.nq + e.nv :], intervals + 1, axis=0)
    inputs = np.zeros((intervals, len(task.inputs)))
    if guess != "constant":
        joints = joints + part * (last - first)[None, :]
    if guess.startswith("random"):
        rng = np.random.default_rng([1, int(guess.partition(":")[2] or 0)])
        count = len(problem.posed.mechanism.coordinates)
        bulge = SPREAD * rng.normal(size=count) * np.sin(np.pi * part)
        quaternions = [row + i for row in quaternion_rows(problem.posed.mechanism) for i in range(4)]
        bulge[:, quaternions] = 0.0
        joints[:, :count] += bulge
    for row in quaternion_rows(problem.posed.mechanism):
        joints[:, row : row + 4] /= np.linalg.norm(joints[:, row : row + 4], axis=1, keepdims=True)
    if guess != "constant" and e.joint_coordinates and e.constraints.phi.numel():
        joints = _with_closed_loops(problem, joints)
    limited = zip(problem.freed, task.free.values(), strict=True)
    free = np.array([min(max(problem.p[row], limits.low), limits.high) for row, limits in limited])
    horizon = (task.horizon.low + task.horizon.high) / 2
    return StartPath(joints, states, inputs, horizon, free, guess)


def _with_closed_loops(problem: OptimalProblem, joints: FloatArray) -> FloatArray:
    """Return a path on which loops are closed, node after node: coordinates without an end value give way, if they can.

    Each node begins with the coordinates that gave way at the one before. Where loops cannot be closed, the path stays.
    """
    e, task = problem.equations, problem.task
    phi = e.function("kp_phi", [ca.densify(e.constraints.phi), ca.densify(ca.jacobian(e.constraints.phi, e.q))])
    held = [i for i, item in enumerate(problem.posed.mechanism.coordinates) if item.name in task.end]
    weights = np.ones(e.nq)
    weights[held] = HELD
    fixed = (np.zeros(e.nv), e.acting(problem.posed.u0, problem.x0), problem.p)
    found, given = joints.copy(), joints[:, : e.nq]
    for k in range(1, len(found)):
        q = given[k] + (found[k - 1, : e.nq] - given[k - 1]) * (weights == 1.0)
        for _ in range(CLOSING):
            rows, slopes = (np.asarray(item) for item in phi(problem.posed.t_start, q, *fixed))
            change = weights * np.linalg.lstsq(slopes * weights, -rows.ravel(), rcond=None)[0]
            q = q + change
            if np.abs(change).max() < CLOSED:
                break
        else:
            return joints
        found[k, : e.nq] = q
    return found


def lifted(
    problem: OptimalProblem, rule: IntervalRule, layout: Layout, path: StartPath, begin: float | None = None
) -> FloatArray:
    """Return the variables of a program for a motion in joint coordinates that begins at a time, by default the task's."""
    begin = problem.posed.t_start if begin is None else begin
    e, posed = problem.equations, problem.posed
    path = path.on(layout.intervals)
    N, h = layout.intervals, path.horizon / layout.intervals
    p = posed.p.copy()
    p[list(problem.freed)] = path.free
    count = len(posed.mechanism.coordinates)
    nodes = np.zeros((N + 1, layout.node))
    for k, row in enumerate(path.joints):
        state = row
        if e.coordinates.initial is not None:
            state = np.asarray(e.coordinates.initial(row[:count], row[count:], p)).ravel()
        nodes[k, : e.nx] = np.concatenate([state, path.states[k]])
    if not problem.later:
        nodes[0, : e.nx] = problem.x0
    times: FloatArray = np.asarray(begin + h * np.arange(N + 1), dtype=np.float64)
    own = path.inputs_as(layout.linear)
    if layout.linear:
        inputs = linear_rows(problem, times, own)
    else:
        inputs = np.repeat(posed.u0[None, :], N, axis=0)
        inputs[:, list(problem.driven)] = own
    if rule.begin is not None:
        for k in range(N + 1):
            u = inputs[min(k, N - 1)]
            nodes[k, e.nx : layout.state] = np.asarray(rule.begin(times[k], h, nodes[k, : e.nx], u, p)).ravel()
    if layout.before:
        rows = own if layout.linear else np.vstack([own[:1], own])
        nodes[:, layout.state : layout.state + layout.before] = rows
    at = layout.state + layout.before
    nodes[:, at : at + layout.horizon] = path.horizon
    nodes[:, at + layout.horizon : at + layout.horizon + layout.begin] = begin
    nodes[:, layout.node - layout.parameters :] = path.free
    inner = np.zeros((N, layout.inner))
    if layout.inner:
        for k in range(N):
            x0, x1 = nodes[k, : layout.state], nodes[k + 1, : layout.state]
            inner[k] = np.asarray(rule.guess(times[k], h, x0, inputs[k], x1, p)).ravel()
        inner[~np.isfinite(inner)] = 0.0
    return layout.joined(nodes, inner, own[:, : layout.inputs] if not layout.linear else np.zeros((N, 0)))


def path_of(problem: OptimalProblem, layout: Layout, w: FloatArray, name: str) -> StartPath:
    """Return a solution as a start for another program: joint coordinates and speeds at its nodes, and its inputs."""
    e = problem.equations
    nodes = layout.nodes(w)
    at = layout.state + layout.before
    horizon = float(nodes[0, at]) if layout.horizon else problem.task.horizon.low
    free = nodes[0, layout.node - layout.parameters :].copy()
    p = problem.p.copy()
    p[list(problem.freed)] = free
    joints = np.array([np.asarray(problem.joint_state(node[: e.nx], p)).ravel() for node in nodes])
    return StartPath(joints, nodes[:, e.nq + e.nv : e.nx].copy(), layout.inputs_of(w).copy(), horizon, free, name)
