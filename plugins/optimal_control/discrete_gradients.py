"""Discrete gradients after Greenspan and Gonzalez, of the Hamiltonian in coordinates and momenta (document 001, chapter 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.control.optimal.problem import OptimalProblem
from kingpost.symbols.straightline import solve_symmetric

#: The square of a distance below which a quotient becomes an ordinary derivative: what it mends is below round-off then.
STILL = 1e-12


@dataclass(frozen=True, eq=False)
class Energies:
    """T and V of a machine whose speeds are the rates of its coordinates, and the forces that have no potential, in SX."""

    problem: OptimalProblem

    def hamiltonian(self, q: Any, momentum: Any, p: Any) -> Any:
        """Return p . M(q)^-1 p / 2 + V(q)."""
        M, V = self.parts(q, p)
        return ca.dot(momentum, solve_symmetric(M, momentum)) / 2 + V

    def parts(self, q: Any, p: Any) -> tuple[Any, Any]:
        """Return the mass matrix and the potential energy."""
        e = self.problem.equations
        function = ca.Function("kp_energies", [e.q, e.p], [e.M, ca.SX(e.potential)], {"allow_free": True})
        M, V = function(q, p)
        return M, V

    def others(self, t: Any, q: Any, v: Any, u: Any, p: Any) -> Any:
        """Return the forces without potential, inputs among them: f + dM/dt v - dT/dq + dV/dq."""
        e = self.problem.equations
        momentum = e.M @ e.v
        change = ca.jtimes(momentum, e.q, e.v)
        kinetic = ca.dot(e.v, momentum) / 2
        force = e.f + change - ca.gradient(kinetic, e.q) + ca.gradient(ca.SX(e.potential), e.q)
        return e.function("kp_others", [ca.densify(force)])(t, q, v, u, p)

    @property
    def constant_mass(self) -> bool:
        """Whether the mass matrix does not depend on the coordinates."""
        e = self.problem.equations
        return not ca.depends_on(ca.densify(e.M), e.q)


def gradient(function: Any, x0: Any, x1: Any, weights: Any) -> Any:
    """Return the discrete gradient of (8.34) with the metric of (x1 - x0) . W (x1 - x0): the mean one, mended along W dx."""
    x = ca.SX.sym("x", x0.numel())
    slope = ca.Function("kp_slope_of", [x], [ca.gradient(function(x), x)], {"allow_free": True})
    middle, moved = slope((x0 + x1) / 2), x1 - x0
    missing = function(x1) - function(x0) - ca.dot(middle, moved)
    return middle + missing * quotient(moved, weights)


def midpoint_gradient(function: Any, x0: Any, x1: Any) -> Any:
    """Return the gradient at the mean of two places."""
    x = ca.SX.sym("x", x0.numel())
    return ca.Function("kp_slope_of", [x], [ca.gradient(function(x), x)], {"allow_free": True})((x0 + x1) / 2)


def quotient(moved: Any, weights: Any) -> Any:
    """Return W d / (d . W d), and zero where d is."""
    square = ca.dot(moved, weights * moved)
    return square / (square**2 + STILL**2) * (weights * moved)


def metric(problem: OptimalProblem, sigma: float) -> np.ndarray:
    """Return the weights of coordinates and momenta; without a size of the momenta one that the inertia suggests."""
    n = problem.equations.nv
    if not sigma:
        mass = np.diag(problem.equations.mass_at(problem.x0, problem.p))
        sigma = float(mass.max()) * 2.0 / problem.task.horizon.high
    return np.concatenate([np.ones(n), np.full(n, 1.0 / sigma**2)])


def refusal(name: str, problem: OptimalProblem) -> str:
    """Return why a machine has no Hamiltonian in coordinates and momenta of its own."""
    e = problem.equations
    if e.constraints.count or not e.joint_coordinates or e.nq != e.nv or e.quaternions:
        return (
            f"transcription '{name}' needs coordinates without constraints whose rates are the speeds, and formulation "
            f"'{e.formulation}' has {e.nq} coordinates, {e.nv} speeds and {e.constraints.count} constraints for "
            f"'{e.mechanism.name}'"
        )
    if e.nz:
        return f"transcription '{name}' takes no forces with states of their own, and '{e.mechanism.name}' has {e.nz}"
    if isinstance(e.q, ca.MX):
        return f"transcription '{name}' needs plain expressions, which formulation '{e.formulation}' does not write"
    return ""
