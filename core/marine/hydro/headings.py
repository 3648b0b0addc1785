"""Headings: one turn, symmetry to port and starboard, and weights between headings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.hydro.scales import scales

#: Between headings further apart than this nothing is interpolated, rad.
WIDEST_GAP = math.radians(45.0)
#: Headings closer than this are the same, rad.
SAME = 1e-6
#: Couplings of surge, heave and pitch with sway, roll and yaw below this share of their diagonals are none.
SYMMETRIC = 0.01
#: What changes sign for the mirrored heading: sway, roll, yaw.
MIRROR = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
MIRROR.setflags(write=False)


def turned(heading: NDArray[Any] | float) -> FloatArray:
    """Return headings between -pi and pi; -pi becomes pi."""
    wrapped = np.mod(np.asarray(heading, dtype=float) + math.pi, 2 * math.pi) - math.pi
    return np.where(wrapped <= -math.pi + SAME, wrapped + 2 * math.pi, wrapped)


def asymmetry(data: HydroData) -> float:
    """Return the largest coupling between motions in and out of the plane of symmetry, as a share of their diagonals."""
    across = np.outer(MIRROR, MIRROR) < 0
    found = []
    for matrices in (data.added_mass, data.damping):
        size = scales(matrices)
        found.append(float((np.abs(matrices).max(axis=0) / np.sqrt(np.outer(size, size)))[across].max()))
    return max(found)


def full_turn(data: HydroData) -> HydroData:
    """Return data with headings in -pi..pi, those that are missing to port or starboard mirrored from the other side.

    A hull that is not symmetric, or a point of reference out of its plane of symmetry, keeps the headings that it has.
    """
    headings = turned(data.headings)
    sign = np.ones((len(headings), 6))
    source = np.arange(len(headings))
    if asymmetry(data) <= SYMMETRIC and abs(data.reference[1]) <= SAME:
        mirrored = turned(-headings)
        new = [i for i, heading in enumerate(mirrored) if not (np.abs(turned(headings - heading)) < SAME).any()]
        headings = np.concatenate([headings, mirrored[new]])
        source = np.concatenate([source, new]).astype(int)
        sign = np.concatenate([sign, np.tile(MIRROR, (len(new), 1))])
    order = np.argsort(headings, kind="stable")
    changes: dict[str, Any] = {"headings": headings[order]}
    for name in ("excitation", "motions", "drift"):
        table = getattr(data, name)
        changes[name] = None if table is None else table[:, source[order]] * sign[order]
    return replace(data, **changes)


def weights(headings: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return (k, m): how much of each of the headings (m, rising within one turn) belongs to each of those wanted (k).

    Rows come from a cubic spline, periodic if no gap is above 45 degrees, else over the arc that leaves the widest gap out. A
    heading of the table has the weight one.
    """
    if not len(headings):
        raise KingpostError("these data hold no headings, so they say nothing of waves")
    gaps = np.diff(np.append(headings, headings[0] + 2 * math.pi))
    distance = np.abs(turned(wanted[:, None] - headings[None, :]))
    nearest = distance.argmin(axis=1)
    exact = distance[np.arange(len(wanted)), nearest] < SAME
    _refuse_gaps(headings, gaps, wanted[~exact])
    found = np.zeros((len(wanted), len(headings)))
    found[np.flatnonzero(exact), nearest[exact]] = 1.0
    if not exact.all():
        found[~exact] = _spline(headings, gaps, wanted[~exact])
    return found


def _refuse_gaps(headings: FloatArray, gaps: FloatArray, wanted: FloatArray) -> None:
    behind = np.mod(wanted[:, None] - headings[None, :], 2 * math.pi).argmin(axis=1)
    for heading, i in zip(wanted, behind, strict=True):
        if gaps[i] > WIDEST_GAP + SAME:
            ends = [math.degrees(headings[j % len(headings)]) for j in (i, i + 1)]
            raise KingpostError(
                f"heading {math.degrees(heading):.4g} deg lies in a gap of the data, between {ends[0]:.4g} and {ends[1]:.4g} "
                f"deg ({math.degrees(gaps[i]):.4g} deg wide; at most {math.degrees(WIDEST_GAP):.0f}); compute more headings, "
                "or choose one of the table"
            )


def _spline(headings: FloatArray, gaps: FloatArray, wanted: FloatArray) -> FloatArray:
    from scipy.interpolate import CubicSpline

    first = (int(gaps.argmax()) + 1) % len(headings)
    order = np.roll(np.arange(len(headings)), -first)
    nodes = headings[first] + np.mod(headings[order] - headings[first], 2 * math.pi)
    unit = np.eye(len(headings))[order]
    if gaps.max() <= WIDEST_GAP + SAME:
        spline = CubicSpline(np.append(nodes, nodes[0] + 2 * math.pi), np.vstack([unit, unit[:1]]), bc_type="periodic")
    else:
        spline = CubicSpline(nodes, unit, bc_type="not-a-knot" if len(nodes) > 3 else "natural")
    values: FloatArray = spline(nodes[0] + np.mod(wanted - nodes[0], 2 * math.pi))
    return values
