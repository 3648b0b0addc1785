"""Jourdain's principle of virtual power (sec. 3.2.2), and penalties instead of constraints (sec. 3.2.7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError
from kingpost.equations.formalism import Formalism, Road
from kingpost.equations.machine import Machine
from kingpost.plugins.formalisms.energies import lagrange_matrices
from kingpost.plugins.formalisms.treatments import Treated, augmented_lagrangian, projected


def virtual_power(machine: Machine, virtual: ca.SX) -> ca.SX:
    """Return the power of applied and inertia forces along ``virtual`` speeds, with ``machine.vdot``: eq. (3.54) with r = 1.

    Velocities are those of points and bodies in world axes; the wrench of each body acts at its origin.
    """
    total = ca.dot(machine.efforts - machine.rotor_matrix @ machine.vdot, virtual) if machine.n else ca.SX(0)
    for body in machine.bodies:
        R, twist = body.pose.R, body.twist
        velocity, omega = R @ body.com_velocity, R @ body.omega
        I = R @ body.inertia @ R.T
        rates = [machine.rate(item, machine.vdot) for item in (velocity, I @ omega, twist)]
        along = [ca.jtimes(item, machine.v, virtual) if machine.n else ca.SX(*item.shape) for item in (velocity, omega, twist)]
        total -= body.mass * ca.dot(rates[0], along[0]) + ca.dot(rates[1], along[1])  # eqs. (3.13)-(3.16)
        wrench = machine.wrenches.get(body.name, ca.SX(6, 1))
        if body.name in machine.inertias:
            wrench = wrench - machine.inertias[body.name] @ rates[2]
        total += ca.dot(wrench, along[2])
    return machine.now(total)


class VirtualPower(Formalism):
    """Jourdain's principle: applied and inertia forces have no power along admissible virtual speeds (eq. 3.54)."""

    name = "virtual-power"
    singular_mass = True

    def derive(self, machine: Machine) -> Road:
        virtual = ca.SX.sym("virtual", machine.n)
        along = ca.gradient(virtual_power(machine, virtual), virtual)
        M = -ca.jacobian(along, machine.vdot)
        f = ca.substitute(along, machine.vdot, ca.SX.zeros(machine.n)) if machine.n else along
        return Treated(ca.SX(ca.sparsify(M)), ca.SX(ca.sparsify(f)), projected)


@dataclass(frozen=True)
class PenaltyOptions:
    """``alpha``: how many times heavier a motion that constraints forbid is than one that they admit."""

    alpha: float = 1e6

    def __post_init__(self) -> None:
        _check_penalty(self.alpha)


@dataclass(frozen=True)
class AugmentedLagrangianOptions:
    """``alpha``: as of ``penalty``; ``iterations``: how often multipliers take over what penalties leave."""

    alpha: float = 1e5
    iterations: int = 6

    def __post_init__(self) -> None:
        _check_penalty(self.alpha)
        if not 1 <= self.iterations <= 50:
            raise MechanismError(f"iterations is {self.iterations}; take 1 to 50, 6 for example")


def _check_penalty(alpha: float) -> None:
    if not 1.0 <= alpha <= 1e12:
        raise MechanismError(f"alpha is {alpha:g}; a penalty is between 1 and 1e12, beyond which rounding spoils everything")


class Penalty(Formalism):
    """Penalties in the place of constraints: heavy motions instead of forbidden ones; leaves an error of some 1/alpha."""

    name = "penalty"
    Options = PenaltyOptions
    singular_mass = True

    def derive(self, machine: Machine) -> Road:
        way = partial(augmented_lagrangian, alpha=float(self.options.alpha), iterations=0)
        return Treated(*lagrange_matrices(machine), way)

    def miss(self) -> float:
        return float(1 / self.options.alpha)


class AugmentedLagrangian(Formalism):
    """Penalties whose errors multipliers take over, iteration by iteration (augmented Lagrangian)."""

    name = "augmented-lagrangian"
    Options = AugmentedLagrangianOptions
    singular_mass = True

    def derive(self, machine: Machine) -> Road:
        options = self.options
        way = partial(augmented_lagrangian, alpha=float(options.alpha), iterations=int(options.iterations))
        return Treated(*lagrange_matrices(machine), way)

    def miss(self) -> float:
        # Each iteration leaves one part in alpha of what the one before has left; rounding ends that.
        return float(max(self.options.alpha ** -(self.options.iterations + 1), np.finfo(float).eps))
