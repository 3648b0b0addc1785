"""Boltzmann and Hamel's equations in quasi-velocities (sec. 3.3.3), in their full form.

Quasi-velocities are w = Y v + y = J qdot + y with the functions that constraints keep at zero behind independent ones:
Y = [K; A]. K is constant while expressions are differentiated, and its rows are those motions that A admits just here, so that
Y can always be inverted; at every place another K is taken, and no result depends on it.

Eq. (3.127) prints the index # of independent quasi-velocities at every factor. For constraints that cannot be integrated that
is wrong: the middle term needs all of dT/dw, of the kinetic energy before constraints are put in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.formalism import Formalism, Road, system_parts
from kingpost.equations.machine import Machine
from kingpost.plugins.formalisms.treatments import scales
from kingpost.symbols.linear_solvers import householder
from kingpost.symbols.orthogonal import complement, triangular


@dataclass(frozen=True, eq=False)
class HamelRoad(Road):
    """The equations of a machine; ``full`` is whether the middle term is that of the full form."""

    machine: Machine
    full: bool

    def solved(self, equations: Equations, name: str, rate: float) -> ca.Function:
        machine, rows, n = self.machine, equations.constraints.count, equations.nv
        if not n or not rows:
            parts = system_parts(equations, name, rate, [self.M, self.f])
            arguments: Any = parts.mx_in()
            _, _, M, f = parts.call(arguments)
            vdot = householder(n, 1)(M, f)[0] if n else f
            return ca.Function(name, arguments, [vdot, ca.MX(rows, 1)])
        K, mu, middle = ca.SX.sym("K", n - rows, n), ca.SX.sym("mu", n), ca.SX.sym("middle", n)
        held = equations.constraints
        Y, y = ca.vertcat(K, held.A), ca.vertcat(ca.SX(n - rows, 1), held.b)
        f_hamel = hamel_forces(machine, Y, y, mu, middle)
        momenta = machine.now(ca.gradient(machine.kinetic, machine.v))
        first = system_parts(equations, f"{name}_parts", rate, [self.M, self.f, momenta])
        second = system_parts(equations, f"{name}_hamel", rate, [f_hamel], [ca.vec(K), mu, middle])
        arguments = first.mx_in()
        A, drift, M, f, momenta_now = first.call(arguments)
        columns, lines = scales(n, rows)(M, A)
        D, E = ca.diag(columns), ca.diag(lines)
        Q, R, C = complement(rows, n)(E @ A @ D)
        # K C = 1 and A C = 0 for the motions D C, which are orthonormal in the scaled speeds.
        K_now = C.T @ ca.diag(1 / columns)
        dT_dw = householder(n, 1)(ca.vertcat(K_now, A).T, momenta_now)[0]
        used = dT_dw if self.full else ca.vertcat(dT_dw[: n - rows, :], ca.MX.zeros(rows))
        along = second.call([*arguments, ca.vec(K_now), dT_dw, used])[2]
        left = ca.vertcat(C.T @ D @ M @ D, E @ A @ D)
        right = ca.vertcat(C.T @ (columns * along), -lines * drift)
        vdot = columns * householder(n, 1)(left, right)[0]
        lam = lines * triangular(rows, 1, True)(R.T, Q.T @ (columns * (f - M @ vdot)))
        return ca.Function(name, arguments, [vdot, lam])


def hamel_forces(machine: Machine, Y: ca.SX, y: ca.SX, mu: ca.SX, middle: ca.SX) -> ca.SX:
    """Return what M vdot equals, along independent quasi-velocities, with ``mu`` for dT/dw, ``middle`` in the middle term.

    d/dt dT/dw + Ji' (dJ/dt - dw/dq)' dT/dw - Ji' dT/dq = Ji' Q, times Y', with Ji = N Y^-1, v = Y^-1 (w - y).
    """
    q, v, t, N = machine.q, machine.v, machine.t, machine.N
    qdot = ca.SX.sym("qdot", q.numel())
    along = N @ v

    def rate(expression: ca.SX) -> ca.SX:
        """Return the time derivative of an expression of t and q."""
        return ca.jtimes(expression, q, along) + ca.jtimes(expression, t, ca.SX(1))

    T = machine.kinetic
    moved = machine.now(machine.rate(ca.gradient(T, v)))
    # dT/dq at constant w: the speeds that belong to w change with the place.
    slope = machine.now(ca.gradient(T, q)) - ca.gradient(ca.dot(mu, Y @ v + y), q)
    J = machine.left_inverse
    twice = rate(J.T @ (Y.T @ middle)) - ca.gradient(ca.dot(middle, Y @ (J @ qdot) + y), q)
    twice = ca.substitute(twice, qdot, ca.densify(along))
    Q = machine.generalized(machine.loads)
    return Q - machine.added[1] - moved + rate(Y.T @ mu) - N.T @ (twice - slope)


class BoltzmannHamel(Formalism):
    """Boltzmann and Hamel's equations in quasi-velocities, the full form of eq. (3.127)."""

    name = "boltzmann-hamel"
    singular_mass = True
    #: The printed form, with the index # at all factors, is kept for a test that shows where it fails.
    full: ClassVar[bool] = True

    def derive(self, machine: Machine) -> Road:
        n = machine.n
        M = machine.now(ca.jacobian(ca.gradient(machine.kinetic, machine.v), machine.v))
        momenta = machine.now(ca.gradient(machine.kinetic, machine.v))
        mu = ca.SX.sym("mu", n)
        f = hamel_forces(machine, ca.SX.eye(n), ca.SX(n, 1), mu, mu)
        return HamelRoad(M + machine.added[0], ca.substitute(f, mu, ca.densify(momenta)) if n else f, machine, self.full)
