"""Formalisms that differentiate energies: Lagrange, Hamilton, Maggi, and what builds on Lagrange's (sec. 3.2, 3.3)."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.formalism import Formalism, Road
from kingpost.equations.machine import Machine, once
from kingpost.plugins.formalisms.treatments import Treated, augmented, maggi, udwadia_phohomsiri
from kingpost.symbols.straightline import solve_symmetric


@once
def lagrange_matrices(machine: Machine) -> tuple[ca.SX, ca.SX]:
    """Return M and f from T and V by differentiation along true coordinates c, eqs. (3.73)-(3.79).

    d/dt dT/dc' - dT/dc + dV/dc = Q, with Q of the forces that have no potential.
    """
    chart, v = machine.chart, machine.v
    kinetic, potential = chart.put([machine.kinetic, machine.potential])
    momenta = ca.gradient(kinetic, v)
    moved = ca.jtimes(momenta, chart.c, v) + ca.jtimes(momenta, machine.tau, ca.SX(1))
    return _equations(machine, momenta, ca.gradient(kinetic - potential, chart.c) - moved)


def hamilton_matrices(machine: Machine) -> tuple[ca.SX, ca.SX]:
    """Return M and f from canonical momenta p: p' = -dH/dc + Q with H(c, p), eqs. (3.90)-(3.94)."""
    chart, v = machine.chart, machine.v
    kinetic, potential = chart.put([machine.kinetic, machine.potential])
    at_rest = ca.SX.zeros(machine.n)
    momenta = ca.gradient(kinetic, v)
    M = ca.jacobian(momenta, v)
    start, left = ca.substitute(momenta, v, at_rest), ca.substitute(kinetic, v, at_rest)
    p = ca.SX.sym("p", machine.n)
    # The Legendre transformation: the rates are those that have the momenta p.
    rates = solve_symmetric(M, p - start)
    hamiltonian = ca.dot(p - start, rates) / 2 - left + potential
    slope = ca.substitute(-ca.gradient(hamiltonian, chart.c), p, ca.densify(momenta))
    # What the momenta change by while the speeds stay.
    moved = ca.jtimes(momenta, chart.c, v) + ca.jtimes(momenta, machine.tau, ca.SX(1))
    return _equations(machine, momenta, slope - moved)


def hamiltonian(machine: Machine) -> ca.SX:
    """Return H in the symbols of the machine: p' c' - L."""
    chart, v = machine.chart, machine.v
    kinetic, potential = chart.put([machine.kinetic, machine.potential])
    return machine.now(chart.here(ca.dot(ca.gradient(kinetic, v), v) - kinetic + potential))


def _equations(machine: Machine, momenta: ca.SX, slope: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return M and f of M c'' = slope + Q in the speeds of the machine."""

    def here(expression: ca.SX) -> ca.SX:
        return machine.now(machine.chart.here(expression))

    M = here(ca.jacobian(momenta, machine.v))
    added, bias = machine.added
    f = here(slope) + machine.other_forces + M @ machine.chart.bias - bias
    return M + added, f


class Lagrange(Formalism):
    """Lagrange's equations with multipliers: T and V differentiated along true coordinates (eq. 3.79)."""

    name = "lagrange"

    def derive(self, machine: Machine) -> Road:
        return Road(*lagrange_matrices(machine))


class Hamilton(Formalism):
    """Hamilton's canonical equations: momenta, and H differentiated at constant momenta (eqs. 3.90-3.94)."""

    name = "hamilton"

    def derive(self, machine: Machine) -> Road:
        return Road(*hamilton_matrices(machine))


class Augmented(Formalism):
    """Lagrange's equations and constraints as one system for accelerations and multipliers (eq. 3.95)."""

    name = "augmented"
    singular_mass = True

    def derive(self, machine: Machine) -> Road:
        return Treated(*lagrange_matrices(machine), augmented)


class Maggi(Formalism):
    """Maggi's equations: Lagrange's along admissible motions, multipliers afterwards (eqs. 3.124, 3.125)."""

    name = "maggi"
    singular_mass = True
    redundant_rows = True

    def derive(self, machine: Machine) -> Road:
        return Treated(*lagrange_matrices(machine), maggi)


class UdwadiaPhohomsiri(Formalism):
    """Udwadia and Phohomsiri's equation for any mass matrix, singular or not (eq. 3.155)."""

    name = "udwadia-phohomsiri"
    singular_mass = True
    redundant_rows = True

    def derive(self, machine: Machine) -> Road:
        return Treated(*lagrange_matrices(machine), udwadia_phohomsiri)
