"""What the models of the documents share: gravity, and the reference functions of their manoeuvres."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kingpost.mechanism.elements import Parameter
from kingpost.mechanism.trajectories import RestToRest, ThreePhase, Trajectory

GRAVITY = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")


#: Value at the start and at the end, by the name of a measure.
Ends: TypeAlias = Mapping[str, tuple[float, float]]


def rest_to_rest(ends: Ends, duration: float, profile: str | None = None) -> dict[str, Trajectory]:
    """Return the polynomial of document 000, eq. (4.87), and document 003, eq. (26), for each measure; or a smoother one."""
    return {name: RestToRest(start, end, 0.0, duration, profile) for name, (start, end) in ends.items()}


def three_phase(ends: Ends, profile: str | None = None) -> dict[str, Trajectory]:
    """Return the function of document 000, eqs. (4.126)-(4.128), put right, over 20 s for each measure; or a smoother one."""
    return {name: ThreePhase(start, end, 0.0, 20.0, 5.0, profile) for name, (start, end) in ends.items()}
