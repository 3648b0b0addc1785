"""Hydraulic cylinders: a body that slides in another one along the line between their pins is drawn as barrel and rod."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.mechanism.elements import WORLD
from kingpost.report.geometry import Geometry, JointGeometry, Poses

#: A barrel is this share of the shortest distance from pin to pin, and the rod reaches half into it when it is drawn out.
BARREL = 0.82


@dataclass(frozen=True)
class Cylinder:
    """The two parts of a cylinder, each from one end to the other in the frame of its body."""

    barrel: tuple[FloatArray, FloatArray]
    rod: tuple[FloatArray, FloatArray]


def travel(joint: JointGeometry, poses: Poses) -> tuple[FloatArray, float, float]:
    """Return the axis of a prismatic joint in the parent's frame, and the least and greatest way of M's origin along it."""
    axis = joint.parent_frame.rotation @ (np.array([0.0, 0.0, 1.0]) if joint.axis is None else joint.axis)
    axis = axis / (float(np.linalg.norm(axis)) or 1.0)
    between = poses.point(joint.child, joint.child_frame.position) - poses.point(joint.parent, joint.parent_frame.position)
    along = np.sum(between * poses.axes(joint.parent, np.tile(axis, (len(between), 1))), axis=1)
    known = along[np.isfinite(along)]
    return (axis, float(known.min()), float(known.max())) if len(known) else (axis, 0.0, 0.0)


def cylinders(geometry: Geometry, poses: Poses, thickness: float) -> dict[str, Cylinder]:
    """Return the cylinders by the names of their joints: on moving bodies, with pins that stay well apart."""
    found = {}
    reeled = {line.name for line in geometry.lines}
    for joint in geometry.joints:
        if joint.kind != "prismatic" or joint.parent == WORLD or joint.name in reeled:
            continue
        axis, low, high = travel(joint, poses)
        if high < 0:
            axis, low, high = -axis, -high, -low
        if low < max(0.5 * (high - low), 6 * thickness):
            continue
        # The rod never leaves the barrel, nor comes through its bottom.
        barrel = BARREL * low
        rod = min(high - barrel / 2, 0.97 * low)
        foot, head = joint.parent_frame.position, joint.child_frame.position
        back = -_in_child(joint, axis)
        found[joint.name] = Cylinder((foot, foot + barrel * axis), (head, head + rod * back))
    return found


def _in_child(joint: JointGeometry, axis: FloatArray) -> FloatArray:
    """Return a direction of the parent in the frame of the child, which does not turn against it."""
    turned: FloatArray = joint.child_frame.rotation @ (joint.parent_frame.rotation.T @ axis)
    return turned
