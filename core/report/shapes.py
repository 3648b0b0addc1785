"""Shapes for bodies: those that the model gives, or bars, drums, a hull, plates, rails, where only joints and masses are known.

A shape is plain data in the frame of the body it moves with; the page turns it into faces. Sizes that the model does not
state (thickness, a hull's beam) are shares of the machine's own size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.mechanism.elements import WORLD
from kingpost.report.cylinders import Cylinder, cylinders, travel
from kingpost.report.geometry import Geometry, JointGeometry, Poses
from kingpost.report.given_shapes import drawn_shape

#: Joints without a single axis: they are drawn as a ball.
MANY_AXES = ("free", "cardan", "gimbal", "spherical", "universal", "planar", "translational", "planar-translational")
#: Joints to the world that a vessel may have: the sea moves it, or somebody says how it moves.
VESSEL_JOINTS = (*MANY_AXES, "given", "prismatic")
SHIP_WORDS = ("vessel", "hull", "ship", "boat", "barge")
#: Closures that are drawn as a pin, and as a ball.
PINS = ("revolute", "cylindrical", "point-on-line")
BALLS = ("spherical", "universal", "weld", "slot")
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
    slides = cylinders(geometry, poses, THICKNESS * size)
    shapes: dict[str, list[dict[str, Any]]] = {WORLD: []}
    for body in poses.positions:
        if body != WORLD:
            given = [drawn_shape(shape) for shape in geometry.shapes.get(body, ())]
            shapes[body] = given or list(_of_body(body, geometry, poses, size, slides))
    for joint in geometry.joints:
        for owner, shape in _of_joint(joint, geometry, poses, size, slides):
            if owner not in geometry.shapes:
                shapes[owner].append(shape)
    for closure in geometry.closures:
        if closure.child not in (WORLD, *geometry.shapes) and (pin := _of_closure(closure, size)) is not None:
            shapes[closure.child].append(pin)
    for body, sheave in _sheaves(geometry, poses, THICKNESS * size):
        shapes[body].append(sheave)
    return shapes


def is_hull(body: str, geometry: Geometry) -> bool:
    """Say whether a body floats: water acts on it, or it is called so and moves against the world as a vessel may."""
    joint = geometry.inbound(body)
    if joint is None or joint.parent != WORLD or joint.kind not in VESSEL_JOINTS:
        return False
    return body in geometry.floats or (is_ship(body) and joint.kind != "prismatic")


def is_ship(body: str) -> bool:
    """Say whether a body is called a ship."""
    return any(word in body.lower() for word in SHIP_WORDS)


def _of_body(
    body: str, geometry: Geometry, poses: Poses, size: float, slides: Mapping[str, Cylinder]
) -> Iterator[dict[str, Any]]:
    radius = THICKNESS * size
    reeled = {line.name for line in geometry.lines}
    if any(out.name in reeled for out in geometry.outbound(body)):
        return  # a rope, which is a line
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
    for name, slide in slides.items():
        carried = geometry.named(name)
        if carried is not None and body in (carried.parent, carried.child):
            begin, end = slide.barrel if body == carried.parent else slide.rod
            yield _rod(begin, end, (1.5 if body == carried.parent else 0.7) * radius)
            drawn.append(begin if np.linalg.norm(begin - root) > radius else end)
    # What a spring or a rope pulls at belongs to the body, though no joint is there.
    for at in (at for line in geometry.lines for owner, at in (line.points[0], line.points[-1]) if owner == body):
        if min([_distance(at, root, end) for end in drawn], default=float(np.linalg.norm(at - root))) > 2 * radius:
            yield _rod(root, at, 0.5 * radius)
            drawn.append(at)
    away = min([_distance(centre, root, end) for end in drawn], default=float(np.linalg.norm(centre - root)))
    if away > 2 * radius:
        yield _rod(root, centre, 0.5 * radius)
        yield {"kind": "ball", "at": centre.tolist(), "radius": 2.2 * radius}
    elif not drawn:
        yield {"kind": "box", "at": root.tolist(), "size": [5 * radius, 4 * radius, 3 * radius]}


def _of_joint(
    joint: JointGeometry, geometry: Geometry, poses: Poses, size: float, slides: Mapping[str, Cylinder]
) -> Iterator[tuple[str, dict[str, Any]]]:
    radius = THICKNESS * size
    frame_F, frame_M = joint.parent_frame, joint.child_frame
    if joint.kind == "weld":
        yield joint.child, {"kind": "ball", "at": frame_M.position.tolist(), "radius": 1.3 * radius}
    elif joint.axis is None or joint.kind in MANY_AXES:
        yield joint.child, {"kind": "ball", "at": frame_M.position.tolist(), "radius": 1.5 * radius}
    elif joint.name in slides or joint.name in {line.name for line in geometry.lines}:
        pass  # barrel and rod show it, or a rope
    elif joint.kind == "prismatic":
        axis, low, high = travel(joint, poses)
        margin = 0.1 * size
        begin, end = frame_F.position + (low - margin) * axis, frame_F.position + (high + margin) * axis
        yield joint.parent, _rod(begin, end, 0.4 * radius)
    else:
        axis = _unit(frame_M.rotation @ joint.axis)
        size_of_drum = {"radius": 1.6 * radius, "length": 3 * radius}
        yield joint.child, {"kind": "drum", "at": frame_M.position.tolist(), "axis": axis.tolist(), **size_of_drum}
    held = joint.kind not in ("free", "given", "prismatic", "translational", "planar-translational")
    if joint.parent == WORLD and held and not is_hull(joint.child, geometry):
        at = frame_F.position - np.array([0.0, 0.0, 2.2 * radius])
        yield WORLD, {"kind": "box", "at": at.tolist(), "size": [8 * radius, 8 * radius, 1.2 * radius]}


def _of_closure(closure: JointGeometry, size: float) -> dict[str, Any] | None:
    """Return a pin or a ball where a closure holds two bodies together; wheels and ropes touch elsewhere."""
    radius, at = THICKNESS * size, closure.child_frame.position.tolist()
    if closure.kind in PINS and closure.axis is not None:
        axis = _unit(closure.child_frame.rotation @ closure.axis)
        return {"kind": "drum", "at": at, "axis": axis.tolist(), "radius": 1.6 * radius, "length": 3 * radius}
    return {"kind": "ball", "at": at, "radius": 1.5 * radius} if closure.kind in BALLS else None


def _sheaves(geometry: Geometry, poses: Poses, radius: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a sheave at every point over which a rope runs, its axis across the rope at the first frame."""
    for line in geometry.lines:
        for before, (body, at), after in zip(line.points, line.points[1:], line.points[2:], strict=False):
            one, here, two = (poses.point(owner, place)[0] for owner, place in (before, (body, at), after))
            across = np.cross(here - one, two - here)
            if np.linalg.norm(across) <= 1e-9 * radius**2 or body in geometry.shapes:
                continue
            axis = poses.rotations[body][0].T @ _unit(across)
            yield body, {"kind": "drum", "at": at.tolist(), "axis": axis.tolist(), "radius": 2 * radius, "length": radius}


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
    ship = is_ship(body)
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
