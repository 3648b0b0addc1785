"""Equations whose inputs move during a step, by the functions of the same equations with inputs that hold."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.multibody.input_layout import InputLayout


@dataclass(frozen=True, eq=False, kw_only=True)
class MovingInputs(Equations):
    """Equations that take a row of numbers for the inputs (:class:`InputLayout`), and ``held``, which take their values.

    The expressions are their own, for integrators that look at these. The functions are those of ``held``, with the values that
    inputs have at the time: code that has steps of both kinds has the accelerations once.
    """

    held: Equations
    layout: InputLayout

    @classmethod
    def of(cls, equations: Equations, held: Equations, layout: InputLayout) -> MovingInputs:
        """Return equations that were derived with a layout, with the functions of others, derived without.

        Both must hold the same constraints in the same way.
        """
        own = {field.name: getattr(equations, field.name) for field in fields(Equations)}
        return cls(**own, held=held, layout=layout)

    @cached_property
    def values(self) -> ca.Function:
        """The function (t, row) -> values of the inputs."""
        t, row = ca.SX.sym("t"), ca.SX.sym("row", self.layout.size)
        values = [
            self.layout.value(name, t, row, {}) if name in self.layout.forms else row[i]
            for i, name in enumerate(self.layout.names)
        ]
        return ca.Function("kp_inputs", [t, row], [ca.densify(ca.vertcat(*values))])

    def _with_values(self, function: ca.Function) -> ca.Function:
        """Return a function of (t, q, v, u, p), where u has inputs and then states, as one of rows."""
        t, q, v, u, p = symbols = self._arguments()
        size = self.layout.size
        return ca.Function(
            function.name(), symbols, [function(t, q, v, ca.vertcat(self.values(t, u[:size, :]), u[size:, :]), p)]
        )

    @cached_property
    def plain(self) -> Equations:
        return replace(self, treatment=self.held.plain.treatment, held=self.held.plain) if self.treatment.solves else self

    @cached_property
    def exact(self) -> Equations:
        return replace(self, treatment=self.held.exact.treatment, held=self.held.exact) if self.treatment.baumgarte else self

    @cached_property
    def accelerations(self) -> ca.Function:
        return self._with_values(self.held.accelerations)

    @cached_property
    def multipliers(self) -> ca.Function:
        return self._with_values(self.held.multipliers)

    @cached_property
    def state_rates(self) -> ca.Function:
        return self._with_values(self.held.state_rates)

    @cached_property
    def rhs(self) -> ca.Function:
        t, x, u, p = symbols = self._state_symbols()
        return ca.Function("kp_rhs", symbols, [self.held.rhs(t, x, self.values(t, u), p)], ["t", "x", "u", "p"], ["xdot"])

    @cached_property
    def corrections(self) -> ca.Function:
        return self.held.corrections

    @cached_property
    def _own_corrections(self) -> tuple[ca.Function, ca.Function] | None:
        return self.held._own_corrections

    @cached_property
    def solution(self) -> ca.Function:
        return self.held.solution

    @cached_property
    def kinematics(self) -> ca.Function:
        return self.held.kinematics
