"""Machines that carry a load on a rope: what hangs on what, and the machine without its load.

The load hangs on one rope, which runs off a winch and over points of the machine. What the load needs of the machine is then
known in closed form: with the acceleration a of the load's point, the rope pulls with T = m |a - g| along the direction e of
a - g, and the last point of the machine that the rope touches, the tip, is at the load's point plus the rope's length times e.
That length is known, too: what the winch has paid out, stretched by T, less what lies along the machine. So drives q, base
motion and load are tied by three equations (:attr:`Suspension.gap`), whatever the machine looks like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.base.fields import fill
from kingpost.base.formulas import Expression, Scalar, Vector3, evaluate
from kingpost.equations.equations import Equations
from kingpost.equations.measures import measure_expression
from kingpost.mechanism.elements import WORLD, ForceElement, Input, Output
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import Constant
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.problem import draft
from kingpost.simulation.settings import RunSettings
from kingpost.symbols.straightline import fused

#: What points of the rope are called in the machine without its load.
POINT = "rope-point-"


@dataclass(frozen=True)
class Drive:
    """A drive whose set-point and its rate are inputs of the machine."""

    #: The input of the set-point without ``_target``, such as ``slew``.
    name: str
    coordinate: str
    unit: str
    target: str
    rate: str
    #: The input that says when the set-point was true, if it goes on from there by itself.
    since: str | None = None


class Suspension:
    """A load on the rope of a machine, and the machine without it; symbols and functions, no numbers."""

    def __init__(self, mechanism: Mechanism, targets: Iterable[str], measures: tuple[str, ...], plugins: PluginSet) -> None:
        self.whole = mechanism
        self._plugins = plugins
        self.rope_name, self.rope = _rope(mechanism, plugins)
        self.load = str(self.rope.body)
        self.point = self._load_point(measures)
        self.drives = tuple(_drive(mechanism, name, plugins) for name in targets)
        self.bare = _without_load(mechanism, self.load, self._path[1:])
        self._check_drives()
        posed = draft(self.bare, RunSettings(formulation="kane"), plugins=plugins)
        self.equations: Equations = posed.equations
        if self.equations.nz:
            raise MechanismError(
                f"'{mechanism.name}': drives or forces with states of their own "
                f"({listed(item.name for item in self.equations.states.quantities)}) cannot be led by set-points alone; give "
                "the drives no time_constant"
            )

    @property
    def _path(self) -> tuple[tuple[str, Vector3], ...]:
        """The points of the rope, from the load on, each on its body."""
        rope = self.rope
        return ((rope.body, rope.at), *((rope.via_body, at) for at in rope.via), (rope.other, rope.other_at))

    def _load_point(self, measures: tuple[str, ...]) -> Output:
        """Return the output that the task leads: where the rope holds the load."""
        ends = [
            output
            for output in self.whole.outputs
            if output.quantity == "position" and output.body == self.load and output.at == self.rope.at
        ]
        for output in ends:
            if set(measures) == {f"{output.name}.{axis}" for axis in "xyz"}:
                return output
        known = listed(f"{output.name}.x, {output.name}.y, {output.name}.z" for output in ends)
        raise MechanismError(
            f"hold-in-world leads all three coordinates of the point where the rope '{self.rope_name}' holds '{self.load}'; "
            f"the task has {listed(measures)}. "
            + (f"Take {known}" if ends else f"Give the machine an output on '{self.load}' at {list(map(str, self.rope.at))}")
        )

    def velocity_output(self) -> Output | None:
        """Return the output that measures the velocity of the load's point, if there is one."""
        fits = (o for o in self.whole.outputs if o.quantity == "velocity" and (o.body, o.at) == (self.load, self.rope.at))
        return next(fits, None)

    def _check_drives(self) -> None:
        coordinates = [quantity.name for quantity in self.bare.coordinates]
        driven = [drive.coordinate for drive in self.drives]
        idle = [name for name in coordinates if name not in driven]
        if idle or len(set(driven)) < len(driven):
            raise MechanismError(
                f"'{self.whole.name}': hold-in-world needs one drive with a set-point for every coordinate between the world "
                f"and the rope; without: {listed(idle) or 'none'}, driven: {listed(driven)}"
            )
        if self.bare.closures:
            raise MechanismError(
                f"'{self.whole.name}' has closed loops ({listed(c.name for c in self.bare.closures)}), in which drives turn no "
                "joint of the tree directly; hold-in-world takes machines without"
            )

    @property
    def stamps(self) -> tuple[str, ...]:
        """The inputs that say when set-points were true."""
        return tuple(dict.fromkeys(drive.since for drive in self.drives if drive.since is not None))

    @cached_property
    def order(self) -> list[int]:
        """The rows of the drives among the coordinates of the equations."""
        names = [quantity.name for quantity in self.equations.position_quantities]
        return [names.index(drive.coordinate) for drive in self.drives]

    @property
    def base_inputs(self) -> tuple[Input, ...]:
        """The inputs of the machine that are no set-points: the motion of its base among them."""
        own = {name for drive in self.drives for name in (drive.target, drive.rate, drive.since)}
        return tuple(signal for signal in self.whole.inputs if signal.name not in own)

    # Symbols: the time, the drives' coordinates, speeds and accelerations in their order, other inputs, parameters.

    @cached_property
    def symbols(self) -> dict[str, ca.SX]:
        n = len(self.drives)
        sizes = {"t": 1, "q": n, "v": n, "a": n, "u": len(self.base_inputs), "p": len(self.whole.parameters)}
        return {name: ca.SX.sym(name, size) for name, size in sizes.items()} | {
            "y": ca.SX.sym("y", 3),
            "free": ca.SX.sym("free", 3),
        }

    def _scope(self) -> dict[str, Any]:
        s = self.symbols
        parameters = {entry.name: s["p"][i] for i, entry in enumerate(self.whole.parameters)}
        return {**parameters, **{entry.name: s["u"][i] for i, entry in enumerate(self.base_inputs)}, "t": s["t"]}

    def _value(self, scalar: Scalar) -> ca.SX:
        return ca.SX(evaluate(scalar, self._scope()))

    def _vector(self, vector: Vector3) -> ca.SX:
        return ca.vertcat(*(self._value(component) for component in vector))

    def _there(self, expressions: list[ca.SX], speeds: bool = False, targets: ca.SX | None = None) -> list[ca.SX]:
        """Return expressions of the bare machine's equations in the symbols here."""
        s, e = self.symbols, self.equations
        q, v = ca.SX.zeros(e.nq), ca.SX.zeros(e.nv)
        for k, row in enumerate(self.order):
            q[row], v[row] = s["q"][k], s["v"][k] if speeds else 0
        rows: dict[str, Any] = {signal.name: s["u"][i] for i, signal in enumerate(self.base_inputs)}
        for k, drive in enumerate(self.drives):
            both = (0, 0) if targets is None else (targets[2 * k], targets[2 * k + 1])
            rows |= {drive.target: both[0], drive.rate: both[1]} | ({drive.since: s["t"]} if drive.since else {})
        u = ca.vertcat(ca.SX(0, 1), *(rows[signal.name] for signal in self.bare.inputs))
        function = ca.Function("kp_there", [e.t, e.q, e.v, e.u, e.p], expressions)
        return list(function.call([s["t"], q, v, u, s["p"]]))

    @cached_property
    def points(self) -> list[ca.SX]:
        """Where the points of the rope on the machine are in the world, the tip first."""
        names = [output.name for output in self.bare.outputs]
        found = []
        for k, (body, at) in enumerate(self._path[1:]):
            if body == WORLD:
                found.append(self._vector(at))
                continue
            assert f"{POINT}{k}" in names
            rows = [measure_expression(self.equations, f"{POINT}{k}.{axis}") for axis in "xyz"]
            found.append(self._there([ca.vertcat(*rows)])[0])
        return found

    @cached_property
    def along(self) -> ca.SX:
        """The length of the rope along the machine, beyond the tip."""
        points = self.points
        apart = (points[k + 1] - points[k] for k in range(len(points) - 1))
        return ca.SX(sum((ca.norm_2(way) for way in apart), ca.SX(0)))

    @cached_property
    def paid_out(self) -> ca.SX:
        """The unstretched length of the rope."""
        length = self._value(self.rope.length)
        if self.rope.drum is None:
            return length
        k = [drive.coordinate for drive in self.drives].index(self.rope.drum)
        return length + self._value(self.rope.radius) * self.symbols["q"][k]

    @cached_property
    def gravity(self) -> ca.SX:
        """The acceleration of free fall."""
        total = ca.SX.zeros(3)
        for force in self.whole.forces:
            if force.kind == "gravity":
                total += self._vector(_options(force, self._plugins).acceleration)
        return total

    @cached_property
    def pull(self) -> tuple[ca.SX, ca.SX]:
        """Tension and direction of the rope, from the load to the tip; ``free`` is a - g, what the rope gives the load."""
        free = self.symbols["free"]
        size = ca.norm_2(free)
        return self._value(self.whole.body(self.load).mass) * size, free / size

    @cached_property
    def stretched(self) -> ca.SX:
        """The length between load and tip."""
        tension, _ = self.pull
        rope = self.rope
        stretch = (
            tension / self._value(rope.stiffness)
            if rope.stiffness is not None
            else self.paid_out * tension / self._value(rope.EA if rope.EA is not None else 0.0)
        )
        return self.paid_out + stretch - self.along

    @cached_property
    def gap(self) -> ca.SX:
        """Three equations between drives, base and load: the tip, less where the load at ``y`` needs it."""
        return ca.densify(self.points[0] - self.symbols["y"] - self.stretched * self.pull[1])

    @cached_property
    def gap_function(self) -> ca.Function:
        """The function (t, q, u, p, y, free) -> gap, its Jacobian with respect to q, length between load and tip."""
        s = self.symbols
        arguments = [s[name] for name in ("t", "q", "u", "p", "y", "free")]
        J = ca.densify(ca.jacobian(self.gap, s["q"]))
        return fused(ca.Function("kp_gap", arguments, [self.gap, J, self.stretched]))

    @cached_property
    def setpoint_function(self) -> ca.Function:
        """The function (t, q, v, a, u, p, free) -> set-points with which drives move as (q, v, a) while they carry the rope.

        The set-points' rates are v. Virtual work of the tension: the drives feel -T d(length along the path)/dq, and the drum
        T (1 + T / (2 EA)) d(paid out)/dq, as of a rope that is not stretched before it leaves the drum.
        """
        s, e, n = self.symbols, self.equations, len(self.drives)
        targets = ca.SX.sym("targets", 2 * n)
        M, f = self._there([e.M, e.f], speeds=True, targets=targets)
        M, f = ca.densify(M)[self.order, self.order], ca.densify(f)[self.order]
        if ca.jacobian(f, targets).nnz() and ca.depends_on(ca.densify(ca.jacobian(f, targets)), targets):
            raise MechanismError(f"'{self.whole.name}': the drives' forces are not linear in their set-points")
        tension, direction = self.pull
        strain = tension / self._value(self.rope.EA) if self.rope.EA is not None else ca.SX(0)
        lengthening = ca.jacobian(self.points[0], s["q"]).T @ direction + ca.jacobian(self.along, s["q"]).T
        carried = -tension * lengthening + tension * (1 + strain / 2) * ca.jacobian(self.paid_out, s["q"]).T
        B = ca.densify(ca.jacobian(f, targets))
        by_value, by_rate = B[:, ::2], B[:, 1::2]
        free_of_drives = ca.substitute(f, targets, ca.SX.zeros(2 * n))
        needed = M @ s["a"] - free_of_drives - carried - by_rate @ s["v"]
        arguments = [s[name] for name in ("t", "q", "v", "a", "u", "p", "free")]
        return fused(ca.Function("kp_setpoints", arguments, [ca.densify(ca.solve(by_value, needed))]))

    @cached_property
    def gravity_function(self) -> ca.Function:
        """The function (t, u, p) -> acceleration of free fall."""
        s = self.symbols
        return ca.Function("kp_gravity", [s["t"], s["u"], s["p"]], [ca.densify(self.gravity)])

    def coordinates_at_start(self, values: Mapping[str, float]) -> FloatArray:
        """Return the drives' coordinates at the start, from the machine's own start values and those given here."""
        scope = {parameter.name: values.get(parameter.name, parameter.default) for parameter in self.whole.parameters}
        start = {
            position.name: float(evaluate(number, scope))
            for joint in self.whole.joints
            for position, number in zip(joint.positions, joint.start_values, strict=False)
        }
        return np.array([values.get(drive.coordinate, start[drive.coordinate]) for drive in self.drives])


