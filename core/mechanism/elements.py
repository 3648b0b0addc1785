"""What a mechanism is made of: parameters, inputs, bodies, joints, force elements and outputs.

Everything here is frozen and compares by value. Any number may be a formula in the parameters: ``mass="rho * volume"``, or
``mass=rho * volume`` with ``rho = Parameter("rho", 7850.0, "kg/m3")``.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from kingpost.base.channels import Quantity
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert_fields
from kingpost.base.formulas import CONSTANTS, FUNCTIONS, ZERO_VECTOR, Arithmetic, Expression, Scalar, Scalars, Vector3
from kingpost.base.load_frames import WORLD as WORLD
from kingpost.base.units import check_unit
from kingpost.mechanism.shapes import Shape
from kingpost.symbols.joints import JOINT_KINDS, JointKind

TIME = "t"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class Parameter(Arithmetic):
    """A named number with unit and default, usable in any field; changing it never recompiles."""

    name: str
    default: float
    unit: str
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    #: Whether listings, messages and exports leave it out, being one of thousands.
    hidden: ClassVar[bool] = False

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
class WaveNumber(Parameter):
    """One of the numbers of one of the waves that a sea is made of: a parameter that nobody sets, or reads, by itself."""

    hidden: ClassVar[bool] = True
    #: The force that it belongs to.
    force: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "default", float(self.default))


@dataclass(frozen=True)
class Input(Arithmetic):
    """A signal from outside, held over each output step or moving as a run says; usable in any field of a force."""

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
    shape
        What it looks like in pictures: one shape or several. Without, a picture draws bars between its joints.

    """

    name: str
    mass: Scalar
    com: Vector3 = ZERO_VECTOR
    inertia: tuple[Scalar, ...] = ZERO_VECTOR
    shape: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        check_name("body", self.name)
        if isinstance(self.shape, Shape | Mapping):
            object.__setattr__(self, "shape", (self.shape,))
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
    kind
        One of the kinds of :mod:`kingpost.symbols.joints`; each needs some of the next four fields.
    axis, axis2
        Directions in F (and M); any length but zero. The second one of a universal joint is fixed in the child; that of a
        planar joint is the first direction in the plane, and must be perpendicular to ``axis``, the normal.
    pitch
        Of a screw joint, in m/rad.
    sequence
        Axes of a gimbal joint, from the parent to the child, e.g. ``"zyx"`` or ``"zxz"``.
    start, start_rate
        Initial coordinates, and initial generalized speeds (the rates of the coordinates, but for joints with quaternions).
    coordinates
        Own names for the coordinates; by default those of the kind.
    pose, twist, twist_rate
        Of a given joint: x, y, z (m) of M in F with roll, pitch, yaw (rad) or a quaternion w, x, y, z; the twist of M about its
        origin in its own axes, wx, wy, wz (rad/s), vx, vy, vz (m/s); and the rates of these six numbers. They may be formulas
        of parameters, inputs and the time; without inputs in the pose, the others follow from it.
    since
        Of a given joint whose motion comes from inputs: the time (s) at which they were true. The motion goes on from there
        with a constant twist_rate until new ones come; without, pose and twist stand still between them.
    stiffness
        Of the bearing, for loads that rigid bodies alone leave open (docs/joint-loads.md): one for turning (N.m/rad) and one
        for shifting (N/m), or three of each along the axes of M. The joint itself stays rigid in the motion.

    """

    name: str
    kind: str
    parent: str
    child: str
    axis: Vector3 | None = None
    axis2: Vector3 | None = None
    pitch: Scalar | None = None
    sequence: str | None = None
    position: Vector3 = ZERO_VECTOR
    rotation: Vector3 = ZERO_VECTOR
    child_position: Vector3 = ZERO_VECTOR
    child_rotation: Vector3 = ZERO_VECTOR
    start: Scalars = ()
    start_rate: Scalars = ()
    coordinates: tuple[str, ...] = ()
    pose: tuple[Scalar, ...] | None = None
    twist: tuple[Scalar, ...] | None = None
    twist_rate: tuple[Scalar, ...] | None = None
    since: Scalar | None = None
    stiffness: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        check_name("joint", self.name)
        what = f"joint '{self.name}'"
        if self.kind not in JOINT_KINDS:
            raise MechanismError(
                f"{what}: unknown kind '{self.kind}'{closest(str(self.kind), JOINT_KINDS)} "
                f"Kinds: {listed(sorted(JOINT_KINDS))}.",
                path=("kind",),
            )
        convert_fields(self, what)
        kind = JOINT_KINDS[self.kind]
        if self.stiffness and kind.freedom == 6:
            raise MechanismError(
                f"{what} is {self.kind} and carries nothing, so it has no 'stiffness'; remove it", path=("stiffness",)
            )
        check_stiffness(what, self.stiffness)
        sizes = {"start": len(kind.coordinates), "start_rate": kind.freedom, "coordinates": len(kind.coordinates)}
        for name, size in sizes.items():
            given = getattr(self, name)
            if given and len(given) != size:
                raise MechanismError(
                    f"{what}: {name} has {len(given)} entries, but a {self.kind} joint has {size} of them", path=(name,)
                )
        object.__setattr__(self, "start", self.start or kind.neutral)
        object.__setattr__(self, "start_rate", self.start_rate or (0.0,) * kind.freedom)
        names = self.coordinates or tuple(coordinate.name for coordinate in kind.coordinates)
        for coordinate in names:
            _check_symbol(f"{what}: coordinate", coordinate)
        if len(set(names)) < len(names):
            raise MechanismError(f"{what}: two coordinates have the same name: {listed(names)}", path=("coordinates",))
        object.__setattr__(self, "coordinates", names)
        self._check_geometry(what, kind)

    def _check_geometry(self, what: str, kind: JointKind) -> None:
        examples = {
            "axis": "[0, 0, 1]",
            "axis2": "[1, 0, 0]",
            "pitch": "0.01",
            "sequence": '"zyx"',
            "pose": '[0, 0, "sin(t)", 0, 0, 0]',
        }
        for name, example in examples.items():
            given = getattr(self, name) is not None
            if given and name not in kind.needs:
                raise MechanismError(f"{what} is {self.kind} and has no '{name}'; remove it", path=(name,))
            if not given and name in kind.needs:
                raise MechanismError(f"{what} is {self.kind} and lacks '{name}', e.g. {example}")
        for name in ("axis", "axis2"):
            value = getattr(self, name)
            if value is not None and all(component == 0.0 for component in value):
                raise MechanismError(f"{what}: {name} is [0, 0, 0]; give a direction, e.g. [0, 0, 1]", path=(name,))
        self._check_given(what)
        letters = self.sequence
        if letters is not None and (
            len(letters) != 3 or not set(letters) <= set("xyz") or letters[0] == letters[1] or letters[1] == letters[2]
        ):
            raise MechanismError(
                f"{what}: sequence is '{letters}'; give three axes from x, y, z with no two equal in a row, e.g. 'zyx'",
                path=("sequence",),
            )

    def _check_given(self, what: str) -> None:
        sizes: dict[str, tuple[int, ...]] = {"pose": (6, 7), "twist": (6,), "twist_rate": (6,)}
        for name, allowed in sizes.items():
            value = getattr(self, name)
            if value is None:
                continue
            if self.kind != "given":
                raise MechanismError(f"{what} is {self.kind} and has no '{name}'; remove it", path=(name,))
            if len(value) not in allowed:
                expected = (
                    "x, y, z, roll, pitch, yaw, or x, y, z and a quaternion" if name == "pose" else "wx, wy, wz, vx, vy, vz"
                )
                raise MechanismError(f"{what}: {name} has {len(value)} entries; give {expected}", path=(name,))
        if self.twist_rate is not None and self.twist is None:
            raise MechanismError(f"{what} has a twist_rate without a twist; give both, or neither", path=("twist_rate",))
        if self.since is not None and (self.kind != "given" or self.twist_rate is None):
            raise MechanismError(
                f"{what} has a 'since', which belongs to a given joint with pose, twist and twist_rate; remove it",
                path=("since",),
            )

    @property
    def start_values(self) -> tuple[Scalar, ...]:
        """The initial coordinates followed by the initial speeds."""
        return (*_several(self.start), *_several(self.start_rate))

    @property
    def positions(self) -> tuple[Quantity, ...]:
        """The coordinates with their full names, such as ``slew.angle``."""
        units = [coordinate.unit for coordinate in JOINT_KINDS[self.kind].coordinates]
        return tuple(Quantity(f"{self.name}.{name}", unit) for name, unit in zip(self.coordinates, units, strict=True))

    @property
    def speeds(self) -> tuple[Quantity, ...]:
        """The generalized speeds with their full names, such as ``slew.angle.rate``."""
        own = JOINT_KINDS[self.kind].speeds
        if own is None:
            return tuple(Quantity(f"{position.name}.rate", f"{position.unit}/s") for position in self.positions)
        return tuple(Quantity(f"{self.name}.{speed.name}", speed.unit) for speed in own)


class ForceElement:
    """A force acting in the mechanism: the name of a force plugin and its options.

    >>> ForceElement("gravity", acceleration=(0, 0, -1.62)).kind
    'gravity'
    """

    kind: str
    name: str
    options: Mapping[str, Any]
    #: Whether its name was given; else it is that of its kind, with a number behind it for the second and further ones.
    named: bool

    def __init__(self, kind: str, /, name: str = "", **options: Any) -> None:
        check_name("force kind", kind)
        check_name("force", name or kind)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "name", name or kind)
        object.__setattr__(self, "named", bool(name))
        object.__setattr__(self, "options", MappingProxyType({key: _frozen(value) for key, value in options.items()}))

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'")

    def _key(self) -> tuple[Any, ...]:
        return self.kind, self.name, _hashable(self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForceElement) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"ForceElement({self.kind!r}, name={self.name!r}{options})"


def numbered(forces: Iterable[ForceElement]) -> tuple[ForceElement, ...]:
    """Return forces of which those without a name of their own, but for the first of a kind, have a number: gravity-2."""
    every = list(forces)
    taken = {force.name for force in every if force.named}
    for i, force in enumerate(every):
        if not force.named and force.name in taken:
            number = next(n for n in itertools.count(2) if f"{force.kind}-{n}" not in taken)
            every[i] = ForceElement(force.kind, f"{force.kind}-{number}", **force.options)
        taken.add(every[i].name)
    return tuple(every)


@dataclass(frozen=True)
class Output:
    """The motion of a point of a body, in world axes: three channels ``name.x``, ``name.y``, ``name.z``."""

    name: str
    body: str
    at: Vector3 = ZERO_VECTOR
    quantity: Literal["position", "velocity"] = "position"

    def __post_init__(self) -> None:
        check_name("output", self.name)
        convert_fields(self, f"output '{self.name}'")

    @property
    def unit(self) -> str:
        """The unit of the three channels."""
        return "m" if self.quantity == "position" else "m/s"


@dataclass(frozen=True)
class Port:
    """Where a machine is coupled to another one: to what carries it, or to what it carries.

    On a given ``joint``, motion comes in and loads go out. Channels: the wrench on the carrier about the origin of M in M,
    ``name.Mx`` ... ``name.Fz``, its power ``name.power`` on it and, with ``energy``, the energy ``name.energy`` that has passed
    since the start (one more state). With ``inertia``, the interface inertia A (``name.A11`` ... ``name.A66``, upper triangle,
    1 to 3 angular) and the wrench ``name.free.Mx`` ... without acceleration: the wrench is
    free - A a for any rate a of the twist.

    On a ``body``, loads come in (by the force ``carried-load``) and motion goes out: that of a frame placed on it by
    ``position`` and ``rotation`` as for joints. Channels: the time ``name.t``; its place in the world ``name.x`` ... and
    orientation, a unit quaternion ``name.qw`` ... and ``name.roll``, ``name.pitch``, ``name.yaw``; its twist about its origin
    in its axes, ``name.wx`` ... ``name.vz``; and the rates of these six, ``name.wx_rate`` ...
    """

    name: str
    joint: str = ""
    inertia: bool = True
    energy: bool = False
    body: str = ""
    position: Vector3 = ZERO_VECTOR
    rotation: Vector3 = ZERO_VECTOR

    def __post_init__(self) -> None:
        check_name("port", self.name)
        convert_fields(self, f"port '{self.name}'")
        if bool(self.joint) == bool(self.body):
            raise MechanismError(f"port '{self.name}' is on a given joint or on a body; name one of them, not both")
        if self.energy and self.body:
            raise MechanismError(f"port '{self.name}' is on a body, where no wrench is known; energy belongs to one on a joint")


def check_stiffness(what: str, stiffness: tuple[Scalar, ...]) -> None:
    """Refuse stiffnesses of a joint or closure that are not two or six positive numbers."""
    if len(stiffness) not in (0, 2, 6):
        raise MechanismError(
            f"{what}: stiffness has {len(stiffness)} entries; give one for turning (N.m/rad) and one for shifting (N/m), or "
            "three of each along the axes of its frame M",
            path=("stiffness",),
        )
    for value in stiffness:
        if isinstance(value, float) and not value > 0.0:
            raise MechanismError(f"{what}: a stiffness is {value:g}; it must be positive", path=("stiffness",))


def check_name(what: str, name: Any) -> None:
    """Refuse a name that is not a letter followed by letters, digits, '-' or '_'."""
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
    check_unit(f"{what} '{entry.name}'", entry.unit)
    if entry.description == "":
        object.__setattr__(entry, "description", entry.name.replace("_", " "))


def _several(value: Scalars) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)


def _frozen(value: Any) -> Any:
    """Turn lists and arrays into tuples and parameters into expressions, so that options can be compared and hashed."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, Mapping):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    if isinstance(value, Arithmetic):
        return Expression(value._text())
    return _frozen(value.plain_data()) if hasattr(value, "plain_data") else value


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(sorted((key, _hashable(item)) for key, item in value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, tuple) else value
