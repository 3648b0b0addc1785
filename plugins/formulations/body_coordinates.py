"""What formulations in coordinates of bodies share: directors and unit quaternions, with their rates as speeds.

An energy-momentum integrator takes a potential's forces from values of the potential, and all others from a mid-point. So a
force that declares a potential has to be split: by comparing, at random states that the joints allow, the wrenches that it
applies with those that its potential gives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel, Quantity
from kingpost.equations.equations import output_channels
from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.force import Loads
from kingpost.multibody.measures import outputs_and_measures
from kingpost.multibody.tree import JointSpace, TreeKinematics
from kingpost.symbols.externals import with_externals

#: Wrenches that agree to this part of their size are equal: rounding of some 1e4 operations.
EQUAL = 1e-9
SAMPLES = 3


class BodyKinematics(JointSpace, ABC):
    """Poses, twists and joint coordinates as expressions in coordinates of bodies (:class:`kingpost.Kinematics`)."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        self._joint_of = {
            quantity.name: joint for joint in self.mechanism.joints for quantity in (*joint.positions, *joint.speeds)
        }

    @abstractmethod
    def joint_coordinates(self, joint: Joint) -> ca.SX:
        """Return the coordinates of a joint."""

    @abstractmethod
    def joint_speeds(self, joint: Joint) -> ca.SX:
        """Return the generalized speeds of a joint."""

    @abstractmethod
    def wrenches(self, loads: Loads) -> ca.SX:
        """Return what a force does to all bodies, stacked."""

    @abstractmethod
    def felt(self, gradient: ca.SX) -> ca.SX:
        """Return the wrenches, as :meth:`wrenches`, that a covector of generalized forces amounts to."""

    @abstractmethod
    def generalized(self, wrenches: ca.SX) -> ca.SX:
        """Return the generalized forces of wrenches, as :meth:`wrenches`."""

    def rate(self, name: str) -> ca.SX:
        joint = self._joint_of[name]
        return self.joint_speeds(joint)[self.effort_row(name) - self.rows(joint)[1].start]


@dataclass(frozen=True, eq=False)
class SplitForce:
    """One force: its potential, and generalized forces that do not come from it, at a place and at a mid-point."""

    potential: ca.SX
    rest: ca.SX
    rest_between: ca.SX


@dataclass(frozen=True, eq=False)
class States:
    """Random states that satisfy all joints, for comparing expressions in ``symbols`` = t, q, v, u, p."""

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


Space = TypeVar("Space", bound=BodyKinematics)


