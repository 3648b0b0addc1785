"""SciPy's initial-value solvers with error control."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.equations.integrator import InitialValueProblem, Solver


@dataclass(frozen=True)
class ToleranceOptions:
    """Relative and absolute tolerance of the local error, and the longest step in s (none: no limit)."""

    rtol: float = 1e-9
    atol: float = 1e-12
    max_step: float | None = None


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
        steps, k = 0, 1
        while k < len(times):
            message = solver.step()
            if solver.status == "failed":
                raise SolverError(
                    f"{self.name} could not go on at t = {solver.t:.9g} s: {message or 'the step size became too small'} "
                    f"(rtol = {self.options.rtol:g}, atol = {self.options.atol:g}). The motion may be singular there, or the "
                    "tolerances too tight"
                )
            steps += 1
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
