"""A machine as it stands at the start, drawn as SVG: the shapes of the report in a parallel projection, nearest last."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.drawn import machine_geometry
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.pluginset import PluginSet
from kingpost.report.geometry import Geometry, Poses
from kingpost.report.shapes import body_shapes, machine_size
from kingpost.simulation.problem import draft, started
from kingpost.simulation.settings import RunSettings

#: Degrees from the x axis to where one looks from, and above the level; as the report's first view.
AZIMUTH, ELEVATION = -60.0, 18.0
#: Colours of bodies in turn, and of the world; they can be told from white and from black.
COLOURS = ("#8fa6bb", "#e3a63a", "#7fae6b", "#db8f2d", "#6f9fd8", "#c98ab5", "#5fb3b3", "#b0a08f")
GROUND, ROPE = "#8d97a1", "#c2504a"
WIDTH, HEIGHT, MARGIN = 640.0, 420.0, 24.0
#: Sides of what is round.
SIDES = 18


class StartPoses(Poses):
    """Where bodies are at the start: one frame, without a run."""

    def __init__(self, places: Mapping[str, tuple[FloatArray, FloatArray]]) -> None:
        self.time = np.zeros(1)
        self.positions = {WORLD: np.zeros((1, 3)), **{body: place[None, :] for body, (place, _) in places.items()}}
        self.rotations = {WORLD: np.eye(3)[None], **{body: rotation[None] for body, (_, rotation) in places.items()}}
        self.quaternions = {}


@dataclass(frozen=True, eq=False)
class Face:
    """A polygon in the world, with the colour of its body."""

    points: FloatArray
    colour: str


def start_of(mechanism: Mechanism, plugins: PluginSet) -> tuple[Geometry, StartPoses]:
    """Return the geometry of a machine, and where its bodies are at the start, with loops closed where they can be."""
    problem = draft(mechanism, RunSettings(formulation="kane", backend="vm"), plugins=plugins)
    # A machine that cannot be let go, as one with a pulley without mass, has a place by its start values all the same.
    with contextlib.suppress(KingpostError):
        problem = started(problem)
    assembly = problem.assembly
    kinematics = TreeKinematics(assembly)
    bodies = tuple(body.name for body in mechanism.bodies)
    poses = [kinematics.pose(body) for body in bodies]
    every = ca.Function(
        "poses", [assembly.t, kinematics.q, assembly.u, assembly.p], [item for X in poses for item in (X.p, X.R)]
    )
    # Behind the inputs stand states of forces, on which no pose depends.
    acting = np.zeros(assembly.u.numel())
    acting[: problem.u0.size] = np.ravel(problem.u0)
    found = [np.asarray(part) for part in every(problem.t_start, problem.x0[: kinematics.q.numel()], acting, problem.p)]
    places = {body: (found[2 * k].ravel(), found[2 * k + 1]) for k, body in enumerate(bodies)}
    parameters = dict(zip((item.name for item in mechanism.parameters), np.ravel(problem.p), strict=False))
    return Geometry.read(machine_geometry(mechanism, parameters, plugins), bodies), StartPoses(places)


def start_picture(mechanism: Mechanism, plugins: PluginSet) -> str:
    """Return an SVG of a machine at the start; one without bodies has none and gets an empty text."""
    if not mechanism.bodies:
        return ""
    geometry, poses = start_of(mechanism, plugins)
    shapes = body_shapes(geometry, poses)
    faces, lines = [], []
    for k, (body, drawn) in enumerate(shapes.items()):
        colour = GROUND if body == WORLD else COLOURS[(k - 1) % len(COLOURS)]
        rotation, place = poses.rotations[body][0], poses.positions[body][0]
        for shape in drawn:
            faces += [Face(points @ rotation.T + place, colour) for points in faces_of(shape)]
    for line in geometry.lines:
        lines.append(np.array([poses.point(owner, at)[0] for owner, at in line.points]))
    return svg(faces, lines, machine_size(geometry, poses))


def faces_of(shape: Mapping[str, Any]) -> Iterator[FloatArray]:
    """Yield the polygons of a shape in the frame of its body."""
    kind = shape["kind"]
    if kind == "bar":
        yield from _tube(np.array(shape["from"]), np.array(shape["to"]), shape["radii"], SIDES if shape.get("round") else 4)
    elif kind == "drum":
        axis = np.array(shape["axis"], dtype=float) * shape["length"] / 2
        yield from _tube(np.array(shape["at"]) - axis, np.array(shape["at"]) + axis, [shape["radius"]] * 2, SIDES)
    elif kind == "ball":
        yield from _ball(np.array(shape["at"], dtype=float), float(shape["radius"]))
    elif kind == "mesh":
        points = np.array(shape["points"], dtype=float)
        yield from (points[list(face)] for face in shape["faces"])
    else:
        yield from _box(np.array(shape["at"], dtype=float), np.array(shape["size"], dtype=float), bool(shape.get("bow")))


def _frame(along: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two directions across one."""
    other = np.eye(3)[int(np.argmin(np.abs(along)))]
    first = np.cross(along, other)
    first = first / np.linalg.norm(first)
    return first, np.cross(along, first)


