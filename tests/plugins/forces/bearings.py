"""Machines with bearings, posed and looked at."""

import numpy as np

from kingpost import Body, ForceElement, Joint, Mechanism, RunSettings
from kingpost.simulation.problem import pose
from tests.plugins.forces.deriving import BUILT_IN

G = 9.81
#: Of a few hundred operations with numbers of the size of the results.
ROUNDING = 1e-12


def pendulum(mu=0.3, radius=0.2, start=0.7, start_rate=1.3, transition=0.01, **more):
    return Mechanism(
        "pendulum",
        bodies=[Body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("pin", "revolute", "world", "rod", axis=(0, 1, 0), start=start, start_rate=start_rate)],
        forces=[
            ForceElement("gravity"),
            ForceElement("bearing-friction", name="journal", joint="pin", mu=mu, radius=radius, transition=transition),
        ],
        **more,
    )


def posed(mechanism, formulation="kane", **more):
    values = more.pop("values", None)
    return pose(mechanism, RunSettings(formulation=formulation, **more), values=values, plugins=BUILT_IN)


def seen(problem, x=None):
    """The channels of a problem at a state, and its accelerations."""
    x = problem.x0 if x is None else x
    equations = problem.equations
    values = np.asarray(equations.observe(problem.t_start, x, problem.u0, problem.p)).ravel()
    q, v = equations.split(x)
    vdot = equations.accelerations(problem.t_start, q, v, equations.acting(problem.u0, x), problem.p)
    return {channel.name: value for channel, value in zip(equations.channels, values, strict=True)}, np.asarray(vdot).ravel()


def double_pendulum(mu=(0.4, 0.3), radius=(0.2, 0.15)):
    return Mechanism(
        "double",
        bodies=[
            Body(name, mass=mass, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)) for name, mass in (("one", 2.0), ("two", 1.5))
        ],
        joints=[
            Joint("upper", "revolute", "world", "one", axis=(0, 1, 0), start=0.7, start_rate=1.3),
            Joint("lower", "revolute", "one", "two", axis=(0, 1, 0), position=(0, 0, -1), start=-0.4, start_rate=-2.1),
        ],
        forces=[
            ForceElement("gravity"),
            ForceElement("bearing-friction", name="first", joint="upper", mu=mu[0], radius=radius[0], transition=0.1),
            ForceElement("bearing-friction", name="second", joint="lower", mu=mu[1], radius=radius[1], transition=0.1),
        ],
    )
