"""Cutting a body with a weld: the weld's load is the section load, and the motion stays as it was.

A rigid body says only where its mass lies on average. Unless told more, the cut takes it for the one uniform prismatic bar
that has its mass, centre of mass and moments of inertia.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import AnchorName, BodyName, fill
from kingpost.base.formulas import Expression, Scalar, as_scalar, evaluate
from kingpost.mechanism.elements import Body, ForceElement, Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.pluginset import PluginSet

AXES = "xyz"


def cut(
    mechanism: Mechanism,
    body: str,
    at: float,
    *,
    axis: str | None = None,
    outboard: Body | None = None,
    name: str | None = None,
    move: Collection[str] = (),
    plugins: PluginSet | None = None,
) -> Mechanism:
    """Return ``mechanism`` with a body cut in two by a weld; what the weld transmits is the section load there.

    The inner part keeps the body's name, the outer part is called like the weld with ``-outer`` added. Both keep the body
    frame, so every number in the description means what it meant before. The frame of the weld has the axes of the body and
    its origin at the section.

    Parameters
    ----------
    mechanism, body
        The machine, and the name of the body.
    at
        Distance in m of the section from the origin of the joint that carries the body, outwards along ``axis``.
    axis
        ``"x"``, ``"y"`` or ``"z"`` of the body frame; by default the one along which the body is longest.
    outboard
        Mass, centre of mass and inertia of the part beyond the section, in the body frame. By default those of the part of the
        uniform bar that has the body's mass, centre of mass and moments of inertia.
    name
        Name of the weld; by default that of the body with ``-section``.
    move
        Names of forces that act on the outer part. Forces at a point, joints and outputs go to the side of their point anyway.
    plugins
        Where force plugins are looked up; by default all built-in and installed ones.

    """
    whole = mechanism.body(body)
    carrier = next(joint for joint in mechanism.joints if joint.child == body)
    values = {parameter.name: parameter.default for parameter in mechanism.parameters}
    row = _axis(whole, axis, values)
    section = _Section.find(whole, carrier, row, at, values)
    inner, outer = _bar(whole, section, values) if outboard is None else _remainder(whole, outboard, values)
    taken = {item.name for group in (mechanism.bodies, mechanism.joints) for item in group}
    weld = name or _free(f"{body}-section", taken)
    outer_name = _free(f"{weld}-outer", taken)
    point = tuple(section.position if i == row else carrier.child_position[i] for i in range(3))
    joint = Joint(weld, "weld", body, outer_name, position=point, child_position=point)  # type: ignore[arg-type]

    def beyond(place: Sequence[Scalar]) -> bool:
        return section.outwards * (float(evaluate(place[row], values)) - float(evaluate(section.position, values))) >= 0

    joints = [
        replace(item, parent=outer_name) if item.parent == body and beyond(item.position) else item for item in mechanism.joints
    ]
    joints.insert(joints.index(carrier) + 1, joint)
    bodies = list(mechanism.bodies)
    place = bodies.index(whole)
    bodies[place : place + 1] = [replace(inner, name=body), replace(outer, name=outer_name)]
    return replace(
        mechanism,
        bodies=tuple(bodies),
        joints=tuple(joints),
        forces=tuple(_moved(mechanism, body, outer_name, beyond, move, plugins)),
        outputs=tuple(
            replace(item, body=outer_name) if item.body == body and beyond(item.at) else item for item in mechanism.outputs
        ),
        subsystems=tuple(
            replace(item, bodies=(*item.bodies, outer_name)) if body in item.bodies else item for item in mechanism.subsystems
        ),
    )


@dataclass(frozen=True)
class _Section:
    """Where a body is cut: its axis (row), which way is outwards (1 or -1), and its place along the axis in the body frame."""

    row: int
    outwards: int
    position: Scalar

    @staticmethod
    def find(body: Body, carrier: Joint, row: int, at: float, values: Mapping[str, float]) -> _Section:
        if not (isinstance(at, int | float) and math.isfinite(at)):
            raise MechanismError(f"body '{body.name}' cannot be cut at {at!r}; give a distance in m")
        root = carrier.child_position[row]
        outwards = 1 if float(evaluate(body.com[row], values)) >= float(evaluate(root, values)) else -1
        return _Section(row, outwards, as_scalar(_sum(root, outwards * float(at))))


def _axis(body: Body, axis: str | None, values: Mapping[str, float]) -> int:
    if axis is not None:
        if axis not in AXES or len(axis) != 1:
            raise MechanismError(f"body '{body.name}' cannot be cut along '{axis}'; choose x, y or z of its frame")
        return AXES.index(axis)
    moments = [float(evaluate(moment, values)) for moment in body.inertia[:3]]
    return moments.index(min(moments))


def _bar(body: Body, section: _Section, values: Mapping[str, float]) -> tuple[Body, Body]:
    """Return the inner and outer part of the uniform bar with the body's mass properties.

    With radii of gyration ky, kz of its cross-section, a bar of length L along x has Ix = m (ky^2 + kz^2), Iy = m (L^2 / 12 +
    kz^2) and Iz = m (L^2 / 12 + ky^2): three equations for three unknowns.
    """
    if len(body.inertia) == 6 and any(float(evaluate(entry, values)) != 0.0 for entry in body.inertia[3:]):
        raise MechanismError(
            f"body '{body.name}' has products of inertia, so no bar along an axis of its frame stands for it; give the mass "
            "properties of the part beyond the section: cut(..., outboard=Body(...))"
        )
    row, others = section.row, [i for i in range(3) if i != section.row]
    along, across = body.inertia[row], [body.inertia[i] for i in others]
    square = _formula("6 * (({}) + ({}) - ({})) / ({})", *across, along, body.mass)
    if not float(evaluate(body.mass, values)) > 0 or not float(evaluate(square, values)) > 0:
        raise MechanismError(
            f"body '{body.name}' has no length along {AXES[row]} that its mass and inertia would show; cut along another "
            "axis, or give the mass properties of the part beyond the section: cut(..., outboard=Body(...))"
        )
    length = _formula("sqrt({})", square)
    middle = body.com[row]
    ends = [float(evaluate(_formula(f"({{}}) {sign} ({{}}) / 2", middle, length), values)) for sign in "-+"]
    place = float(evaluate(section.position, values))
    if not ends[0] < place < ends[1]:
        raise MechanismError(
            f"body '{body.name}' would be cut at {AXES[row]} = {place:g} m of its frame, outside it: as a uniform bar it "
            f"reaches from {ends[0]:.4g} m to {ends[1]:.4g} m. Cut within, or give what lies beyond: cut(..., outboard=...)"
        )
    sign = "+" if section.outwards > 0 else "-"
    fraction = f"0.5 {sign} (({{}}) - ({{}})) / ({{}})"
    shares = [_formula(fraction, section.position, middle, length), _formula(fraction, middle, section.position, length)]
    parts = []
    for share, side in zip(shares, (-section.outwards, section.outwards), strict=True):
        com = list(body.com)
        com[row] = _formula(f"({{}}) {'+' if side > 0 else '-'} ({{}}) * ({{}}) / 2", section.position, length, share)
        inertia: list[Scalar] = [0.0, 0.0, 0.0]
        inertia[row] = _formula("({}) * ({})", share, along)
        for i in others:
            # The part's own length, and its share of what the cross-section adds.
            inertia[i] = _formula(
                "({0}) * (({1}) - ({2}) * ({3}) / 12 * (1 - ({0}) ** 2))", share, body.inertia[i], body.mass, square
            )
        mass = _formula("({}) * ({})", share, body.mass)
        parts.append(replace(body, mass=mass, com=tuple(com), inertia=tuple(inertia)))  # type: ignore[arg-type]
    return parts[0], parts[1]


def _remainder(body: Body, outboard: Body, values: Mapping[str, float]) -> tuple[Body, Body]:
    """Return what is left of a body without ``outboard``, and ``outboard``."""
    mass = _formula("({}) - ({})", body.mass, outboard.mass)
    if not float(evaluate(mass, values)) > 0:
        raise MechanismError(
            f"body '{body.name}' has {float(evaluate(body.mass, values)):g} kg, so the part beyond the section cannot have "
            f"{float(evaluate(outboard.mass, values)):g} kg"
        )
    com = tuple(
        _formula("(({}) * ({}) - ({}) * ({})) / ({})", body.mass, a, outboard.mass, b, mass)
        for a, b in zip(body.com, outboard.com, strict=True)
    )
    entries = []
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        whole, away = (_about_origin(item.mass, item.com, item.inertia, i, j) for item in (body, outboard))
        shift = _about_origin(mass, com, (0.0,) * 6, i, j)
        entries.append(_formula("({}) - ({}) - ({})", whole, away, shift))
    return replace(body, mass=mass, com=com, inertia=tuple(entries)), outboard  # type: ignore[arg-type]


def _about_origin(mass: Scalar, com: Sequence[Scalar], inertia: Sequence[Scalar], i: int, j: int) -> Scalar:
    """Return an entry of the inertia matrix about the frame origin (Steiner)."""
    entries = [*inertia, 0.0, 0.0, 0.0][:6]
    own = entries[{(0, 0): 0, (1, 1): 1, (2, 2): 2, (0, 1): 3, (0, 2): 4, (1, 2): 5}[i, j]]
    if i == j:
        a, b = (com[k] for k in range(3) if k != i)
        return _formula("({}) + ({}) * (({}) ** 2 + ({}) ** 2)", own, mass, a, b)
    return _formula("({}) - ({}) * ({}) * ({})", own, mass, com[i], com[j])


def _moved(
    mechanism: Mechanism, body: str, outer: str, beyond: Any, move: Collection[str], plugins: PluginSet | None
) -> list[ForceElement]:
    names = [force.name for force in mechanism.forces]
    for name in move:
        if name not in names:
            raise MechanismError(
                f"'{mechanism.name}' has no force '{name}' to move{closest(name, names)} Forces: {listed(names)}."
            )
    plugins = plugins or PluginSet()
    forces = []
    for force in mechanism.forces:
        cls = plugins.forces.get(force.kind)
        options, changed = fill(cls.Options, force.options, f"force '{force.name}'"), dict(force.options)
        for field, hint in get_type_hints(cls.Options).items():
            if hint not in (BodyName, AnchorName) or getattr(options, field) != body:
                continue
            # The fields of a point are called like those of the built-in forces: body and at, other and other_at.
            point = getattr(options, "at" if field == "body" else f"{field}_at", None)
            if force.name in move or (point is not None and beyond(point)):
                changed[field] = outer
        forces.append(ForceElement(force.kind, force.name, **changed))
    return forces


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken: the given one, or with the first number that makes it new."""
    if name not in taken:
        return name
    return next(f"{name}{i}" for i in range(2, len(taken) + 3) if f"{name}{i}" not in taken)


def _sum(value: Scalar, number: float) -> Scalar:
    return _formula("({}) + ({})", value, number)


def _formula(pattern: str, *values: Scalar) -> Scalar:
    """Return a formula of numbers and formulas; a number if no names are left in it."""
    texts = [str(value) if isinstance(value, Expression) else repr(value) for value in map(as_scalar, values)]
    return as_scalar(pattern.format(*texts))
