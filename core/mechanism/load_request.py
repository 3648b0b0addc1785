"""Which joint loads are wanted: of which joint, in which axes, on which side and about which point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.load_frames import Frame, Side, check_frame
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.selection import split_selection

ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LoadRequest:
    """Which joint's load, and how it is to be given.

    Parameters
    ----------
    joint
        Name of the joint, or of a closure between two bodies.
    frame
        Axes of the components: ``"child"`` and ``"parent"`` are the joint frames fixed in the child and in the parent,
        ``"body"`` is the body frame of the body on which the load acts, ``"world"`` the inertial frame.
    side
        On which body it acts: ``"child"`` (by the parent) or ``"parent"`` (by the child).
    at
        Reference point of the moment, as an offset in m from the joint origin on that side, in the axes of ``frame``.

    """

    joint: str
    frame: Frame = "child"
    side: Side = "child"
    at: tuple[float, float, float] = ORIGIN

    def __post_init__(self) -> None:
        at = check_frame(f"load of joint '{self.joint}'", self.frame, self.side, self.at)
        object.__setattr__(self, "at", at)

    @staticmethod
    def parse(text: str) -> LoadRequest:
        """Return the request in ``"slew"`` or ``"slew:frame=parent,side=parent,at=0/0/0.5"``."""
        joint, options = split_selection(text)
        unknown = set(options) - {"frame", "side", "at"}
        if unknown:
            raise KingpostError(
                f"'{text}': a load has no option '{sorted(unknown)[0]}'; write for example '{joint}:frame=parent,side=parent,"
                "at=0/0/0.5'"
            )
        if "at" in options:
            try:
                options["at"] = tuple(float(word) for word in str(options["at"]).split("/"))
            except ValueError:
                raise KingpostError(f"'{text}': write the point as three numbers in m, e.g. at=0/0/0.5") from None
        return LoadRequest(joint, **options)


#: What a user may ask for: ``"all"`` joints, or some by name or request.
LoadsWanted: TypeAlias = str | Sequence[str | LoadRequest]


def load_requests(mechanism: Mechanism, wanted: LoadsWanted | None) -> tuple[LoadRequest, ...]:
    """Return one request for each joint that is wanted, checked against the mechanism."""
    if wanted is None:
        return ()
    names = [*(joint.name for joint in mechanism.joints), *closures_between_bodies(mechanism)]
    gears = [closure.name for closure in mechanism.closures if not closure.child]
    if wanted == "all":
        return tuple(LoadRequest(name) for name in names)
    items = [wanted] if isinstance(wanted, str) else wanted
    requests = [item if isinstance(item, LoadRequest) else LoadRequest.parse(item) for item in items]
    seen: set[str] = set()
    for request in requests:
        if request.joint in gears:
            raise KingpostError(
                f"closure '{request.joint}' ties coordinates, not bodies, and has no wrench; its efforts are the part "
                "'closure' of the loads of its joints"
            )
        if request.joint not in names:
            raise KingpostError(
                f"'{mechanism.name}' has no joint '{request.joint}' whose load could be given{closest(request.joint, names)} "
                f"Joints{' and closures' if mechanism.closures else ''}: {listed(names)}."
            )
        if request.joint in seen:
            raise KingpostError(
                f"the load of joint '{request.joint}' is asked for twice; ask once, and convert afterwards with "
                f"history.loads('{request.joint}', frame=..., side=..., at=...)"
            )
        seen.add(request.joint)
    return tuple(requests)


def closures_between_bodies(mechanism: Mechanism) -> dict[str, Closure]:
    """Return the closures that tie bodies, by name; they have a wrench, like a joint."""
    return {closure.name: closure for closure in mechanism.closures if closure.child}
