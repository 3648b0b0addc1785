"""Statics: states in which a machine stays at rest, with open and closed loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.equations.consistency import OPEN, consistent_start
from kingpost.equations.equations import Equations
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.statics.linearize import Linearisation, linearize, refuse_other_coordinates, tangent_basis
from kingpost.symbols.externals import python_forces_named

#: A step of Newton's method moves no coordinate by more than this (rad or m).
LONGEST_MOVE = 0.2
#: An eigenvalue with a real part above this (1/s) is called unstable; cubic springs at rest are neutral to rounding.
UNSTABLE = 1e-6
#: Force, per root of mass and in parts of the force at the start, that counts as one that nothing holds: far above rounding.
UNHELD = 1e-6
#: Newton's method has converged when its next step is lost in the rounding of the coordinates; ...
COORDINATE_ROUNDING = 1e-13
#: ... or when a step below this is no shorter than the one before, rounding of large forces being what is left.
STALLED = 1e-10
#: Rates of states that change by less than this part of the most with a state do not depend on it.
SETTLES = 1e-12


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state at rest: the coordinates, the largest generalized force left over, and how small motions around it behave."""

    x: FloatArray
    #: Largest entry of the generalized force that is left, in N m or N, and the coordinate it acts along.
    residual: float
    residual_at: str
    iterations: int
    linearisation: Linearisation
    #: Unstable equilibria that the search came past, as coordinates.
    passed: tuple[FloatArray, ...]
    #: What each closure does: the wrench [moment; force] on its child, about the origin of its frame M and in it; under
    #: ``name.efforts`` the efforts along the coordinates that it ties.
    closures: Mapping[str, FloatArray] = field(default_factory=dict)
    #: Closures with constraints that follow from others: of their loads, one set of many that rigid bodies allow is given.
    redundant: tuple[str, ...] = ()

    @property
    def stable(self) -> bool:
        """Whether no small motion grows."""
        modes = self.linearisation.modes
        return not modes or modes[0].eigenvalue.real <= UNSTABLE


def find_equilibrium(
    equations: Equations, x: FloatArray, u: FloatArray, p: FloatArray, t: float = 0.0, *, stable: bool = True
) -> Equilibrium:
    """Return an equilibrium near ``x``, by Newton's method with the exact Jacobian of the generalized forces.

    With ``stable`` the search goes downhill: along directions in which the forces push away it moves with them, as a motion
    would, and it leaves an unstable equilibrium that it meets (a symmetric position, say). Without, the nearest one is taken.
    Set-points and other functions of time are frozen at ``t``.

    Closed loops are closed from ``x``, however far, and stay so: 0 = f - A' lam and 0 = phi are solved by steps along the
    motions that the constraints allow, each followed by a correction of the loops. A wheel goes where it can roll to. States of
    forces are where their rates vanish; one whose rate does not depend on itself, such as an integral, is solved for together
    with the coordinates.
    """
    refuse_other_coordinates(equations, "an equilibrium")
    with python_forces_named(equations.all_externals):
        return _found(without_redundant_rows(equations, t, x, p), x, u, p, t, stable)


def _found(equations: Equations, x: FloatArray, u: FloatArray, p: FloatArray, t: float, stable: bool) -> Equilibrium:
    """Return an equilibrium of equations without redundant rows."""
    at_rest = np.concatenate([equations.split(x)[0], np.zeros(equations.nv), equations.states_of(x)])
    x = consistent_start(equations, t, at_rest, p, far=True).x
    search = _Search(equations, t, u, p)
    q = search.settled(np.concatenate([equations.split(x)[0], equations.states_of(x)]))
    nq = equations.nq
    passed: list[FloatArray] = []
    for _ in range(20):
        q, iterations = search.descend(q, downhill=stable)
        state = np.concatenate([q[:nq], np.zeros(equations.nv), q[nq:]])
        linearisation = linearize(equations, t, state, u, p)
        force = search.evaluate(q).force
        worst = int(np.argmax(np.abs(force))) if force.size else 0
        name = equations.mechanism.speeds[worst].name.removesuffix(".rate") if force.size else ""
        left = float(np.abs(force).max(initial=0.0))
        found = Equilibrium(
            state,
            left,
            name,
            iterations,
            linearisation,
            tuple(passed),
            search.closure_loads(q),
            equations.constraints.redundant,
        )
        if found.stable or not stable:
            return found
        shape = linearisation.modes[0].shape.real
        passed.append(q[:nq])
        # Far enough to leave the saddle, in the direction in which the first entry of the mode is positive.
        q = search.moved(q, 0.01 * shape * (1 if shape[np.argmax(np.abs(shape))] > 0 else -1))
    raise SolverError(
        f"'{equations.mechanism.name}': {len(passed)} unstable equilibria were found and none that is stable; the last is at "
        f"{_coordinates(equations, q)}. Ask for any equilibrium (stable=False), or start elsewhere"
    )


