"""The backward differentiation formula of order 2."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


class BDF2(DescriptorStep):
    """Backward differentiation formula with fixed step: order 2; damps fast motions strongly, slow ones little.

    q1 (1 + c/2) - q0 (1 + c) + c/2 q_before = h N(q1) v1, the same for speeds, with c = 1; with c = 0, implicit Euler, in the
    first step. Remembered are the state before, c and the inputs. Where an input jumps, the state before is changed to what it
    would have been with the new input.
    """

    name = "bdf2"
    order = 2

    def memory(self, equations: Equations) -> int:
        return equations.nx + 1 + equations.nu

    def start_memory(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        return ca.vertcat(x, 0, u)

    def _memory(self, parts: Parts, s: Interval) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        """Return coordinates and speeds before, c, and the inputs before."""
        edges = [0, parts.nq, parts.nq + parts.nv, parts.nq + parts.nv + 1, s.memory.numel()]
        q, v, c, u = ca.vertsplit(s.memory, edges)
        return q, v, c, u

    def refreshed(self, parts: Parts, s: Interval) -> ca.MX:
        q, v, c, before = self._memory(parts, s)
        jump = parts.jump(s, before)
        return ca.vertcat(q + s.h**2 / 2 * parts.N(s, s.q) @ jump, v - s.h * jump, c, s.u)

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        q, _, c, _ = self._memory(parts, s)
        return (c / 2 * (s.q - q) + s.h * parts.N(s, q1) @ v1) / (1 + c / 2)

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        _, v, c, _ = self._memory(parts, s)
        change = (1 + c / 2) * (v1 - s.v) - c / 2 * (s.v - v)
        return parts.M(s, q1) @ change - s.h * (parts.f(s, s.end, q1, v1) - parts.A(s, s.end, q1).T @ lam)

    def after(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        return ca.vertcat(q1, v1, s.q, s.v, 1, s.u)
