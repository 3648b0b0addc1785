"""A mechanism with its parameters as symbols and its forces as objects: what a formulation starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

import casadi as ca

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import AnchorName, BodyName, CoordinateName, JointName, fill
from kingpost.base.formulas import Scalar, evaluate
from kingpost.mechanism.elements import TIME, WORLD
from kingpost.mechanism.mechanism import Mechanism, check_formulas
from kingpost.multibody.force import Force

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


@dataclass(frozen=True)
class Assembly:
    """The symbols t, u and p of a mechanism, and its force plugins with their checked options."""

    mechanism: Mechanism
    forces: Mapping[str, Force]
    t: ca.SX
    u: ca.SX
    p: ca.SX

    @cached_property
    def scope(self) -> Mapping[str, Any]:
        """The symbols that formulas may use: parameters, inputs and time."""
        symbols: dict[str, Any] = {TIME: self.t}
        symbols |= {signal.name: self.u[i] for i, signal in enumerate(self.mechanism.inputs)}
        symbols |= {parameter.name: self.p[i] for i, parameter in enumerate(self.mechanism.parameters)}
        return symbols

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a number or formula as a CasADi expression."""
        return ca.SX(evaluate(scalar, self.scope))

    def vector(self, vector: tuple[Scalar, ...]) -> ca.SX:
        """Return numbers or formulas as a column; exact zeros become structural ones."""
        return ca.sparsify(ca.vertcat(*(self.value(component) for component in vector)))


def assemble(mechanism: Mechanism, plugins: PluginSet) -> Assembly:
    """Resolve the force elements of ``mechanism`` in ``plugins`` and make symbols for its parameters."""
    return Assembly(
        mechanism=mechanism,
        forces=make_forces(mechanism, plugins),
        t=ca.SX.sym(TIME),
        u=_symbols(signal.name for signal in mechanism.inputs),
        p=_symbols(parameter.name for parameter in mechanism.parameters),
    )


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
    check_formulas(options, what, [*parameters, *inputs, TIME])
