"""What forces and closures see of bodies in natural coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.force import Loads
from kingpost.multibody.tree import JointSpace
from kingpost.plugins.formulations.body_coordinates import BodyKinematics
from kingpost.plugins.formulations.directors.bodies import GROUND, DirectorBody
from kingpost.plugins.formulations.directors.driven import Driven
from kingpost.plugins.formulations.directors.joints import ANGLES, QUATERNIONS, JointPlace, coordinates, place_between
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose


class Counters:
    """Angles that are followed through full turns, and quaternions through both signs, as coordinates of their own.

    Directors tell an angle up to full turns and a quaternion up to its sign; joint coordinates, as springs, gears, screws and
    readers of results mean them, are without a jump. A counter has the rate of what it follows, and only says which of the
    values that fit the directors is meant, so its own errors do no harm until they reach half a turn. It has no mass and no
    constraint: unlike the augmented coordinates of document 000 (eqs. 2.103-2.113) it leaves the mass matrix regular.
    """

    def __init__(self, mechanism: Mechanism, follow: bool = True, known: Mapping[str, ca.SX] | None = None) -> None:
        #: Coordinates that are known beside the directors, and need no counters.
        self.known = known or {}
        self.quantities: dict[str, Quantity] = {}
        if follow:
            rows = ((joint, row) for joint in mechanism.joints for row in _followed_rows(joint))
            every = [joint.positions[row] for joint, row in rows]
            self.quantities = {quantity.name: quantity for quantity in every if quantity.name not in self.known}
        self.symbols = {name: ca.SX.sym(name) for name in self.quantities}

    def of(self, joint: Joint) -> ca.SX:
        """Return the counters of a joint's coordinates, zero in the place of those that nothing follows."""
        symbols = {**self.known, **self.symbols}
        near = [symbols.get(quantity.name, ca.SX(0)) for quantity in joint.positions]
        return ca.densify(ca.vertcat(ca.SX(0, 1), *near))

    def begun(self, tree: JointSpace) -> ca.SX:
        """Return all counters for the joint coordinates of a tree; quaternions of any length mean the one of length one."""
        values = [ca.SX(0, 1)]
        for joint in tree.mechanism.joints:
            own, rows = tree.q[tree.rows(joint)[0]], [*QUATERNIONS.get(joint.kind, ())]
            unit = ca.norm_2(own[rows]) if rows else ca.SX(1)
            values += [
                own[i] / unit if i in rows else own[i]
                for i, quantity in enumerate(joint.positions)
                if quantity.name in self.symbols
            ]
        return ca.vertcat(*values)


def _followed_rows(joint: Joint) -> tuple[int, ...]:
    return (*ANGLES.get(joint.kind, ()), *QUATERNIONS.get(joint.kind, ()))


class DirectorKinematics(BodyKinematics):
    """Poses, twists and joint coordinates as expressions in natural coordinates."""

    def __init__(
        self, assembly: Assembly, bodies: Mapping[str, DirectorBody], counters: Counters, driven: Driven | None = None
    ) -> None:
        super().__init__(assembly)
        self.bodies = {WORLD: GROUND, **bodies}
        self.counters = counters
        self.driven = Driven() if driven is None else driven
        self.takes_rotors = driven is not None
        self.places: dict[str, JointPlace] = {
            joint.name: place_between(self, joint, self.bodies[joint.parent], self.bodies[joint.child])
            for joint in self.mechanism.joints
        }
        self.joints = {joint.name: joint for joint in self.mechanism.joints}

    def com(self, body: str) -> ca.SX:
        """Return the centre of mass in the body frame."""
        return ca.SX(3, 1) if body == WORLD else self.vector(self.mechanism.body(body).com)

    def _pose(self, body: str) -> Pose:
        state = self.bodies[body]
        return Pose(state.axes, state.r - state.axes @ self.com(body))

    def _twist(self, body: str) -> ca.SX:
        state = self.bodies[body]
        spin, R = state.spin, state.axes
        return ca.vertcat(R.T @ spin, R.T @ (state.r_rate - ca.cross(spin, R @ self.com(body))))

    def joint_coordinates(self, joint: Joint) -> ca.SX:
        """Return the coordinates of a joint, followed through full turns; angles in (-pi, pi] where nothing is followed."""
        return coordinates(self.places[joint.name], self.counters.of(joint))

    def joint_speeds(self, joint: Joint) -> ca.SX:
        """Return the generalized speeds of a joint."""
        return self.places[joint.name].speeds(self.joint_coordinates(joint))

    def coordinate(self, name: str) -> ca.SX:
        if name in self.driven.values:
            return self.driven.values[name]
        joint = self._joint_of[name]
        return self.joint_coordinates(joint)[self._q_row[name] - self.rows(joint)[0].start]

    def rate(self, name: str) -> ca.SX:
        own = self.driven.rates.get(name.removesuffix(".rate"))
        return super().rate(name) if own is None else own

    def followed_rates(self) -> Iterator[tuple[Joint, ca.SX]]:
        """Yield every joint with counters, and the matrix that makes their rates of its generalized speeds."""
        for joint in self.mechanism.joints:
            rows = [i for i, quantity in enumerate(joint.positions) if quantity.name in self.counters.symbols]
            if rows:
                yield joint, JOINT_KINDS[joint.kind].velocity_map(self.joint_coordinates(joint))[rows, :]

    def wrenches(self, loads: Loads) -> ca.SX:
        """Return what a force does as wrenches on all bodies, each about its centre of mass, in world axes, stacked.

        Behind them are the efforts along coordinates that are coordinates of their own.

        The efforts of a joint act on its two bodies along the same world direction at the same point, so that they never change
        the angular momentum of the whole.
        """
        total = {body.name: ca.SX(6, 1) for body in self.mechanism.bodies}
        for body, wrench in loads.wrenches.items():
            R, com = self.bodies[body].axes, self.com(body)
            total[body] += ca.vertcat(R @ (wrench[:3] - ca.cross(com, wrench[3:])), R @ wrench[3:])
        efforts: dict[str, ca.SX] = {}
        direct = {name: ca.SX(0) for name in self.driven.names}
        for name, effort in loads.efforts.items():
            if name.removesuffix(".rate") in direct:
                direct[name.removesuffix(".rate")] += effort
                continue
            row = self.effort_row(name)
            joint = self._joint_of[name]
            rows = self.rows(joint)[1]
            efforts.setdefault(joint.name, ca.SX(rows.stop - rows.start, 1))[row - rows.start] += effort
        for name, along in efforts.items():
            joint = self.joints[name]
            on_child, on_parent = self.places[name].effort_pair(along, self.joint_coordinates(joint))
            total[joint.child] += on_child
            if joint.parent != WORLD:
                total[joint.parent] += on_parent
        return ca.vertcat(ca.SX(0, 1), *total.values(), *direct.values())

    def felt(self, gradient: ca.SX) -> ca.SX:
        """Return P' g for all bodies: a covector in natural coordinates as wrenches about the centres of mass."""
        parts, first = [], 0
        for body in self.mechanism.bodies:
            state = self.bodies[body.name]
            parts.append(state.motions.T @ gradient[first : first + state.size])
            first += state.size
        return ca.vertcat(ca.SX(0, 1), *parts, gradient[first:])

    def generalized(self, wrenches: ca.SX) -> ca.SX:
        """Return B' w for all bodies."""
        bodies = self.mechanism.bodies
        parts = [self.bodies[body.name].generalized(wrenches[6 * i : 6 * i + 6]) for i, body in enumerate(bodies)]
        return ca.vertcat(ca.SX(0, 1), *parts, wrenches[6 * len(bodies) :])
