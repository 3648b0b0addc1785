"""A mechanism with its parameters as symbols and its forces as objects: what a formulation starts from."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_type_hints

import casadi as ca

from kingpost.base.errors import MechanismError, PluginError, closest, listed
from kingpost.base.fields import AnchorName, BodyName, CoordinateName, JointName, fill
from kingpost.base.formulas import Scalar, evaluate
from kingpost.base.units import check_unit
from kingpost.mechanism.elements import TIME, WORLD
from kingpost.mechanism.mechanism import Mechanism, check_formulas
from kingpost.multibody.applied import AppliedForce, ForceSymbols
from kingpost.multibody.force import Force, ForceState, WaveMotion
from kingpost.multibody.input_layout import InputLayout, LazyScope
from kingpost.symbols.externals import External

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


@dataclass(frozen=True)
class Assembly:
    """The symbols t, u and p of a mechanism, and its force plugins with their checked options.

    ``u`` holds the inputs and, behind them, the states of forces and the energies that metered ports have passed: everything
    that acts on the mechanics, or is led along, without being part of it.
    """

    mechanism: Mechanism
    forces: Mapping[str, Force]
    t: ca.SX
    u: ca.SX
    p: ca.SX
    #: What is behind the inputs in ``u``: names, units and start values.
    states: tuple[ForceState, ...] = ()
    #: What the numbers for the inputs in ``u`` are, where some inputs move; None if each has one number, its value.
    layout: InputLayout | None = None
    #: The parameters that equations are wanted for, where that is known; else the default ones. Whatever they are, parameters
    #: stay symbols: what can depend on them is a choice between ways to solve, such as that for bodies without volume.
    meant: tuple[float, ...] | None = None

    def with_moving_inputs(self, layout: InputLayout) -> Assembly:
        """Return the same with fresh symbols for inputs that move as ``layout`` says."""
        names = [*layout.names, *layout.further, *(state.name for state in self.states)]
        return replace(self, u=_symbols(names), layout=layout)

    @cached_property
    def state_symbols(self) -> Mapping[str, ca.SX]:
        """The symbols of the states by name."""
        first = len(self.mechanism.inputs) if self.layout is None else self.layout.size
        return {state.name: self.u[first + i] for i, state in enumerate(self.states)}

    @cached_property
    def seen(self) -> ForceSymbols:
        """The symbols that :attr:`applied` is written in."""
        return ForceSymbols(self)

    @cached_property
    def applied(self) -> tuple[AppliedForce, ...]:
        """What all forces do; each is asked once."""
        return tuple(self.seen.apply())

    @cached_property
    def motions(self) -> Mapping[str, list[WaveMotion]]:
        """How forces move given joints, by joint."""
        found: dict[str, list[WaveMotion]] = {}
        if any(type(force).moves_joints for force in self.forces.values()):
            for applied in self.applied:
                for joint, motion in applied.loads.motions.items():
                    found.setdefault(joint, []).append(motion)
        return found

    @cached_property
    def moving_externals(self) -> tuple[External, ...]:
        """The functions outside expressions by which forces move given joints."""
        if not self.motions:
            return ()
        return tuple(external for applied in self.applied if applied.loads.motions for external in applied.externals)

    @cached_property
    def parameters(self) -> Mapping[str, ca.SX]:
        """The symbols of the parameters by name."""
        return {parameter.name: self.p[i] for i, parameter in enumerate(self.mechanism.parameters)}

    @cached_property
    def scope(self) -> Mapping[str, Any]:
        """The symbols that formulas may use: parameters, inputs and time."""
        parameters = self.parameters
        signals = {signal.name: self.u[i] for i, signal in enumerate(self.mechanism.inputs)}
        plain = {TIME: self.t, **signals, **parameters}
        if self.layout is None:
            return plain
        moving = {name: partial(self.layout.value, name, self.t, self.u, parameters) for name in self.layout.moving}
        return LazyScope(plain, moving)

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a number or formula as a CasADi expression."""
        return ca.SX(evaluate(scalar, self.scope))

    def formula(self, scalar: Scalar, names: Mapping[str, ca.SX]) -> ca.SX:
        """Return a formula that may use ``names`` beside the parameters, as a CasADi expression."""
        return ca.SX(evaluate(scalar, ChainMap(dict(names), dict(self.parameters))))

    def vector(self, vector: tuple[Scalar, ...]) -> ca.SX:
        """Return numbers or formulas as a column; exact zeros become structural ones."""
        return ca.sparsify(ca.vertcat(*(self.value(component) for component in vector)))