def _options(force: ForceElement, plugins: PluginSet) -> Any:
    """Return the options of a force, all of them."""
    return fill(plugins.forces.get(force.kind).Options, force.options, f"force '{force.name}'")


def _rope(mechanism: Mechanism, plugins: PluginSet) -> tuple[str, Any]:
    """Return the rope that holds a load which nothing else holds."""
    found = []
    for force in mechanism.forces:
        if force.kind == "rope":
            rope = _options(force, plugins)
            joint = next(joint for joint in mechanism.joints if joint.child == rope.body)
            if joint.kind in ("free", "point") or (joint.parent == WORLD and len(joint.positions) >= 3):
                found.append((force.name, rope))
    if len(found) != 1:
        raise MechanismError(
            f"hold-in-world needs one rope with a free body at its end; '{mechanism.name}' has "
            f"{listed(f'{name} (holds {rope.body})' for name, rope in found) or 'none'}"
        )
    name, rope = found[0]
    if rope.via_body == rope.body or rope.other == rope.body:
        raise MechanismError(
            f"rope '{name}' touches its load '{rope.body}' more than once; hold-in-world needs it to hang freely"
        )
    carried = [joint.child for joint in mechanism.joints if joint.parent == rope.body]
    if carried:
        raise MechanismError(f"the load '{rope.body}' carries {listed(carried)}; hold-in-world takes loads of one body")
    return name, rope


