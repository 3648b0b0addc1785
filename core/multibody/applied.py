"""What the forces of a machine do, derived once in symbols of their own; formulations put their expressions in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca

from kingpost.base.errors import MechanismError, PluginError, closest, listed
from kingpost.base.formulas import Scalar, evaluate
from kingpost.mechanism.elements import TIME, WORLD
from kingpost.mechanism.mechanism import Mechanism, expressions_in
from kingpost.mechanism.trajectories import Constant, Sampled, Trajectory
from kingpost.multibody.force import Force, Loads, Rotor
from kingpost.multibody.input_layout import TABLE, LazyScope
from kingpost.symbols.externals import External, make_external
from kingpost.symbols.screws import Pose, unpack_pose

if TYPE_CHECKING:
    from kingpost.multibody.assembly import Assembly

#: A symbol of a force: ``("pose", body)``, ``("twist", body)``, ``("coordinate", name)`` or ``("speed", name)``.
Seen = tuple[str, str]


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """One force: what it does, in the symbols of :class:`ForceSymbols`, and the functions outside expressions that it calls."""

    name: str
    force: Force
    loads: Loads
    externals: tuple[External, ...]
    #: The symbols of places and motions that it uses.
    seen: tuple[Seen, ...]
    #: The joints whose loads it uses.
    loaded: tuple[str, ...] = ()


class ForceSymbols:
    """What forces see (:class:`kingpost.Kinematics`): symbols for where everything is and how it moves.

    An expression that a force writes then depends on the few bodies it looks at, and not, through their poses, on every joint
    between them and the world.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.mechanism: Mechanism = assembly.mechanism
        names = [quantity.name for quantity in self.mechanism.coordinates], [item.name for item in self.mechanism.speeds]
        #: All bodies' symbols are called the same, so that like expressions become one function.
        self.symbols: dict[Seen, ca.SX] = {
            **{("coordinate", name): ca.SX.sym(name) for name in names[0]},
            **{("speed", name): ca.SX.sym(name) for name in names[1]},
            **{("pose", body.name): ca.SX.sym("pose", 12) for body in self.mechanism.bodies},
            **{("twist", body.name): ca.SX.sym("twist", 6) for body in self.mechanism.bodies},
        }
        #: The loads of joints, which no formulation can say before it has found the accelerations.
        self.loads = {joint.name: ca.SX.sym(f"load_{joint.name}", 6) for joint in self.mechanism.joints}
        self._seen: dict[Seen, None] = {}
        self._loaded: dict[str, None] = {}
        self._externals: list[External] = []
        #: Values and rates of inputs that follow tables, as the present force has looked them up.
        self._found: dict[tuple[str, int], ca.SX] = {}
        self._calls = 0
        self._owner = ""

    @property
    def t(self) -> ca.SX:
        return self.assembly.t

    def value(self, scalar: Scalar) -> ca.SX:
        return ca.SX(evaluate(scalar, self._scope))

    def vector(self, vector: tuple[Scalar, ...]) -> ca.SX:
        return ca.sparsify(ca.vertcat(*(self.value(component) for component in vector)))

    @property
    def _scope(self) -> Mapping[str, Any]:
        """What names stand for: those of the assembly, but inputs that follow long tables are looked up in these."""
        own = self.assembly.scope
        return LazyScope(own, {name: partial(self._looked_up, name) for name in self._tables}) if self._tables else own

    @property
    def _tables(self) -> Mapping[str, Sampled]:
        return {} if self.assembly.layout is None else self.assembly.layout.tables

    def _looked_up(self, name: str, order: int = 0) -> ca.SX:
        """Return an input that follows a table, or its rate; a force looks each up once."""
        if (name, order) not in self._found:
            self._found[(name, order)] = self.call(self._tables[name].function(order), self.t, size=1)
        return self._found[(name, order)]

    def _rate(self, value: ca.SX) -> ca.SX:
        """Return how fast an expression of the time, and of inputs that move, changes."""
        rate = ca.jacobian(value, self.t)
        for name, order in [key for key in self._found if key[1] == 0]:
            slope = ca.jacobian(value, self._found[(name, order)])
            if slope.nnz():
                rate = rate + slope * self._looked_up(name, 1)
        return rate

    def _see(self, kind: str, name: str) -> ca.SX:
        self._seen[(kind, name)] = None
        return self.symbols[(kind, name)]

    def pose(self, body: str) -> Pose:
        return Pose.identity() if body == WORLD else unpack_pose(self._see("pose", body))

    def twist(self, body: str) -> ca.SX:
        return ca.SX(6, 1) if body == WORLD else self._see("twist", body)

    def coordinate(self, name: str) -> ca.SX:
        return self._see("coordinate", name)

    def rate(self, name: str) -> ca.SX:
        return self._see("speed", name if ("speed", name) in self.symbols else f"{name}.rate")

    def state(self, name: str) -> ca.SX:
        symbols = self.assembly.state_symbols
        key = f"{self._owner}.{name}"
        if key not in symbols:
            known = [item.name for item in self.assembly.forces[self._owner].states(self.mechanism)]
            raise PluginError(
                f"force '{self._owner}' asks for a state '{name}' that it does not declare; it has {listed(known)}"
            )
        return symbols[key]

    def load(self, joint: str) -> ca.SX:
        if joint not in self.loads:
            raise PluginError(
                f"force '{self._owner}' asks for the load of joint '{joint}', which is not there{closest(joint, self.loads)} "
                f"Joints: {listed(self.loads)}."
            )
        self._loaded[joint] = None
        return self.loads[joint]

    def target(self, trajectory: Trajectory) -> tuple[ca.SX, ca.SX]:
        if isinstance(trajectory, Constant):
            value = self.value(trajectory.level)  # a formula, which may use the time and inputs
            return value, self._rate(value) if trajectory.rate is None else self.value(trajectory.rate)
        if isinstance(trajectory, Sampled) and len(trajectory.times) > TABLE:
            value, rate = (self.call(trajectory.function(order), self.t, size=1) for order in (0, 1))
            return value, rate
        value, rate = (ca.SX(trajectory.value(self.t, self._scope, order)) for order in (0, 1))
        layout = self.assembly.layout
        changing = {TIME, *(() if layout is None else layout.moving)}
        if any(formula.names & changing for formula in expressions_in(trajectory)):
            rate = self._rate(value)  # its own derivative takes formulas for constants
        return value, rate

    def sea(self) -> ca.SX | None:
        rows = self.assembly.forces[self._owner].sea_rows
        numbers = self.mechanism.wave_numbers(self._owner)
        if not rows or not len(numbers):
            return None
        return ca.reshape(self.assembly.p[numbers.start : numbers.stop], len(rows), len(numbers) // len(rows))

    def call(self, function: Any, *arguments: ca.SX, size: int) -> ca.SX:
        external = make_external(self._owner, function, arguments, size, self._calls)
        self._calls += 1
        self._externals.append(external)
        return external.symbols

    def apply(self) -> Iterator[AppliedForce]:
        """Ask every force what it does; one that names what is not there is refused by name."""
        for name, force in self.assembly.forces.items():
            self._owner, self._seen, self._externals, self._found, self._loaded = name, {}, [], {}, {}
            loads = force.loads(self)
            _check(name, force, loads, self.mechanism, self.assembly.p)
            applied = AppliedForce(name, force, loads, tuple(self._externals), tuple(self._seen), tuple(self._loaded))
            _check_loaded(applied, self.loads)
            yield applied


def brought(applied: AppliedForce, symbols: ForceSymbols, expression_of: Callable[[Seen], ca.SX]) -> AppliedForce:
    """Return a force with the expressions of a formulation in the place of the symbols that it was written in."""
    if not applied.seen:
        return applied
    old = ca.vertcat(*(symbols.symbols[seen] for seen in applied.seen))
    new = ca.vertcat(*(ca.densify(expression_of(seen)) for seen in applied.seen))
    loads = applied.loads
    parts: list[ca.SX] = []

    def later(expression: Any) -> int:
        parts.append(ca.SX(expression))
        return len(parts) - 1

    # Substituted together, so that what they share stays shared.
    wrenches = {body: later(wrench) for body, wrench in loads.wrenches.items()}
    efforts = {name: later(effort) for name, effort in loads.efforts.items()}
    inertias = {body: later(inertia) for body, inertia in loads.inertias.items()}
    rates = {name: later(rate) for name, rate in loads.rates.items()}
    corrections = {name: later(change) for name, change in loads.corrections.items()}
    signals = {name: (later(value), unit) for name, (value, unit) in loads.signals.items()}
    potential, kinetic = later(loads.potential), later(loads.kinetic)
    gravity = None if loads.gravity is None else later(loads.gravity)
    arguments = [[later(argument) for argument in external.arguments] for external in applied.externals]
    here = ca.substitute(parts, [old], [new])
    there = Loads(
        wrenches={body: here[i] for body, i in wrenches.items()},
        efforts={name: here[i] for name, i in efforts.items()},
        potential=here[potential],
        gravity=None if gravity is None else here[gravity],
        inertias={body: here[i] for body, i in inertias.items()},
        rotors=loads.rotors,
        kinetic=here[kinetic],
        signals={name: (here[i], unit) for name, (i, unit) in signals.items()},
        rates={name: here[i] for name, i in rates.items()},
        corrections={name: here[i] for name, i in corrections.items()},
    )
    externals = tuple(
        replace(external, arguments=tuple(here[i] for i in own))
        for external, own in zip(applied.externals, arguments, strict=True)
    )
    return replace(applied, loads=there, externals=externals)


def _check(name: str, force: Force, loads: Loads, mechanism: Mechanism, parameters: ca.SX) -> None:
    bodies = {body.name for body in mechanism.bodies}
    efforts = {*(speed.name for speed in mechanism.speeds), *mechanism.rated_coordinates}
    states = {state.name for state in force.states(mechanism)}
    named = (
        ("acts on body", loads.wrenches, bodies),
        ("acts on body", loads.inertias, bodies),
        ("acts on coordinate", loads.efforts, efforts),
        *(("turns with coordinate", rotor.ratios, {*mechanism.rated_coordinates}) for rotor in loads.rotors),
        ("gives the rate of state", loads.rates, states),
        ("corrects state", loads.corrections, states),
    )
    for words, given, known in named:
        for key in given:
            if key not in known:
                raise PluginError(
                    f"force '{name}' ({force.name}) {words} '{key}', which is not there"
                    f"{closest(key, known)} Known: {listed(sorted(known))}."
                )
    for rotor in loads.rotors:
        _check_rotor(name, force, rotor, parameters)
    missing = sorted(states - set(loads.rates))
    if missing:
        raise PluginError(f"force '{name}' ({force.name}) declares the state '{missing[0]}', but loads() gives no rate for it")


def _check_loaded(applied: AppliedForce, symbols: Mapping[str, ca.SX]) -> None:
    """Refuse a force in which anything but efforts and signals depends on the loads of joints."""
    if not applied.loaded:
        return
    looked_at, loads = ca.vertcat(*(symbols[joint] for joint in applied.loaded)), applied.loads
    parts: dict[str, list[Any]] = {
        "a wrench": list(loads.wrenches.values()),
        "an added inertia": list(loads.inertias.values()),
        "a rotor": [item for rotor in loads.rotors for item in (rotor.inertia, *rotor.ratios.values())],
        "its potential or kinetic energy": [loads.potential, loads.kinetic],
        "its gravity": [] if loads.gravity is None else [loads.gravity],
        "the rate of a state": list(loads.rates.values()),
        "the argument of a function that it calls": [item for external in applied.externals for item in external.arguments],
    }
    for word, expressions in parts.items():
        if any(ca.depends_on(ca.SX(expression), looked_at) for expression in expressions):
            raise PluginError(
                f"force '{applied.name}' ({applied.force.name}): {word} depends on the load of joint {listed(applied.loaded)}; "
                "only efforts along joint coordinates, and signals, can depend on loads"
            )


def _check_rotor(name: str, force: Force, rotor: Rotor, parameters: ca.SX) -> None:
    """Refuse a rotor whose inertia or ratios move: their rates would be forces that nobody has written."""
    known = {symbol.element_hash() for symbol in ca.vertsplit(parameters)} if parameters.numel() else set()
    used = ca.symvar(ca.vertcat(ca.SX(rotor.inertia), *(ca.SX(ratio) for ratio in rotor.ratios.values())))
    moving = [symbol.name() for symbol in used if symbol.element_hash() not in known]
    if moving:
        raise MechanismError(
            f"force '{name}' ({force.name}): inertia and ratios of a rotor use '{moving[0]}', which changes during a run; "
            "numbers and parameters alone may be in them"
        )
