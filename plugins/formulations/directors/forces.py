"""Forces on bodies in natural coordinates, split into what a potential gives and the rest.

An energy-momentum integrator takes the potential's part from values of the potential, and the rest from a mid-point. So a force
that declares a potential has to be split: by comparing, at random states that the joints allow, the wrenches that it applies
with those that its potential gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.multibody.force import Loads
from kingpost.plugins.formulations.directors.bodies import SIZE
from kingpost.plugins.formulations.directors.kinematics import DirectorKinematics

#: Wrenches that agree to this part of their size are equal: rounding of some 1e4 operations.
EQUAL = 1e-9
SAMPLES = 3


@dataclass(frozen=True, eq=False)
class SplitForce:
    """One force: its potential, and generalized forces that do not come from it, at a place and at a mid-point."""

    potential: ca.SX
    rest: ca.SX
    rest_between: ca.SX


@dataclass(frozen=True, eq=False)
class States:
    """Random states that satisfy all joints, for comparing expressions in ``symbols`` = t, q, counters, v, u, p."""

    symbols: list[ca.SX]
    values: list[list[FloatArray]]

    def vanishes(self, expression: ca.SX, scale: ca.SX) -> bool:
        """Return whether an expression is zero against another one, up to rounding, at all states."""
        function = ca.Function("difference", self.symbols, [expression, scale], {"allow_free": False})
        for state in self.values:
            found, size = (np.asarray(result).ravel() for result in function(*state))
            # Not a number is not zero either.
            if not np.abs(found).max(initial=0.0) <= EQUAL * max(1.0, np.abs(size).max(initial=0.0)):
                return False
        return True


def split(
    at: DirectorKinematics,
    between: DirectorKinematics,
    loads: tuple[Loads, Loads],
    q: ca.SX,
    v: ca.SX,
    states: States,
    outside: bool,
) -> SplitForce:
    """Split a force, given what it does at a place and at a mid-point.

    ``outside`` says that it calls functions that are not expressions, which cannot be compared here.
    """
    wrenches, wrenches_between = at.wrenches(loads[0]), between.wrenches(loads[1])
    potential = ca.SX(loads[0].potential)
    if potential.is_constant():
        return SplitForce(potential, _generalized(at, wrenches), _generalized(between, wrenches_between))
    gradient = ca.gradient(potential, q)
    given = -_felt(at, gradient)
    if not outside:
        if states.vanishes(wrenches - given, wrenches):
            nothing = ca.SX(q.numel(), 1)
            return SplitForce(potential, nothing, nothing)
        at_rest = ca.substitute(wrenches, v, ca.SX.zeros(v.numel()))
        if states.vanishes(at_rest - given, wrenches):
            # A spring with a damper: leaving out the part at rest leaves nothing of the spring, at any state.
            rest_between = wrenches_between - ca.substitute(wrenches_between, v, ca.SX.zeros(v.numel()))
            return SplitForce(potential, _generalized(at, wrenches - at_rest), _generalized(between, rest_between))
    given_between = -_felt(between, gradient)
    return SplitForce(potential, _generalized(at, wrenches - given), _generalized(between, wrenches_between - given_between))


def _felt(space: DirectorKinematics, gradient: ca.SX) -> ca.SX:
    """Return P' g for all bodies: a covector in natural coordinates as wrenches about the centres of mass."""
    names = [body.name for body in space.mechanism.bodies]
    parts = [space.bodies[name].motions.T @ gradient[SIZE * i : SIZE * i + SIZE] for i, name in enumerate(names)]
    return ca.vertcat(ca.SX(0, 1), *parts)


def _generalized(space: DirectorKinematics, wrenches: ca.SX) -> ca.SX:
    """Return B' w for all bodies."""
    names = [body.name for body in space.mechanism.bodies]
    parts = [space.bodies[name].generalized(wrenches[6 * i : 6 * i + 6]) for i, name in enumerate(names)]
    return ca.vertcat(ca.SX(0, 1), *parts)
