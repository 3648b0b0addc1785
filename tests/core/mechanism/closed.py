"""Closures of every kind, and machines that are closed by them."""

import numpy as np

from kingpost import Body, ForceElement, Joint, Mechanism, PluginSet
from kingpost.mechanism.closures import Closure
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS

PLUGINS = PluginSet(entry_points=False)
#: Degrees of freedom that each kind leaves two bodies that were free of each other; a gear, of two coordinates.
FREEDOM = {
    "weld": 0, "revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3, "rolling": 3,
    "rolling-disc": 3, "point-on-line": 4, "point-on-plane": 5, "distance": 5, "rope": 5, "sheave": 5, "gear": 5,
    "rolling-wheels": 4, "slot": 5,
    "rolling-surface": 0,  # and three for the point of contact, whose coordinates are its own
}  # fmt: skip
FIELDS = {
    "axis": (0.3, -0.5, 0.8), "axis2": (0.8, 0.48, 0.0), "length": 0.7, "radius": 0.25, "ratio": -1.7, "child_radius": 0.4,
    "surface": "z - 0.3 * y**2 + 0.2 * x * y - 0.1",
}  # fmt: skip
PLACES = {
    "position": (0.2, -0.1, 0.3), "rotation": (0.3, -0.4, 0.9), "child_position": (-0.2, 0.15, 0.1),
    "child_rotation": (-0.7, 0.2, 0.4),
}  # fmt: skip
_F = {name: PLACES[name] for name in ("position", "rotation")}
#: Coordinates of a point of contact.
CONTACT = ("touch.x", "touch.y", "touch.z")
#: Kinds that are both: a joint of the tree can be cut and closed again.
SHARED = [kind for kind in CLOSURE_KINDS if kind in JOINT_KINDS]


def closure_of(kind, **changes):
    needs = CLOSURE_KINDS[kind].needs
    fields = {name: value for name, value in FIELDS.items() if name in needs}
    if kind == "universal":
        fields["axis2"] = (0.5, 0.3, 0.0)
    if "parent" in needs:
        fields |= {"parent": "one", "child": "two", **PLACES}
    if "coordinates" in needs:
        three = CLOSURE_KINDS[kind].coordinates == 3
        fields["coordinates"] = CONTACT if three else ("spin1.angle", "spin2.angle")[: CLOSURE_KINDS[kind].coordinates]
    return Closure("tie", kind, **(fields | changes))


def floating(closure):
    """Return two bodies that float, two that spin, a closure, and the point of contact that it may need."""
    touching = closure.coordinates == CONTACT
    inertia = (0.4, 0.5, 0.6, 0.02, -0.03, 0.05)
    return Mechanism(
        "floating",
        bodies=[
            *(Body(name, mass=2.0, com=(0.1, 0.05, -0.2), inertia=inertia) for name in ("one", "two", "wheel1", "wheel2")),
            *([Body("contact", mass=0.0)] if touching else []),
        ],
        joints=[
            Joint("free1", "free", "world", "one"),
            Joint("free2", "free", "world", "two"),
            Joint("spin1", "revolute", "one", "wheel1", axis=(0, 1, 0)),
            Joint("spin2", "revolute", "world", "wheel2", axis=(0, 0, 1)),
            *([Joint("touch", "translational", "one", "contact", **_F)] if touching else []),
        ],
        forces=[ForceElement("gravity")],
        closures=[closure],
    )


def random_state(mechanism, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, len(mechanism.coordinates)), rng.uniform(-1, 1, len(mechanism.speeds))


def quaternion(R):
    """Return the unit quaternion (w, x, y, z) of a rotation matrix."""
    values, vectors = np.linalg.eigh(
        np.array([
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1]],
        ])
    )  # fmt: skip
    return vectors[:, np.argmax(values)]


def bar(lengths, angles, closure="point-on-line", offset=0.0, **changes):
    """Return a four-bar linkage in the x-y plane with the given lengths of crank, coupler, rocker and ground."""
    a, b, c, d = lengths
    axis = {"axis": (0, 0, 1)}
    return Mechanism(
        "bars",
        bodies=[
            Body(name, mass=1.0, com=(l / 2, 0, 0), inertia=(0.01, l * l / 12, l * l / 12))
            for name, l in (("crank", a), ("coupler", b), ("rocker", c))
        ],
        joints=[
            Joint("one", "revolute", "world", "crank", **axis, start=angles[0]),
            Joint("two", "revolute", "crank", "coupler", **axis, position=(a, 0, 0), start=angles[1]),
            Joint("three", "revolute", "world", "rocker", **axis, position=(d, 0, offset), start=angles[2]),
        ],
        closures=[Closure("pin", closure, "rocker", "coupler", **axis, position=(c, 0, 0), child_position=(b, 0, 0))],
        forces=[ForceElement("gravity", acceleration=(0, -9.81, 0))],
        **changes,
    )  # fmt: skip


PARALLEL = ((1.0, 2.0, 1.0, 2.0), (1.0, -1.0, 1.0))
#: Its crank can turn all round, so that there is no dead centre on the way.
TURNING = ((1.0, 3.0, 2.5, 3.0), (1.0, -0.41435823, 1.55464567))
