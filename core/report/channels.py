"""What the channels of a history are: joint loads, body poses, energies, coordinates and so on, told from their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kingpost.base.channel_roles import GRAVITY, MOTION, ORIENTATION, POSITION, RESIDUALS, Role, roles_of
from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS
from kingpost.report.optimal import optimal_channels
from kingpost.results.history import History
from kingpost.results.line_groups import ANGLES, by_size, peak
from kingpost.results.monitor_channels import MONITOR_GROUPS

POSE = (*POSITION, *ORIENTATION)
#: What the page calls a role, in the order of its plots. Loads, poses and motions that are whole have places of their own.
TITLES: dict[Role, str] = {
    "coordinates": "Coordinates",
    "rates": "Rates",
    "outputs": "Outputs",
    "others": "Channels",
    "loads": "Loads",
    "parts": "Parts of loads",
    "positions": "Positions",
    "orientations": "Orientations",
    "body motions": "Motions of bodies",
    "gravity": "Gravity",
    "energies": "Energies",
}
#: More lines than this in one plot cannot be told apart.
MANY_LINES = 8


@dataclass(frozen=True)
class JointLoad:
    """The channels of one joint's load: six components of the total and of each of its parts."""

    joint: str
    total: tuple[str, ...]
    parts: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All channels, the total first."""
        return (*self.total, *(name for _, names in self.parts for name in names))


@dataclass(frozen=True)
class Panel:
    """Channels that share a plot."""

    title: str
    unit: str
    names: tuple[str, ...]
    role: str
    #: Whether its lines spread over powers of ten.
    log: bool = False


@dataclass(frozen=True)
class Inventory:
    """The channels of a history by what they are."""

    loads: tuple[JointLoad, ...]
    posed: tuple[str, ...]
    moving: tuple[str, ...]
    residuals: tuple[str, ...]
    #: What monitors add: energy balance, momentum, errors and quality of constraints.
    monitors: tuple[str, ...]
    panels: tuple[Panel, ...]
    #: What would have a plot, but is zero throughout.
    zero: tuple[str, ...] = ()
    #: States of forces that are for their equations alone.
    memory: tuple[str, ...] = ()
    #: Inputs, costates and so on of an optimum.
    optimal: tuple[str, ...] = ()

    @property
    def plotted(self) -> tuple[str, ...]:
        """Every channel that some plot of the page shows, in the order in which they appear."""
        names = [name for panel in self.panels for name in panel.names]
        names += [name for load in self.loads for name in load.names]
        return tuple(dict.fromkeys([*names, *self.residuals, *self.optimal]))


def take_inventory(history: History) -> Inventory:
    """Sort the channels of ``history``."""
    roles = roles_of(history.channels)
    loads = _joint_loads(history, roles)
    posed = _owners(history, "pose", POSE)
    moving = _owners(history, "motion", MOTION)
    residuals = tuple(name for name in RESIDUALS if name in history)
    monitors = tuple(name for name, role in roles.items() if role == "monitors")
    memory = tuple(name for name, role in roles.items() if role == "memory")
    optimal = optimal_channels(history)
    used = {name for load in loads for name in load.names} | {*residuals, *monitors, *memory, *optimal}
    used |= {f"{body}.pose.{part}" for body in posed for part in POSE}
    used |= {f"{body}.motion.{part}" for body in moving for part in MOTION}
    used |= {name for name, role in roles.items() if role == "repeats"}
    if all(name in history and (history[name] == history[name][0]).all() for name in GRAVITY):
        used |= set(GRAVITY)
    rest = [channel for channel in history.channels if channel.name not in used]
    zero = tuple(channel.name for channel in rest if peak(history[channel.name]) == 0.0)
    drawn = [channel for channel in rest if channel.name not in zero]
    panels = (*_panels(drawn, roles, history), *_motion_panels(history, moving), *_monitor_panels(history))
    return Inventory(loads, posed, moving, residuals, monitors, panels, zero, memory, optimal)


def _joint_loads(history: History, roles: Mapping[str, Role]) -> tuple[JointLoad, ...]:
    """Return the wrenches that are whole: totals with the parts below them, and parts whose total is not there."""
    ending = f".{COMPONENTS[0]}"
    first = (name for name, role in roles.items() if role in ("loads", "parts") and name.endswith(ending))
    candidates = (name.removesuffix(ending) for name in first)
    owners = {owner: None for owner in candidates if all(name in history for name in _six(owner))}
    parts: dict[str, list[str]] = {owner: [] for owner in owners if owner.rpartition(".")[0] not in owners}
    for owner in owners:
        above, _, part = owner.rpartition(".")
        if above in parts:
            parts[above].append(part)
    return tuple(
        JointLoad(owner, _six(owner), tuple((part, _six(f"{owner}.{part}")) for part in own)) for owner, own in parts.items()
    )


def _six(owner: str) -> tuple[str, ...]:
    return tuple(f"{owner}.{component}" for component in COMPONENTS)


def _owners(history: History, group: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    ending = f".{group}.{parts[0]}"
    owners = (name.removesuffix(ending) for name in history.names if name.endswith(ending))
    return tuple(owner for owner in owners if all(f"{owner}.{group}.{part}" in history for part in parts))


def _panels(channels: list[Channel], roles: Mapping[str, Role], history: History) -> list[Panel]:
    """Group like quantities: the same role, unit and size, with a plot of its own for each owner of several."""
    groups: dict[tuple[Role, str], list[str]] = {}
    for channel in channels:
        groups.setdefault((roles[channel.name], channel.unit), []).append(channel.name)
    order = list(TITLES)
    panels = []
    for (role, unit), names in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        owners = [name.removesuffix(".rate").rpartition(".")[0] for name in names]
        sizes = Counter(owners)
        together: dict[str, list[str]] = {}
        for name, owner in zip(names, owners, strict=True):
            alone = role == "outputs" or (role != "energies" and 2 <= sizes[owner] < len(names))
            together.setdefault(owner if alone else "", []).append(name)
        for owner, group in together.items():
            title = group[0] if len(group) == 1 else f"{TITLES[role]}: {owner}" if owner else TITLES[role]
            for alike in by_size(group, lambda name: history[name]) if unit in ANGLES else [group]:
                for start in range(0, len(alike), MANY_LINES):
                    panels.append(Panel(title, unit, tuple(alike[start : start + MANY_LINES]), TITLES[role]))
    return panels


def _motion_panels(history: History, bodies: tuple[str, ...]) -> list[Panel]:
    """Angular velocity, angular and linear acceleration of each body: what an inertia relief needs beside the loads."""
    panels = []
    for body in bodies:
        for start, what in ((0, "angular velocity"), (3, "angular acceleration"), (6, "acceleration of the origin")):
            names = tuple(f"{body}.motion.{part}" for part in MOTION[start : start + 3])
            panels.append(Panel(f"{body}: {what}", history.unit(names[0]), names, "Bodies"))
    return panels


def _monitor_panels(history: History) -> list[Panel]:
    """One plot for each group of monitors that a history has."""
    panels = []
    for group in MONITOR_GROUPS:
        own = tuple(channel.name for channel in group.channels if channel.name in history)
        if own:
            panels.append(Panel(group.title, group.unit or history.unit(own[0]), own, "Monitors", group.log))
    return panels
