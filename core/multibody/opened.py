"""A mechanism in which efforts that depend on joint loads are unknowns beside the inputs.

The load of a joint comes from the accelerations, and an effort that depends on it changes them. A formulation therefore derives
its equations with such efforts, and the loads that forces look at, as further symbols behind the inputs and states in ``u``;
:mod:`kingpost.loads.load_dependent` solves for them afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import casadi as ca

from kingpost.multibody.applied import AppliedForce, ForceSymbols
from kingpost.multibody.assembly import Assembly


@dataclass(frozen=True, eq=False)
class LoadedEffort:
    """An effort that depends on joint loads: of which force, along what, and its law in the symbols of the opened assembly."""

    force: str
    kind: str
    along: str
    unit: str
    law: ca.SX


@dataclass(frozen=True)
class OpenedAssembly(Assembly):
    """An assembly whose ``u`` ends with load-dependent efforts, the loads that they depend on, and their coupling."""

    closed: Assembly | None = None
    efforts: tuple[LoadedEffort, ...] = ()
    #: The joints whose loads are looked at, each with six rows.
    joints: tuple[str, ...] = ()
    opened: tuple[AppliedForce, ...] = field(default=(), repr=False)

    @cached_property
    def seen(self) -> ForceSymbols:
        assert self.closed is not None
        return self.closed.seen

    @cached_property
    def applied(self) -> tuple[AppliedForce, ...]:
        return self.opened

    @property
    def unknowns(self) -> int:
        """How many symbols stand behind those of the closed assembly in ``u``."""
        return len(self.efforts) + 6 * len(self.joints) + 1


def opened_assembly(assembly: Assembly) -> OpenedAssembly | None:
    """Return an assembly with load-dependent efforts as unknowns, or None if there are none."""
    joints = tuple(dict.fromkeys(joint for applied in assembly.applied for joint in applied.loaded))
    if not joints:
        return None
    symbols = {joint: assembly.seen.loads[joint] for joint in joints}
    loads, coupling = ca.vertcat(*symbols.values()), ca.SX.sym("coupling")
    units = _effort_units(assembly)
    efforts: list[LoadedEffort] = []
    unknown: list[ca.SX] = []
    forces = []
    for applied in assembly.applied:
        own: dict[str, ca.SX] = {}
        for along, law in applied.loads.efforts.items():
            if applied.loaded and ca.depends_on(ca.SX(law), loads):
                own[along] = ca.SX.sym(f"effort_{len(unknown)}")
                unknown.append(own[along])
                efforts.append(LoadedEffort(applied.name, applied.force.name, along, units[along], ca.SX(law)))
        forces.append(_with_unknowns(applied, own, units, coupling))
    given: dict[str, Any] = {item.name: getattr(assembly, item.name) for item in fields(Assembly)}
    given["u"] = ca.vertcat(assembly.u, *unknown, loads, coupling)
    return OpenedAssembly(**given, closed=assembly, efforts=tuple(efforts), joints=joints, opened=tuple(forces))


def _with_unknowns(
    applied: AppliedForce, unknown: Mapping[str, ca.SX], units: Mapping[str, str], coupling: ca.SX
) -> AppliedForce:
    """Return a force with unknown efforts, and signals that tell how well they were found and what decides that they can be."""
    if not unknown:
        return applied
    loads = applied.loads
    errors = [ca.fabs(symbol - loads.efforts[along]) for along, symbol in unknown.items()]
    signals = {
        **loads.signals,
        "residual": (ca.mmax(ca.vertcat(*errors)), units[next(iter(unknown))]),
        "coupling": (coupling, "1"),
    }
    return replace(applied, loads=replace(loads, efforts={**loads.efforts, **unknown}, signals=signals))


def _effort_units(assembly: Assembly) -> dict[str, str]:
    """Return the unit of an effort along each coordinate, or speed."""
    words = {"m": "N", "m/s": "N"}
    items = (*assembly.mechanism.coordinates, *assembly.mechanism.speeds)
    return {item.name: words.get(item.unit, "N.m") for item in items}