@dataclass(frozen=True, eq=False)
class _Forces:
    """At rest: what is left of the forces, f - A' lam, their stiffness, N, and the free motions T with T' M T = 1."""

    force: FloatArray
    stiffness: FloatArray
    N: FloatArray
    motions: FloatArray
    #: How the forces change with the states, and of the rates of states what is left and how they change.
    by_states: FloatArray
    rates: FloatArray
    rates_by_motion: FloatArray
    rates_by_states: FloatArray


class _Search:
    """The search; a place is the coordinates, followed by the states of forces."""

    def __init__(self, equations: Equations, t: float, u: FloatArray, p: FloatArray) -> None:
        self.equations, self.t, self.u, self.p = equations, t, u, p
        sizes = (1, equations.nq, equations.nv, equations.u.numel(), equations.np)
        symbols = [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]
        _, q, v, acting, p_ = symbols
        # Where motions have no inertia, constraints hold them: any positive metric in their place leaves the equilibria alone.
        M, f = equations.function("kp_statics", [equations.regular_mass, equations.f]).call(symbols)
        g = equations.state_rates(*symbols)
        N = ca.jacobian(equations.kinematics(q, v, p_), v)
        by_states = [ca.jacobian(item, acting)[:, equations.nu :] for item in (f, g)]
        results = [f, ca.jacobian(f, q) @ N, M, N, by_states[0], g, ca.jacobian(g, q) @ N, by_states[1]]
        self._function = ca.Function("statics", symbols, [ca.densify(item) for item in results])
        self._constraints: ca.Function | None = None
        e, held = equations, equations.constraints
        if held.count:
            A = held.A
            parts = [A, ca.jacobian(A.T @ held.lam, e.q) @ e.N]
            self._constraints = ca.Function("constraints", [e.t, e.q, e.p, held.lam], [ca.densify(item) for item in parts])

    def _acting(self, place: FloatArray) -> FloatArray:
        return np.concatenate([self.u, place[self.equations.nq :]])

    def settled(self, place: FloatArray) -> FloatArray:
        """Return the place with its states where their rates vanish, as far as they depend on themselves."""
        for _ in range(20 if self.equations.nz else 0):
            now = self.evaluate(place)
            if not np.isfinite(now.rates).all() or not np.isfinite(now.rates_by_states).all():
                break
            change = np.linalg.lstsq(now.rates_by_states, -now.rates, rcond=SETTLES)[0]
            place = np.concatenate([place[: self.equations.nq], place[self.equations.nq :] + change])
            if np.abs(change).max() <= COORDINATE_ROUNDING * (1 + np.abs(place).max()):
                break
        return place

    def evaluate(self, place: FloatArray) -> _Forces:
        """Return forces, stiffness and free motions at a place."""
        q = place[: self.equations.nq]
        known = (self.t, q, np.zeros(self.equations.nv), self._acting(place), self.p)
        f, slope, M, N, by_states, g, g_q, g_z = (_matrix(item) for item in self._function(*known))
        force = f.ravel()
        of_states = (by_states, g.ravel(), g_q, g_z)
        if self._constraints is None or not np.isfinite(force).all():
            motions = np.linalg.inv(np.linalg.cholesky(M)).T if np.isfinite(M).all() else M
            return _Forces(force, -slope, N, motions, *of_states)
        A = _matrix(self._constraints(self.t, q, self.p, np.zeros(self.equations.constraints.count))[0])
        # The multipliers that leave least of the forces: then nothing is left along the rows of A.
        M_inverse_A = np.linalg.solve(M, A.T)
        lam = np.linalg.lstsq(A @ M_inverse_A, M_inverse_A.T @ force, rcond=None)[0]
        turned = _matrix(self._constraints(self.t, q, self.p, lam)[1])
        return _Forces(force - A.T @ lam, turned - slope, N, tangent_basis(A, M), *of_states)

    def moved(self, place: FloatArray, theta: FloatArray, change: FloatArray | float = 0.0) -> FloatArray:
        """Return the place after a small displacement along the speeds, half of it or less if loops cannot follow."""
        q, z = place[: self.equations.nq], place[self.equations.nq :]
        for _ in range(20):
            found = self._closed(self._normalised(q + self.evaluate(place).N @ theta))
            if found is not None:
                return self.settled(np.concatenate([found, z + change]))
            theta, change = theta / 2, change / 2
        raise SolverError(
            f"'{self.equations.mechanism.name}': the search for an equilibrium ends where the loops cannot be closed any "
            f"further, at {_coordinates(self.equations, place)}: a dead centre, or the end of what the parts reach. Start "
            "elsewhere"
        )

    def _closed(self, q: FloatArray) -> FloatArray | None:
        """Return the nearest coordinates at which the loops are closed, or None if that is not near."""
        if not self.equations.constraints.holonomic:
            return q
        rest = np.zeros(self.equations.nv)
        for _ in range(20):
            change = _matrix(self.equations.corrections(self.t, q, rest, self.p)[0]).ravel()
            longest = float(np.abs(change).max(initial=0.0))
            if not longest <= LONGEST_MOVE:
                return None
            q = self._normalised(q + change)
            if longest <= COORDINATE_ROUNDING * max(1.0, float(np.abs(q).max())):
                break
        phi = _matrix(self.equations.constraint_residuals(self.t, q, rest, self.p)[0])
        return q if np.abs(phi).max() <= OPEN else None

    def _normalised(self, q: FloatArray) -> FloatArray:
        state = np.concatenate([q, np.zeros(self.equations.nv + self.equations.nz)])
        return np.asarray(ca.DM(self.equations.normalised(ca.DM(state)))).ravel()[: self.equations.nq]

    def descend(self, q: FloatArray, *, downhill: bool) -> tuple[FloatArray, int]:
        """Return where the forces vanish, and the number of iterations."""
        if self.equations.nv == self.equations.constraints.count:
            return q, 0
        history: list[float] = []
        before = np.inf
        for iteration in range(200):
            now = self.evaluate(q)
            if not np.isfinite(now.force).all():
                break
            history.append(float(np.abs(now.force).max()))
            step, change = _newton_step(now, downhill)
            longest = float(np.abs(step).max())
            if not downhill and self._unheld(now, step, history[0]):
                break
            if longest < COORDINATE_ROUNDING * max(1.0, float(np.abs(q).max())) or before <= longest < STALLED:
                return q, iteration
            before = longest
            if longest > LONGEST_MOVE:
                step, change = step * (LONGEST_MOVE / longest), change * (LONGEST_MOVE / longest)
            q = self.moved(q, step, change)
        names = [speed.name.removesuffix(".rate") for speed in self.equations.mechanism.speeds]
        f = self.evaluate(q).force
        worst = int(np.argmax(np.abs(f)))
        raise SolverError(
            f"'{self.equations.mechanism.name}': no equilibrium was found in {len(history)} steps of Newton's method; a force "
            f"of {f[worst]:.3g} is left along '{names[worst]}', after {history[0]:.3g} at the start. Nothing may hold it there "
            "(add a spring or weld it), or start closer"
        )

    def _unheld(self, now: _Forces, step: FloatArray, first: float) -> bool:
        """Whether a force is left that no displacement takes away: one along a motion without stiffness."""
        if self.equations.nz:  # states may take it away
            return False
        left = now.motions.T @ (now.force - now.stiffness @ step)
        return float(np.abs(left).max(initial=0.0)) > UNHELD * max(1.0, first)

    def closure_loads(self, q: FloatArray) -> dict[str, FloatArray]:
        """Return what the closures do at rest."""
        e, held = self.equations, self.equations.constraints
        if not held.count:
            return {}
        at_rest = np.zeros(e.nv)
        lam = e.multipliers(self.t, q[: e.nq], at_rest, self._acting(q), self.p)
        function = ca.Function("reactions", [e.t, e.q, e.v, e.p, held.lam], list(held.reactions.values()))
        values = function.call([ca.DM(item) for item in (self.t, q[: e.nq], at_rest, self.p)] + [lam])
        return {name: _matrix(value).ravel() for name, value in zip(held.reactions, values, strict=True)}


