"""Motions that are given as functions of time, put into the equations of motion of a machine in any formulation.

A flat solution says where a machine is, and which inputs that takes, as a function of the path of its load. With everything
known, M vdot - f must be made of multipliers alone: A' lam. No solver of ours has a part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from kingpost import PluginSet
from kingpost.equations.equations import Equations
from kingpost.loads.tensions import rope_tensions
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, parameter_row

PLUGINS = PluginSet(entry_points=False)


def model(name: str) -> Any:
    return select(PLUGINS.models, name)


def jets(task: Any, t: ca.SX, scope: Mapping[str, Any] | None = None) -> dict[str, list[ca.SX]]:
    """Return the path of a task and its derivatives up to the eighth, as expressions in the time."""
    return {
        name: [ca.SX(trajectory.value(t, scope or {}, order)) for order in range(9)] for name, trajectory in task.path.items()
    }


class Time:
    """The time, and unknowns that equations fix at each time: what has no closed form, but derivatives all the same."""

    def __init__(self, unknowns: int = 0) -> None:
        self.t, self.w = ca.SX.sym("t"), ca.SX.sym("w", unknowns)
        self.equations = ca.SX(0, 1)
        self.rates = ca.SX(unknowns, 1)

    def fix(self, equations: Any) -> None:
        """Say which equations in the time and the unknowns vanish."""
        self.equations = ca.densify(equations)
        self.rates = -ca.solve(ca.jacobian(self.equations, self.w), ca.jacobian(self.equations, self.t))

    def rate(self, expression: Any, order: int = 1) -> ca.SX:
        """Return a total derivative by the time."""
        for _ in range(order):
            along = ca.jacobian(expression, self.w) @ self.rates if self.w.numel() else 0
            expression = ca.jacobian(expression, self.t) + along
        return ca.densify(expression)

    def solved(self, time: float, guess: Any) -> np.ndarray:
        """Return the unknowns at a time, by Newton's method from a guess near them."""
        if not self.w.numel():
            return np.zeros(0)
        w = np.atleast_1d(np.asarray(guess, dtype=float))
        both = ca.Function("F", [self.t, self.w], [self.equations, ca.jacobian(self.equations, self.w)])
        step = np.full(len(w), np.inf)
        for _ in range(50):
            F, J = (np.asarray(part) for part in both(time, w))
            step = np.linalg.solve(J, F).ravel()
            w = w - step
            if np.abs(step).max() < 1e-14 * max(1.0, np.abs(w).max()):
                break
        assert np.abs(step).max() < 1e-11, "Newton's method found no solution"
        return w


@dataclass(frozen=True, eq=False)
class Flat:
    """Coordinates by name, inputs by name and what else is known, as expressions in the time and its unknowns."""

    time: Time
    coordinates: Mapping[str, Any]
    inputs: Mapping[str, Any]
    known: Mapping[str, Any] = field(default_factory=dict)
    #: The unknowns near a time.
    guess: Callable[[float], Any] = lambda time: ()

    def at(self, time: float) -> dict[str, float]:
        every = {**self.coordinates, **self.inputs, **self.known}
        function = ca.Function("at", [self.time.t, self.time.w], [ca.vertcat(*every.values())])
        found = function(time, self.time.solved(time, self.guess(time)))
        return dict(zip(every, np.asarray(found).ravel(), strict=True))


class Followed:
    """A machine in a formulation, at the times of a given motion."""

    def __init__(self, mechanism: Any, formulation: str, flat: Flat, settings: Mapping[str, float] | None = None) -> None:
        self.mechanism, self.flat = mechanism, flat
        self.assembly = assemble(mechanism, PLUGINS)
        self.equations: Equations = derive(self.assembly, formulation, PLUGINS)
        self.p = parameter_row(mechanism, resolve_values(mechanism, dict(settings or {})))
        e, time = self.equations, flat.time
        names = [quantity.name for quantity in mechanism.coordinates]
        q = ca.densify(ca.vertcat(*(ca.SX(flat.coordinates[name]) for name in names)))
        symbols = [time.t, time.w]
        at = ca.Function("q", symbols, [q, time.rate(q)])
        t, w = ca.MX.sym("t"), ca.MX.sym("w", time.w.numel())
        joints, speeds = at(t, w)
        x = ca.vertcat(joints, speeds)
        if e.coordinates.initial is not None:
            x = e.coordinates.initial(joints, speeds, self.p)
        v = x[e.nq :]
        vdot = ca.jacobian(v, t)
        if time.w.numel():
            vdot = vdot + ca.jacobian(v, w) @ ca.Function("rates", symbols, [time.rates])(t, w)
        inputs = [ca.SX(flat.inputs[item.name]) for item in mechanism.inputs]
        u = ca.Function("u", symbols, [ca.vertcat(ca.SX(0, 1), *inputs)])
        self.motion = ca.Function("motion", [t, w], [x[: e.nq], v, vdot, u(t, w)])
        held = e.constraints
        kind = type(e.q)
        A, speed_errors = (held.A, held.A @ e.v + held.b) if held.count else (kind(0, e.nv), kind(0, 1))
        parts = [e.M, e.f, A, held.phi if held.count else kind(0, 1), speed_errors]
        self.parts = e.function("parts", [ca.densify(part) for part in parts])

    def state(self, time: float) -> list[np.ndarray]:
        """Return q, v, vdot and u."""
        return [np.asarray(item).ravel() for item in self.motion(time, self.flat.time.solved(time, self.flat.guess(time)))]

    def tensions(self, time: float) -> dict[str, float]:
        """Return the tensions of ropes, as channels of a run would show them, with the multipliers of :meth:`residual`."""
        expressions = rope_tensions(self.assembly, self.equations)
        q, v, vdot, u = self.state(time)
        values = np.asarray(expressions.function(time, q, v, vdot, self.residual(time)[1], u, self.p)).ravel()
        return {channel.name: value for channel, value in zip(expressions.channels, values, strict=True)}

    def residual(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what of M vdot - f no multipliers explain, the multipliers, and the errors of the constraints."""
        q, v, vdot, u = self.state(time)
        M, f, A, phi, speed = (np.asarray(part) for part in self.parts(time, q, v, u, self.p))
        needed = M @ vdot - f.ravel()
        lam = np.zeros(len(A))
        if len(A):
            lam = np.linalg.lstsq(A.T, -needed, rcond=1e-12)[0]
        errors = np.concatenate([phi.ravel(), speed.ravel()])
        return needed + A.T @ lam, lam, errors


def worst(followed: Followed, times: Any) -> tuple[float, float]:
    """Return the largest residual and the largest constraint error over some times."""
    found = [followed.residual(float(time)) for time in times]
    return max(np.abs(r).max() for r, _, _ in found), max(np.abs(e).max(initial=0.0) for _, _, e in found)
