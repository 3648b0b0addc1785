"""Machines on which forces are tested, their states, and how far off a run with them may be."""

import numpy as np

from kingpost import (
    Body,
    Joint,
    Mechanism,
)
from kingpost.multibody.applied import TABLE
from tests.plugins.forces.deriving import derive


def rail(*forces, mass=2.0, start=0.0, start_rate=0.0, **more):
    return Mechanism(
        "rail",
        bodies=[Body("mass", mass=mass)],
        joints=[Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0), start=start, start_rate=start_rate)],
        forces=forces,
        **more,
    )


def rk4_error(rate, t_end, step):
    """A bound for the error of rk4, relative to the motion.

    The error of a step is (rate step)^5 / 120 of the motion for xdot = rate x. A nonlinear motion has harmonics, too; three
    times the basic rate covers those that matter here, and twice the sum what the errors do to each other over a few periods.
    """
    return 2 * t_end / step * (3 * rate * step) ** 5 / 120


KNOTS, LEVELS = (0.5, 1.0, 2.5), (0.0, 1.0, -1.0)
FEW, MANY = np.linspace(0.2, 2.8, 7), np.linspace(0.2, 2.8, 2 * TABLE)


def inertia(*points):
    """The moments and products of inertia of point masses of 1 kg: always possible."""
    cloud = np.array(points, dtype=float)
    second = cloud.T @ cloud
    matrix = np.trace(second) * np.eye(3) - second
    return tuple(float(matrix[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def crane(*forces, **more):
    """A tree with free, revolute, spherical and prismatic joints, long enough that 'recursive' cuts it into two blocks."""
    shapes = inertia((0.5, 0.1, 0), (-0.2, 0.4, 0.1), (0, 0.1, 0.3)), inertia((0.3, 0, 0.1), (0.1, -0.2, 0.2), (0, 0.3, -0.1))
    return Mechanism(
        "crane",
        bodies=[
            Body("barge", mass=5.0, com=(0.1, 0, -0.2), inertia=shapes[0]),
            Body("tower", mass=2.0, com=(0, 0.1, 0.4), inertia=shapes[1]),
            Body("boom", mass=1.5, com=(0.6, 0, 0.1), inertia=shapes[0]),
            Body("load", mass=1.0, com=(0, 0.05, -0.7), inertia=shapes[1]),
            Body("trolley", mass=0.8, com=(0.1, 0.1, 0), inertia=shapes[1]),
            Body("buoy", mass=1.2),
        ],
        joints=[
            Joint("hull", "free", "world", "barge"),
            Joint("slew", "revolute", "barge", "tower", axis=(0, 0.1, 1), position=(0.2, 0, 0.5), rotation=(0.1, 0.2, 0.3)),
            Joint("luff", "revolute", "tower", "boom", axis=(0, 1, 0), position=(0.1, 0, 1)),
            Joint("ball", "spherical", "boom", "load", position=(1.2, 0, 0), child_position=(0, 0, 0.1)),
            Joint("slide", "prismatic", "boom", "trolley", axis=(1, 0, 0.1), position=(0.3, 0.1, 0)),
            Joint("heave", "prismatic", "world", "buoy", axis=(0, 0.2, 1), position=(2, 1, 0)),
        ],
        forces=forces,
        **more,
    )


def states(mechanism, rng, count=3):
    """Yield random coordinates, with unit quaternions, and speeds."""
    equations = derive(mechanism)
    for _ in range(count):
        q = rng.uniform(0.3, 1.2, equations.nq) * rng.choice([-1.0, 1.0], equations.nq)
        for first in equations.quaternions:
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        yield q, rng.uniform(-2, 2, equations.nv)


def rates(equations, q, p=()):
    """The rates of the coordinates for each unit speed, as rows: the transpose of N."""
    return [np.asarray(equations.kinematics(q, unit, list(p))).ravel() for unit in np.eye(equations.nv)]


#: Central differences with this step are off by 1e-10 of third derivatives, and by 1e-11 of values that are rounded.
NEAR = 1e-5


def restoring(seed=6):
    """A matrix with all couplings, positive definite."""
    root = np.random.default_rng(seed).uniform(-2, 2, (6, 6))
    return (root @ root.T + np.eye(6)).round(3)


def crooked():
    matrix = restoring().tolist()
    matrix[4][1] += 0.5
    return matrix
