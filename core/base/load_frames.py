"""Joint loads: their components and units, and the frames, sides and reference points they are given in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from kingpost.base.errors import KingpostError, closest, listed

Frame: TypeAlias = Literal["child", "parent", "body", "world"]
Side: TypeAlias = Literal["child", "parent"]
#: The frame that does not move, and what is fixed in it.
WORLD = "world"
#: Machines with at most this many joints have their loads computed by verbs that compute them unless told otherwise.
FEW_JOINTS = 12
#: A wrench's components, in their order everywhere.
MOMENTS = ("Mx", "My", "Mz")
FORCES = ("Fx", "Fy", "Fz")
COMPONENTS = (*MOMENTS, *FORCES)
MOMENT_UNIT, FORCE_UNIT = "N.m", "N"
UNITS = (MOMENT_UNIT,) * 3 + (FORCE_UNIT,) * 3
#: What the load of a joint is the sum of; closures are gears and winches along its coordinates.
LOAD_PARTS = ("constraint", "actuator", "friction", "closure")
#: Units, without prefix and written in any of the usual ways, of what makes structures tire.
LOADING_UNITS = ("N", "N.m", "Nm", "N*m", "N m", "Pa", "N/m2")
UNIT_PREFIXES = ("", "k", "M", "G")
#: What to do about a result without joint loads, in words that are right in Python, in a model file and on the command line.
HOW_TO_GET_LOADS = "run the model again with its joint loads: loads = 'all'"


def is_load_unit(unit: str) -> bool:
    """Say whether a unit is that of a force, a moment or a stress."""
    return any(unit == prefix + base for prefix in UNIT_PREFIXES for base in LOADING_UNITS)


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
