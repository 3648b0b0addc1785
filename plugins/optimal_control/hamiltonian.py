"""The indirect transcription that keeps the discrete Hamiltonian of optimal control (document 001, chapter 8)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid, IntervalRule, Transcription
from kingpost.plugins.optimal_control.discrete_gradients import Energies, metric, quotient, refusal
from kingpost.plugins.optimal_control.gonzalez import canonical_rates, canonical_rule, mass_refusal

#: Newton's iterations; from a direct solution it takes two to five.
MOST = 30
#: The size of a scaled step with which it ends: convergence is quadratic, so that about its square is left.
SMALL = 1e-9


@dataclass(frozen=True)
class HamiltonianOptions:
    """``states``: how these are discretised: ``gonzalez``, ``greenspan`` (constant mass matrix) or ``midpoint``.

    ``sigma``: the size of momenta beside coordinates of the size one, as of ``gonzalez``; 0 takes what the inertia suggests.
    """

    states: Literal["auto", "gonzalez", "greenspan", "midpoint"] = "auto"
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if self.sigma < 0.0:
            raise MechanismError(f"sigma = {self.sigma!r} must not be negative")


class Hamiltonian(Transcription):
    """Indirect: costates by discrete second derivatives, so that the discrete Hamiltonian is the same in all intervals.

    Document 001, eqs. (8.33) and (8.49)-(8.52), solved by Newton's method from a direct solution and its multipliers. For
    effort as the only cost, a prescribed horizon and end, no bounds, no friction, and inputs that act along coordinates.
    """

    name = "hamiltonian"
    Options = HamiltonianOptions

    def _states(self, problem: OptimalProblem) -> str:
        if self.options.states != "auto":
            return str(self.options.states)
        return "greenspan" if Energies(problem).constant_mass else "gonzalez"

    def refusal(self, problem: OptimalProblem) -> str:
        plain = refusal(self.name, problem)
        if plain:
            return plain
        if self._states(problem) == "greenspan" and (mass := mass_refusal(self.name, problem)):
            return mass
        return _task_refusal(problem)

    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        return canonical_rule(problem, self._states(problem), metric(problem, self.options.sigma))

    def finished(self, problem: OptimalProblem, grid: Grid, optimum: Optimum) -> Optimum:
        began = time.perf_counter()
        system = _System(problem, grid.intervals, self._states(problem), metric(problem, self.options.sigma))
        x, lam, steps = system.solved(optimum)
        n = problem.equations.nv
        u = lam[:, n:] @ system.B / system.weight
        h = optimum.h
        states = np.array([np.concatenate([row[:n], system.speeds(row)]) for row in x])
        layout = optimum.program.layout
        w = layout.joined(states, np.zeros((grid.intervals, 0)), u)
        multipliers = optimum.solution.multipliers.copy()
        own = optimum.program.interval_rows(multipliers)
        assert optimum.rule.momentum_scales is not None
        own[:, :n], own[:, n : 2 * n] = lam[:, :n], lam[:, n:] * optimum.rule.momentum_scales
        values = -system.weight * (u**2).sum(axis=1) / 2 + (lam * np.diff(x, axis=0)).sum(axis=1) / h
        solution = replace(
            optimum.solution,
            w=w,
            multipliers=multipliers,
            cost=float(system.weight * h * (u**2).sum() / 2),
            iterations=optimum.solution.iterations + steps,
            seconds=optimum.solution.seconds + time.perf_counter() - began,
        )
        found = {"hamiltonian": values, "costates": lam[:, n:]}
        return replace(optimum, solution=solution, found=found)


def _task_refusal(problem: OptimalProblem) -> str:
    task, e = problem.task, problem.equations
    what = f"transcription 'hamiltonian' of {task.title}"
    if not task.horizon.prescribed or task.bounds or task.rates or task.free:
        return f"{what} takes a prescribed horizon and no bounds, rates or free parameters"
    if problem.phase is not None:
        return f"{what} takes no phases"
    if problem.linear:
        return f"{what} takes inputs that are constant over intervals"
    if [term.name for _, term in problem.terms] != ["effort"]:
        return f"{what} takes the effort as the only cost"
    missing = [name for name in problem.state_names if name not in task.end or not task.end[name].prescribed]
    others = [name for name in task.end if name not in problem.state_names]
    if missing or others:
        return (
            f"{what} needs the whole state at the end: {listed(problem.state_names)}; it has "
            f"{listed(task.end) if task.end else 'nothing'}"
        )
    slopes = ca.jacobian(e.f, e.u)
    if ca.depends_on(slopes, ca.vertcat(e.q, e.v, e.u, e.t)):
        return f"{what} needs inputs that act along coordinates, with the same lever in every position"
    rng = np.random.default_rng(0)
    others_of = Energies(problem).others
    q, v = rng.uniform(0.1, 0.5, e.nq), rng.uniform(0.1, 0.5, e.nv)
    zero = np.zeros(e.nu)
    with_speed, at_rest = (
        np.asarray(ca.DM(others_of(0.0, q, speed, zero, problem.p))).ravel() for speed in (v, np.zeros(e.nv))
    )
    size = 1e-9 * (1.0 + np.abs(e.mass_at(np.concatenate([q, v]), problem.p)).max())
    if np.abs(with_speed).max() > size or np.abs(at_rest).max() > size:
        return f"{what} takes forces that have a potential alone, and '{e.mechanism.name}' has others, such as friction"
    return ""


class _System:
    """The conditions of an optimum for x_1 .. x_(N-1) and the costates of all intervals, with x = (q, p)."""

    def __init__(self, problem: OptimalProblem, N: int, states: str, weights: FloatArray) -> None:
        self.problem, self.N, self.h = problem, N, problem.task.horizon.low / N
        e = problem.equations
        self.n = n = e.nv
        self.weight = problem.terms[0][0]
        slopes = e.function("kp_levers", [ca.densify(ca.jacobian(e.f, e.u))])
        q, v = e.split(problem.x0)
        self.B = np.asarray(slopes(0.0, q, v, np.zeros(e.nu), problem.p))[:, list(problem.driven)]
        energies = Energies(problem)
        rates = canonical_rates(problem, states, weights)
        separable = energies.constant_mass and states in ("greenspan", "midpoint")
        before, here, after = (ca.SX.sym(name, 2 * n) for name in ("before", "here", "after"))
        lam0, lam1 = ca.SX.sym("lam0", 2 * n), ca.SX.sym("lam1", 2 * n)
        p = ca.DM(problem.p)

        def slope(x0: ca.SX, x1: ca.SX) -> ca.SX:
            rate, force = rates(x0[:n], x0[n:], x1[:n], x1[n:], p)
            return ca.vertcat(-force, rate)

        u = ca.DM(self.B).T @ lam1[n:] / self.weight
        turned = ca.vertcat(slope(here, after)[n:], -slope(here, after)[:n] + ca.DM(self.B) @ u)
        self._state = ca.Function("kp_states", [here, after, lam1], [ca.densify(after - here - self.h * turned)])
        second = self._second(energies, slope, before, here, after, weights, separable, p)
        mean = (lam0 + lam1) / 2
        # (lam^T J H_xx)^T with J = [0 I; -I 0].
        moved = ca.mtimes(second.T, ca.vertcat(-mean[n:], mean[:n]))
        self._costate = ca.Function(
            "kp_costates", [before, here, after, lam0, lam1], [ca.densify(lam1 - lam0 + self.h * moved)]
        )

    def _second(
        self, energies: Energies, slope: Any, before: Any, here: Any, after: Any, weights: FloatArray, separable: bool, p: Any
    ) -> Any:
        """Return the discrete second derivative of (8.50); that of (8.22) where T and V are apart."""
        n = self.n
        moved = (after - before) / 2
        change = slope(here, after) - slope(before, here)
        x = ca.SX.sym("x", 2 * n)
        if separable:
            potential = ca.hessian(energies.parts(x[:n], p)[1], x[:n])[0]
            base = ca.Function("kp_base", [x], [ca.densify(potential)])(here)
            d = moved[:n]
            mended = base + (change[:n] - base @ d) @ quotient(d, ca.DM.ones(n)).T
            inverse = ca.inv(ca.densify(energies.parts(here[:n], p)[0]))
            return ca.blockcat([[mended, ca.SX.zeros(n, n)], [ca.SX.zeros(n, n), inverse]])
        H = ca.hessian(energies.hamiltonian(x[:n], x[n:], p), x)[0]
        base = ca.Function("kp_base", [x], [ca.densify(H)])(here)
        return base + (change - base @ moved) @ quotient(moved, ca.DM(weights)).T

    def speeds(self, x: FloatArray) -> FloatArray:
        """Return the speeds of a state of coordinates and momenta."""
        q = x[: self.n]
        mass = self.problem.equations.mass_at(np.concatenate([q, np.zeros(self.n)]), self.problem.p)
        return np.asarray(np.linalg.solve(mass, x[self.n :]))

    def _momenta(self, state: FloatArray) -> FloatArray:
        n = self.n
        return np.concatenate([state[:n], self.problem.equations.mass_at(state, self.problem.p) @ state[n:]])

    def solved(self, optimum: Optimum) -> tuple[FloatArray, FloatArray, int]:
        """Return states, costates and the number of iterations, from a direct solution."""
        from scipy.sparse.linalg import splu  # takes longer to import than most programs to solve

        N, n2 = self.N, 2 * self.n
        X = np.array([self._momenta(state) for state in optimum.states])
        assert optimum.costates is not None
        lam = np.hstack([optimum.multipliers[:, : self.n], optimum.costates])
        residual, jacobian = self._functions(X[0], X[-1])
        z = np.concatenate([X[1:-1].ravel(), lam.ravel()])
        sizes = np.maximum(np.abs(np.concatenate([X[1:-1].ravel(), lam.ravel()])), 1e-3 * np.abs(z).max())
        steps, moved = 0, np.inf
        while steps < MOST:
            steps += 1
            J = jacobian(z).sparse().tocsc()
            change = splu(J).solve(np.asarray(residual(z)).ravel())
            z = z - change
            moved = float((np.abs(change) / sizes).max())
            if not np.isfinite(moved) or moved < SMALL:
                break
        if not moved < SMALL:
            raise SolverError(
                f"{self.problem.task.title}: Newton's method did not solve the conditions of an optimum in {steps} iterations "
                f"from the direct solution (last relative step {moved:.1e}); take more intervals, another 'sigma' or 'states'"
            )
        inside = z[: n2 * (N - 1)].reshape(N - 1, n2)
        return np.vstack([X[:1], inside, X[-1:]]), z[n2 * (N - 1) :].reshape(N, n2), steps

    def _functions(self, first: FloatArray, last: FloatArray) -> tuple[ca.Function, ca.Function]:
        N, n2 = self.N, 2 * self.n
        z = ca.MX.sym("z", n2 * (2 * N - 1))
        inside = ca.reshape(z[: n2 * (N - 1)], n2, N - 1)
        lam = ca.reshape(z[n2 * (N - 1) :], n2, N)
        x = ca.horzcat(ca.DM(first), inside, ca.DM(last))
        rows = [ca.vec(self._state.map(N)(x[:, :-1], x[:, 1:], lam))]
        if N > 1:
            rows.append(ca.vec(self._costate.map(N - 1)(x[:, :-2], x[:, 1:-1], x[:, 2:], lam[:, :-1], lam[:, 1:])))
        whole = ca.vertcat(*rows)
        return ca.Function("kp_conditions", [z], [whole]), ca.Function("kp_slopes", [z], [ca.jacobian(whole, z)])