def _newton_step(now: _Forces, downhill: bool) -> tuple[FloatArray, FloatArray]:
    """Return the displacement with K step = f, or, going downhill, that with the negative stiffnesses turned positive.

    With it comes the change of states whose rates do not depend on themselves, if there are any that can be reached; the
    others follow the displacement, which is part of the stiffness.

    Both are taken along the free motions, whose mass matrix is 1: stiffnesses are compared as squares of frequencies.
    Directions without stiffness and without force are left alone.
    """
    T = now.motions
    scaled = T.T @ now.stiffness @ T
    force = T.T @ now.force
    led = np.zeros(now.rates.size)
    if led.size:
        if np.linalg.matrix_rank(now.rates_by_states, tol=SETTLES) < _reachable(now):
            matrix = np.block([[scaled, -T.T @ now.by_states], [now.rates_by_motion @ T, now.rates_by_states]])
            both, *_ = np.linalg.lstsq(matrix, np.concatenate([force, -now.rates]), rcond=1e-12)
            return np.asarray(T @ both[: len(force)]), both[len(force) :]
        follow = -np.linalg.lstsq(now.rates_by_states, now.rates_by_motion @ T, rcond=SETTLES)[0]
        scaled = scaled - T.T @ now.by_states @ follow
    symmetric = (scaled + scaled.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    floor = max(1e-10 * float(np.abs(values).max()), 1e-12)
    if not downhill or (values > floor).all():
        step, *_ = np.linalg.lstsq(scaled, force, rcond=1e-12)
    else:
        amounts = vectors.T @ force
        step = vectors @ np.where(
            np.abs(values) > floor, amounts / np.maximum(np.abs(values), floor), amounts / max(floor, 1.0)
        )
    return np.asarray(T @ step), led


def _reachable(now: _Forces) -> int:
    """Return how many states something depends on: an energy that has passed a port is not one of them."""
    felt = np.abs(np.vstack([now.by_states, now.rates_by_states])).max(axis=0, initial=0.0)
    return int((felt > 0).sum())


def _coordinates(equations: Equations, q: FloatArray) -> str:
    names = [coordinate.name for coordinate in equations.mechanism.coordinates]
    return ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, q, strict=False))


def _matrix(result: Any) -> FloatArray:
    return np.asarray(ca.DM(result).full())
