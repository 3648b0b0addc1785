"""Rotations that come from outside, as the quaternions of joints whose motion is given."""

from __future__ import annotations

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import listed
from kingpost.mechanism.mechanism import Mechanism


def given_quaternions(mechanism: Mechanism) -> list[list[int]]:
    """Return where the quaternions of given joints stand among the inputs; those that are inputs as they are."""
    places = {signal.name: i for i, signal in enumerate(mechanism.inputs)}
    named = [[str(word) for word in joint.pose[3:]] for joint in mechanism.joints if joint.pose and len(joint.pose) == 7]
    return [[places[name] for name in names] for names in named if all(name in places for name in names)]


def no_rotation(mechanism: Mechanism, inputs: FloatArray) -> str:
    """Return what is wrong with a quaternion that is zero, from which no number follows; an empty text if none is."""
    for places in given_quaternions(mechanism):
        if not any(inputs[i] for i in places):
            names = listed(f"'{mechanism.inputs[i].name}'" for i in places)
            return f"the quaternion of {names} is zero, which is no rotation; (1, 0, 0, 0) is none"
    return ""
