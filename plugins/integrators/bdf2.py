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

    def _memory(self, parts: Parts, s: Interval) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX, ca.MX]:
        """Return coordinates, speeds and states before, c, and the inputs before."""
        e = parts.equations
        edges = [0, e.nq, e.nq + e.nv, e.nx, e.nx + 1, s.memory.numel()]
        q, v, z, c, u = ca.vertsplit(s.memory, edges)
        return q, v, z, c, u

    def refreshed(self, parts: Parts, s: Interval) -> ca.MX:
        q, v, z, c, before = self._memory(parts, s)
        jump = parts.jump(s, before)
        q, v = q + s.h**2 / 2 * parts.N(s, s.q) @ jump, v - s.h * jump
        return ca.vertcat(q, v, z - s.h * parts.state_jump(s, before), c, s.inputs)

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        q, _, _, c, _ = self._memory(parts, s)
        return (c / 2 * (s.q - q) + s.h * parts.N(s, q1) @ v1) / (1 + c / 2)

    def speeds_after(self, parts: Parts, s: Interval, change: ca.MX) -> ca.MX:
        q, _, _, c, _ = self._memory(parts, s)
        return ((1 + c / 2) * change - c / 2 * (s.q - q)[: parts.nv, :]) / s.h

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        _, v, _, c, _ = self._memory(parts, s)
        change = (1 + c / 2) * (v1 - s.v) - c / 2 * (s.v - v)
        return parts.M(s, q1) @ change - s.h * (parts.f(s, s.end, q1, v1) - parts.A(s, s.end, q1).T @ lam)

    def carried(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        _, _, z, c, _ = self._memory(parts, s)
        change = (1 + c / 2) * (s.z1 - s.z) - c / 2 * (s.z - z)
        return change - s.h * parts.state_rates(s, s.end, q1, v1)

    def after(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        return q1, v1, ca.vertcat(s.q, s.v, s.z, 1, s.inputs)
