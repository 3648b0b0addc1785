"""The animated machine: poses at the frames of the animation, shapes, paths of outputs and load arrows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.base.load_frames import HOW_TO_GET_LOADS
from kingpost.mechanism.elements import WORLD
from kingpost.report.channels import Inventory, JointLoad
from kingpost.report.geometry import Geometry, JointGeometry, Poses
from kingpost.report.lines import describe_lines
from kingpost.report.packing import packed, packed_time
from kingpost.report.sea import describe_sea
from kingpost.report.shapes import THICKNESS, body_shapes, machine_size
from kingpost.results.history import History

#: Numbers that all frames together may take: seven per body, six per joint load, three per output.
BUDGET = 500_000
#: Points of the path of an output.
PATH_POINTS = 1500
NO_POSES = f"No animation: this result holds no poses of bodies. To get them, {HOW_TO_GET_LOADS}."


def make_scene(history: History, inventory: Inventory, loads: tuple[JointLoad, ...]) -> dict[str, Any]:
    """Return what the page needs to draw the machine, or only a ``note`` saying why it cannot."""
    bodies = inventory.posed
    if not bodies:
        return {"note": NO_POSES}
    record = history.provenance.get("geometry") or {}
    geometry = Geometry.read(record, bodies)
    numbers = 7 * len(bodies) + 6 * len(loads) + 3 * len(geometry.outputs) + len(geometry.lines)
    rows = frame_rows(len(history), max(BUDGET // numbers, 50))
    poses = Poses(history, bodies, rows)
    shapes = body_shapes(geometry, poses)
    scene: dict[str, Any] = {
        "time": packed_time(poses.time),
        "frames": len(rows),
        "size": machine_size(geometry, poses),
        "thickness": THICKNESS * machine_size(geometry, poses),
        "bodies": [
            {
                "name": body,
                "pose": [packed(column) for column in (*poses.positions[body].T, *poses.quaternions[body].T)],
                "shapes": shapes[body],
                "mass": geometry.masses.get(body),
                "centre": geometry.centres[body].tolist() if body in geometry.centres else None,
            }
            for body in bodies
        ],
        "world": shapes[WORLD],
        "joints": [_joint(joint) for joint in geometry.joints],
        "paths": [path for output in geometry.outputs if (path := _path(output, poses)) is not None],
        "ghosts": [ghost for output in geometry.outputs if (ghost := _ghost(output[0], history, rows)) is not None],
        "lines": describe_lines(geometry, poses, history, rows),
        "arrows": [arrow for load in loads if (arrow := _arrow(history, load, geometry, rows)) is not None],
        **_extent(geometry, poses, shapes),
    }
    sea = describe_sea(history.provenance)
    if sea is not None:
        scene["sea"] = sea
    if not geometry.centres:
        scene["note"] = "The result records no geometry: bodies are shown as boxes at their origins, without links."
    return scene


def frame_rows(samples: int, most: int) -> Any:
    """Return the samples that become frames: all, or evenly spaced ones with the first and the last."""
    if samples <= most:
        return np.arange(samples)
    return np.unique(np.rint(np.linspace(0, samples - 1, most)).astype(int))


def _joint(joint: JointGeometry) -> dict[str, Any]:
    axis = None if joint.axis is None else (joint.child_frame.rotation @ joint.axis).tolist()
    return {
        "name": joint.name,
        "kind": joint.kind,
        "body": joint.child,
        "at": joint.child_frame.position.tolist(),
        "axis": axis,
    }


def _path(output: tuple[str, str, FloatArray], poses: Poses) -> dict[str, Any] | None:
    name, body, at = output
    if body == WORLD:
        return None
    path = poses.point(body, at)[frame_rows(len(poses.time), PATH_POINTS)]
    return {
        "name": name,
        "body": body,
        "at": at.tolist(),
        "time": packed_time(poses.time[frame_rows(len(poses.time), PATH_POINTS)]),
        "points": [packed(column) for column in path.T],
    }


def _ghost(name: str, history: History, rows: Any) -> dict[str, Any] | None:
    """Return where a servo task wants an output to be; what it leaves open is where the output is."""
    wanted = [f"desired.{name}.{axis}" for axis in "xyz"]
    if not any(channel in history for channel in wanted):
        return None
    there = [f"{name}.{axis}" for axis in "xyz"]
    columns = [history[want if want in history else is_] for want, is_ in zip(wanted, there, strict=True)]
    return {"name": name, "points": [packed(column[rows]) for column in columns]}


def _arrow(history: History, load: JointLoad, geometry: Geometry, rows: Any) -> dict[str, Any] | None:
    """Return moment (about the joint origin) and force of a joint in world axes, and the point of the body it acts on."""
    joint = geometry.named(load.joint)
    if joint is None:
        return None
    try:
        turned = history.loads(load.joint, frame="world", at=(0.0, 0.0, 0.0))
    except KingpostError:  # the record or the poses needed for it are not there
        return None
    frame = joint.parent_frame if turned.side == "parent" else joint.child_frame
    moment, force = turned.total[rows, :3], turned.total[rows, 3:]
    return {
        "joint": load.joint,
        "body": turned.body,
        "at": frame.position.tolist(),
        "moment": [packed(column) for column in moment.T],
        "force": [packed(column) for column in force.T],
    }


def _extent(geometry: Geometry, poses: Poses, shapes: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return how far anything drawn reaches over all frames: a box, and the outermost points in many directions."""
    points = []
    for body in poses.positions:
        corners = [np.array(at) for at in geometry.points(body)] if body != WORLD else []
        for shape in shapes[body]:
            if "size" in shape:
                signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
                corners += list(np.array(shape["at"]) + signs * np.array(shape["size"]) / 2)
            corners += [np.array(shape[key]) for key in ("from", "to", "at") if key in shape]
            if "points" in shape:
                every = np.array(shape["points"])
                corners += list(np.concatenate([every[every.argmin(axis=0)], every[every.argmax(axis=0)]]))
            if "radius" in shape and shape.get("given"):
                reach = max(shape["radius"], shape.get("length", 0.0) / 2)
                corners += [np.array(shape["at"]) + step for step in (-reach, reach)]
        points += [poses.point(body, at) for at in corners]
    every = np.concatenate(points)
    every = every[np.isfinite(every).all(axis=1)]
    if len(every) == 0:
        every = np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
    azimuths, heights = np.meshgrid(np.linspace(0, 2 * np.pi, 24, endpoint=False), np.linspace(-1, 1, 9))
    level = np.sqrt(1 - heights**2)
    directions = np.stack([level * np.cos(azimuths), level * np.sin(azimuths), heights]).reshape(3, -1)
    outermost = np.unique([int(np.argmax(every @ direction)) for direction in directions.T])
    return {"box": [every.min(axis=0).tolist(), every.max(axis=0).tolist()], "outline": every[outermost].round(6).tolist()}
