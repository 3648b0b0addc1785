"""What controllers compute from a measured state: accelerations by inputs, and the motion of the measures."""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from kingpost.control.servo.feedback import ServoLoop


class MeasuredMotion:
    """The machine in explicit form, vdot = a_0 + a_u u, and derivatives along its motion, in the symbols of the problem."""

    def __init__(self, loop: ServoLoop) -> None:
        self.problem = loop.problem
        s, e = self.problem.symbols, self.problem.equations
        self.given = s.signals[0][self.problem.outputs :, :]
        acting = self.problem.acting(s.u, self.given, s.z)
        vdot = e.exact.accelerations.expand()(s.t, s.q, s.v, acting, s.p)
        self.a_u = ca.jacobian(vdot, s.u)
        self.a_0 = ca.substitute(vdot, s.u, ca.SX.zeros(s.u.numel()))
        self.qdot = self.problem.N @ s.v

    @cached_property
    def state_rates(self) -> ca.SX:
        """The rates of the states of forces, in the inputs u and the other symbols."""
        s, e = self.problem.symbols, self.problem.equations
        if not e.nz:
            return ca.SX(0, 1)
        rates = e.state_rates.expand()
        return ca.SX(rates(s.t, s.q, s.v, self.problem.acting(s.u, self.given, s.z), s.p))

    def rate(self, expression: ca.SX, u: ca.SX) -> ca.SX:
        """Return the time derivative of an expression in t, q, v and z with the inputs u; given inputs stay what they are."""
        s = self.problem.symbols
        result = ca.jtimes(expression, s.q, self.qdot) + ca.jacobian(expression, s.t)
        result += ca.jtimes(expression, s.v, self.a_0 + self.a_u @ u)
        if s.z.numel():
            result += ca.jtimes(expression, s.z, ca.substitute(self.state_rates, s.u, u))
        return ca.densify(result)

    @cached_property
    def y_rate(self) -> ca.SX:
        """The rates of the measures."""
        return self.rate(self.problem.y, ca.SX.zeros(self.problem.symbols.u.numel()))

    @cached_property
    def y_accelerations(self) -> tuple[ca.SX, ca.SX]:
        """What the measures accelerate by without inputs, and what inputs add: y'' = f_y + Y u, eq. (12) of document 003."""
        s = self.problem.symbols
        whole = self.rate(self.y_rate, s.u)
        Y = ca.jacobian(whole, s.u)
        return ca.substitute(whole, s.u, ca.SX.zeros(s.u.numel())), ca.densify(Y)

    @property
    def symbols(self) -> list[ca.SX]:
        """t, q, v, z, given inputs and parameters."""
        s = self.problem.symbols
        return [s.t, s.q, s.v, s.z, self.given, s.p]
