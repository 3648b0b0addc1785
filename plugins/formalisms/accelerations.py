"""Formalisms that differentiate functions of accelerations: Gauss's compulsion, Gibbs's function (sec. 3.2.2, 3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.equations.formalism import Formalism, Road
from kingpost.equations.machine import Machine, once
from kingpost.plugins.formalisms.treatments import Treated, least_compulsion, projected, udwadia_schutte


def compulsion(machine: Machine) -> ca.SX:
    """Return Gauss's Z as a function of ``machine.vdot``, up to what does not depend on it, eq. (3.55) for rigid bodies.

    Sum of m/2 (a - F/m)^2 without its constant F^2/2m, and likewise of rotations about the centres of mass, in body axes.
    """
    total = -ca.dot(machine.efforts, machine.vdot) if machine.n else ca.SX(0)
    for rotor in machine.rotors:
        along = sum(ratio * machine.vdot[machine.tree.effort_row(name)] for name, ratio in rotor.ratios.items())
        total += rotor.inertia * along**2 / 2
    for body in machine.bodies:
        w, v = body.omega, body.com_velocity
        turned = machine.rate(w, machine.vdot)
        moved = machine.rate(v, machine.vdot) + ca.cross(w, v)
        wrench = machine.wrenches.get(body.name, ca.SX(6, 1))
        moment = wrench[:3] - ca.cross(body.com, wrench[3:]) - ca.cross(w, body.inertia @ w)
        total += body.mass * ca.dot(moved, moved) / 2 - ca.dot(wrench[3:], moved)
        total += ca.dot(turned, body.inertia @ turned) / 2 - ca.dot(moment, turned)
        if body.name in machine.inertias:
            a = machine.rate(body.twist, machine.vdot)
            total += ca.dot(a, machine.inertias[body.name] @ a) / 2
    return machine.now(total)


def gibbs_function(machine: Machine) -> ca.SX:
    """Return S of eq. (A.49) as a function of ``machine.vdot``, from places and rotation matrices differentiated twice.

    S = m a.a / 2 + (wdot.I.wdot + 2 wdot.(w x I.w)) / 2 for each body, eq. (A.34) without its last term, which holds no
    accelerations.
    """
    total = machine.vdot.T @ machine.rotor_matrix @ machine.vdot / 2 if machine.n else ca.SX(0)
    for body in machine.bodies:
        a = machine.rate(machine.rate(body.com_position), machine.vdot)
        R = ca.densify(ca.SX(body.pose.R))
        turning = R.T @ ca.reshape(machine.rate(ca.vec(R)), 3, 3)
        w = ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0])
        wdot = machine.rate(w, machine.vdot)
        angular = body.inertia @ w
        total += body.mass * ca.dot(a, a) / 2 + ca.dot(wdot, body.inertia @ wdot) / 2 + ca.dot(wdot, ca.cross(w, angular))
    return machine.now(ca.SX(total))


@once
def gibbs_matrices(machine: Machine) -> tuple[ca.SX, ca.SX]:
    """Return M = d2S/dvdot2, eq. (A.14), and f = Q - dS/dvdot at vdot = 0, eq. (3.113)."""
    M, slope = _quadratic(machine, gibbs_function(machine))
    added, bias = machine.added
    return M + added, machine.generalized(machine.loads) - slope - bias


def _quadratic(machine: Machine, function: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the second derivative of a function of vdot, and its slope at vdot = 0."""
    slope = ca.gradient(function, machine.vdot)
    at_zero = ca.substitute(slope, machine.vdot, ca.SX.zeros(machine.n)) if machine.n else slope
    return ca.SX(ca.sparsify(ca.jacobian(slope, machine.vdot))), ca.SX(ca.sparsify(at_zero))


class Gauss(Formalism):
    """Gauss's principle of least compulsion: Z is smallest among the accelerations that constraints admit (eqs. 3.55-3.57)."""

    name = "gauss"

    def derive(self, machine: Machine) -> Road:
        M, slope = _quadratic(machine, compulsion(machine))
        return Treated(M, -slope, least_compulsion)


class GibbsAppell(Formalism):
    """Gibbs and Appell's equations: the energy of accelerations S differentiated along admissible motions (eq. 3.113)."""

    name = "gibbs-appell"
    singular_mass = True

    def derive(self, machine: Machine) -> Road:
        return Treated(*gibbs_matrices(machine), projected)


@dataclass(frozen=True)
class SchutteOptions:
    """``alpha``: any number but zero; no result depends on it."""

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not (abs(self.alpha) > 0.0 and abs(self.alpha) < float("inf")):
            raise MechanismError(f"alpha is {self.alpha:g}; any other number does, 1 for example")


class UdwadiaSchutte(Formalism):
    """Udwadia and Schutte's equation: eq. (3.149) with the mass matrix M + alpha^2 A^P A, M from Gibbs's function."""

    name = "udwadia-schutte"
    Options = SchutteOptions
    singular_mass = True
    redundant_rows = True

    def derive(self, machine: Machine) -> Road:
        return Treated(*gibbs_matrices(machine), partial(udwadia_schutte, alpha=float(self.options.alpha)))
