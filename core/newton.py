"""Steps that are given by equations to be solved: Newton's method with exact Jacobians, inside the compiled step.

Unknowns and equations are scaled so that each is a displacement, relative to the size of the coordinates: speeds by h,
multipliers by h^2, balances of momentum by h over the inertia. The matrix of the iteration then stays well conditioned as h
goes to zero; without this, index-3 equations stall near 1e-10 at small steps.

CasADi's generated Newton loop returns its last iterate whether it converged or not, and takes NaN for converged. So the
residual is looked at once more. If it is not small, which with very stiff forces may be round-off, a further iteration must
not move the unknowns. A step that fails this, too, comes out as NaN, which ends a run.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.equations import Equations, FloatArray, fused
from kingpost.errors import MechanismError
from kingpost.interfaces.integrator import StepMap

#: Iterations end when the scaled unknowns move by less: convergence is quadratic, so about the square of this is left.
SMALL_STEP = 1e-10
#: ... or when no scaled residual is larger: round-off of numbers of the size one.
ROUND_OFF = 1e-16
#: The mean scaled residual with which a step is accepted at once.
ACCEPTED = 1e-10
#: The mean movement of the scaled unknowns in a further iteration with which it is accepted, else.
SETTLED = 1e-9
#: Residuals of up to this many operations become straight-line code, the faster one; larger ones would take a C compiler too
#: long.
STRAIGHT = 20_000


@dataclass(frozen=True)
class NewtonOptions:
    """``iterations``: Newton iterations after which a step has failed."""

    iterations: int = 20

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise MechanismError(f"iterations = {self.iterations}: Newton's method needs at least one iteration")


@dataclass(frozen=True, eq=False)
class StepProblem:
    """The equations of one step; x is the state before it, followed by what the integrator remembers."""

    #: (t, x, u, p, h) -> first guess of the scaled unknowns z, and factors that the residual needs.
    guess: ca.Function
    #: (z, t, x, u, p, h, factors) -> scaled residual.
    residual: ca.Function
    #: (z, t, x, u, p, h, factors) -> state after the step, and what is remembered.
    following: ca.Function
    #: What each row of the residual says.
    rows: tuple[str, ...]


class ImplicitStepMap(StepMap):
    """A step map whose next state is found by Newton's method."""

    Options = NewtonOptions

    @abstractmethod
    def problem(self, equations: Equations) -> StepProblem:
        """Return the equations of a step."""

    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        """Return the solution of :meth:`problem`, or NaN where Newton's method finds none."""
        if equations.nv == 0:
            return x
        problem = self.problem(equations)
        known = [t, x, u, p, h]
        guess, factors = problem.guess.call(known)
        (z,) = _solver(problem, self.options.iterations).call([guess, *known, factors])
        left = _mean(problem.residual(z, *known, factors))
        (z,) = _acceptance(problem).call([left <= ACCEPTED, z, *known, factors])
        return problem.following(z, *known, factors)


def _solver(problem: StepProblem, iterations: int) -> ca.Function:
    options = {"abstol": ROUND_OFF, "abstolStep": SMALL_STEP, "max_iter": iterations, "error_on_fail": False}
    return ca.rootfinder("kp_newton", "fast_newton", problem.residual, options)


def _acceptance(problem: StepProblem) -> ca.Function:
    """Return the function (whether z is accepted, z, t, x, u, p, h, factors) -> z, or after a further iteration z or NaN."""
    given = [ca.MX.sym(f"i{k}", problem.residual.numel_in(k)) for k in range(problem.residual.n_in())]
    (further,) = _solver(problem, 1).call(given)
    settled = _mean(further - given[0]) <= SETTLED
    checked = ca.if_else(settled, further, ca.MX.nan(further.numel()))
    return ca.Function.if_else(
        "kp_acceptance", ca.Function("kp_accepted", given, [given[0]]), ca.Function("kp_checked", given, [checked])
    )


def _mean(vector: ca.MX) -> ca.MX:
    """Return the mean size of the entries; unlike the largest one that C code finds, it is NaN if one of them is."""
    return ca.sum1(ca.fabs(vector)) / vector.numel()


def straightened(function: ca.Function, equations: Equations) -> ca.Function:
    """Return a function as straight-line code where that is possible and small enough."""
    if equations.all_externals or isinstance(equations.q, ca.MX):
        return function
    expanded = function.expand()
    return fused(function) if expanded.n_nodes() <= STRAIGHT else function


@dataclass(frozen=True)
class NewtonRecord:
    """How the iteration of one step went."""

    #: Largest scaled residual before each iteration, and after the last.
    residuals: tuple[float, ...]
    converged: bool
    #: What the row with the largest residual says.
    worst: str

    def explain(self) -> str:
        """Return the course of the iteration in one sentence."""
        shown = [f"{value:.1e}" for value in self.residuals]
        if len(shown) > 8:
            shown = [*shown[:4], "...", *shown[-3:]]
        return (
            f"Newton's method did not solve the equations of the step in {len(self.residuals) - 1} iterations (largest scaled "
            f"residual {', '.join(shown)}); the worst is {self.worst}"
        )


def repeat_newton(
    integrator: ImplicitStepMap, equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float
) -> NewtonRecord:
    """Carry out the iteration of one step in Python, to see how it goes."""
    problem = integrator.problem(equations)
    known: list[Any] = [t, x, u, p, h]
    guess, factors = problem.guess.call(known)
    z = np.asarray(guess).ravel()
    symbols = [ca.MX.sym(f"i{k}", problem.residual.size_in(k)) for k in range(problem.residual.n_in())]
    (residual,) = problem.residual.call(symbols)
    both = ca.Function("both", symbols, [residual, ca.jacobian(residual, symbols[0])])
    history: list[float] = []
    worst, moved = 0, np.inf
    for iteration in range(integrator.options.iterations + 1):
        left, matrix = (np.asarray(part.full()) for part in both.call([z, *known, factors]))
        left = left.ravel()
        finite = np.isfinite(left).all()
        worst = int(np.abs(left).argmax() if finite else np.isfinite(left).argmin())
        history.append(float(np.abs(left).max()) if finite else float("nan"))
        if not finite or not np.isfinite(matrix).all():
            break
        try:
            change = np.linalg.solve(matrix, left)
        except np.linalg.LinAlgError:
            change = np.linalg.lstsq(matrix, left, rcond=None)[0]
        moved = float(np.abs(change).mean())
        if history[-1] <= ROUND_OFF or np.abs(change).max() <= SMALL_STEP or iteration == integrator.options.iterations:
            break
        z = z - change
    converged = bool(np.isfinite(left).all() and (np.abs(left).mean() <= ACCEPTED or moved <= SETTLED))
    return NewtonRecord(tuple(history), converged, problem.rows[worst])
