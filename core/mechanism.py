"""What a machine is: bodies, joints, force elements, inputs, outputs and parameters. No equations, no numerics.

Everything here is a frozen dataclass, so a mechanism can be compared, copied with changes (``dataclasses.replace``) and
written to a file. Any number may be a formula in the parameters: ``mass="rho * volume"`` or ``mass=rho * volume`` with
``rho = Parameter("rho", 7850.0, "kg/m3")``. TOML model files use the same words (docs/model-files.md).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from kingpost.errors import MechanismError, closest, listed
from kingpost.expressions import CONSTANTS, FUNCTIONS, Arithmetic, Expression, Scalar, Scalars, Vector3
from kingpost.fields import convert_fields
from kingpost.joints import JOINT_KINDS, Coordinate

WORLD = "world"
TIME = "t"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
ZERO: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Parameter(Arithmetic):
    """A named number with unit and default, usable in any field; changing it never recompiles."""

    name: str
    default: float
    unit: str
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        _check_symbol("parameter", self.name)
        _check_description("parameter", self)
        convert_fields(self, f"parameter '{self.name}'")
        self.check(self.default)

    def check(self, value: float) -> None:
        """Refuse a value outside the declared range."""
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            raise MechanismError(
                f"parameter '{self.name}' is {value:g} {self.unit}, outside its range "
                f"[{'-inf' if low is None else f'{low:g}'}, {'inf' if high is None else f'{high:g}'}] {self.unit}"
            )

    def _text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Input(Arithmetic):
    """A signal from outside, held over each output step; usable in any field of a force."""

    name: str
    unit: str
    default: float = 0.0
    description: str = ""

    def __post_init__(self) -> None:
        _check_symbol("input", self.name)
        _check_description("input", self)
        convert_fields(self, f"input '{self.name}'")

    def _text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Body:
    """A rigid body.

    Parameters
    ----------
    mass
        Mass in kg.
    com
        Centre of mass in the body frame, m.
    inertia
        About the centre of mass, along the body axes, kg m^2: ``(Ixx, Iyy, Izz)`` or
        ``(Ixx, Iyy, Izz, Ixy, Ixz, Iyz)``, the last three being entries of the inertia matrix (not their negatives).

    """

    name: str
    mass: Scalar
    com: Vector3 = ZERO
    inertia: tuple[Scalar, ...] = ZERO

    def __post_init__(self) -> None:
        _check_name("body", self.name)
        convert_fields(self, f"body '{self.name}'")
        if self.name == WORLD:
            raise MechanismError(f"body '{WORLD}': this name is taken by the inertial frame; choose another")
        if len(self.inertia) not in (3, 6):
            raise MechanismError(
                f"body '{self.name}': inertia has {len(self.inertia)} entries; give Ixx, Iyy, Izz "
                "or Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the centre of mass",
                path=("inertia",),
            )


@dataclass(frozen=True)
class Joint:
    """A joint that carries ``child`` on ``parent``.

    The joint moves a frame M, fixed in the child, against a frame F, fixed in the parent. ``position`` and ``rotation``
    place F in the parent's body frame, ``child_position`` and ``child_rotation`` place M in the child's body frame (by
    default M is the body frame). Rotations are roll, pitch, yaw in rad: R = Rz(yaw) Ry(pitch) Rx(roll).

    Parameters
    ----------
    axis
        Direction in F (and M) of a revolute or prismatic joint; any length but zero.
    start, start_rate
        Initial coordinates and rates: one number for each coordinate (rad, m; rad/s, m/s).
    coordinates
        Own names for the coordinates; by default ``angle`` (revolute) and ``displacement`` (prismatic).

    """

    name: str
    kind: str
    parent: str
    child: str
    axis: Vector3 | None = None
    position: Vector3 = ZERO
    rotation: Vector3 = ZERO
    child_position: Vector3 = ZERO
    child_rotation: Vector3 = ZERO
    start: Scalars = ()
    start_rate: Scalars = ()
    coordinates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name("joint", self.name)
        what = f"joint '{self.name}'"
        if self.kind not in JOINT_KINDS:
            raise MechanismError(
                f"{what}: unknown kind '{self.kind}'{closest(str(self.kind), JOINT_KINDS)} "
                f"Kinds: {listed(sorted(JOINT_KINDS))}.",
                path=("kind",),
            )
        convert_fields(self, what)
        kind = JOINT_KINDS[self.kind]
        size = len(kind.coordinates)
        for name in ("start", "start_rate", "coordinates"):
            given = getattr(self, name)
            if given and len(given) != size:
                raise MechanismError(
                    f"{what}: {name} has {len(given)} entries, but a {self.kind} joint has {size} coordinate(s)",
                    path=(name,),
                )
        object.__setattr__(self, "start", self.start or (0.0,) * size)
        object.__setattr__(self, "start_rate", self.start_rate or (0.0,) * size)
        names = self.coordinates or tuple(coordinate.name for coordinate in kind.coordinates)
        for coordinate in names:
            _check_symbol(f"{what}: coordinate", coordinate)
        object.__setattr__(self, "coordinates", names)
        if size and self.axis is None:
            raise MechanismError(f"{what} is {self.kind} and lacks 'axis', its direction, e.g. [0, 0, 1]")
        if self.axis is not None and all(component == 0.0 for component in self.axis):
            raise MechanismError(f"{what}: axis is [0, 0, 0]; give a direction, e.g. [0, 0, 1]", path=("axis",))

    @property
    def start_values(self) -> tuple[Scalar, ...]:
        """The initial coordinates followed by the initial rates."""
        return (*_several(self.start), *_several(self.start_rate))

    @property
    def quantities(self) -> tuple[Coordinate, ...]:
        """The coordinates with their full names, such as ``slew.angle``."""
        return tuple(
            Coordinate(f"{self.name}.{name}", coordinate.unit)
            for name, coordinate in zip(self.coordinates, JOINT_KINDS[self.kind].coordinates, strict=True)
        )


class ForceElement:
    """A force acting in the mechanism: the name of a force plugin and its options.

    >>> ForceElement("gravity", acceleration=(0, 0, -1.62)).kind
    'gravity'
    """

    kind: str
    name: str
    options: Mapping[str, Any]

    def __init__(self, kind: str, /, name: str = "", **options: Any) -> None:
        _check_name("force kind", kind)
        _check_name("force", name or kind)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "name", name or kind)
        object.__setattr__(self, "options", MappingProxyType({key: _frozen(value) for key, value in options.items()}))

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'")

    def _key(self) -> tuple[Any, ...]:
        return self.kind, self.name, tuple(sorted(self.options.items(), key=lambda item: item[0]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForceElement) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"ForceElement({self.kind!r}, name={self.name!r}{options})"


@dataclass(frozen=True)
class Output:
    """The motion of a point of a body, in world axes: three channels ``name.x``, ``name.y``, ``name.z``."""

    name: str
    body: str
    at: Vector3 = ZERO
    quantity: Literal["position", "velocity"] = "position"

    def __post_init__(self) -> None:
        _check_name("output", self.name)
        convert_fields(self, f"output '{self.name}'")

    @property
    def unit(self) -> str:
        """The unit of the three channels."""
        return "m" if self.quantity == "position" else "m/s"


@dataclass(frozen=True)
class Mechanism:
    """A machine: a tree of rigid bodies on the world, and what acts on it."""

    name: str
    bodies: Sequence[Body]
    joints: Sequence[Joint]
    forces: Sequence[ForceElement] = ()
    parameters: Sequence[Parameter] = ()
    inputs: Sequence[Input] = ()
    outputs: Sequence[Output] = ()
    description: str = ""
    _tree: tuple[Joint, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        _check_name("mechanism", self.name)
        for name, cls in _ENTRIES.items():
            entries = tuple(getattr(self, name))
            for i, entry in enumerate(entries):
                if not isinstance(entry, cls):
                    raise MechanismError(f"{name}[{i}] is {entry!r}, expected a {cls.__name__}", path=(name, i))
            object.__setattr__(self, name, entries)
        self._check_unique_names()
        self._check_references()
        object.__setattr__(self, "_tree", tuple(self._base_to_tip()))
        self._check_formulas()

    @property
    def tree(self) -> tuple[Joint, ...]:
        """The joints, each after the joint that carries its parent."""
        return self._tree

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """All joint coordinates, in the order of ``joints``: the order of q and v everywhere."""
        return tuple(coordinate for joint in self.joints for coordinate in joint.quantities)

    def body(self, name: str) -> Body:
        """Return the body called ``name``."""
        return next(body for body in self.bodies if body.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain data, in the words of a TOML model file."""
        plain = {name: [_plain(entry) for entry in getattr(self, name)] for name in _ENTRIES}
        for name in ("parameters", "inputs"):
            plain[name] = {entry.pop("name"): entry for entry in plain[name]}  # type: ignore[assignment]
        return {"name": self.name, "description": self.description, **{k: v for k, v in plain.items() if v}}

    def digest(self) -> str:
        """Return a short hash of the description, equal for equal mechanisms."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def _check_unique_names(self) -> None:
        for group in (("bodies",), ("joints",), ("forces",), ("outputs",), ("parameters", "inputs")):
            seen: set[str] = set()
            for kind in group:
                for i, entry in enumerate(getattr(self, kind)):
                    if entry.name in seen:
                        raise MechanismError(f"two {' or '.join(group)} are called '{entry.name}'", path=(kind, i))
                    seen.add(entry.name)
        channels = [coordinate.name.split(".")[0] for coordinate in self.coordinates]
        for i, output in enumerate(self.outputs):
            if output.name in channels or output.name == "energy":
                raise MechanismError(
                    f"output '{output.name}' has the name of a joint or of the energies; choose another",
                    path=("outputs", i),
                )

    def _check_references(self) -> None:
        known = {body.name for body in self.bodies}
        carried_by: dict[str, Joint] = {}
        for i, joint in enumerate(self.joints):
            for side in ("parent", "child"):
                name = getattr(joint, side)
                if name not in known and not (side == "parent" and name == WORLD):
                    raise MechanismError(
                        f"joint '{joint.name}': its {side} '{name}' is not a body{closest(name, known)} "
                        f"Bodies: {listed(sorted(known))}.",
                        path=("joints", i, side),
                    )
            if joint.child in carried_by:
                raise MechanismError(
                    f"body '{joint.child}' is the child of two joints, '{carried_by[joint.child].name}' and "
                    f"'{joint.name}'; a tree has one joint for each body",
                    path=("joints", i, "child"),
                )
            carried_by[joint.child] = joint
        for i, body in enumerate(self.bodies):
            if body.name not in carried_by:
                raise MechanismError(
                    f"body '{body.name}' is not connected: no joint has it as its child. Add a joint with "
                    f"child = '{body.name}' (a weld to '{WORLD}' fixes it)",
                    path=("bodies", i),
                )
        for i, output in enumerate(self.outputs):
            if output.body not in known:
                raise MechanismError(
                    f"output '{output.name}': '{output.body}' is not a body{closest(output.body, known)} "
                    f"Bodies: {listed(sorted(known))}.",
                    path=("outputs", i, "body"),
                )

    def _base_to_tip(self) -> Iterator[Joint]:
        placed = {WORLD}
        waiting = list(self.joints)
        while waiting:
            ready = [joint for joint in waiting if joint.parent in placed]
            if not ready:
                self._refuse_loop(waiting)
            for joint in ready:
                placed.add(joint.child)
                waiting.remove(joint)
                yield joint

    def _refuse_loop(self, waiting: list[Joint]) -> None:
        carrier = {joint.child: joint for joint in waiting}
        path = [waiting[0].child]
        while carrier[path[-1]].parent not in path:
            path.append(carrier[path[-1]].parent)
        loop = path[path.index(carrier[path[-1]].parent) :]
        joint = carrier[loop[0]]
        raise MechanismError(
            f"the bodies {' -> '.join([*loop, loop[0]])} carry each other in a loop that never reaches '{WORLD}'; "
            f"change the parent of joint '{joint.name}' or of another joint of the loop",
            path=("joints", self.joints.index(joint), "parent"),
        )

    def _check_formulas(self) -> None:
        known = {parameter.name for parameter in self.parameters}
        for kind, singular in (("bodies", "body"), ("joints", "joint"), ("outputs", "output")):
            for i, entry in enumerate(getattr(self, kind)):
                try:
                    check_formulas(entry, f"{singular} '{entry.name}'", known)
                except MechanismError as error:
                    raise error.within(kind, i) from None


_ENTRIES: dict[str, type] = {
    "parameters": Parameter,
    "inputs": Input,
    "bodies": Body,
    "joints": Joint,
    "forces": ForceElement,
    "outputs": Output,
}


def check_formulas(entry: Any, what: str, known: Iterable[str]) -> None:
    """Refuse a dataclass whose formulas use a name that is not ``known``."""
    for key, value in vars(entry).items():
        for expression in _expressions(value):
            for name in sorted(expression.names - set(known)):
                raise MechanismError(
                    f"{what}: {key} = '{expression}' uses '{name}', which is not declared{closest(name, known)} "
                    f"Known here: {listed(sorted(known))}.",
                    path=(key,),
                )


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise MechanismError(f"{what} name {name!r}: use a letter, then letters, digits, '-' or '_'", path=("name",))


def _check_symbol(what: str, name: Any) -> None:
    if not isinstance(name, str) or not _SYMBOL.match(name):
        raise MechanismError(
            f"{what} name {name!r}: use a letter, then letters, digits or '_', since formulas use it", path=("name",)
        )
    if name in FUNCTIONS or name in CONSTANTS or name == TIME:
        raise MechanismError(f"{what} name '{name}' is taken by the formula language; choose another", path=("name",))


def _check_description(what: str, entry: Parameter | Input) -> None:
    if not isinstance(entry.unit, str) or not entry.unit:
        raise MechanismError(f"{what} '{entry.name}' lacks a unit; write '1' for a pure number", path=("unit",))
    if entry.description == "":
        object.__setattr__(entry, "description", entry.name.replace("_", " "))


def _several(value: Scalars) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)


def _expressions(value: Any) -> Iterable[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)


def _frozen(value: Any) -> Any:
    """Turn lists into tuples and parameters into expressions, so that options can be compared and hashed."""
    if isinstance(value, list | tuple):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, Arithmetic):
        return Expression(value._text())
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, ForceElement):
        return {"kind": value.kind, "name": value.name, **{k: _plain(v) for k, v in value.options.items()}}
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        items = {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
        return {name: _plain(item) for name, item in items.items() if item is not None and item != ""}
    return value
