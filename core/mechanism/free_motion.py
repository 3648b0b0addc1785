"""How free joints move, in the words of sailors: surge, sway, heave, roll, pitch and yaw.

A free joint has a place and a quaternion for its coordinates, which nobody reads. These six are shown beside them in every
result: where M is in F (m), and the angles of R = Rz(yaw) Ry(pitch) Rx(roll) (rad). At one instant roll and yaw are within
half a turn, pitch is within a quarter of a turn; histories go on through full turns (:mod:`kingpost.results.turns`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kingpost.base.channel_roles import FREE_MOTION as WORDS
from kingpost.base.channels import Channel, Quantity
from kingpost.mechanism.elements import Joint

if TYPE_CHECKING:
    from kingpost.mechanism.mechanism import Mechanism

FREE_MOTION = tuple(Quantity(word, unit) for word, unit in zip(WORDS, ("m",) * 3 + ("rad",) * 3, strict=True))


def free_motions(mechanism: Mechanism) -> dict[str, tuple[Joint, int]]:
    """Return the motions of all free joints by name, each with its joint and its row in :data:`FREE_MOTION`.

    A joint whose own coordinates have such a name keeps it for them.
    """
    taken = {quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)}
    return {
        name: (joint, row)
        for joint in mechanism.joints
        if joint.kind == "free"
        for row, motion in enumerate(FREE_MOTION)
        if (name := f"{joint.name}.{motion.name}") not in taken
    }


def free_motion_units(mechanism: Mechanism) -> dict[str, str]:
    """Return the units of the motions of all free joints by name."""
    return {name: FREE_MOTION[row].unit for name, (_, row) in free_motions(mechanism).items()}


def free_motion_words(mechanism: Mechanism) -> dict[str, str]:
    """Return what the motions of all free joints are, in a few words."""
    limits = {"roll": "half a turn", "pitch": "a quarter of a turn", "yaw": "half a turn"}
    found = {}
    for name, (joint, row) in free_motions(mechanism).items():
        word = FREE_MOTION[row].name
        how = (
            f"R = Rz(yaw) Ry(pitch) Rx(roll), within {limits[word]}" if word in limits else "in the joint's frame on its parent"
        )
        found[name] = f"{word} of free joint {joint.name}, {how}"
    return found


def free_motion_channels(mechanism: Mechanism) -> tuple[Channel, ...]:
    """Return the channels of the motions of all free joints."""
    return tuple(Channel(name, unit) for name, unit in free_motion_units(mechanism).items())