def _drive(mechanism: Mechanism, target: str, plugins: PluginSet) -> Drive:
    """Return the drive whose set-point is an input."""
    for force in mechanism.forces:
        if force.kind != "joint-actuator":
            continue
        options = _options(force, plugins)
        path = options.target
        if not (isinstance(path, Constant) and isinstance(path.level, Expression) and target in path.level.names):
            continue
        inputs = {signal.name: signal for signal in mechanism.inputs}
        rate = str(path.rate)
        if rate not in inputs:
            raise MechanismError(
                f"the set-point '{target}' of '{force.name}' has no input for its rate; hold-in-world feeds rates forward "
                "(docs/fmu.md, set-points as inputs)"
            )
        since = _since(path.level, target, rate, [name for name in path.level.names if name in inputs])
        units = {quantity.name: quantity.unit for quantity in mechanism.coordinates}
        coordinate = str(options.coordinate)
        return Drive(target.removesuffix("_target"), coordinate, units[coordinate], target, rate, since)
    raise MechanismError(
        f"input '{target}' is no set-point of a joint-actuator in '{mechanism.name}'; hold-in-world moves drives by their "
        "set-points"
    )


def _since(level: Expression, target: str, rate: str, inputs: list[str]) -> str | None:
    """Return the input from whose time on a set-point goes on with its rate, or None where it is the input alone."""
    known = {target: ca.SX.sym("target"), rate: ca.SX.sym("rate"), "t": ca.SX.sym("t")}
    others = [name for name in inputs if name not in known]
    if len(others) == 1 and "t" in level.names:
        known[others[0]] = since = ca.SX.sym("since")
        value = ca.SX(evaluate(level, known))
        trial = ca.Function("kp_trial", [known[target], known[rate], known["t"], since], [value])
        if abs(float(trial(2.0, 3.0, 5.0, 1.0)) - 14.0) < 1e-12 and abs(float(trial(2.0, 3.0, 5.0, 5.0)) - 2.0) < 1e-12:
            return others[0]
    if str(level) != target:
        raise MechanismError(
            f"the set-point '{level}' is neither the input '{target}' nor goes on from it as '{target} + {rate} * (t - since)'"
        )
    return None


def _without_load(mechanism: Mechanism, load: str, points: Iterable[tuple[str, Vector3]]) -> Mechanism:
    """Return the machine without its load and all that acts on it, with outputs for the points of the rope."""
    return replace(
        mechanism,
        bodies=tuple(body for body in mechanism.bodies if body.name != load),
        joints=tuple(joint for joint in mechanism.joints if joint.child != load),
        forces=tuple(force for force in mechanism.forces if not _touches(force, load)),
        outputs=tuple(Output(f"{POINT}{k}", body, at) for k, (body, at) in enumerate(points) if body != WORLD),
        measures=(),
        ports=(),
        closures=tuple(closure for closure in mechanism.closures if load not in (closure.parent, closure.child)),
    )


def _touches(force: ForceElement, body: str) -> bool:
    """Say whether a force names a body anywhere in its options."""

    def named(value: Any) -> bool:
        if isinstance(value, str):
            return value == body
        if isinstance(value, Mapping):
            return any(map(named, value.values()))
        return isinstance(value, tuple | list) and any(map(named, value))

    return any(map(named, force.options.values()))
