"""Joints whose loads rigid bodies leave open, as the record of a run or of an FMU names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kingpost.base.errors import listed

#: The metric of loops whose joints have a stiffness: it decides their loads, which are then unique.
DECIDED = "stiffness"


def open_loops(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the loops that hold themselves more than once: their joints, in how many ways, and how loads were shared."""
    return list(((record.get("loads") or {}).get("not_unique") or {}).get("loops") or [])


def open_joints(record: Mapping[str, Any]) -> set[str]:
    """Return the joints whose loads nothing decides."""
    return {joint for loop in open_loops(record) if loop["metric"] != DECIDED for joint in loop["joints"]}


def measure(loop: Mapping[str, Any]) -> str:
    """Return in words by what the loads of a loop are shared, or smallest."""
    if loop["metric"] == DECIDED:
        return f"by the stiffness of {listed(loop.get('stiffness_of') or loop['joints'])}"
    if loop["metric"] == "size" or loop.get("length_m") is None:
        return "by the size of their loops"
    return f"with moments over {loop['length_m']:.4g} m"
