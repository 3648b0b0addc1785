"""Named quantities: in a state, and in a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A joint coordinate or generalized speed: name and unit."""

    name: str
    unit: str


@dataclass(frozen=True)
class Channel:
    """A named quantity in a result."""

    name: str
    unit: str
    #: Frame in which components are given; empty for scalars that have none.
    frame: str = ""
    #: Of a joint load: the body it acts on, ``"child"`` or ``"parent"``.
    side: str = ""
    #: Of a joint load: its reference point, as an offset (m) from the joint origin on that side, in the axes of ``frame``.
    at: tuple[float, ...] = ()
