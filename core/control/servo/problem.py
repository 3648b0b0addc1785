"""A servo problem: the equations of a machine together with a path for some of its measures, symbols only.

    0 = qdot - N v
    0 = M vdot - f(t, q, v, z, u, p) + A' lam
    0 = zdot - g(t, q, v, vdot, lam, z, u, p)
    0 = phi(t, q),   0 = A v + b       for what cannot be integrated
    0 = y(t, q, p) - gamma(t)

Document 003, eq. (11), for any descriptor form. Known are the signals: the path gamma and the inputs that are not looked for,
with as many derivatives as are asked for. Unknown are q, v, z, the multipliers lam and the inputs u that drive the machine.

Where friction depends on joint loads, its efforts e are symbols of their own, f(t, q, v, z, u, p) + E e, and what they are is
left to :mod:`kingpost.control.servo.rubbing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.equations.equations import Equations
from kingpost.equations.measures import measure_expression
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import HIGHEST_ORDER
from kingpost.simulation.problem import Problem

#: Derivatives of the signals that expressions of a servo problem may use; series go further.
EXPRESSED = 2


@dataclass(frozen=True, eq=False)
class ServoSymbols:
    """The symbols in which servo problems are written.

    ``signals`` holds, for each order of derivative, the path of the measures followed by the inputs that are given.
    """

    t: ca.SX
    q: ca.SX
    v: ca.SX
    a: ca.SX
    z: ca.SX
    zdot: ca.SX
    lam: ca.SX
    u: ca.SX
    #: Efforts that depend on joint loads.
    e: ca.SX
    signals: tuple[ca.SX, ...]
    p: ca.SX


@dataclass(frozen=True, eq=False)
class ServoProblem:
    """A machine with a servo task; see :func:`kingpost.control.servo.posing.pose_servo`."""

    posed: Problem
    task: ServoTask
    #: Without redundant constraints.
    equations: Equations
    #: Rows of the inputs that are looked for, in the order of the task.
    driven: tuple[int, ...]

    def along(self, task: ServoTask) -> ServoProblem:
        """Return the problem with another path for the same measures; nothing is derived anew."""
        assert (task.measures, task.inputs) == (self.task.measures, self.task.inputs)
        other = replace(self, task=task)
        # Expressions know of signals, not of paths.
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name not in other.__dict__})
        return other

    @property
    def outputs(self) -> int:
        """The number of servo-constraints."""
        return len(self.task.measures)

    @property
    def given_inputs(self) -> tuple[int, ...]:
        """Rows of the inputs that stay what they are."""
        return tuple(i for i in range(self.equations.nu) if i not in self.driven)

    @property
    def rubbing(self) -> tuple[str, ...]:
        """The forces that depend on joint loads."""
        loaded = self.equations.loaded
        return () if loaded is None else tuple(dict.fromkeys(effort.force for effort in loaded.assembly.efforts))

    @property
    def effort_names(self) -> tuple[str, ...]:
        """What the efforts that depend on joint loads are: the force, and the coordinate it acts along."""
        loaded = self.equations.loaded
        return () if loaded is None else tuple(f"{effort.force} along {effort.along}" for effort in loaded.assembly.efforts)

    @property
    def mechanics(self) -> Equations:
        """The equations in which efforts that depend on joint loads, if any, are unknowns behind inputs and states."""
        loaded = self.equations.loaded
        return self.equations if loaded is None or not self.rubbing else loaded.opened

    @property
    def p(self) -> FloatArray:
        """The numbers of the parameters."""
        return self.posed.p

    @cached_property
    def symbols(self) -> ServoSymbols:
        equations = self.equations
        count = self.outputs + len(self.given_inputs)
        return ServoSymbols(
            t=ca.SX.sym("t"),
            q=ca.SX.sym("q", equations.nq),
            v=ca.SX.sym("v", equations.nv),
            a=ca.SX.sym("a", equations.nv),
            z=ca.SX.sym("z", equations.nz),
            zdot=ca.SX.sym("zdot", equations.nz),
            lam=ca.SX.sym("lam", equations.constraints.count),
            u=ca.SX.sym("u", len(self.driven)),
            e=ca.SX.sym("e", len(equations.loaded.assembly.efforts) if equations.loaded else 0),
            signals=tuple(ca.SX.sym(f"signals_{k}", count) for k in range(EXPRESSED + 1)),
            p=ca.SX.sym("p", equations.np),
        )

    def acting(self, u: Any, given: Any, z: Any) -> Any:
        """Return what functions of the equations take for u: all inputs in their order, and the states of forces."""
        rows: list[Any] = [None] * self.equations.nu
        for k, row in enumerate(self.driven):
            rows[row] = u[k]
        for k, row in enumerate(self.given_inputs):
            rows[row] = given[k]
        return ca.vertcat(type(u)(0, 1), *rows, z)

    @cached_property
    def _parts(self) -> dict[str, ca.SX]:
        """The parts of the descriptor form in the symbols of the problem."""
        e, s = self.mechanics, self.symbols
        held = e.constraints
        y = ca.vertcat(*(measure_expression(e, name) for name in self.task.measures))
        names = ["N", "M", "f", "phi", "A", "b", "y"]
        expressions = [e.N, e.M, e.f, held.phi, held.A, held.b, y]
        function = ca.Function("kp_servo_parts", [e.t, e.q, e.v, e.u, e.p], expressions)
        acting = self.acting(s.u, s.signals[0][self.outputs :], s.z)
        if self.rubbing:
            # Forces depend on these loads by efforts alone.
            acting = ca.vertcat(acting, s.e, ca.SX.zeros(e.u.numel() - acting.numel() - s.e.numel()))
        return dict(zip(names, function.call([s.t, s.q, s.v, acting, s.p]), strict=True))

    @property
    def N(self) -> ca.SX:
        return self._parts["N"]

    @property
    def M(self) -> ca.SX:
        return self._parts["M"]

    @property
    def f(self) -> ca.SX:
        """All applied forces, those of the inputs that are looked for among them."""
        return self._parts["f"]

    @cached_property
    def B(self) -> ca.SX:
        """What the inputs that are looked for do: f = f_without + B u."""
        return ca.jacobian(self.f, self.symbols.u)

    @cached_property
    def f_without(self) -> ca.SX:
        """The applied forces without the inputs that are looked for."""
        return ca.substitute(self.f, self.symbols.u, ca.SX.zeros(len(self.driven)))

    @property
    def phi(self) -> ca.SX:
        return self._parts["phi"]

    @property
    def A(self) -> ca.SX:
        return self._parts["A"]

    @property
    def y(self) -> ca.SX:
        """The measures."""
        return self._parts["y"]

    @property
    def gamma(self) -> tuple[ca.SX, ...]:
        """The path and its derivatives."""
        return tuple(column[: self.outputs] for column in self.symbols.signals)

    def rate(self, expression: ca.SX) -> ca.SX:
        """Return the time derivative of an expression in t, q, v, the signals and p; accelerations are the symbol a."""
        s = self.symbols
        result = ca.jtimes(expression, s.q, self.N @ s.v) + ca.jacobian(expression, s.t)
        result += ca.jtimes(expression, s.v, s.a) if s.v.numel() else 0
        for now, after in zip(s.signals, s.signals[1:], strict=False):
            if now.numel():
                result += ca.jtimes(expression, now, after)
        return result

    @cached_property
    def H(self) -> ca.SX:
        """How the measures feel speeds: ydot = H v + what the time alone does."""
        return ca.jacobian(self.y, self.symbols.q) @ self.N

    @cached_property
    def constraint_speeds(self) -> ca.SX:
        """What constraints ask of speeds: A v + b."""
        return self.A @ self.symbols.v + self._parts["b"]

    @cached_property
    def constraint_accelerations(self) -> ca.SX:
        return self.rate(self.constraint_speeds)

    @cached_property
    def lengths(self) -> ca.SX:
        """What speeds keep in the coordinates by themselves, but steps do not: lengths of quaternions and directors."""
        e, s = self.equations, self.symbols
        rows = [(ca.sumsqr(s.q[first : first + 4]) - 1) / 2 for first in e.quaternions]
        rows += [] if e.coordinates.kept is None else [ca.SX(e.coordinates.kept(s.q, s.p))]
        return ca.vertcat(ca.SX(0, 1), *rows)

    @cached_property
    def across(self) -> ca.SX:
        """The directions of coordinates in which :attr:`lengths` change."""
        return ca.jacobian(self.lengths, self.symbols.q).T

    @property
    def length_names(self) -> tuple[str, ...]:
        """What :attr:`lengths` are, for messages."""
        quaternions, rows = len(self.equations.quaternions), self.lengths.numel()
        directors = (f"relation {k + 1} of natural coordinates" for k in range(rows - quaternions))
        return (*(f"length of quaternion {k + 1}" for k in range(quaternions)), *directors)

    @cached_property
    def servo_positions(self) -> ca.SX:
        """The servo-constraints, eq. (2) of document 003."""
        return self.y - self.gamma[0]

    @cached_property
    def servo_speeds(self) -> ca.SX:
        return self.rate(self.y) - self.gamma[1]

    @cached_property
    def servo_accelerations(self) -> ca.SX:
        """The servo-constraints at acceleration level, eq. (4) of document 003."""
        return self.rate(self.rate(self.y)) - self.gamma[2]

    @cached_property
    def balance(self) -> ca.SX:
        """The equations of motion: M a - f + A' lam."""
        s = self.symbols
        return self.M @ s.a - self.f + self.A.T @ s.lam

    @cached_property
    def state_rates(self) -> ca.SX:
        """The rates of the states of forces."""
        s, rates = self.symbols, self.equations.states.rates
        if rates is None:
            return ca.SX(0, 1)
        acting = self.acting(s.u, s.signals[0][self.outputs :], s.z)
        return ca.SX(rates(s.t, s.q, s.v, s.a, s.lam, acting, s.p))

    @cached_property
    def other_inputs(self) -> FloatArray:
        """The values of the inputs that stay what they are."""
        return self.posed.u0[list(self.given_inputs)]

    def signals(self, times: Sequence[float] | FloatArray, order: int) -> FloatArray:
        """Return path and given inputs with their derivatives: an array (times, orders, signals)."""
        scope = {**self.posed.values.parameters, **self.posed.values.inputs}
        result = np.zeros((len(times), order + 1, self.outputs + len(self.given_inputs)))
        for j, trajectory in enumerate(self.task.path.values()):
            known = min(order, HIGHEST_ORDER)
            result[:, : known + 1, j] = trajectory.jets_at(times, known, scope)
        result[:, 0, self.outputs :] = self.other_inputs
        return result

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs that are looked for."""
        return self.task.inputs

    @property
    def row_names(self) -> dict[str, tuple[str, ...]]:
        """What the rows of the parts say, for messages."""
        e = self.equations
        return {
            "q": tuple(item.name for item in e.position_quantities),
            "v": tuple(item.name for item in e.speed_quantities),
            "z": tuple(item.name for item in e.states.quantities),
            "lam": e.constraints.owners,
            "u": self.input_names,
            "y": self.task.measures,
        }


def check_affine(problem: ServoProblem) -> None:
    """Refuse inputs that do not act, and forces that are not affine in the inputs that are looked for."""
    u, names = problem.symbols.u, problem.input_names
    B = ca.vertcat(problem.B, ca.jacobian(problem.state_rates, u))
    silent = [name for k, name in enumerate(names) if B[:, k].nnz() == 0]
    if silent:
        raise MechanismError(
            f"input {listed(silent)} acts on nothing in '{problem.equations.mechanism.name}', so that it cannot drive a "
            f"measure; inputs: {listed(signal.name for signal in problem.equations.mechanism.inputs)}"
        )
    curved = [name for k, name in enumerate(names) if ca.depends_on(ca.densify(B[:, k]), u)]
    if curved:
        raise MechanismError(
            f"the forces are not affine in {listed(curved)}: what one of these inputs does depends on its own value or on "
            "that of another. Inverse dynamics needs forces f + B u with B independent of u; take other inputs"
        )


def driven_rows(equations: Equations, task: ServoTask) -> tuple[int, ...]:
    """Return the rows of the inputs that a task looks for."""
    names = [signal.name for signal in equations.mechanism.inputs]
    for name in task.inputs:
        if name not in names:
            raise MechanismError(
                f"'{equations.mechanism.name}' has no input '{name}'{closest(name, names)} Inputs: {listed(names) or 'none'}."
            )
    return tuple(names.index(name) for name in task.inputs)
