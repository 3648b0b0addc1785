"""Where joints, closures and masses are in the bodies, as numbers, so that loads in a result can be turned and drawn later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kingpost.base.formulas import Scalar, as_scalar, evaluate
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.drawings import Drawing, Line, LineKind, Waves
from kingpost.mechanism.elements import WORLD, Body, Joint
from kingpost.mechanism.mechanism import Mechanism, expressions_in
from kingpost.mechanism.shapes import SHAPE_KINDS, Shape
from kingpost.symbols.screws import numeric, rotation_rpy

#: What bodies without mass are called that stand for a rope.
ROPE_WORDS = ("rope", "cable", "wire")
#: What is recorded of each wave.
WAVE_COLUMNS = ("amplitude", "frequency", "phase", "direction")
#: Closures that are lines from point to point.
LINES: Mapping[str, LineKind] = {"rope": "rope", "sheave": "rope", "distance": "rod"}


def geometry_record(mechanism: Mechanism, parameters: Mapping[str, float], drawings: Mapping[str, Drawing]) -> dict[str, Any]:
    """Return where everything is at the given parameters, as plain data: bodies, joints, closures between bodies, outputs.

    ``drawings`` are what forces show, by their names.
    """

    def number(value: Scalar) -> float:
        return float(evaluate(value, parameters))

    def numbers(vector: tuple[Scalar, ...] | None) -> list[float] | None:
        return None if vector is None else [number(component) for component in vector]

    def frame(position: tuple[Scalar, ...], rotation: tuple[Scalar, ...]) -> dict[str, Any]:
        angles = numbers(rotation) or []
        return {"position": numbers(position), "rotation": numeric(rotation_rpy(*angles)).tolist()}

    def shape(given: Shape) -> dict[str, Any]:
        sizes = {name: getattr(given, name) for name in SHAPE_KINDS[given.kind]}
        plain = {name: numbers(value) if name == "size" else value for name, value in sizes.items()}
        plain |= {name: number(value) for name, value in sizes.items() if name in ("radius", "length")}
        return {"kind": given.kind, "frame": frame(given.at, given.rotation), **plain}

    def described(body: Body) -> dict[str, Any]:
        shapes = {"shapes": [shape(given) for given in body.shape]} if body.shape else {}
        return {"mass": number(body.mass), "com": numbers(body.com), **shapes}

    def line(name: str, drawn: Line) -> dict[str, Any]:
        points = [{"body": body, "at": numbers(at)} for body, at in drawn.points]
        lengths = drawn.length is not None and _known((drawn.length, drawn.radius), parameters)
        length = {"length": number(drawn.length)} if drawn.length is not None and lengths else {}
        drum = {"drum": drawn.drum, "radius": number(drawn.radius)} if drawn.drum and length else {}
        return {"name": name, "kind": drawn.kind, "points": points, **length, **drum}

    def sea(waves: Waves) -> dict[str, Any]:
        columns = zip(*([number(value) for value in component] for component in waves.components), strict=True)
        return {**dict(zip(WAVE_COLUMNS, map(list, columns), strict=True)), "ramp": waves.ramp}

    seas = [drawing.waves for drawing in drawings.values() if drawing.waves is not None and drawing.waves.components]
    seas = [waves for waves in seas if all(_known(component, parameters) for component in waves.components)]
    lines = {name: drawing.line for name, drawing in drawings.items() if drawing.line is not None}
    lines |= {closure.name: _line(closure) for closure in mechanism.closures if closure.kind in LINES}
    lines |= {joint.name: _reeled(joint) for joint in mechanism.joints if _is_rope(mechanism, joint)}
    # What depends on inputs or on the time has no place in a record of what stays.
    lines = {name: drawn for name, drawn in lines.items() if all(_known(at, parameters) for _, at in drawn.points)}
    return {
        "bodies": {body.name: described(body) for body in mechanism.bodies},
        "joints": {
            joint.name: {
                "kind": joint.kind,
                "parent": joint.parent,
                "child": joint.child,
                "parent_frame": frame(joint.position, joint.rotation),
                "child_frame": frame(joint.child_position, joint.child_rotation),
                "axis": numbers(joint.axis),
            }
            for joint in mechanism.joints
        },
        "closures": {
            closure.name: {
                "kind": closure.kind,
                "parent": closure.parent,
                "child": closure.child,
                "parent_frame": frame(closure.position, closure.rotation),
                "child_frame": frame(closure.child_position, closure.child_rotation),
                "axis": numbers(closure.axis),
            }
            for closure in mechanism.closures
            if closure.child
        },
        "outputs": [{"name": output.name, "body": output.body, "at": numbers(output.at)} for output in mechanism.outputs],
        **({"lines": [line(name, drawn) for name, drawn in lines.items()]} if lines else {}),
        **({"floats": floats} if (floats := _floating(drawings.values())) else {}),
        **({"waves": [sea(waves) for waves in seas]} if seas else {}),
    }


def joined(geometries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the geometries of machines in one world as one; names begin with that of their machine: ``crane.boom``.

    A geometry that came with somebody's file and does not have the form of one is left out.
    """
    whole: dict[str, Any] = {"bodies": {}, "joints": {}, "closures": {}, "outputs": [], "lines": [], "floats": [], "waves": []}
    for machine, geometry in geometries.items():
        try:
            part = _renamed(geometry, machine)
        except (KeyError, TypeError, AttributeError):
            continue
        for key, entries in part.items():
            whole[key] = whole[key] | entries if isinstance(entries, dict) else [*whole[key], *entries]
    return {key: value for key, value in whole.items() if value}


