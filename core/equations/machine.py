"""A machine as formalisms see it: where its bodies are and how they move, what forces apply, and what closures hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from kingpost.mechanism.elements import Joint
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints, tree_constraints
from kingpost.multibody.force import Loads, Rotor
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.joints import JOINT_KINDS, GivenMotion
from kingpost.symbols.screws import Pose, quaternion_product, rotation_of_quaternion

Result = TypeVar("Result")
#: A force is the slope of its potential if both differ by no more than this part, at random states.
CONSERVATIVE = 1e-9


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """A body: mass, centre of mass and inertia about it in body axes, pose, and twist about its origin in body axes."""

    name: str
    mass: ca.SX
    com: ca.SX
    inertia: ca.SX
    pose: Pose
    twist: ca.SX

    @property
    def omega(self) -> ca.SX:
        """The angular velocity, in body axes."""
        return self.twist[:3]

    @property
    def com_velocity(self) -> ca.SX:
        """The velocity of the centre of mass, in body axes."""
        return self.twist[3:] + ca.cross(self.twist[:3], self.com)

    @property
    def com_position(self) -> ca.SX:
        """The place of the centre of mass in the world."""
        return self.pose.p + self.pose.R @ self.com

    @property
    def kinetic(self) -> ca.SX:
        """The kinetic energy, eq. (A.25)."""
        w, v = self.omega, self.com_velocity
        return self.mass * ca.dot(v, v) / 2 + ca.dot(w, self.inertia @ w) / 2


class _AlongTime(TreeKinematics):
    """The tree a short time ``tau`` later as far as given motions go: expressions can be differentiated along them."""

    def __init__(self, assembly: Assembly, tau: ca.SX) -> None:
        self.tau = tau
        super().__init__(assembly)

    def given_motion(self, joint: Joint) -> GivenMotion:
        now = super().given_motion(joint)
        tau, w, v, rate = self.tau, now.twist[:3], now.twist[3:], now.rate
        # The rotation vector r as the quaternion (1, r / 2) of whatever length: right up to the third power of tau, and no root
        # stands in the way of derivatives at tau = 0.
        turn = ca.vertcat(1, (w * tau + rate[:3] * tau**2 / 2) / 2)
        moved = v * tau + (rate[3:] + ca.cross(w, v)) * tau**2 / 2
        pose = Pose(now.pose.R @ rotation_of_quaternion(turn), now.pose.p + now.pose.R @ moved)
        return GivenMotion(pose, quaternion_product(now.quaternion, turn), now.twist + rate * tau, rate)


@dataclass(frozen=True, eq=False)
class Chart:
    """True coordinates c near a place, for principles that need them: where speeds are rates, c is q; else q = q0 + N s.

    At s = 0 the rates of c are the speeds v, so that generalized forces are the same along both, and
    vdot = cddot + ``bias``.
    """

    #: One symbol for each speed; those of quaternions are zero where expressions are evaluated.
    c: ca.SX
    bias: ca.SX
    _inner: ca.SX
    _old: ca.SX
    _new: ca.SX

    def put(self, expressions: Sequence[ca.SX]) -> list[ca.SX]:
        """Return expressions in q and v as expressions in c and its rates, for which v stands."""
        return list(ca.substitute(list(expressions), [self._old], [self._new])) if self._old.numel() else list(expressions)

    def here(self, expression: ca.SX) -> ca.SX:
        """Return an expression in c and its rates at the place where q is."""
        if not self._inner.numel():
            return expression
        return ca.SX(ca.substitute(expression, self._inner, ca.SX.zeros(self._inner.numel())))


def once(derive: Callable[[Machine], Result]) -> Callable[[Machine], Result]:
    """Let a function of a machine keep what it found there, for formalisms that share it."""

    @wraps(derive)
    def found(machine: Machine) -> Result:
        if derive not in machine.kept:
            machine.kept[derive] = derive(machine)
        result: Result = machine.kept[derive]
        return result

    return found


class Machine:
    """The symbols t, q, v, u, p of a machine, ``vdot`` for its accelerations, and everything that formalisms start from."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly, self.mechanism = assembly, assembly.mechanism
        self.tree = tree = TreeKinematics(assembly)
        self.t, self.q, self.v, self.u, self.p = assembly.t, tree.q, tree.v, assembly.u, assembly.p
        self.N = tree.velocity_map()
        self.n = int(self.v.numel())
        self.vdot = ca.SX.sym("vdot", self.n)
        #: A short time, along which given motions go on; zero in the end.
        self.tau = ca.SX.sym("tau")
        self.loads: tuple[Loads, ...] = tuple(tree.loads())
        #: What functions that are marked by :func:`once` found.
        self.kept: dict[Any, Any] = {}

    @cached_property
    def bodies(self) -> tuple[BodyMotion, ...]:
        """All bodies; their motions hold :attr:`tau` where joints are given."""
        tree = self.tree
        poses = {name: (link.X_WB, link.t_WB_B) for name, link in tree.links.items()}
        if any(joint.pose is not None for joint in self.mechanism.joints):
            later = _AlongTime(self.assembly, self.tau)
            old, new = ca.vertcat(later.q, later.v), ca.vertcat(self.q, self.v)
            for name, link in later.links.items():
                R, p, twist = ca.substitute([ca.densify(link.X_WB.R), link.X_WB.p, link.t_WB_B], [old], [new])
                poses[name] = Pose(R, p), twist
        return tuple(self._body(name, *places) for name, places in poses.items())

    def _body(self, name: str, pose: Pose, twist: ca.SX) -> BodyMotion:
        body = self.mechanism.body(name)
        value, vector = self.assembly.value, self.assembly.vector
        return BodyMotion(name, value(body.mass), vector(body.com), self.tree.inertia(name), pose, twist)

    def rate(self, expression: ca.SX, vdot: ca.SX | None = None) -> ca.SX:
        """Return the time derivative along qdot = N v, given motions, and ``vdot`` (none: zero)."""
        rate = ca.jtimes(expression, self.q, self.N @ self.v) if self.q.numel() else ca.SX(*expression.shape)
        if vdot is not None and self.n:
            rate = rate + ca.jtimes(expression, self.v, vdot)
        return rate + ca.jtimes(expression, self.tau, ca.SX(1))

    def now(self, expression: ca.SX) -> ca.SX:
        """Return an expression without :attr:`tau`."""
        if not ca.depends_on(expression, self.tau):
            return ca.SX(ca.sparsify(expression))
        return ca.SX(ca.sparsify(ca.substitute(expression, self.tau, ca.SX(0))))

    def partial(self, body: BodyMotion) -> ca.SX:
        """Return how the twist of a body depends on the speeds."""
        return ca.jacobian(body.twist, self.v)

    @cached_property
    def wrenches(self) -> Mapping[str, ca.SX]:
        """What all forces apply, by body: wrenches about its origin in body axes."""
        return self.wrenches_of(self.loads)

    def wrenches_of(self, loads: Iterable[Loads]) -> dict[str, ca.SX]:
        """Return what some forces apply, by body."""
        total: dict[str, ca.SX] = {}
        for item in loads:
            for name, wrench in item.wrenches.items():
                total[name] = total.get(name, ca.SX(6, 1)) + wrench
        return total

    @cached_property
    def efforts(self) -> ca.SX:
        """What all forces apply along the speeds."""
        return self.efforts_of(self.loads)

    def efforts_of(self, loads: Iterable[Loads]) -> ca.SX:
        """Return what some forces apply along the speeds."""
        total = ca.SX(self.n, 1)
        for item in loads:
            for name, effort in item.efforts.items():
                total[self.tree.effort_row(name)] += effort
        return total

    @cached_property
    def inertias(self) -> Mapping[str, ca.SX]:
        """Inertia that forces add to bodies, such as that of water: the wrench -A a for the rate a of the body's twist."""
        total: dict[str, ca.SX] = {}
        for item in self.loads:
            for name, added in item.inertias.items():
                total[name] = total.get(name, ca.SX(6, 6)) + added
        return total

    @cached_property
    def rotors(self) -> tuple[Rotor, ...]:
        """What turns with joint coordinates."""
        return tuple(rotor for item in self.loads for rotor in item.rotors)

    @cached_property
    def rotor_matrix(self) -> ca.SX:
        """What rotors add to the mass matrix."""
        return self.tree.rotor_matrix(self.rotors)

    def generalized(self, loads: Iterable[Loads]) -> ca.SX:
        """Return the generalized forces of wrenches and efforts, by their power along the speeds, eq. (A.46)."""
        loads = tuple(loads)
        wrenches = self.wrenches_of(loads)
        total = self.efforts_of(loads)
        for body in self.bodies:
            if body.name in wrenches:
                total += self.now(self.partial(body)).T @ wrenches[body.name]
        return total

    @cached_property
    def added(self) -> tuple[ca.SX, ca.SX]:
        """Applied forces that depend on accelerations, as matrix and vector: Q = -(matrix vdot + vector)."""
        matrix, vector = ca.SX(self.n, self.n), ca.SX(self.n, 1)
        for body in self.bodies:
            if body.name in self.inertias:
                P = self.now(self.partial(body))
                weighted = P.T @ self.inertias[body.name]
                matrix += weighted @ P
                vector += weighted @ self.now(self.rate(body.twist))
        return matrix, vector

    @cached_property
    def kinetic(self) -> ca.SX:
        """The kinetic energy of bodies and rotors, eq. (A.48); not of what forces carry along."""
        rotors = self.v.T @ self.rotor_matrix @ self.v / 2 if self.n else ca.SX(0)
        return sum((body.kinetic for body in self.bodies), ca.SX(rotors))

    @cached_property
    def conservative(self) -> tuple[bool, ...]:
        """For each force, whether it is the slope of its potential and nothing else, judged at random states."""
        rng = np.random.default_rng(0)
        mechanism = self.mechanism
        p = np.array([parameter.default for parameter in mechanism.parameters]) * rng.uniform(0.9, 1.1, self.p.numel())
        known = [self.t, self.q, self.v, self.u, self.p]
        states = [(0.3, *(rng.uniform(0.3, 1.1, item.numel()) for item in known[1:4]), p) for _ in range(2)]
        return tuple(self._is_slope(loads, known, states) for loads in self.loads)

    def _is_slope(self, loads: Loads, known: list[ca.SX], states: list[Any]) -> bool:
        potential = ca.SX(loads.potential)
        if potential.is_zero() or loads.inertias or loads.rotors or not self.n:
            return False
        applied = self.generalized([loads])
        slope = -self.N.T @ ca.gradient(potential, self.q)
        try:
            both = ca.Function("both", known, [applied, slope])
        except RuntimeError:  # it calls functions outside expressions
            return False
        for state in states:
            one, other = (np.asarray(part).ravel() for part in both(*state))
            if not np.abs(one - other).max() <= CONSERVATIVE * (1.0 + np.abs(one).max()):
                return False
        return True

    @cached_property
    def potential(self) -> ca.SX:
        """The potential of all forces that are :attr:`conservative`."""
        held = zip(self.loads, self.conservative, strict=True)
        return sum((ca.SX(loads.potential) for loads, slope in held if slope), ca.SX(0))

    @cached_property
    def other_forces(self) -> ca.SX:
        """The generalized forces of all that are not :attr:`conservative`."""
        return self.generalized(loads for loads, slope in zip(self.loads, self.conservative, strict=True) if not slope)

    @cached_property
    def chart(self) -> Chart:
        """True coordinates near where the machine is."""
        c = ca.SX(self.v)
        inner, old, new, bias = ca.SX(0, 1), ca.SX(0, 1), ca.SX(0, 1), ca.SX(self.n, 1)
        for joint in self.mechanism.joints:
            rows, speeds = self.tree.rows(joint)
            q, v = self.q[rows, :], self.v[speeds, :]
            if not joint.positions:
                continue
            if JOINT_KINDS[joint.kind].speeds is None:
                c[speeds] = q
                continue
            s = ca.SX.sym("s", v.numel())
            N = JOINT_KINDS[joint.kind].velocity_map
            place = q + N(q) @ s
            left = left_inverse(N(place))
            rates = left @ (N(q) @ v)
            c[speeds] = s
            turned = ca.substitute(ca.jtimes(rates, s, v), s, ca.SX.zeros(v.numel()))
            bias[speeds] = turned
            inner, old, new = ca.vertcat(inner, s), ca.vertcat(old, q, v), ca.vertcat(new, place, rates)
        return Chart(c, ca.SX(ca.sparsify(bias)), inner, old, new)

    @cached_property
    def left_inverse(self) -> ca.SX:
        """The matrix J with v = J qdot, whatever the lengths of quaternions."""
        J = ca.SX(self.n, self.q.numel())
        for joint in self.mechanism.joints:
            rows, speeds = self.tree.rows(joint)
            if joint.positions:
                J[speeds, rows] = left_inverse(JOINT_KINDS[joint.kind].velocity_map(self.q[rows, :]))
        return ca.SX(ca.sparsify(J))

    @cached_property
    def constraints(self) -> Constraints:
        """The rows of all closures."""
        return tree_constraints(self.tree, self.mechanism.closures)


def left_inverse(N: ca.SX) -> ca.SX:
    """Return (N' N)^-1 N' of a map whose columns are orthogonal, as those of all joints are."""
    lengths = ca.diag(N.T @ N)
    return ca.diag(1 / lengths) @ N.T
