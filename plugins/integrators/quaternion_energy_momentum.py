"""The energy-momentum scheme for unit quaternions: document 001, section 5.4."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.errors import SolverError
from kingpost.equations.newton import NewtonOptions
from kingpost.plugins.formulations.quaternions.bodies import left
from kingpost.plugins.integrators.energy_momentum import STILL, depends, quadratic
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts

#: Conjugation of a quaternion.
CONJUGATE = ca.DM([1.0, -1.0, -1.0, -1.0])


@dataclass(frozen=True)
class QuaternionEnergyMomentumOptions(NewtonOptions):
    """``printed`` takes the rate of momentum as document 001 prints it: wrong, to show what that does to the invariants."""

    printed: bool = False


class QuaternionEnergyMomentum(DescriptorStep):
    """Energy-momentum method for unit quaternions: order 2, fixed step; keeps energy, angular momentum, |q| = 1 and q.p = 0.

    Document 001, eq. (5.43), for equations of the formulation 'quaternions'. With p = M4 v, pi = Ql(q)' p and means (.)m,

        q1 - q0 = h/8 Ql(qm) J4^-1 (pi0 + pi1)
        p1 - p0 = -h/8 Ql(pm) J4^-1 C (pi0 + pi1) - h D V - h qm lam + h f*,     0 = (q1.q1 - 1)/2

    where D V is the discrete derivative of the potential and f* are the forces without one between the two places. The document
    prints it without C = diag(1, -1, -1, -1). But Ql(p)' q = C pi, so that the derivative of T = pi . J4^-1 pi / 8 in q is
    Ql(p) J4^-1 C pi / 4; as q.p = 0, leaving out C turns the sign of the gyroscopic forces, and neither energy nor angular
    momentum is kept. At nodes J4^-1 pi = 4 Ql(q)' v, which is used here: no inertia is inverted.
    """

    name = "quaternion-energy-momentum"
    order = 2
    Options = QuaternionEnergyMomentumOptions

    def check(self, parts: Parts) -> None:
        equations = parts.equations
        if not equations.structure.unit_quaternions:
            raise SolverError(
                f"integrator '{self.name}' is for equations in unit quaternions; those of '{equations.mechanism.name}' are of "
                f"the formulation '{equations.formulation}'. Take the formulation 'quaternions' or the integrator "
                "'energy-momentum'"
            )
        # The displacement depends on the new coordinates: they stay unknowns although q' = v.
        parts.rates = False

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        middle = (s.q + q1) / 2
        moved = ca.vertsplit(s.h * (s.v + v1) / 2)
        for rows in quaternion_slices(parts):
            moved[rows] = ca.vertsplit(s.h / 2 * left(middle[rows]) @ self._spins(s, q1, v1, rows))
        return ca.vertcat(*moved)

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        e = parts.equations
        assert e.structure.midpoint_forces is not None
        q, v = (s.q + q1) / 2, (q1 - s.q) / s.h
        before, after = parts.M(s, s.q) @ s.v, parts.M(s, q1) @ v1
        gyroscopic = ca.vertsplit(ca.MX.zeros(parts.nv))
        for rows in quaternion_slices(parts):
            spins = self._spins(s, q1, v1, rows)
            turned = spins if self.options.printed else CONJUGATE * spins
            gyroscopic[rows] = ca.vertsplit(left((before + after)[rows] / 2) @ turned / 2)
        other = e.structure.midpoint_forces(s.middle.t, s.q, q1, v, s.middle.u, s.p)
        force = other - self._potential_slope(parts, s, q1) - ca.vertcat(*gyroscopic) - parts.A(s, s.middle, q).T @ lam
        return after - before - s.h * force

    def _spins(self, s: Interval, q1: ca.MX, v1: ca.MX, rows: slice) -> ca.MX:
        """Return J4^-1 (pi0 + pi1) / 4: at both ends (q.v, Omega/2), summed."""
        return left(s.q[rows]).T @ s.v[rows] + left(q1[rows]).T @ v1[rows]

    def _potential_slope(self, parts: Parts, s: Interval, q1: ca.MX) -> ca.MX:
        """Return the discrete derivative of the potential: the gradient at the mean, and what is missing along the way.

        Nothing is missing where the potential is quadratic, like that of gravity; angular momentum is exact only then.
        """
        e, moved = parts.equations, q1 - s.q
        slope = parts.potential_slope(s, s.middle, (s.q + q1) / 2)
        if not parts.hidden and quadratic(e.potential, e.q):
            return slope
        weight = ca.densify(ca.diag(parts.M(s, s.q))) * (np.ones(parts.nq) if parts.hidden else depends(e.potential, e.q))
        weight = weight / ca.sum1(weight)
        square = ca.dot(moved, weight * moved)
        missing = parts.V(s, s.middle, q1) - parts.V(s, s.middle, s.q) - ca.dot(slope, moved)
        return slope + missing * square / (square**2 + STILL**2) * weight * moved

    def _guess(self, parts: Parts, s: Interval, known: list[ca.MX]) -> ca.Function:
        """Return a first guess of constant angular velocity: with constant q' Newton's method fails beyond a radian."""
        guess, factors = super()._guess(parts, s, known).call(known)
        entries, size = ca.vertsplit(guess), factors[0]
        for rows in quaternion_slices(parts):
            turn = s.h * left(s.q[rows]).T @ s.v[rows]
            angle = ca.sqrt(ca.dot(turn[1:], turn[1:]) + STILL**2)
            # exp of half the turn, q1 = q o exp (5.47), and v1 = q1 o (0, Omega/2).
            end = left(s.q[rows]) @ ca.vertcat(ca.cos(angle), ca.sin(angle) / angle * turn[1:])
            entries[rows] = ca.vertsplit((end - s.q[rows]) / size)
            entries[parts.nq + rows.start : parts.nq + rows.stop] = ca.vertsplit(left(end) @ turn / size)
        return ca.Function("kp_guess", known, [ca.vertcat(*entries), factors])


def quaternion_slices(parts: Parts) -> list[slice]:
    """Return the rows of all quaternions in q and in v."""
    return [slice(first, first + 4) for first in parts.equations.structure.unit_quaternions]
