"""Machines on joints whose motion is given."""

from dataclasses import replace

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Parameter, Port
from kingpost.mechanism.port_names import TWIST

MOTION_INPUTS = tuple(Input(f"base_{name}", "1") for name in ("x", "y", "z", "qw", "qx", "qy", "qz", *TWIST))
RATE_INPUTS = tuple(Input(f"base_{name}_rate", "1") for name in TWIST)
#: Joint frames that are nowhere at the origins of their bodies.
PLACE = {
    "position": (0.3, 0.1, 0.2),
    "rotation": (0.1, 0.2, 0.3),
    "child_position": (0.2, 0.1, 0.0),
    "child_rotation": (0.3, 0.1, 0.5),
}
BASE = Body("carrier", mass=3.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 2.0, 2.5, 0.1, 0.05, 0.2))


def on_free_base(tree, mount, **more):
    joints = [replace(joint, parent="carrier") if joint.parent == "world" else joint for joint in tree.joints]
    return replace(tree, bodies=(BASE, *tree.bodies), joints=(mount, *joints), **more)


def on_given_base(tree, **changes):
    mount = Joint(
        "mount", "given", "world", "carrier", pose=MOTION_INPUTS[:7], twist=MOTION_INPUTS[7:], twist_rate=RATE_INPUTS, **PLACE
    )
    mount = replace(mount, **changes)
    signals = [mount.since] if mount.since is not None else []
    inputs = (*MOTION_INPUTS, *RATE_INPUTS, *tree.inputs, *(Input(str(signal), "s") for signal in signals))
    return on_free_base(tree, mount, inputs=inputs, ports=(Port("foot", joint="mount"),))


COMPONENTS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")


def shaken_pendulum(**mount):
    g = Parameter("g", 9.81, "m/s2")
    return Mechanism(
        "shaken",
        bodies=(Body("slide", mass=0), Body("bob", mass=2.0, com=(0, 0, -0.7))),
        joints=(
            Joint("pivot", "given", "world", "slide", **mount),
            Joint("swing", "revolute", "slide", "bob", axis=(0, 1, 0), start=0.4),
        ),
        forces=(ForceElement("gravity", acceleration=(0, 0, -g)),),
        parameters=(g,),
    )
