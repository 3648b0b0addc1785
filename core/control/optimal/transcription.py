"""Transcriptions: how the motion in one interval of time enters a nonlinear program, and the terms of its cost."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.plugin import Plugin

if TYPE_CHECKING:
    from kingpost.control.optimal.optimum import Optimum
    from kingpost.control.optimal.problem import OptimalProblem


@dataclass(frozen=True)
class Grid:
    """How time is divided: into equal intervals, over each of which the inputs are constant or linear."""

    intervals: int
    #: How many of them each phase has.
    phases: tuple[int, ...] = ()

    def with_intervals(self, intervals: int) -> Grid:
        """Return a grid with so many intervals; phases keep their shares, and each has one at least."""
        if not self.phases:
            return Grid(intervals)
        counts = tuple(max(1, round(count * intervals / self.intervals)) for count in self.phases)
        return Grid(sum(counts), counts)

    @property
    def parts(self) -> tuple[Grid, ...]:
        """The grids of all phases."""
        return tuple(Grid(count) for count in self.phases) or (self,)


@dataclass(frozen=True, eq=False)
class IntervalRule:
    """The equations that hold between the states at both ends of an interval.

    States are those of the equations, [q; v; z], followed by what the rule remembers. The horizon, free parameters and inputs
    before belong to the program, not to the rule. Rows should be of the size of what they compare: positions, speeds.
    """

    #: (t, h, x0, y, u, x1, p) -> rows that must vanish; y are inner unknowns of the interval, u all inputs of the machine.
    rows: ca.Function
    #: What each row says.
    names: tuple[str, ...]
    #: What each inner unknown is, and about how large.
    inner: tuple[str, ...]
    inner_sizes: FloatArray
    #: (t, h, x0, u, x1, p) -> a first guess of the inner unknowns.
    guess: ca.Function
    #: (t, h, x, u, p) -> what is remembered at the start; None where nothing is.
    begin: ca.Function | None = None
    #: The first row that is a balance of momentum and the one behind the last, and what makes these rows the change of momentum
    #: less the impulse; None where the rule has no such rows.
    momentum: tuple[int, int] | None = None
    momentum_scales: FloatArray | None = None

    @property
    def remembered(self) -> int:
        """How many numbers are remembered beside the state."""
        return 0 if self.begin is None else int(self.begin.numel_out(0))


class Transcription(Plugin):
    """A way to make a nonlinear program of an optimal control problem."""

    kind = "transcription"
    #: Of the cost as a function of the length of an interval, for smooth inputs without active bounds; 0 where it is that of
    #: the integrator. Inputs that are constant over an interval allow no more than 2.
    order: ClassVar[int] = 2

    def refusal(self, problem: OptimalProblem) -> str:
        """Return why a problem cannot be transcribed like this, or nothing."""
        return ""

    @abstractmethod
    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        """Return the equations of one interval, the same for any number of them; the program maps them over all."""

    def finished(self, problem: OptimalProblem, grid: Grid, optimum: Optimum) -> Optimum:
        """Return a solution with what the method does beyond solving the program: nothing, but for indirect methods."""
        return optimum


@dataclass(frozen=True, eq=False)
class Moments:
    """An interval as the terms of a cost see it: symbols, and functions of them."""

    problem: OptimalProblem
    t: Any
    h: Any
    x0: Any
    x1: Any
    #: The inputs that are found, and what they were in the interval before, if a term asks for that.
    u: Any
    before: Any
    #: All inputs of the machine, and its parameters.
    inputs: Any
    p: Any
    #: Where inputs are linear, those at both ends; ``u`` is their mean then.
    ends: tuple[Any, Any] | None = None

    def channels(self, names: tuple[str, ...], at: str = "mean") -> Any:
        """Return channels at the ``"start"``, the ``"end"``, or at the mean state of the interval."""
        state = {"start": self.x0, "end": self.x1, "mean": (self.x0 + self.x1) / 2}[at]
        t = self.t + {"start": 0.0, "end": 1.0, "mean": 0.5}[at] * self.h
        return self.problem.observer(names)(t, state, self.inputs, self.p)


class CostTerm(Plugin):
    """A term of the cost: what an interval costs."""

    kind = "cost term"
    #: Whether it needs the inputs of the interval before.
    needs_before: ClassVar[bool] = False
    #: Whether it is of a whole motion, all phases of it, and not of intervals.
    whole: ClassVar[bool] = False

    def names(self, mechanism: Mechanism, inputs: tuple[str, ...]) -> tuple[str, ...]:
        """Return the channels that it looks at; they are derived, joint loads included."""
        return ()

    def refusal(self, problem: OptimalProblem) -> str:
        """Return why it cannot be taken for a problem, or nothing."""
        return ""

    @abstractmethod
    def cost(self, moments: Moments) -> Any:
        """Return what one interval costs: an integral over it, as a CasADi expression."""
