"""Formalisms as formulations: ordinary equations, whose accelerations are found by the formalism's own road."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import casadi as ca

from kingpost.base.errors import MechanismError, listed
from kingpost.equations.equations import Equations
from kingpost.equations.formalism import Formalism
from kingpost.equations.formulation import Formulation
from kingpost.equations.machine import Machine
from kingpost.equations.tree_equations import tree_equations
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly
from kingpost.plugins.formulations.loops import LoopOptions, loop_treatment


@cache
def as_formulation(cls: type[Formalism]) -> type[Formulation] | None:
    """Return the formulation that a formalism becomes; None for one that is a formulation already."""
    return type(f"{cls.__name__}Formulation", (FormalismFormulation,), _members(cls)) if cls.becomes_formulation else None


def _members(cls: type[Formalism]) -> dict[str, Any]:
    return {"__doc__": cls.__doc__, "__module__": cls.__module__, "name": cls.name, "formalism": cls, "Options": _options(cls)}


def _options(cls: type[Formalism]) -> type[Any]:
    """Return options of closed loops with those of a formalism behind them."""
    own: list[Any] = [(field.name, field.type, field) for field in dataclasses.fields(cls.Options)]
    if not own:
        return LoopOptions

    def check(options: Any) -> None:
        LoopOptions.__post_init__(options)
        if hasattr(cls.Options, "__post_init__"):
            cls.Options.__post_init__(options)

    both = dataclasses.make_dataclass(
        f"{cls.__name__}LoopOptions", own, bases=(LoopOptions,), namespace={"__post_init__": check}, frozen=True
    )
    both.__module__ = cls.Options.__module__  # where its annotations are to be understood
    return both


class FormalismFormulation(Formulation):
    """Base of the formulations that formalisms become."""

    formalism: ClassVar[type[Formalism]]

    @property
    def way(self) -> Formalism:
        """The formalism with its options."""
        own = {field.name: getattr(self.options, field.name) for field in dataclasses.fields(self.formalism.Options)}
        return self.formalism(self.formalism.Options(**own))

    def refusal(self, mechanism: Mechanism) -> str:
        return super().refusal(mechanism) or self.way.refusal(mechanism)

    def derive(self, assembly: Assembly) -> Equations:
        equations = loop_treatment(self.options, formalism_equations(self.way, Machine(assembly)))
        check_inertia(self.way, equations)
        return equations


def formalism_equations(way: Formalism, machine: Machine) -> Equations:
    """Return the equations of a machine by the road of a formalism."""
    road = way.derive(machine)
    kinetic = sum((ca.SX(loads.kinetic) for loads in machine.loads), machine.now(machine.kinetic))
    potential = sum((ca.SX(loads.potential) for loads in machine.loads), ca.SX(0))
    equations = tree_equations(way.name, machine.tree, road.M, road.f, kinetic, potential, machine.constraints)
    if not road.own:
        return equations
    return replace(equations, structure=replace(equations.structure, road=road))


def check_inertia(way: Formalism, equations: Equations) -> None:
    """Refuse a machine of which some speeds have no inertia, where the formalism cannot do without."""
    augmentation = equations.structure.augmentation
    if augmentation is None or way.singular_mass:
        return
    names = [equations.speed_quantities[row].name.removesuffix(".rate") for row in augmentation.bare]
    raise MechanismError(
        f"formalism '{way.name}' inverts the mass matrix, and in '{equations.mechanism.name}' that is singular: along "
        f"{listed(names, 4)} nothing has inertia but what closures tie to it. Take 'maggi', 'udwadia-phohomsiri' or "
        "'udwadia-schutte', which need no inverse, or give these bodies inertia"
    )
