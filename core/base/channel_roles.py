"""What a channel of a result is: a coordinate, a rate, a joint load and so on, told from its name, unit and frame.

The rules are data, and the only ones: pictures, reports and notebooks group channels by them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS, LOAD_PARTS
from kingpost.base.units import parse_unit

Role: TypeAlias = Literal[
    "coordinates", "rates", "outputs", "energies", "monitors", "loads", "parts",
    "positions", "orientations", "body motions", "gravity", "residuals", "repeats", "memory", "others",
]  # fmt: skip

#: The components of a body's place and orientation in the world, below ``BODY.pose``.
POSITION = ("px", "py", "pz")
ORIENTATION = ("ew", "ex", "ey", "ez")
#: Angular velocity, angular acceleration and acceleration of the origin, below ``BODY.motion``.
MOTION = tuple(f"{letter}{axis}" for letter in ("w", "alpha", "a") for axis in "xyz")
#: How a free joint moves, and the coordinates that say the same.
FREE_MOTION = ("surge", "sway", "heave", "roll", "pitch", "yaw")
REPEATED = {"x": "surge", "y": "sway", "z": "heave"}
#: Above this word stand states of forces that are for their equations alone: filters, the memory of water.
MEMORY = "memory"
GRAVITY = tuple(f"loads.gravity.{axis}" for axis in "xyz")
RESIDUALS = ("loads.residual.force", "loads.residual.moment")
MONITORS = (
    "energy.work",
    "energy.error",
    *(f"momentum.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"),
    *(f"constraints.{what}" for what in ("position", "speed", "acceleration", "rank", "condition")),
)


@dataclass(frozen=True)
class Rule:
    """A role, and what a channel must have for it; what is empty is not asked for."""

    role: Role
    #: Whole names.
    names: tuple[str, ...] = ()
    #: Of the words of a name, with dots between them: the first; the last, of two or more; the last but one, of three or more.
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    #: Units of which one must have the dimension of the channel's.
    units: tuple[str, ...] = ()
    framed: bool = False

    def fits(self, channel: Channel, words: list[str]) -> bool:
        """Say whether a channel has all that is asked for; ``words`` are those of its name."""
        return (
            (not self.names or channel.name in self.names)
            and (not self.first or words[0] in self.first)
            and (not self.last or (len(words) > 1 and words[-1] in self.last))
            and (not self.before or (len(words) > 2 and words[-2] in self.before))
            and (not self.units or any(_alike(channel.unit, unit) for unit in self.units))
            and (not self.framed or bool(channel.frame))
        )


#: The first rule that fits holds.
RULES = (
    Rule("monitors", names=MONITORS),
    Rule("gravity", names=GRAVITY),
    Rule("residuals", names=RESIDUALS),
    Rule("parts", before=LOAD_PARTS, last=COMPONENTS),
    Rule("loads", last=COMPONENTS),
    Rule("energies", first=("energy",)),
    Rule("positions", before=("pose",), last=POSITION),
    Rule("orientations", before=("pose",), last=ORIENTATION),
    Rule("body motions", before=("motion",), last=MOTION),
    Rule("memory", before=(MEMORY,)),
    Rule("others", first=("servo",)),
    Rule("outputs", framed=True),
    Rule("rates", last=("rate",)),
    Rule("rates", units=("rad/s", "m/s")),
    # A pure number is a coordinate only by its name: it may as well be a share, a count, or a column of unknown unit.
    Rule("coordinates", last=("qw", "qx", "qy", "qz")),
    Rule("coordinates", units=("rad", "m")),
    Rule("others"),
)


def _alike(one: str, other: str) -> bool:
    unit = parse_unit(one)
    return unit.known and unit.exponents == parse_unit(other).exponents


def role_of(channel: Channel) -> Role:
    """Return what a channel is, as far as it says so itself."""
    words = channel.name.split(".")
    return next(rule.role for rule in RULES if rule.fits(channel, words))


def roles_of(channels: Iterable[Channel]) -> dict[str, Role]:
    """Return what channels of one result are, by name; what stands beside a channel may say more than the channel itself.

    A wrench below another one is a part of it (that of a free port, say). What has a rate is a coordinate whatever its unit:
    the components of directors are pure numbers. The place of a free joint repeats its surge, sway and heave.
    """
    roles = {channel.name: role_of(channel) for channel in channels}
    for name, role in roles.items():
        owner, _, component = name.rpartition(".")
        above = owner.rpartition(".")[0]
        if role == "loads" and above and f"{above}.{component}" in roles:
            roles[name] = "parts"
        elif role == "coordinates" and component in REPEATED and all(f"{owner}.{word}" in roles for word in FREE_MOTION):
            roles[name] = "repeats"
        elif role == "others" and roles.get(f"{name}.rate") == "rates":
            roles[name] = "coordinates"
    return roles
