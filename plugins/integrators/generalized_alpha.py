"""The generalized-alpha method."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.equations.equations import Equations
from kingpost.equations.newton import NewtonOptions
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


@dataclass(frozen=True)
class AlphaOptions(NewtonOptions):
    """``spectral_radius``: what is left of the fastest motions after a step, from 0 (all damping) to 1 (none)."""

    spectral_radius: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.spectral_radius <= 1.0:
            raise MechanismError(f"spectral_radius = {self.spectral_radius:g} is not between 0 (all damping) and 1 (none)")


class GeneralizedAlpha(DescriptorStep):
    """Generalized-alpha method: order 2, fixed step; damps motions that are too fast for the step, as much as asked for.

    In the form of Arnold and Bruels (2007) for index-3 equations: the accelerations w satisfy the equations of motion at every
    node, algorithmic ones a follow from them and carry coordinates and speeds on,

        (1 - am) a1 + am a0 = (1 - af) w1 + af w0.

    Remembered are a, w and the inputs. Where an input jumps, both accelerations jump with it, so that no step sees forces of
    the past. The speeds are projected onto the constraints after a step: without this, redundant coordinates of a body that
    spins with more than about (1 - radius) / h break down.
    """

    name = "generalized-alpha"
    order = 2
    Options = AlphaOptions
    about_mean = True
    fits = True

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """The numbers am, af, beta and gamma (Chung and Hulbert 1993)."""
        radius = self.options.spectral_radius
        am, af = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
        gamma = 0.5 + af - am
        return am, af, (gamma + 0.5) ** 2 / 4, gamma

    def memory(self, equations: Equations) -> int:
        return 2 * equations.nv + equations.nu + equations.nz

    def start_memory(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        """Return accelerations at the start; a belongs to the time (am - af) h later, else multipliers begin with order 1."""
        am, af, _, _ = self.coefficients
        q, v = equations.split(x)
        acting = equations.acting(u, x)
        w = equations.accelerations(t, q, v, acting, p)
        change = ca.jtimes(w, x, equations.rhs(t, x, u, p)) + ca.jacobian(w, t)
        return ca.vertcat(w + (am - af) * h * change, w, u, equations.state_rates(t, q, v, acting, p))

    def refreshed(self, parts: Parts, s: Interval) -> ca.MX:
        edges = [0, parts.nv, 2 * parts.nv, 2 * parts.nv + parts.equations.nu, s.memory.numel()]
        a, w, before, rates = ca.vertsplit(s.memory, edges)
        jump = parts.jump(s, before)
        return ca.vertcat(a + jump, w + jump, s.inputs, rates + parts.state_jump(s, before))

    def _accelerations(self, parts: Parts, s: Interval, v1: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """Return a0, a1 and w1."""
        am, af, _, gamma = self.coefficients
        a0, w0 = s.memory[: parts.nv, :], s.memory[parts.nv : 2 * parts.nv, :]
        a1 = (v1 - s.v - s.h * (1 - gamma) * a0) / (s.h * gamma)
        return a0, a1, ((1 - am) * a1 + am * a0 - af * w0) / (1 - af)

    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        beta = self.coefficients[2]
        a0, a1, _ = self._accelerations(parts, s, v1)
        return s.h * parts.N(s, (s.q + q1) / 2) @ (s.v + s.h * ((0.5 - beta) * a0 + beta * a1))

    def speeds_after(self, parts: Parts, s: Interval, change: ca.MX) -> ca.MX:
        _, _, beta, gamma = self.coefficients
        a0 = s.memory[: parts.nv, :]
        a1 = (change / s.h - s.v - s.h * (0.5 - beta) * a0) / (s.h * beta)
        return s.v + s.h * ((1 - gamma) * a0 + gamma * a1)

    def expected(self, parts: Parts, s: Interval) -> ca.MX:
        return s.h * (s.v + s.h / 2 * s.memory[: parts.nv, :])

    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        w1 = self._accelerations(parts, s, v1)[2]
        return s.h * (parts.inertial(s, q1, w1) - parts.f(s, s.end, q1, v1) + parts.A(s, s.end, q1).T @ lam)

    def _state_rates(self, s: Interval) -> tuple[ca.MX, ca.MX, float, float]:
        """Return the rates of states at both ends, and the numbers am and af of first-order equations (Jansen et al. 2000)."""
        radius = self.options.spectral_radius
        am, af = (3 - radius) / (2 * (1 + radius)), 1 / (1 + radius)
        gamma = 0.5 + am - af
        before = s.memory[s.memory.numel() - s.z.numel() :, :]
        return before, (s.z1 - s.z - s.h * (1 - gamma) * before) / (s.h * gamma), am, af

    def carried(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        before, after, am, af = self._state_rates(s)
        q, v = (1 - af) * s.q + af * q1, (1 - af) * s.v + af * v1
        return s.h * ((1 - am) * before + am * after - parts.state_rates(s, s.at(af), q, v))

    def after(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        _, a1, w1 = self._accelerations(parts, s, v1)
        return q1, v1, ca.vertcat(a1, w1, s.inputs, self._state_rates(s)[1])