def _tube(begin: FloatArray, end: FloatArray, radii: Any, sides: int) -> Iterator[FloatArray]:
    length = float(np.linalg.norm(end - begin))
    if length == 0.0:
        return
    across = np.array(_frame((end - begin) / length))
    turns = 2 * np.pi * (np.arange(sides) + 0.5) / sides
    ring = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ across
    low, high = begin + radii[0] * ring, end + radii[1] * ring
    for k in range(sides):
        after = (k + 1) % sides
        yield np.array([low[k], low[after], high[after], high[k]])
    yield low[::-1]
    yield high


def _ball(centre: FloatArray, radius: float) -> Iterator[FloatArray]:
    heights, turns = np.linspace(-np.pi / 2, np.pi / 2, 7), np.linspace(0, 2 * np.pi, 13)
    grid = centre + radius * np.array(
        [[[np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)] for a in turns] for h in heights]
    )
    for i in range(6):
        for j in range(12):
            yield np.array([grid[i, j], grid[i, j + 1], grid[i + 1, j + 1], grid[i + 1, j]])


def _box(centre: FloatArray, size: FloatArray, bow: bool) -> Iterator[FloatArray]:
    x, y, z = size / 2
    outline = [(-x, -y), (x, -y), (x, y), (-x, y)] if not bow else [(-x, -y), (0.6 * x, -y), (x, 0.0), (0.6 * x, y), (-x, y)]
    low, high = (centre + np.array([(*corner, height) for corner in outline]) for height in (-z, z))
    for k in range(len(outline)):
        after = (k + 1) % len(outline)
        yield np.array([low[k], low[after], high[after], high[k]])
    yield low[::-1]
    yield high


def svg(faces: list[Face], lines: list[FloatArray], size: float) -> str:
    """Return faces and lines in a parallel projection, far ones first, shaded by how they face a lamp above the viewer."""
    azimuth, elevation = np.radians(AZIMUTH), np.radians(ELEVATION)
    towards = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    up = np.cross(towards, right)
    lamp = towards + 0.8 * np.array([0.0, 0.0, 1.0])
    lamp = lamp / np.linalg.norm(lamp)
    every = np.concatenate([face.points for face in faces] + lines)
    flat = np.stack([every @ right, every @ up], axis=1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    span = np.maximum(high - low, 0.05 * size)
    scale = min((WIDTH - 2 * MARGIN) / span[0], (HEIGHT - 2 * MARGIN) / span[1])
    middle = (low + high) / 2

    def paper(points: FloatArray) -> str:
        x = WIDTH / 2 + scale * (points @ right - middle[0])
        y = HEIGHT / 2 - scale * (points @ up - middle[1])
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))

    drawn: list[tuple[float, str]] = []
    for face in faces:
        normal = np.cross(face.points[1] - face.points[0], face.points[-1] - face.points[0])
        length = float(np.linalg.norm(normal))
        light = abs(float(normal @ lamp)) / length if length else 1.0
        colour = _shaded(face.colour, 0.62 + 0.38 * light)
        depth = float((face.points @ towards).mean())
        drawn.append((depth, f'<polygon points="{paper(face.points)}" fill="{colour}" stroke="{colour}" stroke-width="0.6"/>'))
    for line in lines:
        depth = float((line @ towards).mean())
        drawn.append((depth, f'<polyline points="{paper(line)}" fill="none" stroke="{ROPE}" stroke-width="2"/>'))
    body = "".join(text for _, text in sorted(drawn, key=lambda item: item[0]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" height="{HEIGHT:g}" '
        f'role="img">{body}</svg>\n'
    )


def _shaded(colour: str, light: float) -> str:
    parts = (round(min(1.0, light) * int(colour[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)
