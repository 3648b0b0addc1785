"""What the channels of a history are: joint loads, body poses, energies, coordinates and so on, told from their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS
from kingpost.results.history import History
from kingpost.results.monitor_channels import GROUP_OF, MONITOR_GROUPS

POSE = ("px", "py", "pz", "ew", "ex", "ey", "ez")
MOTION = ("wx", "wy", "wz", "alphax", "alphay", "alphaz", "ax", "ay", "az")
RESIDUALS = ("loads.residual.force", "loads.residual.moment")
GRAVITY = ("loads.gravity.x", "loads.gravity.y", "loads.gravity.z")
#: Units, without prefix and written in any of the usual ways, of what makes structures tire.
LOAD_UNITS = ("N", "N.m", "Nm", "N*m", "N m", "Pa", "N/m2")
PREFIXES = ("", "k", "M", "G")
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
    #: What ``--monitors`` adds: energy balance, momentum, errors and quality of constraints.
    monitors: tuple[str, ...]
    panels: tuple[Panel, ...]

    @property
    def plotted(self) -> tuple[str, ...]:
        """Every channel that some plot of the page shows, in the order in which they appear."""
        names = [name for panel in self.panels for name in panel.names]
        names += [name for load in self.loads for name in load.names]
        return tuple(dict.fromkeys([*names, *self.residuals]))


def is_load_unit(unit: str) -> bool:
    """Say whether a unit is that of a force, a moment or a stress."""
    return any(unit == prefix + base for prefix in PREFIXES for base in LOAD_UNITS)


def take_inventory(history: History) -> Inventory:
    """Sort the channels of ``history``."""
    names = history.names
    known = set(names)
    loads = _joint_loads(names, known)
    posed = _owners(names, known, "pose", POSE)
    moving = _owners(names, known, "motion", MOTION)
    residuals = tuple(name for name in RESIDUALS if name in known)
    used = {name for load in loads for name in load.names} | set(residuals)
    used |= {f"{body}.pose.{part}" for body in posed for part in POSE}
    used |= {f"{body}.motion.{part}" for body in moving for part in MOTION}
    monitors = [name for name in names if name in GROUP_OF]
    used |= set(monitors)
    if all(name in known and (history[name] == history[name][0]).all() for name in GRAVITY):
        used |= set(GRAVITY)
    rest = [channel for channel in history.channels if channel.name not in used]
    panels = (*_panels(rest), *_motion_panels(history, moving), *_monitor_panels(history, monitors))
    return Inventory(loads, posed, moving, residuals, tuple(monitors), panels)


def _joint_loads(names: Iterable[str], known: set[str]) -> tuple[JointLoad, ...]:
    candidates = [name.removesuffix(".Mx") for name in names if name.endswith(".Mx")]
    owners = [owner for owner in candidates if known.issuperset(_six(owner))]
    loads = []
    for owner in owners:
        if owner.rpartition(".")[0] in owners:
            continue
        parts = [name for name in owners if name.rpartition(".")[0] == owner]
        loads.append(JointLoad(owner, _six(owner), tuple((part.rpartition(".")[2], _six(part)) for part in parts)))
    return tuple(loads)


def _six(owner: str) -> tuple[str, ...]:
    return tuple(f"{owner}.{component}" for component in COMPONENTS)


def _owners(names: Iterable[str], known: set[str], group: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    ending = f".{group}.{parts[0]}"
    owners = [name.removesuffix(ending) for name in names if name.endswith(ending)]
    return tuple(owner for owner in owners if all(f"{owner}.{group}.{part}" in known for part in parts))


def _panels(channels: list[Channel]) -> list[Panel]:
    """Group like quantities: the same role and unit, with a plot of its own for each owner of several."""
    groups: dict[tuple[str, str], list[str]] = {}
    for channel in channels:
        groups.setdefault((_role(channel), channel.unit), []).append(channel.name)
    order = {"Coordinates": 0, "Rates": 1, "Outputs": 2, "Energies": 4}
    panels = []
    for (role, unit), names in sorted(groups.items(), key=lambda item: order.get(item[0][0], 3)):
        owners = [name.removesuffix(".rate").rpartition(".")[0] for name in names]
        together: dict[str, list[str]] = {}
        for name, owner in zip(names, owners, strict=True):
            alone = role == "Outputs" or (role != "Energies" and 2 <= owners.count(owner) < len(names))
            together.setdefault(owner if alone else "", []).append(name)
        for owner, group in together.items():
            title = group[0] if len(group) == 1 else f"{role}: {owner}" if owner else role
            for start in range(0, len(group), MANY_LINES):
                panels.append(Panel(title, unit, tuple(group[start : start + MANY_LINES]), role))
    return panels


def _role(channel: Channel) -> str:
    if channel.name.startswith("energy."):
        return "Energies"
    if channel.frame:
        return "Outputs"
    if channel.name.endswith(".rate") or channel.unit in ("rad/s", "m/s", "deg/s"):
        return "Rates"
    return "Coordinates" if channel.unit in ("rad", "m", "deg", "1") else "Channels"


def _motion_panels(history: History, bodies: tuple[str, ...]) -> list[Panel]:
    """Angular velocity, angular and linear acceleration of each body: what an inertia relief needs beside the loads."""
    panels = []
    for body in bodies:
        for start, what in ((0, "angular velocity"), (3, "angular acceleration"), (6, "acceleration of the origin")):
            names = tuple(f"{body}.motion.{part}" for part in MOTION[start : start + 3])
            panels.append(Panel(f"{body}: {what}", history.unit(names[0]), names, "Bodies"))
    return panels


def _monitor_panels(history: History, names: list[str]) -> list[Panel]:
    """One plot for each group of monitors that a history has."""
    panels = []
    for group in MONITOR_GROUPS:
        own = tuple(channel.name for channel in group.channels if channel.name in names)
        if own:
            panels.append(Panel(group.title, group.unit or history.unit(own[0]), own, "Monitors", group.log))
    return panels
