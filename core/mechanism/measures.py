"""Measures: named scalar functions of the configuration of a machine.

A measure depends on where everything is, never on how it moves: on the coordinates, the parameters and, where joints are given,
on the time. So it can be watched, led along a path, bounded or minimised, and differentiated as often as that takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert, convert_fields
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3
from kingpost.mechanism.elements import WORLD, check_name
from kingpost.mechanism.free_motion import free_motion_units

if TYPE_CHECKING:
    from kingpost.mechanism.mechanism import Mechanism

#: First words of channels that every result may hold, and what time is called in files and FMUs.
RESERVED = ("energy", "loads", "momentum", "constraints", "time", "t")
AXES: dict[str, Vector3] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class MeasureKind:
    """What a kind of measure is made of; None for a unit that is its parts'."""

    needs: tuple[str, ...]
    takes: tuple[str, ...]
    unit: str | None
    summary: str


MEASURE_KINDS: Mapping[str, MeasureKind] = {
    "coordinate": MeasureKind(("coordinate",), (), None, "a joint coordinate"),
    "position": MeasureKind(("body", "axis"), ("at", "of", "origin"), "m", "a component of the position of a point"),
    "distance": MeasureKind(("body",), ("at", "other", "other_at"), "m", "the distance between two points"),
    "azimuth": MeasureKind(
        ("body", "axis"), ("at", "of", "origin", "zero", "near"), "rad", "the angle of a point about an axis"
    ),
    "rotation": MeasureKind(("body", "axis"), ("of", "reference"), "rad", "a component of a rotation vector"),
    "combination": MeasureKind(("terms",), (), None, "a weighted sum of measures and coordinates"),
}
#: What a field is where its kind takes it and nobody gives it. The direction ``zero`` follows from a letter of ``axis``.
MEASURE_DEFAULTS: dict[str, Any] = {
    "at": ZERO_VECTOR,
    "of": WORLD,
    "origin": ZERO_VECTOR,
    "other": WORLD,
    "other_at": ZERO_VECTOR,
    "near": 0.0,
    "reference": ZERO_VECTOR,
}
_EXAMPLES = {
    "coordinate": '"slew.angle"',
    "body": '"load"',
    "axis": '"z" or [1, 1, 0]',
    "terms": '{ "slew.angle" = 1, "luff.angle" = "ratio" }',
}


