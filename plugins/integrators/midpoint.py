"""The mid-point rule."""

from __future__ import annotations

import casadi as ca

from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


class Midpoint(DescriptorStep):
    """Implicit mid-point rule: order 2, fixed step; forces at the mean state, constraints at the end of the step.

    Document 000, eq. (3.3). The multipliers are constant over a step; speeds fit the constraints in the middle of a step, at
    its ends only up to errors of second order.
    """

    name = "midpoint"
    order = 2
    about_mean = True

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return s.h * parts.N(s, (s.q + q1) / 2) @ ((s.v + v1) / 2)

    def speeds_after(self, parts: Parts, s: Interval, change: ca.MX) -> ca.MX:
        return 2 * change / s.h - s.v

    def held_at(self, s: Interval, q1: ca.MX) -> ca.MX:
        return (s.q + q1) / 2

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        q, v = (s.q + q1) / 2, (s.v + v1) / 2
        force = parts.f(s, s.middle, q, v) - parts.A(s, s.middle, q).T @ lam
        return parts.inertial(s, q, v1 - s.v) - s.h * force

    def rolling(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return parts.rolling(s, s.middle, (s.q + q1) / 2, (s.v + v1) / 2)
