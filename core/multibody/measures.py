"""Measures as expressions of the configuration, written once for every formulation."""

from __future__ import annotations

import casadi as ca

from kingpost.base.formulas import ZERO_VECTOR, Vector3
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.mechanism.free_motion import free_motions
from kingpost.mechanism.measures import Measure
from kingpost.multibody.tree import JointSpace
from kingpost.symbols.screws import angles_rpy, rotation_rpy, rotation_vector


def outputs_and_measures(space: JointSpace) -> list[ca.SX]:
    """Return the outputs, the measures and then the motions of free joints, in the order of their channels."""
    mechanism = space.mechanism
    found = Measures(space)
    return [
        *(space.output(output) for output in mechanism.outputs),
        *(ca.densify(found[measure.name]) for measure in mechanism.measures),
        *found.of_free_joints(),
    ]


class Measures:
    """The measures of a mechanism, and what they may be combined of, by name.

    They are made of poses and coordinates alone, so no speed can enter; and in trees of poses along the joints between two
    bodies, so nothing else can, either.
    """

    def __init__(self, space: JointSpace) -> None:
        self.space = space
        mechanism = space.mechanism
        self._declared = {measure.name: measure for measure in mechanism.measures}
        self._coordinates = {quantity.name for quantity in mechanism.coordinates}
        self._outputs = {output.name: output for output in mechanism.outputs}
        self._free_motions = free_motions(mechanism)
        self._free: dict[str, ca.SX] = {}
        self._found: dict[str, ca.SX] = {}

    def __getitem__(self, name: str) -> ca.SX:
        if name not in self._found:
            self._found[name] = self._expression(name)
        return self._found[name]

    def of_free_joints(self) -> list[ca.SX]:
        """Return how free joints move, for each of them those motions that are shown."""
        shown: dict[str, list[ca.SX]] = {}
        for name, (joint, _) in self._free_motions.items():
            shown.setdefault(joint.name, []).append(self[name])
        return [ca.densify(ca.vertcat(*motions)) for motions in shown.values()]

    def _expression(self, name: str) -> ca.SX:
        if name in self._declared:
            return self._of_kind(self._declared[name])
        if name in self._coordinates:
            return self.space.coordinate(name)
        if name in self._free_motions:
            joint, row = self._free_motions[name]
            return self._free_motion(joint)[row]
        owner, _, axis = name.rpartition(".")
        output = self._outputs[owner]
        return self._point(WORLD, output.body, output.at)["xyz".index(axis)]

    def _of_kind(self, measure: Measure) -> ca.SX:
        space = self.space
        if measure.kind == "coordinate":
            return self[measure.coordinate]
        if measure.kind == "combination":
            return ca.SX(sum((space.value(weight) * self[name] for name, weight in measure.weights), ca.SX(0)))
        if measure.kind == "distance":
            return self._distance(measure)
        if measure.kind == "rotation":
            return self._rotation(measure)
        return self._position(measure) if measure.kind == "position" else self._azimuth(measure)

    def _free_motion(self, joint: Joint) -> ca.SX:
        """Return surge, sway, heave, roll, pitch and yaw of a free joint."""
        if joint.name not in self._free:
            X_FM = self.space.joint_pose(joint)
            self._free[joint.name] = ca.SX(ca.vertcat(ca.densify(X_FM.p), angles_rpy(X_FM.R)))
        return self._free[joint.name]

    def _point(self, of: str, body: str, at: Vector3 | None, origin: Vector3 | None = ZERO_VECTOR) -> ca.SX:
        """Return where a point of a body is from a point of another one, in the axes of that."""
        assert at is not None
        assert origin is not None
        X_OB = self.space.relative_pose(of, body)
        return ca.densify(X_OB.p + X_OB.R @ self.space.vector(at) - self.space.vector(origin))

    def _seen(self, measure: Measure) -> ca.SX:
        return self._point(measure.of, measure.body, measure.at, measure.origin)

    def _position(self, measure: Measure) -> ca.SX:
        return ca.dot(self.space.unit(measure.direction), self._seen(measure))

    def _distance(self, measure: Measure) -> ca.SX:
        return ca.norm_2(self._point(measure.other, measure.body, measure.at, measure.other_at))

    def _azimuth(self, measure: Measure) -> ca.SX:
        """Return the angle whose sine and cosine, times the distance from the axis, are those of the point.

        Where its value jumps, by a full turn at half a turn from ``near``, its derivatives do not.
        """
        assert measure.near is not None
        axis, zero = self.space.unit(measure.direction), self.space.vector(measure.zero_direction)
        point, near = self._seen(measure), self.space.value(measure.near)
        # Both are longer than they should be by the sine of the angle between axis and zero.
        sine, cosine = ca.dot(ca.cross(axis, zero), point), ca.dot(zero - axis * ca.dot(axis, zero), point)
        if near.is_zero():
            return ca.atan2(sine, cosine)
        s, c = ca.sin(near), ca.cos(near)
        return near + ca.atan2(c * sine - s * cosine, c * cosine + s * sine)

    def _rotation(self, measure: Measure) -> ca.SX:
        assert measure.reference is not None
        R_OR = rotation_rpy(*ca.vertsplit(ca.densify(self.space.vector(measure.reference))))
        turn = rotation_vector(R_OR.T @ self.space.relative_pose(measure.of, measure.body).R)
        return ca.dot(self.space.unit(measure.direction), turn)
