"""Multiple shooting: several steps of an integrator in every interval, one inside the other."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid, IntervalRule, Transcription
from kingpost.equations.integrator import StepMap
from kingpost.plugins.optimal_control.step import beginning, interval_symbols, state_rows, step_refusal


@dataclass(frozen=True)
class ShootingOptions:
    """``substeps``: steps of the integrator in an interval."""

    substeps: int = 4

    def __post_init__(self) -> None:
        if self.substeps < 1:
            raise MechanismError(f"substeps = {self.substeps}: at least one is needed")


class MultipleShooting(Transcription):
    """Several steps of an integrator in every interval, implicit ones solved by Newton's method inside (document 001, 2.3).

    Fewer unknowns than ``step`` with as many intervals as there are steps, and inputs that are constant over all substeps.
    """

    name = "multiple-shooting"
    Options = ShootingOptions

    def refusal(self, problem: OptimalProblem) -> str:
        return step_refusal(self.name, problem)

    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        e, integrator, count = problem.equations, problem.posed.integrator, self.options.substeps
        assert isinstance(integrator, StepMap)
        extra = integrator.memory(e)
        t, h, x0, _, u, x1, p = symbols = interval_symbols(e, extra, 0)
        one = ca.Function("kp_substep", [t, x0, u, p, h], [ca.densify(integrator.step(e, t, x0, u, p, h))])
        x = x0
        for i in range(count):
            x = one(t + i * h / count, x, u, p, h / count)
        begin = beginning(e, integrator)
        if begin is not None and count > 1:
            # What is remembered belongs to the substep.
            inner = [ca.MX.sym(f"i{i}", begin.numel_in(i)) for i in range(begin.n_in())]
            begin = ca.Function("kp_begin", inner, [begin(inner[0], inner[1] / count, *inner[2:])])
        return IntervalRule(
            rows=ca.Function("kp_interval", symbols, [ca.densify(x1 - x)]),
            names=tuple(state_rows(e, extra)),
            inner=(),
            inner_sizes=np.ones(0),
            guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [ca.MX(0, 1)]),
            begin=begin,
        )