def _renamed(geometry: Mapping[str, Any], machine: str) -> dict[str, Any]:
    """Return the geometry of a machine with full names."""

    def full(name: str) -> str:
        return name if name in (WORLD, "") else f"{machine}.{name}"

    def placed(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
        return {**entry, **{key: full(entry[key]) for key in keys if key in entry}}

    return {
        "bodies": {full(name): entry for name, entry in geometry.get("bodies", {}).items()},
        **{
            kind: {full(name): placed(entry, "parent", "child") for name, entry in geometry.get(kind, {}).items()}
            for kind in ("joints", "closures")
        },
        "outputs": [placed(output, "name", "body") for output in geometry.get("outputs", [])],
        "lines": [
            {**placed(line, "name", "drum"), "points": [placed(point, "body") for point in line["points"]]}
            for line in geometry.get("lines", [])
        ],
        "floats": [full(body) for body in geometry.get("floats", [])],
        "waves": [dict(waves) for waves in geometry.get("waves", [])],
    }


def _known(values: Iterable[Scalar], parameters: Mapping[str, float]) -> bool:
    return all(expression.names <= set(parameters) for expression in expressions_in(tuple(map(as_scalar, values))))


def _line(closure: Closure) -> Line:
    ends = (closure.parent, closure.position), (closure.child, closure.child_position)
    if closure.kind == "sheave":
        return Line(ends, LINES[closure.kind])  # two coordinates make its length, and it is always taut
    drum, radius = (closure.coordinates[0], closure.radius or 0.0) if closure.coordinates else ("", 0.0)
    return Line(ends, LINES[closure.kind], closure.length, drum, radius)


def _is_rope(mechanism: Mechanism, joint: Joint) -> bool:
    """Say whether a joint reels a rope: along a body without mass that is called so."""
    if joint.kind != "prismatic" or joint.parent == WORLD:
        return False
    body = mechanism.body(joint.parent)
    return body.mass == 0.0 and not body.shape and any(word in body.name.lower() for word in ROPE_WORDS)


def _reeled(joint: Joint) -> Line:
    return Line(((joint.parent, joint.position), (joint.child, joint.child_position)), "rope")


def _floating(drawings: Iterable[Drawing]) -> list[str]:
    return sorted({body for drawing in drawings for body in drawing.floats})
