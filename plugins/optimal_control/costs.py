"""Terms of the cost of optimal control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import CostTerm, Moments
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import read_trajectory

#: Power, relative to its scale, below which its size is rounded off, so that it has second derivatives.
ROUNDED = 1e-3


class Effort(CostTerm):
    """Half the integral of the squares of the inputs (document 001, eq. 6.1)."""

    name = "effort"

    def cost(self, moments: Moments) -> Any:
        if moments.ends is None:
            return moments.h / 2 * ca.dot(moments.u, moments.u)
        # The integral of the square of a straight line.
        u0, u1 = moments.ends
        return moments.h / 6 * (ca.dot(u0, u0) + ca.dot(u0, u1) + ca.dot(u1, u1))


class EffortRate(CostTerm):
    """Half the sum of the squares of the changes of inputs over the interval: half the integral of squared rates."""

    name = "effort-rate"
    needs_before = True

    def cost(self, moments: Moments) -> Any:
        change = moments.u - moments.before if moments.ends is None else moments.ends[1] - moments.ends[0]
        return ca.dot(change, change) / (2 * moments.h)


class Time(CostTerm):
    """The time that it takes; the horizon must be free for it to matter."""

    name = "time"

    def refusal(self, problem: OptimalProblem) -> str:
        if problem.phase is None and problem.task.horizon.prescribed and len(problem.terms) == 1:
            return "the horizon is prescribed, so that the time cannot become less; give horizon = [shortest, longest]"
        return ""

    def cost(self, moments: Moments) -> Any:
        return moments.h


@dataclass(frozen=True)
class WorkOptions:
    """``power``: a power in W that is small for the machine; below a thousandth of it the size of the power is rounded off."""

    power: float = 1000.0

    def __post_init__(self) -> None:
        if not self.power > 0.0:
            raise MechanismError(f"power = {self.power!r} W must be positive")


class Work(CostTerm):
    """The integral of the sizes of the powers of all inputs: what drives without recovery take from their source."""

    name = "work"
    Options = WorkOptions

    def cost(self, moments: Moments) -> Any:
        problem = moments.problem
        e = problem.equations
        slopes = ca.densify(ca.jacobian(e.f, e.u)[:, list(problem.driven)])
        along = e.function("kp_along", [slopes.T @ e.v])
        x = (moments.x0 + moments.x1) / 2
        q, v = e.split(x)
        speeds = along(moments.t + moments.h / 2, q, v, e.acting(moments.inputs, x), moments.p)
        power = speeds * moments.u
        small = ROUNDED * self.options.power
        return moments.h * ca.sum1(ca.sqrt(power**2 + small**2) - small)


@dataclass(frozen=True)
class ChannelOptions:
    """``channels``: what is seen: angles of swing, measures, speeds."""

    channels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.channels:
            raise MechanismError("channels: name at least one")


class Swing(CostTerm):
    """Half the integral of the squares of channels: swing angles, or their rates."""

    name = "swing"
    Options = ChannelOptions

    def names(self, mechanism: Mechanism, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.options.channels)

    def cost(self, moments: Moments) -> Any:
        seen = moments.channels(self.options.channels)
        return moments.h / 2 * ca.dot(seen, seen)


@dataclass(frozen=True)
class TrackingOptions:
    """``path``: a trajectory for each channel that is to be near it, as in a servo task."""

    path: Table

    def __post_init__(self) -> None:
        if not self.path:
            raise MechanismError("path: give a trajectory for at least one channel")


class Tracking(CostTerm):
    """Half the integral of the squares of the distances of channels from trajectories."""

    name = "tracking"
    Options = TrackingOptions

    def names(self, mechanism: Mechanism, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.options.path)

    def cost(self, moments: Moments) -> Any:
        names = tuple(self.options.path)
        t = moments.t + moments.h / 2
        parameters = [parameter.name for parameter in moments.problem.posed.mechanism.parameters]
        scope = {name: moments.p[i] for i, name in enumerate(parameters)}
        desired = [read_trajectory(self.options.path[name]).value(t, scope) for name in names]
        away = moments.channels(names) - ca.vertcat(*desired)
        return moments.h / 2 * ca.dot(away, away)


@dataclass(frozen=True)
class LoadOptions:
    """``channels`` of joint loads, their ``scale`` in their own unit, and the ``power`` p: the larger, the more peaks count."""

    channels: tuple[str, ...]
    scale: float = 1.0
    power: int = 2

    def __post_init__(self) -> None:
        if not self.channels:
            raise MechanismError("channels: name at least one joint load, such as slew.My")
        if not self.scale > 0.0:
            raise MechanismError(f"scale = {self.scale!r} must be positive")
        if self.power < 2 or self.power % 2:
            raise MechanismError(f"power = {self.power}: give an even number, 2 or more")


class Load(CostTerm):
    """The integral of a power of joint loads, relative to a scale: its p-th root tends to the largest load for large p."""

    name = "load"
    Options = LoadOptions

    def names(self, mechanism: Mechanism, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.options.channels)

    def cost(self, moments: Moments) -> Any:
        seen = moments.channels(self.options.channels) / self.options.scale
        return moments.h * ca.sum1(seen**self.options.power)
