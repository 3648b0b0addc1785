"""Bodies that float: their inertias, states and machines."""

import numpy as np

from kingpost import Body, Joint, Mechanism


def rk4_error(rate, t_end, step):
    """A bound for the error of rk4 relative to a motion with ``rate``: (rate step)^5 / 120 in each step, twice for safety."""
    return 2 * t_end / step * (rate * step) ** 5 / 120


def hat(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def rigid(mass, com, inertia, about=(0.0, 0.0, 0.0)):
    """The 6 x 6 inertia of a rigid body about a point in the marine order: forces first."""
    c = hat(np.subtract(com, about))
    return np.block([[mass * np.eye(3), -mass * c], [mass * c, inertia - mass * c @ c]])


def entries(matrix):
    return tuple(float(matrix[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def shape(seed):
    """A random mass, centre and inertia that a body can have."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform(-1, 1, (5, 3))
    second = cloud.T @ cloud
    return float(rng.uniform(1, 4)), rng.uniform(-0.5, 0.5, 3), np.trace(second) * np.eye(3) - second


def body(name, part):
    mass, com, inertia = part
    return Body(name, mass=mass, com=com.tolist(), inertia=entries(inertia))


def vessel(hull, crane, *forces, **more):
    return Mechanism(
        "vessel",
        bodies=[body("hull", hull), body("crane", crane)],
        joints=[
            Joint("sea", "free", "world", "hull"),
            Joint("slew", "revolute", "hull", "crane", axis=(0.1, 0, 1), position=(0.4, 0.1, 0.5), child_position=(0, 0.1, 0)),
        ],
        forces=forces,
        **more,
    )


def states(count=3, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        turn = rng.uniform(-1, 1, 4)
        yield np.array([*rng.uniform(-1, 1, 3), *(turn / np.linalg.norm(turn)), rng.uniform(-1, 1)]), rng.uniform(-2, 2, 7)


def rotation(q):
    w, n = q[3], q[4:7]
    return np.eye(3) + 2 * (w * hat(n) + hat(n) @ hat(n))


def full_matrix(seed=3):
    """Symmetric, positive definite, with all couplings: no rigid body's."""
    root = np.random.default_rng(seed).uniform(-1, 1, (6, 6))
    return (root @ root.T + 0.5 * np.eye(6)).round(6)


def heaving(*forces, mass=4.0, start=0.0, start_rate=0.0, **more):
    return Mechanism(
        "heaving",
        bodies=[Body("hull", mass=mass)],
        joints=[Joint("sea", "prismatic", "world", "hull", axis=(0, 0, 1), start=start, start_rate=start_rate)],
        forces=forces,
        **more,
    )


def in_heave(value):
    return np.diag([0, 0, value, 0, 0, 0]).tolist()


UNIT = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
