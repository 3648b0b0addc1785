"""Damage at hot spots, for the page: around a ring where they say at which angle they are, and how they share it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kingpost.fatigue.assessment import CountingOptions, HotSpotAssessment, HotSpotResult, assess_hot_spots
from kingpost.fatigue.hotspots import HotSpot
from kingpost.fatigue.sn import CurveSet
from kingpost.results.history import History

#: Fewer hot spots than this make no picture of a ring.
FEWEST_ON_RING = 3


def describe_hot_spots(
    history: History, spots: Sequence[HotSpot], curves: CurveSet | None, options: CountingOptions
) -> dict[str, Any] | None:
    """Return the damage of a run at hot spots, or None if there are none."""
    if not spots:
        return None
    found = assess_hot_spots(history, spots, curves, options)
    total = math.fsum(result.damage_per_year for result in found.results)
    return {
        "spots": [_spot(result, total) for result in found.results],
        "rings": _rings(found),
        "duration": found.window.duration,
        "from": found.window.start,
        "notes": [*found.notes, *found.warnings],
    }


def _spot(result: HotSpotResult, total: float) -> dict[str, Any]:
    spot, life = result.spot, result.life_years
    return {
        "name": spot.name,
        "angle": None if spot.angle_deg is None else spot.angle_deg % 360.0,
        "curve": result.curve.name,
        "range": result.signal.cycles.largest_range,
        "damage": result.damage_per_year,
        "share": result.damage_per_year / total if total > 0.0 else 0.0,
        "dff": spot.dff,
        "life": life if math.isfinite(life) else None,
        "mean": spot.mean_stress,
    }


def _rings(found: HotSpotAssessment) -> list[dict[str, Any]]:
    """Return hot spots that have angles, those of the same joints together, in the order of their angles."""
    rings: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    for i, result in enumerate(found.results):
        if result.spot.angle_deg is not None:
            rings.setdefault(result.spot.joints, []).append((result.spot.angle_deg % 360.0, i))
    return [
        {"joints": list(joints), "spots": [i for _, i in sorted(members)]}
        for joints, members in rings.items()
        if len(members) >= FEWEST_ON_RING
    ]
