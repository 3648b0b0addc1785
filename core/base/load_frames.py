"""Frames, sides and reference points of joint loads, for symbols and for histories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from kingpost.base.errors import KingpostError, closest, listed

Frame: TypeAlias = Literal["child", "parent", "body", "world"]
Side: TypeAlias = Literal["child", "parent"]
#: The frame that does not move, and what is fixed in it.
WORLD = "world"
#: A wrench's components, in their order everywhere.
COMPONENTS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")
UNITS = ("N.m", "N.m", "N.m", "N", "N", "N")


def check_frame(what: str, frame: Any, side: Any, at: Any) -> tuple[float, float, float]:
    """Refuse axes, a side or a reference point that do not exist; return the point as numbers."""
    for word, given, known in (("frame", frame, get_args(Frame)), ("side", side, get_args(Side))):
        if given not in known:
            raise KingpostError(
                f"{what}: {word} '{given}' does not exist{closest(str(given), known)} Choose from: {listed(known)}."
            )
    numbers = [float(number) for number in at] if isinstance(at, Sequence) and not isinstance(at, str) else []
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise KingpostError(f"{what}: the reference point is {at!r}; give three finite numbers in m, e.g. (0, 0, 0.5)")
    return numbers[0], numbers[1], numbers[2]