@dataclass(frozen=True)
class Measure:
    """A named scalar function of the configuration: a channel of its own name in every result, and an output of FMUs.

    Each kind takes some of the fields; formulas in them may use parameters.

    Parameters
    ----------
    kind
        ``coordinate``, ``position``, ``distance``, ``azimuth``, ``rotation`` or ``combination``.
    coordinate
        Of a coordinate: its full name, such as ``"slew.angle"``; angles are followed through full turns. Or a motion of a free
        joint, such as ``"hull.roll"``, within half a turn.
    body, at
        The body, and of a position, distance or azimuth the point on it, in its frame (m).
    axis
        Of a position the direction along which, of an azimuth the axis about which it is, of a rotation the component of the
        rotation vector: ``"x"``, ``"y"``, ``"z"``, or a direction of any length but zero. In the axes of ``of``; that of a
        rotation in those of the ``reference``.
    of, origin
        The frame from which body and point are seen: a body, or the world. ``origin`` (m) is the point of it from which a
        position counts, or through which the axis of an azimuth goes.
    zero, near
        Of an azimuth: the direction at which it is zero (by default the letter after ``axis``: y for x, z for y, x for z), and
        a number (rad): values are within half a turn of it.
    other, other_at
        Of a distance: the other point, on a body or in the world.
    reference
        Of a rotation: roll, pitch, yaw (rad) of the orientation R0 in ``of`` from which it counts. The rotation vector is that
        of R0' R, within half a turn; along a turn about a fixed axis e by the angle s it is e s.
    terms
        Of a combination: weights by the names of measures, joint coordinates, or components of outputs such as ``load.x``.
    description
        For people, and for FMUs.

    """

    name: str
    kind: str
    coordinate: str = ""
    body: str = ""
    at: Vector3 | None = None
    axis: str | Vector3 | None = None
    of: str = ""
    origin: Vector3 | None = None
    zero: Vector3 | None = None
    near: Scalar | None = None
    other: str = ""
    other_at: Vector3 | None = None
    reference: Vector3 | None = None
    terms: Mapping[str, Scalar] | tuple[tuple[str, Scalar], ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        check_name("measure", self.name)
        what = f"measure '{self.name}'"
        if self.kind not in MEASURE_KINDS:
            raise MechanismError(
                f"{what}: unknown kind {self.kind!r}{closest(str(self.kind), MEASURE_KINDS)} Kinds: {listed(MEASURE_KINDS)}.",
                path=("kind",),
            )
        convert_fields(self, what)
        object.__setattr__(self, "axis", _direction(what, self.axis))
        object.__setattr__(self, "terms", _pairs(what, self.terms))
        kind = MEASURE_KINDS[self.kind]
        for name in (*MEASURE_DEFAULTS, *_EXAMPLES, "zero"):
            given = getattr(self, name) not in (None, "", ())
            if given and name not in (*kind.needs, *kind.takes):
                raise MechanismError(
                    f"{what} is a {self.kind} and has no '{name}'; remove it. It takes: {listed((*kind.needs, *kind.takes))}.",
                    path=(name,),
                )
            if not given and name in kind.needs:
                raise MechanismError(f"{what} is a {self.kind} and lacks '{name}', e.g. {_EXAMPLES[name]}")
            if not given and name in kind.takes and name in MEASURE_DEFAULTS:
                object.__setattr__(self, name, MEASURE_DEFAULTS[name])
        self._check_directions(what)

    def _check_directions(self, what: str) -> None:
        for name in ("axis", "zero"):
            value = getattr(self, name)
            if isinstance(value, tuple) and all(component == 0.0 for component in value):
                raise MechanismError(f"{what}: {name} is [0, 0, 0]; give a direction, e.g. [1, 1, 0]", path=(name,))
        if self.kind == "azimuth" and self.zero is None and not isinstance(self.axis, str):
            raise MechanismError(
                f"{what}: its axis is a direction, so it lacks 'zero', the direction at which the angle is zero, e.g. "
                "[1, 0, 0]; with an axis x, y or z it may be left out"
            )

    @property
    def direction(self) -> Vector3:
        """The axis as a vector of any length but zero."""
        assert self.axis is not None
        return AXES[self.axis] if isinstance(self.axis, str) else self.axis

    @property
    def zero_direction(self) -> Vector3:
        """The direction at which an azimuth is zero."""
        if self.zero is not None:
            return self.zero
        assert isinstance(self.axis, str)
        return AXES["xyz"["xyz".index(self.axis) - 2]]

    @property
    def weights(self) -> tuple[tuple[str, Scalar], ...]:
        """The terms of a combination: names and weights."""
        assert isinstance(self.terms, tuple)
        return self.terms

    @property
    def frame(self) -> str:
        """The axes in which a component is given; empty for what is no component."""
        # A rotation vector has the same components before and after its own turn.
        return {"position": self.of, "azimuth": self.of, "rotation": self.body}.get(self.kind, "")

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        if self.description:
            return self.description
        axis = self.axis if isinstance(self.axis, str) else "a direction"
        seen = f"of '{self.body}' seen from '{self.of}'"
        return {
            "coordinate": f"coordinate {self.coordinate}",
            "position": f"position along {axis} of a point {seen}",
            "distance": f"distance of a point of '{self.body}' from a point of '{self.other}'",
            "azimuth": f"angle about {axis} of a point {seen}",
            "rotation": f"component along {axis} of the rotation vector {seen}",
            "combination": f"weighted sum of {listed(name for name, _ in self.weights)}",
        }[self.kind]


def _direction(what: str, axis: Any) -> Any:
    if axis is None:
        return None
    if isinstance(axis, str):
        if axis not in AXES:
            raise MechanismError(f"{what}: axis is '{axis}'; give x, y or z, or a direction such as [1, 1, 0]", path=("axis",))
        return axis
    try:
        return convert(Vector3, axis)
    except MechanismError as error:
        raise MechanismError(f"{what}: axis: {error}", path=("axis",)) from None


def _pairs(what: str, terms: Any) -> tuple[tuple[str, Scalar], ...]:
    try:
        pairs = convert(tuple[tuple[str, Scalar], ...], list(terms.items()) if isinstance(terms, Mapping) else terms)
    except MechanismError as error:
        raise MechanismError(
            f"{what}: terms: {error}; write names and weights, e.g. {_EXAMPLES['terms']}", path=("terms",)
        ) from None
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MechanismError(f"{what}: terms holds {listed(twice)} twice; add its weights up", path=("terms",))
    return tuple(pairs)


def known_units(mechanism: Mechanism) -> dict[str, str]:
    """Return the units of what measures may be made of, beside measures: joint coordinates, motions of free joints, points."""
    units = {quantity.name: quantity.unit for quantity in mechanism.coordinates} | free_motion_units(mechanism)
    places = [output for output in mechanism.outputs if output.quantity == "position"]
    return units | {f"{output.name}.{axis}": output.unit for output in places for axis in AXES}


def measure_units(measures: Iterable[Measure], known: Mapping[str, str]) -> dict[str, str]:
    """Return the units of measures by name; refuse parts that are not there, that do not fit, or that hold each other."""
    by_name = {measure.name: (i, measure) for i, measure in enumerate(measures)}
    units: dict[str, str] = {}

    def unit_of(name: str, holders: tuple[str, ...]) -> str:
        if name in known:
            return known[name]
        if name not in units:
            i, measure = by_name[name]
            if name in holders:
                loop = (*holders[holders.index(name) :], name)
                raise MechanismError(
                    f"measure '{name}' is a combination of itself: {' -> '.join(loop)}; take one of them out of the terms of "
                    "another",
                    path=("measures", i, "terms"),
                )
            units[name] = found(measure, i, (*holders, name))
        return units[name]

    def found(measure: Measure, i: int, holders: tuple[str, ...]) -> str:
        own = MEASURE_KINDS[measure.kind].unit
        if own is not None:
            return own
        if measure.kind == "coordinate":
            return known[measure.coordinate]
        parts = {name: unit_of(name, holders) for name, _ in measure.weights}
        first, *others = parts.items()
        for name, unit in others:
            if unit != first[1]:
                raise MechanismError(
                    f"measure '{measure.name}' adds '{first[0]}' in {first[1]} and '{name}' in {unit}; terms have one unit",
                    path=("measures", i, "terms"),
                )
        return first[1]

    for name in by_name:
        unit_of(name, ())
    return units


def check_measures(mechanism: Mechanism) -> None:
    """Refuse measures with the name of something else, or of bodies and coordinates that are not there."""
    taken: dict[str, str] = {}
    for kind in ("joints", "closures", "parameters", "inputs"):
        taken |= {entry.name: f"{kind.removesuffix('s')} of the machine" for entry in getattr(mechanism, kind)}
    taken |= dict.fromkeys(RESERVED, "word that results and files use")
    bodies = [body.name for body in mechanism.bodies]
    coordinates = [*(quantity.name for quantity in mechanism.coordinates), *free_motion_units(mechanism)]
    for i, measure in enumerate(mechanism.measures):
        try:
            if measure.name in taken:
                raise MechanismError(
                    f"measure '{measure.name}' has the name of a {taken[measure.name]}; choose another", path=("name",)
                )
            _check_bodies(measure, bodies)
            if measure.kind == "coordinate":
                _check_known(measure, "coordinate", measure.coordinate, coordinates, "a joint coordinate", "Coordinates")
            summable = [*(item.name for item in mechanism.measures), *known_units(mechanism)]
            for name, _ in measure.weights:
                what = "a measure, a joint coordinate, or a component of an output that is a position"
                _check_known(measure, "terms", name, summable, what, "Known")
        except MechanismError as error:
            raise error.within("measures", i) from None


def _check_bodies(measure: Measure, bodies: list[str]) -> None:
    if measure.body:
        _check_known(measure, "body", measure.body, bodies, "a body", "Bodies")
    for field in ("of", "other"):
        if getattr(measure, field):
            _check_known(measure, field, getattr(measure, field), [WORLD, *bodies], f"a body, nor '{WORLD}'", "Known")
            if getattr(measure, field) == measure.body:
                raise MechanismError(
                    f"measure '{measure.name}' never changes: '{measure.body}' is seen from itself; name another body in "
                    f"'{field}', or '{WORLD}'",
                    path=(field,),
                )


def _check_known(measure: Measure, field: str, name: str, known: Collection[str], what: str, plural: str) -> None:
    if name not in known:
        raise MechanismError(
            f"measure '{measure.name}': {field}: '{name}' is not {what}{closest(name, known)} {plural}: {listed(known)}.",
            path=(field,),
        )


def measure_channels(mechanism: Mechanism) -> tuple[Channel, ...]:
    """Return the channels of a mechanism's measures."""
    units = mechanism.measure_units
    return tuple(Channel(measure.name, units[measure.name], measure.frame) for measure in mechanism.measures)
