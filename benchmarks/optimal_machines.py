"""The two machines of `optimal_control.py`, as links in a plane whose energies can be written in any algebra."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def processor() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


@dataclass(frozen=True)
class Measured:
    """What one solution took, what it costs, and how far away it ends from where it should."""

    setup: float
    seconds: float
    iterations: int
    cost: float
    away: float


@dataclass(frozen=True)
class Link:
    """A link: mass, length to the next joint, distance of the centre of mass, and inertia about it."""

    mass: float
    length: float
    centre: float
    inertia: float


@dataclass(frozen=True)
class Machine:
    """Links in a plane, each turning against the one before, and the ends of the motion."""

    model: str
    links: tuple[Link, ...]
    #: Along the second axis.
    gravity: float
    start: Array
    end: Array
    time: float
    #: About how large inputs are.
    size: float

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.links)

    def energies(
        self, q: Sequence[Any], v: Sequence[Any], cos: Callable[[Any], Any], sin: Callable[[Any], Any]
    ) -> tuple[Any, Any]:
        """Return kinetic and potential energy at relative angles and their rates."""
        angles = [sum(q[: i + 1]) for i in range(self.n)]
        rates = [sum(v[: i + 1]) for i in range(self.n)]
        kinetic: Any = 0
        potential: Any = 0
        for i, link in enumerate(self.links):
            reach = [*(before.length for before in self.links[:i]), link.centre]
            kinetic += link.inertia * rates[i] ** 2 / 2
            for j, a in enumerate(reach):
                potential += -link.mass * self.gravity * a * sin(angles[j])
                kinetic += link.mass * a**2 * rates[j] ** 2 / 2
                for k, b in enumerate(reach[:j]):
                    kinetic += link.mass * a * b * cos(angles[j] - angles[k]) * rates[j] * rates[k]
        return kinetic, potential


def pendulum() -> Machine:
    """Return the mathematical pendulum."""
    return Machine("mathematical-pendulum", (Link(1.0, 1.0, 1.0, 0.0),), 9.81, np.zeros(1), np.array([pi / 2]), 3.0, 5.0)


def three_links() -> Machine:
    """Return the three-link manipulator of table 6.1."""
    masses, lengths = (30.0, 25.0, 10.0), (7.0, 6.0, 8.0)
    inertias = (1.225 + 143.3027, 1.0208 + 88.0208, 0.4083 + 60.2083)
    links = tuple(Link(m, length, length / 2, inertia) for m, length, inertia in zip(masses, lengths, inertias, strict=True))
    start, end = np.array([pi / 2, -pi / 2, pi / 2]), np.array([pi / 2, 0.0, 0.0])
    return Machine("three-link-manipulator", links, -9.81, start, end, 3.0, 2000.0)


MACHINES = {machine.model: machine for machine in (pendulum(), three_links())}
