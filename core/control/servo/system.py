"""Servo problems brought into a form that can be stepped: the interface of inverse-dynamics methods, and what they return."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.problem import ServoProblem
from kingpost.registry.plugin import Plugin

if TYPE_CHECKING:
    from kingpost.control.servo.start import ServoStart

#: Called now and then with the fraction done.
Progress: TypeAlias = Callable[[float], None]
#: The parts of a solution, in this order.
SOLUTION = ("q", "v", "a", "z", "lam", "u")
Realisation = Literal["orthogonal", "mixed", "tangential"]


@dataclass(frozen=True, eq=False)
class ServoPoint:
    """A consistent point of a servo problem, in numbers: it meets the equations and as many of their derivatives as matter."""

    t: float
    q: FloatArray
    v: FloatArray
    a: FloatArray
    z: FloatArray
    zdot: FloatArray
    lam: FloatArray
    u: FloatArray
    #: Path and given inputs, a row for each order of derivative.
    signals: FloatArray


@dataclass(frozen=True, eq=False)
class ServoSystem:
    """0 = residual(t, x, xdot, w, signals, p): unknowns x are stepped, unknowns w are found anew at each time.

    All expressions are in ``problem.symbols.t`` and ``.p``, the symbols ``x``, ``xdot``, ``w`` and ``signals``, one vector for
    each order of derivative. ``solution`` gives q, v, a, z, lam and u; ``start`` what x, xdot and w are at a point, in the
    symbols of the problem (q, v, a, z, zdot, lam, u and those of the signals), or as numbers.
    """

    problem: ServoProblem
    x: ca.SX
    xdot: ca.SX
    w: ca.SX
    signals: tuple[ca.SX, ...]
    residual: ca.SX
    solution: Mapping[str, ca.SX]
    #: What x, xdot and w are at a point, or how they follow from a start at a time near it.
    start: tuple[ca.SX, ca.SX, ca.SX] | Callable[[ServoStart, float], tuple[FloatArray, FloatArray, FloatArray]]
    #: What the entries of x and w are, and what the rows of the residual say.
    x_names: tuple[str, ...]
    w_names: tuple[str, ...]
    rows: tuple[str, ...]
    #: Its differentiation index, if the method says so.
    index: int | None = None
    #: What w is guessed to be after a time: the function (w, time) -> w; by default it stays as it is.
    ahead: Callable[[ca.SX, ca.SX], ca.SX] | None = None

    def __post_init__(self) -> None:
        unknowns, rows = self.x.numel() + self.w.numel(), self.residual.numel()
        assert unknowns == rows == len(self.rows), (unknowns, rows, len(self.rows))
        assert self.x.numel() == len(self.x_names)
        assert self.w.numel() == len(self.w_names)

    @cached_property
    def orders(self) -> int:
        """The highest derivative of the signals that is used."""
        return len(self.signals) - 1

    @cached_property
    def given(self) -> ca.SX:
        """All signals in one vector, order after order."""
        return ca.vertcat(*self.signals)

    @cached_property
    def equations(self) -> ca.Function:
        """The function (t, x, xdot, w, signals, p) -> residual."""
        s = self.problem.symbols
        return ca.Function("kp_servo_residual", [s.t, self.x, self.xdot, self.w, self.given, s.p], [ca.densify(self.residual)])

    @cached_property
    def solved(self) -> ca.Function:
        """The function (t, x, xdot, w, signals, p) -> q, v, a, z, lam, u."""
        s = self.problem.symbols
        results = [ca.densify(self.solution[name]) for name in SOLUTION]
        return ca.Function("kp_servo_solution", [s.t, self.x, self.xdot, self.w, self.given, s.p], results)

    def begun(self, start: ServoStart, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x, xdot and w at a time near a start."""
        if not isinstance(self.start, tuple):
            return self.start(start, t)
        at = start.at(t)
        found = self.started(at.t, at.q, at.v, at.a, at.z, at.zdot, at.lam, at.u, at.signals.ravel(), self.problem.p)
        x, xdot, w = (np.asarray(part).ravel() for part in found)
        return x, xdot, w

    @cached_property
    def started(self) -> ca.Function:
        """The function (t, q, v, a, z, zdot, lam, u, signals, p) -> x, xdot, w."""
        assert isinstance(self.start, tuple)
        s = self.problem.symbols
        symbols = [s.t, s.q, s.v, s.a, s.z, s.zdot, s.lam, s.u, ca.vertcat(*s.signals), s.p]
        return ca.Function("kp_servo_start", symbols, [ca.densify(item) for item in self.start])


class InverseDynamics(Plugin):
    """Base of inverse-dynamics methods; derive from :class:`SteppedInverse` or :class:`DirectInverse`.

    Check yours with :func:`kingpost.testing.check_inverse_dynamics`.
    """

    kind = "inverse dynamics"
    #: The realisations of servo-constraints that it can do, of "orthogonal", "mixed", "tangential".
    realisations: ClassVar[tuple[Realisation, ...]] = ("orthogonal", "mixed", "tangential")
    #: Whether it takes problems with internal states, and whether it goes forward in time, so that unstable ones run away.
    internal_states: ClassVar[bool] = True
    causal: ClassVar[bool] = True
    #: The level at which it holds the servo-constraints to rounding; above it they drift with the error of the steps.
    holds: ClassVar[Literal["position", "speed", "acceleration"]] = "position"
    #: Whether it takes more inputs than servo-constraints.
    redundant_inputs: ClassVar[bool] = False
    #: Whether it takes forces that depend on joint loads.
    load_dependent: ClassVar[bool] = False

    #: The derivatives of the path that determine the inputs, where a method knows them.
    order: ClassVar[int | None] = None

    def chosen(self) -> InverseDynamics:
        """Return the method that the options ask for: itself, or another that goes under the same name."""
        return self

    def refusal(self, problem: ServoProblem) -> str:
        """Return why it does not take a problem, as a sentence without its end, or an empty text if it does."""
        inputs, outputs = len(problem.driven), problem.outputs
        if inputs < outputs or (inputs > outputs and not self.redundant_inputs):
            return (
                f"method '{self.name}' needs as many inputs as servo-constraints, and the task has {inputs} inputs "
                f"({', '.join(problem.input_names)}) for {outputs} measures ({', '.join(problem.task.measures)})"
            )
        return ""

    def warning(self, index: int) -> str:
        """Return what a user should know who takes it for a problem of this index, or an empty text."""
        return ""

    @classmethod
    def fault(cls) -> str:
        derived = issubclass(cls, SteppedInverse | DirectInverse)
        return "" if derived else "must derive from kingpost.SteppedInverse or kingpost.DirectInverse"


class SteppedInverse(InverseDynamics):
    """A method that gives a system of lower index, which a stepper carries through time."""

    @abstractmethod
    def reduce(self, problem: ServoProblem, at: ServoPoint) -> ServoSystem:
        """Return the system that is stepped; ``at`` is a consistent point at the start, for choices that need numbers."""


class DirectInverse(InverseDynamics):
    """A method that finds the solution at given times by itself."""

    @abstractmethod
    def solve(
        self, problem: ServoProblem, start: ServoStart, times: FloatArray, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        """Return times, and q, v, a, z, lam and u side by side, one row for each of them.

        The times are those that were asked for; a method may add some before and after, evenly.
        """
