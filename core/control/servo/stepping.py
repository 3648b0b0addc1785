"""Steps of servo systems: the interface of steppers, and what they share.

A state of a march is [x; w; xdot; earlier x]. A row of what the march is given holds the signals at its sample, then those at
the stages of the step that begins there. Scales of unknowns and rows stand behind the parameters, so that other numbers need no
other code.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.control.servo.system import ServoSystem
from kingpost.equations.newton import STRAIGHT, NewtonLoop, StepProblem
from kingpost.registry.plugin import Plugin
from kingpost.symbols.straightline import fused

#: Rounds of scaling of rows and columns; each halves, about, what is left to be done in the exponent.
ROUNDS = 12


@dataclass(frozen=True)
class ServoStepperOptions:
    """``step``: length of a step in s. ``iterations``: Newton iterations after which a step has failed."""

    step: float = 0.01
    iterations: int = 30

    def __post_init__(self) -> None:
        if not (np.isfinite(self.step) and self.step > 0):
            raise MechanismError(f"step = {self.step:g} s: it must be positive and finite")
        if self.iterations < 1:
            raise MechanismError(f"iterations = {self.iterations}: Newton's method needs at least one iteration")


class ServoStepper(Plugin):
    """Base of steppers for servo systems."""

    kind = "servo stepper"
    Options = ServoStepperOptions
    #: Order of convergence.
    order: ClassVar[int]
    #: Where the equations are met, as parts of the step; the last one is its end.
    stages: ClassVar[tuple[float, ...]] = (1.0,)
    #: How many earlier values of x it uses, apart from that at the beginning of the step.
    earlier: ClassVar[int] = 0
    #: Further places in the step at which it needs the signals, as parts of it.
    between: ClassVar[tuple[float, ...]] = ()
    #: What a user should know before he takes it, or nothing.
    warning: ClassVar[str] = ""

    @abstractmethod
    def rates(self, stages: list[Any], x: Any, earlier: list[Any], h: Any) -> list[Any]:
        """Return xdot at each stage from x at the stages, at the beginning of the step, and before."""

    def residual(self, system: ServoSystem, step: ServoStep) -> ca.SX:
        """Return what must vanish: the equations of a system at each stage, one after the other."""
        return ca.vertcat(
            *(
                system.equations(step.t + c * step.h, step.stages[k], step.rates[k], step.w[k], step.signals[k], step.p)
                for k, c in enumerate(self.stages)
            )
        )


@dataclass(frozen=True, eq=False)
class ServoStep:
    """The symbols of one step: its beginning x, then lists with an entry for each stage."""

    t: Any
    h: Any
    p: Any
    x: Any
    stages: list[Any]
    rates: list[Any]
    w: list[Any]
    #: Behind those of the stages, those at the places ``between``.
    signals: list[Any]


class ServoMarch:
    """The compiled step of a servo system."""

    def __init__(self, system: ServoSystem, stepper: ServoStepper) -> None:
        self.system, self.stepper = system, stepper
        self.nx, self.nw = system.x.numel(), system.w.numel()
        self.size = self.nx + self.nw
        self.width = int(system.given.numel())
        self.state_size = 2 * self.nx + self.nw + stepper.earlier * self.nx
        self.unknowns = len(stepper.stages) * self.size
        self.problem = self._problem()
        self.loop = NewtonLoop(self.problem, stepper.options.iterations, flush=True)

    @property
    def given_size(self) -> int:
        """The size of what a step is given: the signals at its beginning, at its stages, and in between."""
        return (1 + len(self.stepper.stages) + len(self.stepper.between)) * self.width

    def _split(self, state: Any) -> tuple[Any, Any, Any, list[Any]]:
        nx, nw = self.nx, self.nw
        x, w, xdot = state[:nx, :], state[nx : nx + nw, :], state[nx + nw : 2 * nx + nw, :]
        first = 2 * nx + nw
        return x, w, xdot, [state[first + k * nx : first + (k + 1) * nx, :] for k in range(self.stepper.earlier)]

    def _problem(self) -> StepProblem:
        system, stages = self.system, self.stepper.stages
        count, size = len(stages), self.size
        t, h = ca.SX.sym("t"), ca.SX.sym("h")
        state = ca.SX.sym("state", self.state_size)
        given = ca.SX.sym("given", self.given_size)
        p = ca.SX.sym("p", system.problem.equations.np + 2 * self.unknowns)
        known = [t, state, given, p, h]
        own, columns, rows = ca.vertsplit(p, [0, system.problem.equations.np, p.numel() - self.unknowns, p.numel()])
        x, w, xdot, earlier = self._split(state)
        # In the first guess rates stay as they are.
        ahead = system.ahead or (lambda w, time: w)
        first = ca.vertcat(*(ca.vertcat(x + c * h * xdot, ahead(w, c * h)) for c in stages))
        guess = ca.Function("kp_guess", known, [ca.densify(first / columns), ca.SX(0, 1)])
        unknowns = ca.SX.sym("unknowns", self.unknowns)
        values = unknowns * columns
        at = [values[k * size : (k + 1) * size, :] for k in range(count)]
        xs, ws = [item[: self.nx, :] for item in at], [item[self.nx :, :] for item in at]
        rates = self.stepper.rates(xs, x, earlier, h) if self.nx else [ca.SX(0, 1)] * count
        places = count + len(self.stepper.between)
        signals = [given[(k + 1) * self.width : (k + 2) * self.width, :] for k in range(places)]
        left = self.stepper.residual(system, ServoStep(t, h, own, x, xs, rates, ws, signals))
        factors = ca.SX.sym("factors", 0, 1)
        arguments = [unknowns, *known, factors]
        residual = ca.Function("kp_equations", arguments, [ca.densify(left * rows)])
        memory = [x, *earlier][: self.stepper.earlier]
        following = ca.vertcat(xs[-1], ws[-1], rates[-1], *memory)
        return StepProblem(
            guess,
            fused(residual) if residual.n_nodes() <= STRAIGHT else residual,
            ca.Function("kp_following", arguments, [ca.densify(following)]),
            tuple(name if count == 1 else f"{name} in stage {k + 1}" for k in range(count) for name in system.rows),
        )

    @property
    def step(self) -> ca.Function:
        """The function (t, state, given, p with scales, h) -> state after the step, or NaN."""
        problem = self.problem
        known = [ca.MX.sym(f"i{k}", problem.guess.numel_in(k)) for k in range(5)]
        following = self.loop.solved(known) if self.unknowns else known[1]
        return ca.Function("kp_step", known, [ca.densify(following)])

    def scales(self, t: float, state: FloatArray, given: FloatArray, p: FloatArray, h: float) -> FloatArray:
        """Return scales of unknowns and rows with which the matrix of the iteration is of the size one."""
        n = self.unknowns
        plain = np.concatenate([p, np.ones(2 * n)])
        known: list[Any] = [t, state, given, plain, h]
        guess = np.asarray(self.problem.guess.call(known)[0]).ravel()
        matrix = np.abs(np.asarray(self.loop.matrix.call([guess, *known, np.zeros((0, 1))])[0]))
        columns, rows = np.ones(n), np.ones(n)
        for _ in range(ROUNDS):
            largest = matrix.max(axis=1)
            factor = 1 / np.sqrt(np.where(largest > 0, largest, 1.0))
            rows, matrix = rows * factor, matrix * factor[:, None]
            largest = matrix.max(axis=0)
            factor = 1 / np.sqrt(np.where(largest > 0, largest, 1.0))
            columns, matrix = columns * factor, matrix * factor
        # A power of two changes no digits.
        return np.asarray(2.0 ** np.round(np.log2(np.concatenate([columns, rows]))))

    def solution(self) -> ca.Function:
        """The function (t, state, given, p with scales) -> q, v, a, z, lam, u."""
        system = self.system
        t, state = ca.MX.sym("t"), ca.MX.sym("state", self.state_size)
        given = ca.MX.sym("given", self.given_size)
        p = ca.MX.sym("p", system.problem.equations.np + 2 * self.unknowns)
        x, w, xdot, _ = self._split(state)
        own = p[: system.problem.equations.np, :]
        found = system.solved.call([t, x, xdot, w, given[: self.width, :], own])
        return ca.Function("kp_servo_state", [t, state, given, p], found)
