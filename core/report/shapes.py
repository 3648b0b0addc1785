"""Shapes for bodies of which only joints, centres of mass and outputs are known: bars, drums, a hull, plates, rails.

A shape is plain data in the frame of the body it moves with; the page turns it into faces. Sizes that the model does not
state (thickness, a hull's beam) are shares of the machine's own size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.mechanism.elements import WORLD
from kingpost.report.geometry import Geometry, JointGeometry, Poses

#: Joints to the world that let a body float or swing freely: what hangs there and carries others is drawn as a hull.
FLOATING = ("free", "cardan", "gimbal", "spherical", "universal", "planar")
SHIP_WORDS = ("vessel", "hull", "ship", "boat", "barge")
#: Closures that are drawn as a pin, and as a ball.
PINS = ("revolute", "cylindrical", "point-on-line")
BALLS = ("spherical", "universal", "weld")
#: Radius of a bar as a share of the machine's size.
THICKNESS = 0.016


def machine_size(geometry: Geometry, poses: Poses) -> float:
    """Return the diagonal of the box that holds every known point at the first frame, and 1 if that is a point."""
    points = np.array([poses.point(body, at)[0] for body in poses.positions if body != WORLD for at in geometry.points(body)])
    points = points[np.isfinite(points).all(axis=1)]
    extent = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    return extent if extent > 0 else 1.0


def body_shapes(geometry: Geometry, poses: Poses) -> dict[str, list[dict[str, Any]]]:
    """Return the shapes of every body, and of the world."""
    size = machine_size(geometry, poses)
    shapes: dict[str, list[dict[str, Any]]] = {WORLD: []}
    for body in poses.positions:
        if body != WORLD:
            shapes[body] = list(_of_body(body, geometry, poses, size))
    for joint in geometry.joints:
        for owner, shape in _of_joint(joint, geometry, poses, size):
            shapes[owner].append(shape)
    for closure in geometry.closures:
        if closure.child != WORLD and (pin := _of_closure(closure, size)) is not None:
            shapes[closure.child].append(pin)
    return shapes


def is_hull(body: str, geometry: Geometry) -> bool:
    """Say whether a body floats in the world and carries others."""
    joint = geometry.inbound(body)
    return joint is not None and joint.parent == WORLD and joint.kind in FLOATING and bool(geometry.outbound(body))


def _of_body(body: str, geometry: Geometry, poses: Poses, size: float) -> Iterator[dict[str, Any]]:
    radius = THICKNESS * size
    joint = geometry.inbound(body)
    root = joint.child_frame.position if joint else np.zeros(3)
    ends = [out.parent_frame.position for out in geometry.outbound(body)]
    ends += [at for _, owner, at in geometry.outputs if owner == body]
    ends += geometry.closed_at(body)
    centre = geometry.centres.get(body, root)
    if is_hull(body, geometry):
        hull = _hull(body, centre, ends, geometry, poses, size)
        yield hull
        yield _rod(_surface(centre, root, hull["size"][2] / 2), root, 0.35 * radius)
        for end in ends:
            yield _rod(_surface(centre, end, hull["size"][2] / 2), end, 1.5 * radius, 1.25 * radius)
        return
    drawn = [end for end in ends if np.linalg.norm(end - root) > radius]
    tapered = 1.0 if geometry.outbound(body) else 0.6
    for end in drawn:
        yield _bar(root, end, radius, tapered * radius)
    away = min([_distance(centre, root, end) for end in drawn], default=float(np.linalg.norm(centre - root)))
    if away > 2 * radius:
        yield _rod(root, centre, 0.5 * radius)
        yield {"kind": "ball", "at": centre.tolist(), "radius": 2.2 * radius}
    elif not drawn:
        yield {"kind": "box", "at": root.tolist(), "size": [5 * radius, 4 * radius, 3 * radius]}


def _of_joint(joint: JointGeometry, geometry: Geometry, poses: Poses, size: float) -> Iterator[tuple[str, dict[str, Any]]]:
    radius = THICKNESS * size
    frame_F, frame_M = joint.parent_frame, joint.child_frame
    if joint.kind == "weld":
        yield joint.child, {"kind": "ball", "at": frame_M.position.tolist(), "radius": 1.3 * radius}
    elif joint.axis is None or joint.kind in FLOATING:
        yield joint.child, {"kind": "ball", "at": frame_M.position.tolist(), "radius": 1.5 * radius}
    elif joint.kind == "prismatic":
        axis = _unit(frame_F.rotation @ joint.axis)
        # Where M's origin goes along the axis, from F's origin, over the run.
        between = poses.point(joint.child, frame_M.position) - poses.point(joint.parent, frame_F.position)
        along = np.sum(between * poses.axes(joint.parent, np.tile(axis, (len(between), 1))), axis=1)
        known = along[np.isfinite(along)]
        low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
        margin = 0.1 * size
        begin, end = frame_F.position + (low - margin) * axis, frame_F.position + (high + margin) * axis
        yield joint.parent, _rod(begin, end, 0.4 * radius)
    else:
        axis = _unit(frame_M.rotation @ joint.axis)
        size_of_drum = {"radius": 1.6 * radius, "length": 3 * radius}
        yield joint.child, {"kind": "drum", "at": frame_M.position.tolist(), "axis": axis.tolist(), **size_of_drum}
    if joint.parent == WORLD and not is_hull(joint.child, geometry) and joint.kind != "prismatic":
        at = frame_F.position - np.array([0.0, 0.0, 2.2 * radius])
        yield WORLD, {"kind": "box", "at": at.tolist(), "size": [8 * radius, 8 * radius, 1.2 * radius]}


def _of_closure(closure: JointGeometry, size: float) -> dict[str, Any] | None:
    """Return a pin or a ball where a closure holds two bodies together; wheels and ropes touch elsewhere."""
    radius, at = THICKNESS * size, closure.child_frame.position.tolist()
    if closure.kind in PINS and closure.axis is not None:
        axis = _unit(closure.child_frame.rotation @ closure.axis)
        return {"kind": "drum", "at": at, "axis": axis.tolist(), "radius": 1.6 * radius, "length": 3 * radius}
    return {"kind": "ball", "at": at, "radius": 1.5 * radius} if closure.kind in BALLS else None


def _hull(
    body: str, centre: FloatArray, ends: list[FloatArray], geometry: Geometry, poses: Poses, size: float
) -> dict[str, Any]:
    """Return a flat box about the centre of mass: a ship so long that what it carries reaches over its side, or a base."""
    reach = 0.0
    for other in poses.positions:
        if other in (WORLD, body):
            continue
        for at in geometry.points(other):
            away = poses.point(other, at) - poses.positions[body]
            local = np.einsum("nji,nj->ni", poses.rotations[body], away) - centre
            distances = np.hypot(local[:, 0], local[:, 1])
            reach = max(reach, float(np.max(distances, where=np.isfinite(distances), initial=0.0)))
    ship = any(word in body.lower() for word in SHIP_WORDS)
    length = max(2.4 * reach, 0.5 * size) if ship else max(0.8 * reach, 0.2 * size)
    room = max([abs(float(end[2] - centre[2])) for end in ends], default=0.0)
    height = min(0.15 * length, 1.2 * room) if room > 0 else 0.1 * length
    return {"kind": "hull", "at": centre.tolist(), "size": [length, (0.38 if ship else 0.6) * length, height], "bow": ship}


def _surface(centre: FloatArray, end: FloatArray, half: float) -> FloatArray:
    """Return where the line from the centre of a flat box to a point leaves its deck or its bottom."""
    rise = abs(float(end[2] - centre[2]))
    return centre + (end - centre) * (half / rise) if rise > half else centre


def _bar(begin: FloatArray, end: FloatArray, radius: float, radius_end: float | None = None) -> dict[str, Any]:
    radii = [radius, radius if radius_end is None else radius_end]
    return {"kind": "bar", "from": begin.tolist(), "to": end.tolist(), "radii": radii}


def _rod(begin: FloatArray, end: FloatArray, radius: float, radius_end: float | None = None) -> dict[str, Any]:
    return {**_bar(begin, end, radius, radius_end), "round": True}


def _unit(vector: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else np.array([0.0, 0.0, 1.0])


def _distance(point: FloatArray, begin: FloatArray, end: FloatArray) -> float:
    """Return the distance of a point from a line segment."""
    along = end - begin
    share = np.clip(np.dot(point - begin, along) / np.dot(along, along), 0.0, 1.0)
    return float(np.linalg.norm(point - begin - share * along))
