"""A tree of subsystems as a mechanism, so that it can be run, exported and coupled like any other machine.

Its variables below the highest order are states of the force ``subsystems``, beside whatever bodies the mechanism has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kingpost.base.errors import MechanismError, listed
from kingpost.mechanism.elements import ForceElement, Input, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.modular.subsystem import SUBSYSTEMS, Subsystem
from kingpost.modular.system import build


def as_mechanism(subsystem: Subsystem, *, name: str = "", description: str = "", pull: float = 0.0, **others: Any) -> Mechanism:
    """Return a mechanism that is nothing but a tree of subsystems, whose parameters and inputs become its own.

    All formulas must be texts, since a mechanism is plain data. ``pull`` is Baumgarte's rate (1/s); ``others`` are further
    fields of the mechanism.
    """
    system = build(subsystem)
    units = system.symbols.units
    return Mechanism(
        name=name or subsystem.name,
        description=description,
        bodies=others.pop("bodies", ()),
        joints=others.pop("joints", ()),
        parameters=tuple(Parameter(label, value, units.get(label, "1")) for label, value in system.symbols.values.items()),
        inputs=tuple(Input(label, units.get(label, "1")) for label in system.inputs),
        forces=(ForceElement(SUBSYSTEMS, name=subsystem.name, system=subsystem.to_data(), pull=pull),),
        **others,
    )


def subsystems_of(mechanism: Mechanism) -> dict[str, Subsystem]:
    """Return the trees of subsystems that a mechanism holds, by the names of their forces."""
    return {
        force.name: Subsystem.from_data(force.options.get("system")) for force in mechanism.forces if force.kind == SUBSYSTEMS
    }


def only_subsystem(mechanism: Mechanism, name: str = "") -> Subsystem:
    """Return the tree of subsystems of a mechanism, by name if it has several."""
    found: Mapping[str, Subsystem] = subsystems_of(mechanism)
    if name in found:
        return found[name]
    if name or len(found) != 1:
        raise MechanismError(
            f"'{mechanism.name}' holds {len(found)} trees of subsystems ({listed(found)})"
            + (f", but none called '{name}'" if name else "; say which one is meant")
        )
    return next(iter(found.values()))
