"""The implicit Euler method."""

from __future__ import annotations

import casadi as ca

from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


class BackwardEuler(DescriptorStep):
    """Implicit Euler method: order 1, fixed step; takes energy out of fast motions, never unstable.

    Document 000, eq. (3.2): q1 = q0 + h N(q1) v1, M(q1) (v1 - v0) = h (f1 - A(q1)' lam), phi(q1) = 0.
    """

    name = "backward-euler"
    order = 1

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return s.h * parts.N(s, q1) @ v1

    def speeds_after(self, parts: Parts, s: Interval, change: ca.MX) -> ca.MX:
        return change / s.h

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        force = parts.f(s, s.end, q1, v1) - parts.A(s, s.end, q1).T @ lam
        return parts.M(s, q1) @ (v1 - s.v) - s.h * force

    def carried(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return s.z1 - s.z - s.h * parts.state_rates(s, s.end, q1, v1)