class BodyModel(ABC, Generic[Space]):
    """A mechanism in coordinates of its bodies: its symbols, bodies, and everything derived from them but the constraints."""

    #: Bodies at a place, and at the mean of two places.
    at: Space
    between: Space
    #: What :meth:`split_forces` returns.
    split: list[SplitForce]

    def __init__(self, assembly: Assembly, quantities: tuple[Quantity, ...]) -> None:
        self.assembly = assembly
        self.tree = TreeKinematics(assembly)
        #: Coordinates of bodies, and their rates.
        self.q, self.v = (
            ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"{item.name}{tail}") for item in quantities)) for tail in ("", ".rate")
        )

    @property
    def state(self) -> ca.SX:
        """All coordinates."""
        return self.q

    @property
    def shown(self) -> Space:
        """The bodies from which outputs and joint coordinates are read."""
        return self.at

    @abstractmethod
    def initial(self) -> ca.Function:
        """Return (joint coordinates, joint speeds, p) -> [q; v]."""

    def split_forces(self) -> list[SplitForce]:
        """Return every force, split."""
        found, called = [], 0
        for here, there in zip(self.at.loads(), self.between.loads(), strict=True):
            found.append((here, there, len(self.at.externals) > called))
            called = len(self.at.externals)
        states = self._random_states()
        return [self._split(*force, states) for force in found]

    def _split(self, here: Loads, there: Loads, outside: bool, states: States) -> SplitForce:
        """Split a force, given what it does at a place and at a mid-point.

        ``outside`` says that it calls functions that are not expressions, which cannot be compared here.
        """
        at, between, v = self.at, self.between, self.v
        wrenches, wrenches_between = at.wrenches(here), between.wrenches(there)
        potential = ca.SX(here.potential)
        if potential.is_constant():
            return SplitForce(potential, at.generalized(wrenches), between.generalized(wrenches_between))
        gradient = ca.gradient(potential, self.q)
        given = -at.felt(gradient)
        if not outside:
            if states.vanishes(wrenches - given, wrenches):
                nothing = ca.SX(self.q.numel(), 1)
                return SplitForce(potential, nothing, nothing)
            at_rest = ca.substitute(wrenches, v, ca.SX.zeros(v.numel()))
            if states.vanishes(at_rest - given, wrenches):
                # A spring with a damper: leaving out the part at rest leaves nothing of the spring, at any state.
                rest_between = wrenches_between - ca.substitute(wrenches_between, v, ca.SX.zeros(v.numel()))
                return SplitForce(potential, at.generalized(wrenches - at_rest), between.generalized(rest_between))
        given_between = -between.felt(gradient)
        return SplitForce(potential, at.generalized(wrenches - given), between.generalized(wrenches_between - given_between))

    def _random_states(self) -> States:
        """Return random states that satisfy all joints, with parameters and inputs about as large as they are by default."""
        rng = np.random.default_rng(0)
        initial, assembly, state = self.initial(), self.assembly, self.state
        defaults = [parameter.default for parameter in assembly.mechanism.parameters]
        values: list[list[FloatArray]] = []
        for _ in range(SAMPLES):
            # Coordinates between 0.3 and 1.2 are away from gimbal lock.
            joints = [rng.uniform(0.3, 1.2, self.tree.q.numel()), rng.normal(size=self.tree.v.numel())]
            p = np.array([default * rng.uniform(0.8, 1.2) if default else rng.uniform(0.1, 1.0) for default in defaults])
            q, v = np.split(np.asarray(initial(*joints, p)).ravel(), [state.numel()])
            values.append([np.atleast_1d(rng.uniform(0.0, 10.0)), q, v, rng.normal(size=assembly.u.numel()), p])
        return States([assembly.t, state, self.v, assembly.u, assembly.p], values)

    def forces(self) -> tuple[ca.SX, ca.SX]:
        """Return the generalized forces without gyroscopic ones, -dV/dq and the rest, and the potential V."""
        potential = sum((item.potential for item in self.split), ca.SX(0))
        rest = sum((item.rest for item in self.split), ca.SX(self.q.numel(), 1))
        return ca.densify(rest - ca.gradient(potential, self.q)), potential

    def midpoint_forces(self) -> ca.Function:
        """Return (t, q0, q1, v, u, p) -> the generalized forces without potential, between two places."""
        rest = sum((item.rest_between for item in self.split), ca.SX(self.q.numel(), 1))
        symbols = [self.assembly.t, self.state, self.v, self.assembly.u, self.assembly.p]
        function = with_externals("kp_between", symbols, [rest], self.between.externals)
        sizes = zip(("t", "q0", "q1", "v", "u", "p"), [symbols[0], *symbols[1:2] * 2, *symbols[2:]], strict=True)
        t, q0, q1, v, u, p = (ca.MX.sym(name, item.numel()) for name, item in sizes)
        return ca.Function("kp_midpoint_forces", [t, q0, q1, v, u, p], [function(t, (q0 + q1) / 2, v, u, p)])

    def outputs(self) -> tuple[ca.SX, tuple[Channel, ...]]:
        """Return the outputs and measures of the mechanism, what its forces show, then all joint coordinates and speeds."""
        mechanism, signals = self.assembly.mechanism, self.at.signals
        values = [*outputs_and_measures(self.shown), *(value for value, _ in signals.values())]
        joints = tuple(Channel(quantity.name, quantity.unit) for quantity in (*mechanism.coordinates, *mechanism.speeds))
        channels = output_channels(mechanism, signals) + joints
        return ca.densify(ca.vertcat(ca.SX(0, 1), *values, *self.joint_values())), channels

    def joint_values(self) -> tuple[ca.SX, ca.SX]:
        """Return all joint coordinates and speeds as functions of the coordinates of bodies."""
        joints = self.assembly.mechanism.joints
        positions = [self.shown.joint_coordinates(joint) for joint in joints]
        speeds = [self.shown.joint_speeds(joint) for joint in joints if joint.speeds]
        return ca.vertcat(ca.SX(0, 1), *positions), ca.vertcat(ca.SX(0, 1), *speeds)

    def joint_state(self) -> ca.Function:
        """Return (q, v, vdot, p) -> joint coordinates, joint speeds and their rates."""
        positions, speeds = self.joint_values()
        vdot = ca.SX.sym("vdot", self.v.numel())
        rates = ca.jtimes(speeds, self.v, vdot) + ca.jtimes(speeds, self.q, self.v) if speeds.numel() else ca.SX(0, 1)
        results = [ca.densify(item) for item in ca.cse([positions, speeds, rates])]
        return ca.Function("kp_joint_state", [self.state, self.v, vdot, self.assembly.p], results)


def rates_of(quantities: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """Return names and units of the rates of coordinates."""
    return tuple(Quantity(f"{item.name}.rate", "1/s" if item.unit == "1" else f"{item.unit}/s") for item in quantities)
