"""The channels that monitors add to a history, and how they are drawn together."""

from __future__ import annotations

from dataclasses import dataclass

from kingpost.base.channels import Channel

#: The work done since the start by all that has no potential, and what the total energy has beyond that: an error.
ENERGY = (Channel("energy.work", "J"), Channel("energy.error", "J"))
#: In world axes; the angular momentum is about the origin of the world.
MOMENTUM = tuple(
    Channel(f"momentum.{kind}.{axis}", unit, "world")
    for kind, unit in (("linear", "kg.m/s"), ("angular", "kg.m2/s"))
    for axis in "xyz"
)
#: Largest absolute error of all rows at the level of positions, speeds and accelerations, in m or rad and their rates.
ERRORS = tuple(Channel(f"constraints.{level}", "1") for level in ("position", "speed", "acceleration"))
#: Of the constraint Jacobian A: rank, and the largest over the smallest singular value.
QUALITY = (Channel("constraints.rank", "1"), Channel("constraints.condition", "1"))


@dataclass(frozen=True)
class MonitorGroup:
    """Monitors that share a plot."""

    title: str
    channels: tuple[Channel, ...]
    #: Whether they spread over powers of ten.
    log: bool = False
    #: What stands at the axis, where the channels have no unit in common.
    unit: str = ""


MONITOR_GROUPS = (
    MonitorGroup("Work of all that has no potential", ENERGY[:1]),
    MonitorGroup("Energy error: total less start and work", ENERGY[1:]),
    MonitorGroup("Momentum", MOMENTUM[:3]),
    MonitorGroup("Angular momentum about the origin", MOMENTUM[3:]),
    MonitorGroup("Largest error of constraints", ERRORS, log=True, unit="m or rad, and per s, s2"),
    MonitorGroup("Rank of the constraint Jacobian", QUALITY[:1]),
    MonitorGroup("Condition of the constraint Jacobian", QUALITY[1:], log=True),
)
#: The group of each monitor by its name.
GROUP_OF = {channel.name: group for group in MONITOR_GROUPS for channel in group.channels}
