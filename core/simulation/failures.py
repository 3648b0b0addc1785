"""Why a run cannot go on, in sentences: what, where, the numbers, what to do next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.equations.newton import ImplicitStepMap
from kingpost.equations.newton_records import repeat_newton
from kingpost.simulation.problem import Problem, jammed
from kingpost.symbols.externals import force_failure, python_error


class Failures:
    """Raises :class:`SolverError` for a problem; ``h`` is its step."""

    def __init__(self, problem: Problem, h: float) -> None:
        self.problem, self.equations, self.integrator, self.h = problem, problem.equations, problem.integrator, h

    def explained(self, error: SolverError) -> SolverError:
        """Return the error, or, if a force written in Python raised, what it raised and where; pass an interrupt on."""
        raised = self.python_error()
        return error if raised is None else force_failure(*raised)

    def python_error(self) -> tuple[str, BaseException] | None:
        """Return which force's Python function raised, and what, and forget it."""
        return python_error(self.equations.all_externals)

    def refuse_dead_centre(self, t: float, states: Sequence[FloatArray]) -> None:
        """Say which closed loop leaves its coordinates, or their accelerations, open at one of ``states``, if that is so."""
        equations, road = self.equations, self.equations.structure.road
        why = equations.treatment.explain(equations, t, states, self.problem.p)
        if not why and road is not None:
            why = road.explain(equations, t, states, self.problem.p)
        if why:
            raise SolverError(f"'{self.problem.mechanism.name}' with {self.integrator.name}: {why}")

    def refuse_dead_centre_ahead(self, t: float, x: FloatArray, u: FloatArray) -> None:
        """Say the same of the step that begins at ``x``."""
        if self.equations.treatment.solves or self.equations.structure.road is not None:
            rate = np.asarray(self.equations.plain.rhs(t, x, u, self.problem.p)).ravel()
            self.refuse_dead_centre(t, [x, x + self.h / 2 * rate, x + self.h * rate])

    def refuse_jam(self, t: float, x: FloatArray, u: FloatArray) -> None:
        """Say that friction which depends on loads has no unique solution at ``x``, or in the step after it, if that is so."""
        if self.equations.loaded is None:
            return
        x = x[: self.equations.nx]
        rate = np.asarray(self.equations.rhs(t, x, u, self.problem.p)).ravel()
        ahead = self.h if self.problem.stepper.fixed else 0.0
        for part in (0.0, 0.25, 0.5, 0.75, 1.0):
            why = jammed(self.equations, t + part * ahead, x + part * ahead * rate if part else x, u, self.problem.p)
            if why:
                raise SolverError(f"'{self.problem.mechanism.name}' with {self.integrator.name}: {why}")

    def refuse_unsolved(self, t: float, x: FloatArray, u: FloatArray) -> None:
        """Say how Newton's method went in an implicit step that failed, if that is why it failed."""
        if not isinstance(self.integrator, ImplicitStepMap):
            return
        record = repeat_newton(self.integrator, self.equations, t, x, u, self.problem.p, self.h)
        if record.converged:
            return
        name, iterations = self.integrator.name, self.integrator.options.iterations
        advice = f"try a step smaller than {self.h:g} s, or more iterations ({name}:iterations={2 * iterations})"
        if not self.integrator.options.halvings:
            advice += f", or let such steps be halved ({name}:halvings=4)"
        if self.equations.constraints.owners:
            advice += "; at a dead centre of a closed loop no step helps"
        self.refuse(t, x, f"not found: {record.explain()}", advice=advice)

    def check_outputs(self, t: float, y: FloatArray) -> None:
        """Refuse outputs that are not finite."""
        if not np.isfinite(y).all():
            from kingpost.mechanism.given import no_rotation  # seldom needed

            why = no_rotation(self.problem.mechanism, self.problem.u0)
            if why:
                raise SolverError(f"'{self.problem.mechanism.name}' cannot be run: {why}")
            worst = int(np.argmin(np.isfinite(y)))
            shown = f"such that '{self.equations.channels[worst].name}' is {y[worst]}"
            self.refuse(t, y[: self.equations.nx], shown, "at")

    def refuse(self, t: float, x: FloatArray, what: str, where: str = "after", advice: str = "") -> None:
        """Say that the state after, or at, a time is ``what``, with the last good state ``x``."""
        names = [item.name for item in self.equations.state_quantities]
        state = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, x, strict=False))
        if len(state) > 600:
            state = state[:600] + " ..."
        if not advice:
            advice = f"try a step smaller than {self.h:g} s" if self.problem.stepper.fixed else "check the model there"
        raise SolverError(
            f"'{self.problem.mechanism.name}' with {self.integrator.name}: the state {where} t = {t:.9g} s is {what}; {advice}"
            f". Last good state: {state}"
        )
