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
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, parameter_row

PLUGINS = PluginSet(entry_points=False)


def model(name: str) -> Any:
    return select(PLUGINS.models, name)


def jets(task: Any, t: ca.SX, scope: Mapping[str, Any] | None = None) -> dict[str, list[ca.SX]]:
    """Return the path of a task and its derivatives up to the sixth, as expressions in the time."""
    return {
        name: [ca.SX(trajectory.value(t, scope or {}, order)) for order in range(7)] for name, trajectory in task.path.items()
    }


def rate(expression: Any, t: ca.SX, order: int = 1) -> ca.SX:
    for _ in range(order):
        expression = ca.jacobian(expression, t)
    return ca.densify(expression)


@dataclass(frozen=True, eq=False)
class Flat:
    """Coordinates by name, inputs by name and what else is known, as expressions in the time ``t``."""

    t: ca.SX
    coordinates: Mapping[str, Any]
    inputs: Mapping[str, Any]
    known: Mapping[str, Any] = field(default_factory=dict)

    def at(self, time: float) -> dict[str, float]:
        every = {**self.coordinates, **self.inputs, **self.known}
        function = ca.Function("at", [self.t], [ca.vertcat(*every.values())])
        return dict(zip(every, np.asarray(function(time)).ravel(), strict=True))


class Followed:
    """A machine in a formulation, at the times of a given motion."""

    def __init__(self, mechanism: Any, formulation: str, flat: Flat, settings: Mapping[str, float] | None = None) -> None:
        self.mechanism = mechanism
        self.equations: Equations = derive(assemble(mechanism, PLUGINS), formulation, PLUGINS)
        self.p = parameter_row(mechanism, resolve_values(mechanism, dict(settings or {})))
        e = self.equations
        names = [quantity.name for quantity in mechanism.coordinates]
        q = ca.densify(ca.vertcat(*(ca.SX(flat.coordinates[name]) for name in names)))
        at = ca.Function("q", [flat.t], [q, ca.jacobian(q, flat.t)])
        t = ca.MX.sym("t")
        joints, speeds = at(t)
        x = ca.vertcat(joints, speeds)
        if e.coordinates.initial is not None:
            x = e.coordinates.initial(joints, speeds, self.p)
        v = x[e.nq :]
        u = ca.Function("u", [flat.t], [ca.vertcat(ca.SX(0, 1), *(ca.SX(flat.inputs[item.name]) for item in mechanism.inputs))])
        self.motion = ca.Function("motion", [t], [x[: e.nq], v, ca.jacobian(v, t), u(t)])
        held = e.constraints
        kind = type(e.q)
        A, speed_errors = (held.A, held.A @ e.v + held.b) if held.count else (kind(0, e.nv), kind(0, 1))
        parts = [e.M, e.f, A, held.phi if held.count else kind(0, 1), speed_errors]
        self.parts = e.function("parts", [ca.densify(part) for part in parts])

    def residual(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what of M vdot - f no multipliers explain, the multipliers, and the errors of the constraints."""
        q, v, vdot, u = (np.asarray(item).ravel() for item in self.motion(time))
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


Solution = Callable[..., Flat]
