"""Integrator plugins: how a motion is advanced in time. There are two kinds.

A :class:`StepMap` gives the next state as a CasADi expression; the whole run is then one compiled loop. A
:class:`Solver` advances numerically in Python, with its own choice of steps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations
from kingpost.registry.plugin import Plugin


class Integrator(Plugin):
    """Base of both kinds; derive from :class:`StepMap` or :class:`Solver`."""

    kind = "integrator"
    #: Order of convergence, checked by :func:`kingpost.testing.check_integrator`; 0 if the method varies it.
    order: ClassVar[int]
    #: The kinds of problem (``Equations.problem``) that the method can advance.
    problems: ClassVar[tuple[str, ...]] = ("ode",)

    @classmethod
    def fault(cls) -> str:
        return "" if issubclass(cls, StepMap | Solver) else "must derive from kingpost.StepMap or kingpost.Solver"


class StepMap(Integrator):
    """A fixed-step method, written as one symbolic step.

    ``symplectic`` promises that the energy error of a conservative machine stays bounded; the conformance kit checks it.
    """

    symplectic: ClassVar[bool] = False

    def memory(self, equations: Equations) -> int:
        """Return how many numbers the method carries from step to step beside the state: earlier states, accelerations."""
        return 0

    def start_memory(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        """Return these numbers at the start of a run."""
        raise NotImplementedError

    def observe(self, equations: Equations) -> ca.Function:
        """Return the function (t, x, u, p) -> values of ``equations.channels``, with or without the memory behind x."""
        return equations.observe

    @abstractmethod
    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        """Return the state after one step of length ``h`` from time ``t`` and state ``x`` = [q; v], followed by the memory.

        Call ``equations.rhs(t, x, u, p)`` for xdot, or ``equations.accelerations(t, q, v, u, p)`` and
        ``equations.kinematics(q, v, p)`` for its two halves; ``equations.split(x)`` gives q and v. The inputs ``u`` are
        constant over the step. Only CasADi operations can be used: the result is compiled.
        """


@dataclass(frozen=True)
class InitialValueProblem:
    """xdot = rhs(t, x), x(times[0]) = x0, wanted at ``times`` (rising)."""

    times: FloatArray
    x0: FloatArray
    rhs: Callable[[float, FloatArray], FloatArray]
    jacobian: Callable[[float, FloatArray], FloatArray]
    #: Filled by the solver with counts of what it did, e.g. ``{"steps": 120}``; reported with the run.
    statistics: dict[str, int] = field(default_factory=dict)
    #: The function (t, x) -> x on the constraints, if the rates are taken there: ``rhs`` gives the same at both. A solver that
    #: goes on from it after each step lets no error of the constraints grow. Samples are brought there in any case.
    projected: Callable[[float, FloatArray], FloatArray] | None = None


class Solver(Integrator):
    """A method that advances numerically in Python, choosing its own steps."""

    #: Whether it asks for the Jacobian, which is then compiled, too.
    needs_jacobian: ClassVar[bool] = True

    @abstractmethod
    def march(self, problem: InitialValueProblem) -> Iterator[FloatArray]:
        """Yield the state at ``problem.times[1]``, ``problem.times[2]``, ... in turn.

        ``rhs`` and ``jacobian`` return new arrays. Raise :class:`kingpost.SolverError` when the method cannot go on;
        what was yielded before is kept.
        """
