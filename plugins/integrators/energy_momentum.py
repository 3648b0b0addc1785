"""The energy-momentum method: discrete derivatives after Gonzalez."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kingpost.equations.equations import Equations
from kingpost.equations.newton import StepProblem
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts
from kingpost.plugins.integrators.reduced import ReducedStep

#: Square of the (weighted) displacement, in m^2 or rad^2, below which a discrete derivative is the ordinary one: what is left
#: out is then below the round-off of the energies, and the quotient 0/0 of no displacement becomes 0.
STILL = 1e-12


class EnergyMomentum(DescriptorStep):
    """Energy-momentum method with discrete derivatives: order 2, fixed step; keeps the energy of conservative machines.

    Document 000, eqs. (2.119), (3.4)-(3.7), and document 001, section 3.2, for a constant mass matrix; there it keeps the
    momentum maps of the machine, too. Where M depends on q and N = I, momenta are M v and, with the identity

        T1 - T0 = (v0 + v1)/2 . (M1 v1 - M0 v0) - (K(q1) - K(q0)),     K(q) = v0 . M(q) v1 / 2,

    it is enough to take the discrete derivative of K - V in q alone. Document 001, eq. (8.34), takes that of H(q, p) in q and p
    together, whose quotient mixes units and needs M^-1; the energy is kept either way. Momenta of coordinates that no energy
    depends on are kept exactly, too. Natural coordinates with joint speeds (formulation 'nullspace') are advanced by the
    discrete null-space method: fewer unknowns, the same motion as with 'directors'. With quaternions the mid-point rule gets a
    force along the momentum that mends its energy.
    """

    name = "energy-momentum"
    order = 2

    def memory(self, equations: Equations) -> int:
        return 0 if equations.structure.discrete is None else equations.structure.discrete.natural.nv

    def start_memory(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        assert equations.structure.discrete is not None
        return equations.structure.discrete.rates(*equations.split(x), p)

    def problem(self, equations: Equations, *, branches: bool = False) -> StepProblem:
        reduced = self._reduced(equations)
        return super().problem(equations, branches=branches) if reduced is None else reduced.problem()

    def observe(self, equations: Equations) -> ca.Function:
        reduced = self._reduced(equations)
        return super().observe(equations) if reduced is None else reduced.observe()

    def _reduced(self, equations: Equations) -> ReducedStep | None:
        return None if equations.structure.discrete is None else ReducedStep(self, equations, equations.structure.discrete)

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return s.h * parts.N(s, (s.q + q1) / 2) @ ((s.v + v1) / 2)

    def speeds_after(self, parts: Parts, s: Interval, change: ca.MX) -> ca.MX:
        return 2 * change / s.h - s.v

    def held_at(self, s: Interval, q1: ca.MX) -> ca.MX:
        return (s.q + q1) / 2

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        q, v = (s.q + q1) / 2, (s.v + v1) / 2
        inertia = parts.inertia(s)
        held = self._constraint_matrix(parts, s, q1, v, inertia).T @ lam
        if not parts.rates:
            return self._mended_midpoint(parts, s, q1, v1, inertia) + s.h * held

        def energy(place: ca.MX) -> ca.MX:
            return ca.dot(s.v, parts.M(s, place) @ v1) / 2 - parts.V(s, s.middle, place)

        slope = parts.kinetic_slope(s, q, s.v, v1) - parts.potential_slope(s, s.middle, q)
        e = parts.equations
        shape = ca.vertcat(ca.vec(e.M), e.potential)
        if parts.hidden or not quadratic(shape, e.q):
            # Only coordinates that the energies depend on are corrected: the momenta of the others stay what they are.
            weight = inertia * (np.ones(parts.nv) if parts.hidden else depends(shape, e.q)[: parts.nv])
            missing = energy(q1) - energy(s.q) - s.h * ca.dot(slope, v)
            slope = slope + missing * _direction(s.h * v, weight)
        own = e.structure.midpoint_forces
        other = parts.unconservative(s, s.middle, q, v) if own is None else own(s.middle.t, s.q, q1, v, s.middle.u, s.p)
        return parts.M(s, q1) @ v1 - parts.M(s, s.q) @ s.v - s.h * (slope + other - held)

    def rolling(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return parts.rolling(s, s.middle, (s.q + q1) / 2, (s.v + v1) / 2)

    def _constraint_matrix(self, parts: Parts, s: Interval, q1: ca.MX, v: ca.MX, inertia: ca.MX) -> ca.MX:
        """Return A at the mean position with rows mended so that h A v is the change of phi."""
        q = (s.q + q1) / 2
        A = parts.A(s, s.middle, q)
        e = parts.equations
        if not parts.holonomic or (parts.rates and quadratic(e.constraints.phi, e.q)):
            return A
        change = parts.phi(s, s.middle, q1) - parts.phi(s, s.middle, s.q)
        moved, rows = s.h * v, []
        for j in range(parts.m):
            row = A[j, :]
            if j < parts.holonomic and not (parts.rates and quadratic(e.constraints.phi[j], e.q)):
                weight = inertia * (self._mended(parts, j) if parts.rates else np.ones(parts.nv))
                row = row + (change[j] - row @ moved) * _direction(moved, weight).T
            rows.append(row)
        return ca.vertcat(*rows)

    @staticmethod
    def _mended(parts: Parts, j: int) -> np.ndarray[Any, Any]:
        """Return 1 for the coordinates along which a row is mended: those it depends on, or scalars among them (2.122)."""
        e = parts.equations
        every = depends(e.constraints.phi[j], e.q)[: parts.nv]
        scalar = np.zeros(parts.nv)
        scalar[list(e.structure.scalars)] = 1.0
        return every * scalar if (every * scalar).any() else every

    def _mended_midpoint(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, inertia: ca.MX) -> ca.MX:
        """Return the mid-point balance with a force along M v whose power makes the energy change by the work alone."""
        q, v = (s.q + q1) / 2, (s.v + v1) / 2
        M, rate = parts.M(s, q), parts.N(s, q) @ v
        balance = M @ (v1 - s.v) - s.h * parts.f(s, s.middle, q, v)

        def energy(place: ca.MX, speed: ca.MX) -> ca.MX:
            return ca.dot(speed, parts.M(s, place) @ speed) / 2 + parts.V(s, s.middle, place)

        # Of all forces but the gyroscopic ones (power -v'Mdot v/2) and those with a potential.
        slope = parts.kinetic_slope(s, q, v, v) + parts.potential_slope(s, s.middle, q)
        power = ca.dot(v, parts.f(s, s.middle, q, v)) + ca.dot(slope, rate[: slope.numel(), :])
        gain = energy(q1, v1) - energy(s.q, s.v) - s.h * power
        missing = gain - ca.dot(v, balance)
        total = ca.sum1(inertia)
        square = s.h**2 * ca.dot(v, M @ v) / total
        return balance + missing * s.h**2 * square / (square**2 + STILL**2) * (M @ v) / total


def _direction(moved: ca.MX, weight: Any) -> ca.MX:
    """Return W d / (d . W d) of a displacement d with weights W, and zero where there is none."""
    weight = weight / ca.sum1(weight)
    square = ca.dot(moved, weight * moved)
    return square / (square**2 + STILL**2) * weight * moved


def depends(expression: Any, q: Any) -> np.ndarray[Any, Any]:
    """Return 1 for every coordinate that the expression depends on, else 0."""
    return np.array(ca.which_depends(_entries(expression), q, 1, False), dtype=float)


def quadratic(expression: Any, q: Any) -> bool:
    """Say whether an expression is at most quadratic in q, so that its discrete derivative is the one at the mean position."""
    slopes = _entries(ca.jacobian(_entries(expression), q))
    return not slopes.numel() or not any(ca.which_depends(slopes, q, 2, True))


def _entries(expression: Any) -> Any:
    """Return those entries of a matrix that can be other than zero, as a dense column: that of M has 144 of each body's."""
    column = ca.vec(expression)
    return type(expression)(ca.Sparsity.dense(column.nnz(), 1), column.nz[:]) if column.nnz() else type(expression)(0, 1)
