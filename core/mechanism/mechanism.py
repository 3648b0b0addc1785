"""What a machine is: a tree of bodies and what acts on it. No equations, no numerics.

A mechanism is frozen, so it can be compared, copied with changes (``dataclasses.replace``) and written to a file. TOML model
files use the same words (docs/model-files.md).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from kingpost.base.channels import Quantity
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.formulas import Expression
from kingpost.base.units import Unit, parse_unit
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import (
    TIME,
    WORLD,
    Body,
    ForceElement,
    Input,
    Joint,
    Output,
    Parameter,
    Port,
    WaveNumber,
    check_name,
    numbered,
)
from kingpost.mechanism.measures import Measure, check_measures, known_units, measure_units
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.subsystems import Group, check_groups
from kingpost.mechanism.trajectories import Trajectory
from kingpost.symbols.closure_kind import SURFACE_NAMES
from kingpost.symbols.joints import JOINT_KINDS

E = TypeVar("E")


@dataclass(frozen=True)
class Mechanism:
    """A machine: a tree of rigid bodies on the world, what closes its loops, and what acts on it."""

    name: str
    bodies: Sequence[Body]
    joints: Sequence[Joint]
    forces: Sequence[ForceElement] = ()
    parameters: Sequence[Parameter] = ()
    inputs: Sequence[Input] = ()
    outputs: Sequence[Output] = ()
    closures: Sequence[Closure] = ()
    ports: Sequence[Port] = ()
    description: str = ""
    measures: Sequence[Measure] = ()
    #: Groups of bodies in which the machine is put together; none is one level, with every body on its own.
    subsystems: Sequence[Group] = ()
    _tree: tuple[Joint, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        check_name("mechanism", self.name)
        for name, cls in _ENTRIES.items():
            entries = tuple(getattr(self, name))
            for i, entry in enumerate(entries):
                if not isinstance(entry, cls):
                    raise MechanismError(f"{name}[{i}] is {entry!r}, expected a {cls.__name__}", path=(name, i))
            object.__setattr__(self, name, entries)
        object.__setattr__(self, "forces", numbered(self.forces))
        self._check_unique_names()
        self._check_references()
        object.__setattr__(self, "_tree", tuple(self._base_to_tip()))
        self._check_formulas()

    @property
    def tree(self) -> tuple[Joint, ...]:
        """The joints, each after the joint that carries its parent."""
        return self._tree

    @cached_property
    def other_units(self) -> Mapping[str, str]:
        """Parameters and inputs whose numbers are not in SI units, and what they are in; formulas take them as they are."""
        symbols: tuple[Parameter | Input, ...] = (*self.parameters, *self.inputs)
        return {symbol.name: symbol.unit for symbol in symbols if not parse_unit(symbol.unit).coherent}

    @property
    def shown_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a person reads or sets: all but those of the waves of a sea."""
        return tuple(parameter for parameter in self.parameters if not parameter.hidden)

    @property
    def coordinates(self) -> tuple[Quantity, ...]:
        """All joint coordinates, in the order of ``joints``: the order of q everywhere."""
        return tuple(coordinate for joint in self.joints for coordinate in joint.positions)

    @property
    def speeds(self) -> tuple[Quantity, ...]:
        """All generalized speeds, in the order of ``joints``: the order of v everywhere."""
        return tuple(speed for joint in self.joints for speed in joint.speeds)

    @cached_property
    def measure_units(self) -> Mapping[str, str]:
        """The units of the measures, by name."""
        return measure_units(self.measures, known_units(self))

    @property
    def rated_coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates whose rates are generalized speeds."""
        return tuple(speed.name.removesuffix(".rate") for speed in self.speeds if speed.name.endswith(".rate"))

    def wave_numbers(self, force: str) -> range:
        """Return where among the parameters the numbers of the waves for a force stand; nowhere without a sea."""
        return self._wave_numbers.get(force, range(0))

    @cached_property
    def _wave_numbers(self) -> Mapping[str, range]:
        found: dict[str, range] = {}
        for i, parameter in enumerate(self.parameters):
            if isinstance(parameter, WaveNumber):
                owner = parameter.force
                found[owner] = range(found[owner].start if owner in found else i, i + 1)
        return found

    def body(self, name: str) -> Body:
        """Return the body called ``name``."""
        return self._named("body", "Bodies", self._bodies, name)

    def joint(self, name: str) -> Joint:
        """Return the joint called ``name``."""
        return self._named("joint", "Joints", self._joints, name)

    def closure(self, name: str) -> Closure:
        """Return the closure called ``name``."""
        return self._named("closure", "Closures", {closure.name: closure for closure in self.closures}, name)

    def parameter(self, name: str) -> Parameter:
        """Return the parameter called ``name``."""
        return self._named("parameter", "Parameters", {parameter.name: parameter for parameter in self.shown_parameters}, name)

    @cached_property
    def _bodies(self) -> dict[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def _joints(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    def _named(self, what: str, plural: str, known: Mapping[str, E], name: str) -> E:
        if name not in known:
            raise MechanismError(f"'{self.name}' has no {what} '{name}'{closest(name, known)} {plural}: {listed(known)}.")
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain data, in the words of a TOML model file."""
        plain = {name: [_plain(entry) for entry in getattr(self, name)] for name in _ENTRIES}
        for name in ("parameters", "inputs"):
            plain[name] = {entry.pop("name"): entry for entry in plain[name]}  # type: ignore[assignment]
        for entry in plain["measures"]:
            entry |= {"terms": dict(entry["terms"])} if "terms" in entry else {}
        # A machine of states alone says that it has no bodies; a file that lacks them has forgotten them.
        needed = ("bodies", "joints")
        return {"name": self.name, "description": self.description, **{k: v for k, v in plain.items() if v or k in needed}}

    def digest(self) -> str:
        """Return a short hash of the description, equal for equal mechanisms."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def _check_unique_names(self) -> None:
        for group in (
            ("bodies",),
            ("joints", "closures"),
            ("forces",),
            ("outputs", "ports", "measures"),
            ("parameters", "inputs"),
            ("subsystems",),
        ):
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
        self._check_closures(known)
        self._check_ports()
        for i, output in enumerate(self.outputs):
            if output.body not in known:
                raise MechanismError(
                    f"output '{output.name}': '{output.body}' is not a body{closest(output.body, known)} "
                    f"Bodies: {listed(sorted(known))}.",
                    path=("outputs", i, "body"),
                )
        check_groups(self.subsystems, known)
        check_measures(self)
        _ = self.measure_units  # refuses combinations of what does not fit together

    def _check_closures(self, bodies: set[str]) -> None:
        for i, closure in enumerate(self.closures):
            for side in ("parent", "child"):
                name = getattr(closure, side)
                if name and name != WORLD and name not in bodies:
                    raise MechanismError(
                        f"closure '{closure.name}': its {side} '{name}' is not a body{closest(name, bodies)} "
                        f"Bodies: {listed(sorted(bodies))}.",
                        path=("closures", i, side),
                    )
            if closure.child and closure.child == closure.parent:
                raise MechanismError(
                    f"closure '{closure.name}' ties body '{closure.child}' to itself", path=("closures", i, "child")
                )
            hidden = [parameter.name for parameter in self.parameters if parameter.name in SURFACE_NAMES]
            if closure.surface is not None and hidden:
                raise MechanismError(
                    f"closure '{closure.name}': in its surface '{hidden[0]}' is the place of a point, and a parameter has the "
                    "same name; call the parameter something else",
                    path=("closures", i, "surface"),
                )
            for name in closure.coordinates:
                if name not in self.rated_coordinates:
                    raise MechanismError(
                        f"closure '{closure.name}': '{name}' is not a joint coordinate{closest(name, self.rated_coordinates)} "
                        f"Coordinates: {listed(self.rated_coordinates)}.",
                        path=("closures", i, "coordinates"),
                    )

    def _check_ports(self) -> None:
        given = [joint.name for joint in self.joints if joint.kind == "given"]
        bodies = [body.name for body in self.bodies]
        for i, port in enumerate(self.ports):
            if port.body and port.body not in bodies:
                raise MechanismError(
                    f"port '{port.name}': '{port.body}' is not a body{closest(port.body, bodies)} Bodies: {listed(bodies)}.",
                    path=("ports", i, "body"),
                )
            if port.joint and port.joint not in given:
                raise MechanismError(
                    f"port '{port.name}': '{port.joint}' is not a given joint{closest(port.joint, given)} "
                    f"Given joints: {listed(given) or 'none'}.",
                    path=("ports", i, "joint"),
                )
            if port.name in {joint.name for joint in self.joints}:
                raise MechanismError(f"port '{port.name}' has the name of a joint; choose another", path=("ports", i, "name"))

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
        signals = {signal.name for signal in self.inputs}
        for kind, singular in (
            ("bodies", "body"),
            ("joints", "joint"),
            ("closures", "closure"),
            ("outputs", "output"),
            ("measures", "measure"),
            ("ports", "port"),
        ):
            for i, entry in enumerate(getattr(self, kind)):
                moving = kind == "joints" and entry.kind == "given"
                try:
                    names = known | signals | {TIME} if moving else known
                    check_formulas(entry, f"{singular} '{entry.name}'", names, self.other_units)
                except MechanismError as error:
                    raise error.within(kind, i) from None


_ENTRIES: dict[str, type] = {
    "parameters": Parameter,
    "inputs": Input,
    "bodies": Body,
    "joints": Joint,
    "closures": Closure,
    "forces": ForceElement,
    "outputs": Output,
    "measures": Measure,
    "ports": Port,
    "subsystems": Group,
}


def check_formulas(entry: Any, what: str, known: Iterable[str], other_units: Mapping[str, str]) -> None:
    """Refuse a dataclass whose formulas use a name that is not ``known``, or are nothing but one of ``other_units``."""
    own_names: Mapping[str, tuple[str, ...]] = getattr(type(entry), "OWN_NAMES", {})
    for key, value in vars(entry).items():
        allowed = {*known, *own_names.get(key, ())}
        for expression in expressions_in(value):
            name = expression.text.removeprefix("-")
            if name in other_units:
                unit = parse_unit(other_units[name])
                formula = _in_si(name, unit) if name == expression.text else f"-({_in_si(name, unit)})"
                raise MechanismError(
                    f"{what}: {key} = '{expression}' would take a number in {unit.name} for one in SI units; write "
                    f"'{formula}', or give '{name}' in SI units",
                    path=(key,),
                )
            for name in sorted(expression.names - allowed):
                raise MechanismError(
                    f"{what}: {key} = '{expression}' uses '{name}', which is not declared{closest(name, allowed)} "
                    f"Known here: {listed(sorted(allowed))}.",
                    path=(key,),
                )


def _in_si(name: str, unit: Unit) -> str:
    """Return the formula by which a number in a unit becomes one in SI units."""
    scaled = name if unit.factor == 1.0 else f"{name} * {unit.factor:.12g}"
    return f"{scaled} + {unit.offset:g}" if unit.offset else scaled


def expressions_in(value: Any) -> Iterable[Expression]:
    """Yield the formulas in a field: in a number, a tuple, a trajectory or a shape."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions_in(item)
    elif isinstance(value, Trajectory | Shape):
        for item in vars(value).values():
            yield from expressions_in(item)


def _plain(value: Any) -> Any:
    if isinstance(value, ForceElement):
        return {"kind": value.kind, "name": value.name, **{k: _plain(v) for k, v in value.options.items()}}
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Trajectory):
        fields = {entry.name: _plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
        return {"kind": value.kind, **{name: item for name, item in fields.items() if item is not None}}
    if dataclasses.is_dataclass(value):
        items = {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
        return {name: _plain(item) for name, item in items.items() if item is not None and item != "" and item != ()}
    return value


def quaternion_rows(mechanism: Mechanism) -> tuple[int, ...]:
    """Return the rows among the joint coordinates at which unit quaternions begin."""
    rows, row = [], 0
    for joint in mechanism.joints:
        first = JOINT_KINDS[joint.kind].quaternion
        if first is not None:
            rows.append(row + first)
        row += len(joint.positions)
    return tuple(rows)
