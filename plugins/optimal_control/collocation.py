"""Collocation on the equations of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid, IntervalRule, Transcription
from kingpost.plugins.optimal_control.step import interval_symbols, state_rows


@dataclass(frozen=True)
class CollocationOptions:
    """``degree`` of the polynomials, and the ``kind`` of points: ``radau`` with one at the end, or ``legendre`` inside."""

    degree: int = 3
    kind: Literal["radau", "legendre"] = "radau"

    def __post_init__(self) -> None:
        if not 1 <= self.degree <= 9:
            raise MechanismError(f"degree = {self.degree}: take 1 to 9 points in an interval")


class Collocation(Transcription):
    """Polynomials of the state in every interval that satisfy the equations of motion at Radau or Legendre points.

    States are of order 2 degree - 1 or 2 degree; with inputs that are constant over an interval the cost is of order 2.
    """

    name = "collocation"
    Options = CollocationOptions

    def refusal(self, problem: OptimalProblem) -> str:
        e = problem.equations
        if e.constraints.count:
            return (
                f"transcription '{self.name}' takes equations without constraints, and formulation '{e.formulation}' has "
                f"{e.constraints.count} for '{e.mechanism.name}'; take 'step' with midpoint or energy-momentum"
            )
        return ""

    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        e, degree = problem.equations, self.options.degree
        n = e.nx
        c, A, b = butcher(degree, self.options.kind)
        t, h, x0, y, u, x1, p = symbols = interval_symbols(e, 0, n * degree)
        stages = ca.vertsplit(y, n) if degree > 1 else [y]
        rates = [e.rhs(t + c[i] * h, stages[i], u, p) for i in range(degree)]
        rows = [stages[i] - x0 - h * sum(A[i, j] * rates[j] for j in range(degree)) for i in range(degree)]
        last = stages[-1] if self.options.kind == "radau" else x0 + h * sum(b[j] * rates[j] for j in range(degree))
        rows.append(x1 - last)
        names = [f"the rate of '{name}' at point {i + 1}" for i in range(degree) for name in problem.state_names]
        guess = ca.vertcat(*(x0 + c[i] * (x1 - x0) for i in range(degree)))
        return IntervalRule(
            rows=ca.Function("kp_interval", symbols, [ca.densify(ca.vertcat(*rows))]),
            names=(*names, *state_rows(e, 0)),
            inner=tuple(f"'{name}' at point {i + 1}" for i in range(degree) for name in problem.state_names),
            inner_sizes=np.ones(n * degree),
            guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [ca.densify(guess)]),
        )


def butcher(degree: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, matrix and weights of a collocation method: integrals of Lagrange's polynomials."""
    c = np.array(ca.collocation_points(degree, kind))
    A, b = np.zeros((degree, degree)), np.zeros(degree)
    for j in range(degree):
        others = np.delete(c, j)
        polynomial = np.poly1d(np.poly(others) if degree > 1 else [1.0]) / float(np.prod(c[j] - others))
        integral = polynomial.integ()
        A[:, j] = [integral(ci) - integral(0.0) for ci in c]
        b[j] = integral(1.0) - integral(0.0)
    return c, A, b
