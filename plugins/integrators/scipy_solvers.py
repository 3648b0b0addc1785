"""SciPy's initial-value solvers with error control."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError
from kingpost.equations.integrator import InitialValueProblem, Solver

#: Relative tolerances below are beyond SciPy: it would go on with this one instead.
SMALLEST_RTOL = 100 * float(np.finfo(float).eps)
#: Every so many steps a solver is asked how far it has come; with more steps than the second number ahead of it, it is ended:
#: at some 20 microseconds each they take six hours.
LOOK, MOST_AHEAD = 5_000, 10**9


@dataclass(frozen=True)
class ToleranceOptions:
    """Relative and absolute tolerance of the local error, and the longest step in s (none: no limit)."""

    rtol: float = 1e-9
    atol: float = 1e-12
    max_step: float | None = None

    def __post_init__(self) -> None:
        if not SMALLEST_RTOL <= self.rtol < math.inf:
            raise MechanismError(
                f"rtol = {self.rtol:g}: the solvers work with {SMALLEST_RTOL:.2g}, a hundred times the rounding of numbers, or "
                "more"
            )
        if not 0.0 <= self.atol < math.inf:
            raise MechanismError(f"atol = {self.atol:g}: it must be zero or more, and finite")
        if self.max_step is not None and not self.max_step > 0.0:
            raise MechanismError(f"max_step = {self.max_step:g}: the longest step must be above zero (s)")


class ScipySolver(Solver):
    """Base of the solvers that wrap a class of ``scipy.integrate``."""

    Options = ToleranceOptions
    #: Name of the class in scipy.integrate, and whether it takes a Jacobian.
    scipy_class: ClassVar[str]
    implicit: ClassVar[bool] = False

    def march(self, problem: InitialValueProblem) -> Iterator[FloatArray]:
        import scipy.integrate  # slow to import, and runs with step maps do not need it

        times = problem.times
        extra: dict[str, Any] = {"jac": problem.jacobian} if self.implicit else {}
        solver = getattr(scipy.integrate, self.scipy_class)(
            problem.rhs,
            times[0],
            problem.x0,
            times[-1],
            rtol=self.options.rtol,
            atol=self.options.atol,
            max_step=np.inf if self.options.max_step is None else self.options.max_step,
            **extra,
        )
        steps, k, looked = 0, 1, float(times[0])
        while k < len(times):
            message = solver.step()
            if solver.status == "failed":
                raise SolverError(
                    f"{self.name} could not go on at t = {solver.t:.9g} s: {message or 'the step size became too small'} "
                    f"(rtol = {self.options.rtol:g}, atol = {self.options.atol:g}). The motion may be singular there, or the "
                    "tolerances too tight"
                )
            steps += 1
            if steps % LOOK == 0:
                self._refuse_endless(float(solver.t), looked, float(times[-1]))
                looked = float(solver.t)
            reached = np.asarray(solver.y)
            interpolant = None
            while k < len(times) and times[k] <= solver.t:
                if times[k] == solver.t:
                    yield reached
                else:
                    interpolant = interpolant or solver.dense_output()
                    yield interpolant(times[k])
                k += 1
            if problem.projected is not None and solver.status == "running":
                self.go_on_from(solver, problem.projected(solver.t, reached))
        problem.statistics.update(
            steps=steps, rhs_evaluations=solver.nfev, jacobian_evaluations=solver.njev, factorisations=solver.nlu
        )

    def _refuse_endless(self, t: float, looked: float, t_end: float) -> None:
        """End a run whose last steps were so short that it would never end."""
        step = (t - looked) / LOOK
        if t_end - t > MOST_AHEAD * step:
            ahead = f"{(t_end - t) / step:.1e} steps" if step > 0 else "steps without end"
            raise SolverError(
                f"{self.name} goes on in steps of {step:.1e} s at t = {t:.9g} s, so that there are {ahead} ahead of it; more "
                f"than {MOST_AHEAD:.0e} are not taken (rtol = {self.options.rtol:g}, atol = {self.options.atol:g}). The motion "
                "there is faster than what is of interest, or rounding is larger than the tolerances: loosen them, or look "
                "at the model"
            )

    def go_on_from(self, solver: Any, y: FloatArray) -> None:
        """Put another state with the same rates in the place of the one that the last step reached.

        What a solver remembers beyond it are rates, at which nothing changes.
        """
        solver.y = y


class DOP853(ScipySolver):
    """Explicit Runge-Kutta method of order 8 with error control (Dormand-Prince, SciPy); for smooth, non-stiff motion."""

    name = "dop853"
    order = 8
    needs_jacobian = False
    scipy_class = "DOP853"


class LSODA(ScipySolver):
    """Adams and BDF methods of varying order, switching by stiffness (ODEPACK, SciPy)."""

    name = "lsoda"
    order = 0
    scipy_class = "LSODA"
    implicit = True

    def go_on_from(self, solver: Any, y: FloatArray) -> None:
        super().go_on_from(solver, y)
        # ODEPACK keeps the state, and after it scaled derivatives, from the 21st number of its workspace on.
        solver._lsoda_solver._integrator.rwork[20 : 20 + y.size] = y


class Radau(ScipySolver):
    """Implicit Runge-Kutta method of order 5 with error control (Radau IIA, SciPy); for stiff motion."""

    name = "radau"
    order = 5
    scipy_class = "Radau"
    implicit = True


class BDF(ScipySolver):
    """Backward differentiation formulas of order 1 to 5 with error control (SciPy); for stiff motion."""

    name = "bdf"
    order = 0
    scipy_class = "BDF"
    implicit = True

    def go_on_from(self, solver: Any, y: FloatArray) -> None:
        super().go_on_from(solver, y)
        solver.D[0] = y  # the differences after it stay
