"""The variational integrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca

from kingpost.base.errors import SolverError
from kingpost.equations.newton import NewtonOptions
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


@dataclass(frozen=True)
class VariationalOptions(NewtonOptions):
    """``rule``: how the action of a step is approximated, by the trapezoidal rule or at its mean position."""

    rule: Literal["trapezoidal", "midpoint"] = "trapezoidal"


class Variational(DescriptorStep):
    """Variational integrator from a discrete action: order 2, fixed step; keeps momenta, energy errors stay bounded.

    Document 000, eqs. (3.13)-(3.36), in position-momentum form. The unknown is the mean speed w = (q1 - q0) / h, in the place
    of v1; with the action Ld(q0, q1) of a step,

        M0 v0 = -D1 Ld - h/2 (f0 - A0' lam),     phi(q1) = 0,     M1 v1 = D2 Ld + h/2 (f1 - A1' mu),     A1 v1 + b1 = 0.

    Document 000 leaves the last multipliers to the next step; taken here, speeds fit the constraints at every node and nothing
    need be remembered. Forces without potential act in halves at both ends, or at the mean position.
    """

    name = "variational"
    order = 2
    symplectic = True
    Options = VariationalOptions

    def check(self, parts: Parts) -> None:
        if not parts.rates:
            raise SolverError(
                f"integrator '{self.name}' needs speeds that are the rates of the coordinates, which those of spherical and "
                f"free joints in '{parts.equations.mechanism.name}' are not. Use joints with angles, the formulation "
                "'directors', or another integrator (energy-momentum, generalized-alpha)"
            )

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return s.h * parts.N(s, (s.q + q1) / 2) @ v1

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        if self.options.rule == "trapezoidal":
            force = parts.unconservative(s, s.start, s.q, v1)
        else:
            force = parts.unconservative(s, s.middle, (s.q + q1) / 2, v1)
        held = parts.A(s, s.start, s.q).T @ lam
        return -parts.M(s, s.q) @ s.v - self._action_slopes(parts, s, q1)[0] - s.h / 2 * (force - held)

    def rolling(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        return parts.rolling(s, s.middle, (s.q + q1) / 2, v1)

    def carried(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        # The unknown in the place of v1 is the mean speed.
        return s.z1 - s.z - s.h * parts.state_rates(s, s.middle, (s.q + q1) / 2, v1)

    def after(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        if self.options.rule == "trapezoidal":
            force = parts.unconservative(s, s.end, q1, v1)
        else:
            force = parts.unconservative(s, s.middle, (s.q + q1) / 2, v1)
        momentum = self._action_slopes(parts, s, q1)[1] + s.h / 2 * force
        v = parts.solve(s, q1, momentum)
        if parts.m:
            v = v + parts.equations.corrections(s.end.t, q1, v, s.p)[1]
        return q1, v, ca.MX(0, 1)

    def _action_slopes(self, parts: Parts, s: Interval, q1: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Return the derivatives of Ld with respect to q0 and q1."""
        trapezoidal = self.options.rule == "trapezoidal"
        w = (q1 - s.q)[: parts.nv, :] / s.h
        if trapezoidal:
            momentum = s.h / 2 * (parts.M(s, s.q) + parts.M(s, q1)) @ w / s.h
            first, last = (
                s.h / 2 * (parts.kinetic_slope(s, q, w, w) - parts.potential_slope(s, at, q))
                for at, q in ((s.start, s.q), (s.end, q1))
            )
            return first - momentum, last + momentum
        q = (s.q + q1) / 2
        half = s.h / 2 * (parts.kinetic_slope(s, q, w, w) - parts.potential_slope(s, s.middle, q))
        momentum = parts.M(s, q) @ w
        return half - momentum, half + momentum
