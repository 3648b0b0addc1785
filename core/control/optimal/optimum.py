"""What optimal control finds: states, inputs, costates, the discrete Hamiltonian, and which bounds bite."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.biting import biting_bounds
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.solving import Iteration, Solution
from kingpost.control.optimal.starts import StartPath, linear_rows, path_of
from kingpost.control.optimal.transcription import IntervalRule, Transcription


@dataclass(frozen=True)
class Attempt:
    """One search: from which start, with which formulation and how many intervals, and what it gave."""

    start: str
    formulation: str
    intervals: int
    status: str
    cost: float
    violation: float
    iterations: int
    seconds: float
    #: What a continuation changed; empty for the problem itself.
    stage: str = ""
    #: Its iterations.
    course: tuple[Iteration, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as plain data, without its iterations."""
        return {key: value for key, value in vars(self).items() if key != "course"}


@dataclass(frozen=True, eq=False)
class Optimum:
    """The solution of an optimal control problem."""

    problem: OptimalProblem
    transcription: Transcription
    rule: IntervalRule
    program: NonlinearProgram
    solution: Solution
    attempts: tuple[Attempt, ...] = ()
    #: What is to be told about the problem.
    notes: tuple[str, ...] = ()
    #: What a method that goes beyond the program puts in the place of its Hamiltonian and costates.
    found: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """``"optimal"``, or why the search ended."""
        return self.solution.status

    @property
    def cost(self) -> float:
        """The sum of all terms with their weights."""
        return self.solution.cost

    @property
    def intervals(self) -> int:
        """The number of intervals."""
        return self.program.layout.intervals

    @cached_property
    def horizon(self) -> float:
        """The time from start to end in s."""
        layout = self.program.layout
        if not layout.horizon:
            return float(self.problem.task.horizon.low)
        return float(layout.nodes(self.solution.w)[0, layout.state + layout.before])

    @property
    def h(self) -> float:
        """The length of an interval in s."""
        return self.horizon / self.intervals

    @cached_property
    def times(self) -> FloatArray:
        """The times of the nodes in s."""
        layout = self.program.layout
        begin = self.problem.posed.t_start
        if layout.begin:
            begin = float(layout.nodes(self.solution.w)[0, layout.timing + layout.horizon])
        return np.asarray(begin + self.h * np.arange(self.intervals + 1))

    @property
    def parts(self) -> tuple[Optimum, ...]:
        """Its phases, each an optimum of its own, or itself."""
        return (self,)

    def solved(self, solution: Solution) -> Optimum:
        """Return another solution of the same program."""
        return replace(self, solution=solution)

    @cached_property
    def states(self) -> FloatArray:
        """The states at the nodes, without what the rule remembers."""
        return self.program.layout.states(self.solution.w)[:, : self.problem.equations.nx].copy()

    @cached_property
    def inputs(self) -> FloatArray:
        """The inputs that were found, of every interval; at every node where they are linear."""
        return self.program.layout.inputs_of(self.solution.w).copy()

    @cached_property
    def all_inputs(self) -> FloatArray:
        """All inputs of the machine, of every interval, or at every node."""
        count = len(self.problem.posed.mechanism.inputs)
        rows = np.repeat(self.problem.posed.u0[None, :count], len(self.inputs), axis=0)
        rows[:, list(self.problem.driven)] = self.inputs
        return rows

    @property
    def input_rows(self) -> FloatArray:
        """What equations take for inputs at the nodes: those of the interval that begins there, at the end of the last one."""
        if not self.problem.linear:
            return np.vstack([self.all_inputs, self.all_inputs[-1:]])
        rows = linear_rows(self.problem, self.times, self.inputs)
        return np.vstack([rows, rows[-1:]])

    @cached_property
    def free(self) -> dict[str, float]:
        """The parameters that were found."""
        layout = self.program.layout
        values = layout.nodes(self.solution.w)[0, layout.node - layout.parameters :]
        return dict(zip(self.problem.task.free, values.tolist(), strict=True))

    @cached_property
    def p(self) -> FloatArray:
        """All parameters, those that were found among them."""
        p = self.problem.p.copy()
        p[list(self.problem.freed)] = list(self.free.values())
        return p

    @cached_property
    def multipliers(self) -> FloatArray:
        """The multipliers of the rows of the rule, one interval in each row; rows are as the rule writes them."""
        rows = self.program.interval_rows(self.solution.multipliers)
        return rows[:, : len(self.rule.names)]

    @cached_property
    def costates(self) -> FloatArray | None:
        """The costates of the momenta, of every interval: multipliers of M (v1 - v0) - h f = 0 (document 001, eq. 2.15)."""
        if "costates" in self.found:
            return self.found["costates"]
        if self.rule.momentum is None or self.rule.momentum_scales is None:
            return None
        first, last = self.rule.momentum
        return np.asarray(self.multipliers[:, first:last] / self.rule.momentum_scales)

    @cached_property
    def _slopes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        program = self.program
        scaled = self.solution.multipliers / program.cost_scale
        found = program.functions.hamiltonian(self.solution.w / program.scales, program.theta, scaled)
        whole, rows, costs = (np.asarray(item).T * program.cost_scale for item in found)
        return whole.ravel(), rows.reshape(self.intervals, -1), costs.reshape(self.intervals, -1)

    @cached_property
    def hamiltonian(self) -> FloatArray:
        """The discrete Hamiltonian of every interval (document 001, eq. 2.17).

        It is -dL/dh of the interval's part L of the Lagrange function at fixed states, which for rows x1 - x0 - h f is
        -cost rate + costates . f. So it is the same for every transcription, and its sum vanishes where the horizon is free.
        """
        if "hamiltonian" in self.found:
            return self.found["hamiltonian"]
        return -self._slopes[0] / self.h

    @cached_property
    def switching(self) -> FloatArray:
        """The switching functions: what inputs cost through the motion alone, per unit and second, of every interval."""
        return self._slopes[1] / self.h

    @property
    def path(self) -> StartPath:
        """The motion as a start for another search."""
        return path_of(self.problem, self.program.layout, self.solution.w, f"{self.problem.equations.formulation} solution")

    @cached_property
    def active(self) -> list[dict[str, Any]]:
        """The bounds that bite; see :func:`kingpost.control.optimal.biting.biting_bounds`."""
        return biting_bounds(self)

    @cached_property
    def row_values(self) -> FloatArray:
        """The values of all rows of intervals, one interval in each row."""
        program = self.program
        g = np.asarray(program.functions.jacobian(self.solution.w / program.scales, program.theta)[0]).ravel()
        return program.interval_rows(g)

    @cached_property
    def worst(self) -> tuple[str, float | None, float]:
        """The row that is violated most, the time of its interval, and by how much."""
        program = self.program
        g = np.asarray(program.functions.jacobian(self.solution.w / program.scales, program.theta)[0]).ravel()
        away = np.maximum(0.0, np.maximum(program.row_low - g, g - program.row_high))
        i = int(np.argmax(away)) if away.size else 0
        name, interval = program.row_name(i)
        t = float(self.times[-1] if interval is None else self.times[interval])
        return name, t, float(away[i] * program.row_sizes[i]) if away.size else 0.0
