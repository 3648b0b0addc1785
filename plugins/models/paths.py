"""What the models of the documents share: gravity, and the reference functions of their manoeuvres."""

from __future__ import annotations

from collections.abc import Mapping

from kingpost.mechanism.elements import Parameter
from kingpost.mechanism.trajectories import RestToRest, ThreePhase, Trajectory

GRAVITY = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")


def rest_to_rest(ends: Mapping[str, tuple[float, float]], duration: float) -> dict[str, Trajectory]:
    """Return the polynomial of document 000, eq. (4.87), and document 003, eq. (26), for each measure from start to end."""
    return {name: RestToRest(start, end, 0.0, duration) for name, (start, end) in ends.items()}


def three_phase(ends: Mapping[str, tuple[float, float]], duration: float = 20.0, blend: float = 5.0) -> dict[str, Trajectory]:
    """Return the function of document 000, eqs. (4.126)-(4.128), put right, for each measure from start to end."""
    return {name: ThreePhase(start, end, 0.0, duration, blend) for name, (start, end) in ends.items()}