def assemble(mechanism: Mechanism, plugins: PluginSet) -> Assembly:
    """Resolve the force elements of ``mechanism`` in ``plugins`` and make symbols for its parameters."""
    forces = make_forces(mechanism, plugins)
    return assembled(mechanism, forces, tuple(_states(mechanism, forces)))


def assembled(mechanism: Mechanism, forces: Mapping[str, Force], states: tuple[ForceState, ...]) -> Assembly:
    """Return an assembly with fresh symbols."""
    return Assembly(
        mechanism=mechanism,
        forces=forces,
        t=ca.SX.sym(TIME),
        u=_symbols([*(signal.name for signal in mechanism.inputs), *(state.name for state in states)]),
        p=_symbols(parameter.name for parameter in mechanism.parameters),
        states=states,
    )


def _states(mechanism: Mechanism, forces: Mapping[str, Force]) -> Iterator[ForceState]:
    """Yield the states of all forces, then the energies of metered ports, under their full names."""
    parameters = [parameter.name for parameter in mechanism.parameters]
    for i, (name, force) in enumerate(forces.items()):
        declared = force.states(mechanism)
        own = [state.name for state in declared]
        for state in declared:
            what = f"force '{name}' ({force.name})"
            if own.count(state.name) > 1:
                raise PluginError(f"{what} declares the state '{state.name}' twice")
            try:
                check_unit(f"{what}: state '{state.name}'", state.unit)
                check_formulas(state, f"{what}: state '{state.name}'", parameters, mechanism.other_units)
            except MechanismError as error:
                raise error.within("forces", i) from None
            yield replace(state, name=f"{name}.{state.name}")
    yield from (ForceState(f"{port.name}.energy", "J") for port in mechanism.ports if port.energy)


def make_forces(mechanism: Mechanism, plugins: PluginSet) -> Mapping[str, Force]:
    """Return the force plugins of ``mechanism`` by the names of their elements, their options checked against it."""
    forces = {}
    for i, element in enumerate(mechanism.forces):
        what = f"force '{element.name}' ({element.kind})"
        cls = plugins.forces.get(element.kind)
        try:
            options = fill(cls.Options, element.options, what)
            _check_names(options, what, mechanism)
        except MechanismError as error:
            raise error.within("forces", i) from None
        forces[element.name] = cls(options)
    return forces


def _symbols(names: Any) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))


def _check_names(options: Any, what: str, mechanism: Mechanism) -> None:
    known: dict[Any, tuple[str, list[str]]] = {
        BodyName: ("body", [body.name for body in mechanism.bodies]),
        AnchorName: ("body, nor the world", [WORLD, *(body.name for body in mechanism.bodies)]),
        JointName: ("joint", [joint.name for joint in mechanism.joints]),
        CoordinateName: ("joint coordinate", list(mechanism.rated_coordinates)),
    }
    hints = get_type_hints(type(options))
    for field in fields(options):
        word, names = known.get(hints[field.name], ("", []))
        value = getattr(options, field.name)
        if word and value not in names:
            raise MechanismError(
                f"{what}: {field.name}: '{value}' is not a {word}{closest(value, names)} Known: {listed(names)}.",
                path=(field.name,),
            )
    parameters, inputs = ([entry.name for entry in entries] for entries in (mechanism.parameters, mechanism.inputs))
    check_formulas(options, what, [*parameters, *inputs, TIME], mechanism.other_units)
