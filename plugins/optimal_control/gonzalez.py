"""Energy-consistent transcriptions in coordinates and momenta (document 001, chapter 8)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid, IntervalRule, Transcription
from kingpost.plugins.optimal_control.discrete_gradients import Energies, gradient, metric, midpoint_gradient, refusal


@dataclass(frozen=True)
class GonzalezOptions:
    """``sigma``: the size of momenta beside coordinates of the size one; 0 takes what the inertia suggests.

    Document 001 has 1, with which the program has spurious optima where momenta are large.
    """

    sigma: float = 0.0

    def __post_init__(self) -> None:
        if self.sigma < 0.0:
            raise MechanismError(f"sigma = {self.sigma!r} must not be negative")


class Gonzalez(Transcription):
    """Discrete gradient of the Hamiltonian in coordinates and momenta: the energy balance holds exactly in every interval.

    Document 001, eqs. (8.33)-(8.36).
    """

    name = "gonzalez"
    Options = GonzalezOptions

    def refusal(self, problem: OptimalProblem) -> str:
        return refusal(self.name, problem)

    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        return canonical_rule(problem, "gonzalez", metric(problem, self.options.sigma))


class Greenspan(Transcription):
    """The quotient of the potential in the place of its slope, for a constant mass matrix; energy-consistent.

    Document 001, eqs. (8.6) and (8.7), for several coordinates along the displacement.
    """

    name = "greenspan"

    def refusal(self, problem: OptimalProblem) -> str:
        return refusal(self.name, problem) or mass_refusal(self.name, problem)

    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        return canonical_rule(problem, "greenspan", metric(problem, 1.0))


def mass_refusal(name: str, problem: OptimalProblem) -> str:
    """Return why a machine has too much of a mass matrix."""
    if Energies(problem).constant_mass:
        return ""
    machine = problem.equations.mechanism.name
    return f"transcription '{name}' needs a constant mass matrix, and that of '{machine}' depends on its coordinates"


def canonical_rates(problem: OptimalProblem, states: str, weights: np.ndarray) -> ca.Function:
    """Return (q0, p0, q1, p1, parameters) -> rates of q and of p by the discrete gradient of H, without inputs."""
    e = problem.equations
    n = e.nv
    q0, p0, q1, p1 = (ca.SX.sym(name, n) for name in ("q0", "p0", "q1", "p1"))
    parameters = ca.SX.sym("p", e.np)
    energies = Energies(problem)
    if states == "greenspan" or (states == "midpoint" and energies.constant_mass):

        def potential(q: ca.SX) -> ca.SX:
            return energies.parts(q, parameters)[1]

        M = energies.parts(q0, parameters)[0]
        rate = ca.solve(ca.densify(M), (p0 + p1) / 2) if n > 1 else (p0 + p1) / 2 / M
        slope = gradient(potential, q0, q1, ca.DM.ones(n)) if states == "greenspan" else midpoint_gradient(potential, q0, q1)
        rates = [rate, -slope]
    else:

        def hamiltonian(x: ca.SX) -> ca.SX:
            return energies.hamiltonian(x[:n], x[n:], parameters)

        x0, x1 = ca.vertcat(q0, p0), ca.vertcat(q1, p1)
        if states == "gonzalez":
            whole = gradient(hamiltonian, x0, x1, ca.DM(weights))
        else:
            whole = midpoint_gradient(hamiltonian, x0, x1)
        rates = [whole[n:], -whole[:n]]
    return ca.Function("kp_canonical", [q0, p0, q1, p1, parameters], [ca.densify(item) for item in rates])


def canonical_rule(problem: OptimalProblem, states: str, weights: np.ndarray) -> IntervalRule:
    """Return the rule of a transcription in coordinates and momenta; its states are coordinates and speeds all the same."""
    e = problem.equations
    n = e.nv
    t, h = ca.SX.sym("t"), ca.SX.sym("h")
    x0, x1 = ca.SX.sym("x0", 2 * n), ca.SX.sym("x1", 2 * n)
    y, u, p = ca.SX.sym("y", 0), ca.SX.sym("u", e.nu), ca.SX.sym("p", e.np)
    energies = Energies(problem)
    q0, v0, q1, v1 = x0[:n], x0[n:], x1[:n], x1[n:]
    p0, p1 = energies.parts(q0, p)[0] @ v0, energies.parts(q1, p)[0] @ v1
    rate, force = canonical_rates(problem, states, weights)(q0, p0, q1, p1, p)
    others = energies.others(t + h / 2, (q0 + q1) / 2, rate, u, p)
    mass = np.diag(e.mass_at(problem.x0, problem.p))
    rows = ca.vertcat(q1 - q0 - h * rate, (p1 - p0 - h * (force + others)) / ca.DM(mass))
    names = [f"the step of '{item.name}'" for item in e.position_quantities]
    names += [f"the balance of '{item.name}'" for item in e.speed_quantities]
    return IntervalRule(
        rows=ca.Function("kp_interval", [t, h, x0, y, u, x1, p], [ca.densify(rows)]),
        names=tuple(names),
        inner=(),
        inner_sizes=np.ones(0),
        guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [ca.SX(0, 1)]),
        momentum=(n, 2 * n),
        momentum_scales=mass,
    )
