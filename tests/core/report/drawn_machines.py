"""Machines whose pictures are looked at: a Stewart platform and a load on a rope."""

import numpy as np

from kingpost import Body, Closure, ForceElement, Joint, Mechanism, simulate
from kingpost.report.channels import take_inventory
from kingpost.report.geometry import Geometry, Poses

FEET = np.deg2rad([-10, 10, 110, 130, 230, 250])
HEADS = np.deg2rad([-50, 50, 70, 170, 190, 290])


def stewart_platform():
    """Return a platform on six cylinders, each on a universal joint to the world."""
    bodies = [Body("platform", mass=200, inertia=(20, 20, 40))]
    joints = [Joint("place", "free", "world", "platform", start=(0, 0, 1.5, 1, 0, 0, 0))]
    closures, forces = [], [ForceElement("gravity")]
    for k, (a, b) in enumerate(zip(FEET, HEADS, strict=True)):
        foot = np.array([1.2 * np.cos(a), 1.2 * np.sin(a), 0])
        head = np.array([0.7 * np.cos(b), 0.7 * np.sin(b), 0])
        leg = head + [0, 0, 1.5] - foot
        length = np.linalg.norm(leg)
        tilt = -np.arctan2(leg[1], leg[2]), np.arcsin(leg[0] / length)
        bodies += [
            Body(f"barrel{k}", mass=5, com=(0, 0, 0.3), inertia=(0.2, 0.2, 0.02)),
            Body(f"rod{k}", mass=3, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.01)),
        ]
        foot_axes = {"axis": (1, 0, 0), "axis2": (0, 1, 0)}
        joints += [
            Joint(f"foot{k}", "universal", "world", f"barrel{k}", **foot_axes, position=tuple(foot), start=tilt),
            Joint(f"stroke{k}", "prismatic", f"barrel{k}", f"rod{k}", axis=(0, 0, 1), start=length),
        ]
        closures.append(Closure(f"head{k}", "spherical", "platform", f"rod{k}", position=tuple(head)))
        drive = {"coordinate": f"stroke{k}.displacement", "stiffness": 2e5, "damping": 4e3, "target": length}
        forces.append(ForceElement("joint-actuator", name=f"drive{k}", **drive))
    return Mechanism("stewart", bodies=bodies, joints=joints, closures=closures, forces=forces)


def load_on_a_rope(length, **body):
    """Return a load that falls 1 m below a sheave until the rope over it, ``length`` long, is taut."""
    rope = {"body": "load", "other": "world", "via": [(0, 0, 5)], "other_at": (-3, 0, 0), "length": length, "EA": 1e6}
    return Mechanism(
        "hoist",
        bodies=[Body("load", mass=100, inertia=(1, 1, 1), **body)],
        joints=[Joint("place", "free", "world", "load", start=(0, 0, 4, 1, 0, 0, 0))],
        forces=[ForceElement("gravity"), ForceElement("rope", name="wire", damping_time=0.01, **rope)],
    )


def pictured(mechanism, t_end):
    """Return a history with poses, the geometry it records, and the poses."""
    history = simulate(mechanism, t_end, step=0.001, output_step=0.05, loads="all")
    bodies = take_inventory(history).posed
    return history, Geometry.read(history.provenance["geometry"], bodies), Poses(history, bodies, np.arange(len(history)))
